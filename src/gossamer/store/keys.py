r"""The keys of the store: the type of each key, its contents, the code that writes it, and how long it
exists. A test fails if the store contains a key that is not listed here.

A bucket is a shard of the frontier. Its hash tag, such as `{b:0a3}`, puts all its keys into one cluster slot.
All hosts of a registered domain are in one bucket. The state of a host is shared by all crawls. A key that
belongs to one crawl has the crawl's name after the tag. Scripts receive the tag (and the crawl) and derive the
other keys, so the store must allow derived keys within a slot.

| key | type | contents | written by | lifetime |
| --- | --- | --- | --- | --- |
| `gossamer` | hash | `version`, `buckets`, `seed`, `psl`: must equal those of every client; `id`: the identity of the store | store | forever |
| `gossamer:crawls` | set | names of all crawls | crawls | until the crawl is removed |
| `gossamer:crawl:NAME` | hash | the record of a crawl. `spec` (JSON): the configuration that must be the same when the crawl is resumed; `state`; `reason`; `started_at`; `ended_at`; `spent`: seconds of work; `idle`: seconds without work since the start; `door` (JSON): pid, host, folder and files of the process that runs the crawl; `outputs`; `sites` (JSON): maps each site's name to the version of its file; `seeded`; `refreshing`: 1 during a pass of `--refresh`. A fleet's crawl also has: `job`: the submitted job; `revision`: how many times it was submitted; `weight`; `precedence`; `ends_as`; `reach:SITE` (JSON, `sites.remote_sites`): data for workers that lack the site's file; `apart`: groups `SITE+SITE` whose hosts wait for workers with all of these files | crawls | until the crawl is removed |
| `gossamer:workers` | hash | maps each worker's name to its record (JSON, `state.workers`) | the worker | a day after its last heartbeat |
| `gossamer:orders` | hash | maps a worker's name to the command for it: `drain` or `stop` | workers | until the worker is gone |
| `gossamer:refused` | hash | maps `WORKER TAB CRAWL`, or `WORKER TAB SITE TAB CRAWL`, to the reason why the worker does no work for the crawl or the site | workers | until the worker works for it, or the crawl ends |
| `gossamer:malformed` | list | the malformed messages that workers removed from the broker's queues, newest first, at most 100 (JSON: `at`, `worker`, `queue`, `reason`, `body`, `size`) | malformed_messages | 30 days after the last one |
| `gossamer:malformed:count` | string | total number of malformed messages | malformed_messages | 30 days after the last one |
| `gossamer:name:WORKER` | string | the token of the process that uses this worker name | the worker | 15 s |
| `gossamer:slot:LANE:I` | string | the token of the process that holds the slot, or `queued ...` while a message for the slot is on its way | slots | 6 s |
| `gossamer:lead:WHAT` | string | the token of the only process that does the task WHAT, which is `slots` or `end CRAWL` | slots | 6 s |
| `gossamer:anchors:NAME` | set | `FROM TAB TO`: the redirects of seeds, which extend the scope to TO; FROM is '' for a host that `gossamer add --as-seeds` added to the scope | crawls | until the crawl is removed |
| `gossamer:setup:NAME` | string | the setup of a crawl that no fleet runs, without outputs and secrets (`app.job_payload`); `gossamer add` reads it | stored_setup | until the crawl is removed |
| `gossamer:quality:SITE` | list | the last good runs of the site, at most 10, newest first (JSON, `model.quality.GoodRun`) | quality | 400 days after the last one |
| `gossamer:lately:CRAWL` | stream | the recent pages of a crawl whose gates are checked while it runs; at most 100 entries. `w`: the process that visited the pages; `p`: the number of pages; `n` (JSON): their counts | quality | a day after the last one |
| `gossamer:told:CRAWL` | set | the gates about which a warning was printed | quality | an hour after the last one |
| `gossamer:rates` | hash | the caps. `fleet`, or the name of a lane: its cap in requests per second; the same name after `tat:`: the time of its next permitted request, in ms | rates | until the cap is removed |
| `gossamer:domains` | set | the registered domains that have metrics of their own, at most 50 | metric_domains | forever |
| `{attempts:CRAWL}l` | list | the crawl's attempts, oldest first. Each entry is a batch: the number of its lines (4 bytes), then the compressed JSON lines (`state.attempts_table`) | workers of a shared store | the crawl; bounded by `keep_attempts` |
| `{attempts:CRAWL}n` | hash | the size of the list: `lines`: lines that were written; `dropped`: lines that were dropped again; `bytes`: the present size | workers of a shared store | the crawl |
| `gossamer:scores` | hash | maps `CRAWL TAB WORKER` to the recent success of the worker's visits (JSON, `state.scores`) | the worker | a minute after its last record |
| `{proxies}s` | hash | maps a proxy's id, `@PROVIDER` or `ID TAB DOMAIN` to statistics (`proxy_health.lua`) | proxy_health | a week after its last use |
| `{proxies}v` | zset | the same names; the score of each is the number of its last change | proxy_health | as `{proxies}s` |
| `{proxies}c:POOL` | string | the worker that does the health checks of the pool | proxy_stats | 5 s |
| `gossamer:session:CRAWL:NAME` | string | the proxy of a sticky session: the proxy's id, and the session word if the proxy is a gateway | session_proxy | the session |
| `gossamer:logins` | hash | maps each site with accounts to its hosts (JSON) | logins | until forgotten |
| `gossamer:login:SITE` | hash | the accounts of the site, for all crawls. The name of an account follows each of these prefixes. `v:`: the version of its log-in; `j:`: cookies and identity (encrypted if there is a key); `c:`: the revision of these cookies; `d:`: a fingerprint of its credentials; `t:`: the time of the log-in in ms; `l:`: `TOKEN MS` of the worker that logs in now; `u:`: the time of the last use in ms; `o:`: the number of that use (from the counter `turn`); `n:`: the earliest time of the next use in ms; `f:`: the number of failures; `w:`: the time in ms until which the account waits after failures; `r:`: `MS FINGERPRINT REASON` of rejected credentials; `x:`: the number of log-ins that had no effect | login_account login_result login_cookies login_lost | 90 days after the last change |
| `{ip:ADDRESS}`, `{domain:NAME}` | hash | state that the hosts of a group share with `--polite-by`. `n`: the time of the next start in ms; `r`: the last start time in ms that a waiting worker was given; `w`: the token of the worker that started last; `tTOKEN`: the time in ms until which the turn of this token is held | host_group_enter host_group_leave | a minute or two |
| `{b:N}c` | set | the crawls that have URLs in this bucket | add | until the crawl is removed |
| `{b:N}e` | string | `RUN MS`: the run id of the server process that gave the last claims, and the time in ms of its first claim (0 if it was the bucket's first server) | claim | forever |
| `{b:N}@totals` | hash | the totals over all crawls, which never decrease: counts of settled visits, and the names with `|` of `worker.visit_totals` | settle add requeue_expired | forever |
| `{b:N}@opened` | list | the circuit breakers that opened and were not logged yet, newest first, at most 100. Each entry is `HOST TAB ERROR TAB MS TAB REASON`. MS: the time until which the breaker is open; REASON: why the host was given up, or empty if it was not | settle claim free_slots store_robots | an hour |
| `{b:N}w` | string | a value without meaning. A replica that confirms this write also has all earlier writes | client | 1 s |
| `{b:N}h:HOST` | hash | the state of the host. `i`: requests in flight; `m`: the operator's maximum of requests in flight; `n`: the next start in ms; `d`: the delay in ms; `c`: the pace; `p`: the time in ms until which the host is paused; `D`: the operator's delay in ms; `F`: the delay that applies without `D`; `cd`: the Crawl-delay in ms; `rb`: the token of the open robots claim; `z`: 1 if the next claim takes many URLs to the robots gate; `k`: the number of claims modulo 8. For each scheme X (`h` or `s`): `vX`: the robots version; `eX`: the robots expiry in ms; `aX`: the robots attempts. `w`: the time in ms until which the host is closed because robots.txt could not be read; `b`: for hosts that fail, the breaker and the share of failures (`breaker.lua`) | claim settle store_robots host_control requeue_expired free_slots | 48 h after the last claim; ten years while an operator's `D` or `m` holds |
| `{b:N}@rung:HOST` | string | the rung that fetches the host's pages (JSON, `politeness.ladder`) | learned_rung | 30 days after the last change |
| `{b:N}o:S:HOST` | string | the robots.txt of an origin (S is `h` or `s`), trimmed and compressed | store_robots | 48 h |
| `{b:N}CRAWL:r:HEAP` | zset | a ready heap: the hosts, each with its earliest next start in ms as the score. The name HEAP is `LANE` or `LANE@REGION`; for hosts that wait for workers with the files of several sites `LANE+SITE+SITE`; for hard hosts `LANE!` or `LANE!@REGION` | all verbs | while hosts wait |
| `{b:N}CRAWL:u:HEAP` | zset | the hosts of a ready heap, ordered by the level of their next URL, and within a level by time (`host_order.lua`) | all verbs | while hosts wait, if the bucket has had URLs of several levels |
| `{b:N}CRAWL:rt` | zset | only if there have been several levels: the hosts that have retries; the score of each is the time in ms at which its next retry is due | settle claim | until then |
| `{b:N}CRAWL:h:HOST` | hash | the host's state in the crawl. `q`: queued URLs; `L`: the levels that contain URLs; `y`: the host's own heap if that is not `http` (with `?` at the end if its requests need regions); `Y`: the heap that the host is in, if that may differ from `y`; `u`: accepted URLs; `v`: vouchers; `o`: parked URLs; `k`: URLs in the cold store; `s`: 1 if a seed was redirected to the host. If hosts have limits (`host_limits.lua`): `B`: bytes so far; `F`: the time of the first claim in ms, minus the time for which the crawl had not been running | add claim settle | the crawl |
| `{b:N}CRAWL:q:HOST:LEVEL` | list | the queue entries (`request.entry`) of one priority | add claim settle | while not empty |
| `{b:N}CRAWL:k:HOST` | hash | the host's URLs in the cold store. `LEVEL`: their number; `cLEVEL`: the number of the last entry that was loaded back | add settle cold_refill | while there are some |
| `{b:N}CRAWL:o` | list | the outbox to the cold store: entries `NUMBER TAB LEVEL TAB HOST TAB entry` | add settle cold_written | while not empty |
| `{b:N}CRAWL:rf` | set | the hosts that have URLs in the cold store and a short queue | add claim cold_refill | while there are some |
| `{b:000}CRAWL:turn:NAME` | string | the worker that does the task NAME (`spill`) for the whole crawl | cold | 5 s |
| `{b:000}CRAWL:pl` | zset | the producers that may add URLs; the score of each is the expiry of its lease in ms | producers | while they work |
| `{b:000}CRAWL:fr` | string | the freshness figures of a crawl that visits its pages again (JSON, `recrawl.freshness`) | revisit_loop | the crawl |
| `{b:000}CRAWL:sg` | list | the URLs that a user reported as changed (`gossamer changed`), at most 10,000 | changed revisit_loop | until the revisit loop reads them |
| `{b:000}CRAWL:po` | hash | maps each producer to its position (JSON) | producers | the crawl |
| `{b:N}CRAWL:t:HOST` | zset | the retries `LEVEL TAB entry`; the score of each is its due time in ms | settle claim | while not empty |
| `{b:N}CRAWL:p:HOST` | list | the entries that are parked because the host has used up its page budget | add | the crawl |
| `{b:N}CRAWL:e:HOST` | list | `LEVEL TAB entry`: the entries that are parked because the host has reached its byte or time limit | claim return_parked | while there are some |
| `{b:N}CRAWL:v:HOST` | set | the registered domains that vouch for a discovered host (32-bit hashes, at most 10) | add | the crawl |
| `{b:N}CRAWL:hs` | set | the names of the heaps other than `http`, without `!` | add settle | the crawl |
| `{b:N}CRAWL:l` | zset | the leases: the tokens of claims; the score of each is its expiry in ms | claim settle renew_leases requeue_expired | while claims are open |
| `{b:N}CRAWL:lp` | hash | maps the token of a claim to `HOST TAB LEVEL TAB kind TAB n0 TAB n1 TAB entry` | claim settle requeue_expired | while claims are open |
| `{b:N}CRAWL:d:X` | hash | only with a depth limit: maps a part of a URL's fingerprint to the minimum depth at which the URL was found, plus 100 once it has been visited | add settle | the crawl |
| `{b:N}CRAWL:a:HOST` | list | `LEVEL TAB LANE TAB HI TAB LO TAB entry`: links to a host outside the scope, which are kept in case a seed is redirected to the host; at most 1,000 | add settle admit_held_links | the crawl |
| `{b:N}CRAWL:g` | hash | the generations of the seen set: `n`: their number; `sI`: the number of sets in generation I (with `bloom`: of pages); `cI`: the number of URLs in generation I. The cold store: `hot`: the maximum number of URLs of a host and level that stay outside the cold store (0: no maximum); `out`: the number of URLs in the cold store; `seq`: the last number given to an entry. `lost`: the expected number of new URLs that were wrongly taken for known ones so far, in units of 10^-12 URLs. `lv`: the level of the first URL, followed by `*` once there have been several levels. `rv`: the number of the last batch of known URLs that was queued again | add settle revisit | the crawl |
| `{b:N}CRAWL:s:GEN:X` | set | a part of the seen set: 32-bit remainders of fingerprints (with `exact`: 64-bit) | add settle | the crawl |
| `{b:N}CRAWL:b:NODE` | string | a part of the seen set: one page of a filter (`filter_pages.lua`) | add settle | the crawl |
| `{b:N}CRAWL:x` | hash | the dead letters: maps the id of each to `reason TAB detail TAB HOST TAB LEVEL TAB ms TAB entry` | settle requeue_expired dead_letters | until the letter is requeued or dropped |
| `{b:N}CRAWL:n` | hash | the counts of the crawl: `open`, `added`, `found`, `pages` and so on; `skip:REASON`; `err:REASON`; `own:NAME` (`page.count`); `q|SITE|...` (`gossamer.model.quality`); `seeds`: seeds without a response so far; `strangers` and `singles`: pages used by hosts with no voucher, and with one voucher; `token` and `letter`: the last numbers given to a claim and to a dead letter | scripts only | the crawl |
| `{b:N}CRAWL:f` | hash | the committed length of each output file in bytes; under `fill\|FILE` the offset in the kept rows up to which a new output has been filled | settle | the crawl |
| `{b:000}CRAWL:hd` | list | the item rows that lack usual values. They are held until the run is assessed at its end (`frontier.quality.HeldRows`) | quality | the run |
| `{b:N}CRAWL:y` | hash | the sizes of the near-duplicate index: in `e` (equal pages), `b` (bands) and `s` (sketches) the number of keys of that map, and in `ep`, `bp` and `sp` the number of its parts | near_duplicates | the crawl |
| `{b:N}CRAWL:y:MAP:I` | string | one part of a map of the near-duplicate index: concatenated keys and values of fixed width | near_duplicates | the crawl |
| `{b:000}CRAWL:turn` | string | the worker whose turn it is to claim, if the crawl has limits and there are many buckets | multi_bucket | 5 s |
| `{b:N}CRAWL:rp` | hash | the recent rates: maps the number of a period of 10 s, modulo 64, to `NUMBER,PAGES,REQUESTS`; `at`: the time of the last page in ms | settle | the crawl |
| `{b:N}CRAWL:rl` | hash | the recent rates by the lanes and the region of the worker: maps `LANES\|REGION\|NUMBER modulo 64` to `NUMBER,PAGES`. Workers that serve only the lane `http` and have no region are left out | settle | the crawl |
| `{b:N}CRAWL:w` | hash | maps each worker's name to its heartbeat (JSON) | worker loop | the crawl |
| `{b:000}@schedules` | set | the names of all schedules | edit_schedule | forever |
| `{b:000}@schedule:NAME` | hash | the schedule. `spec` (JSON); `rev`: the number of its last change; `mark`: the time in ms up to which due times have been decided; the counts `runs`, `failed`, `skipped` and `missed` | edit_schedule due_runs scheduled_run | until the schedule is removed |
| `{b:000}@open:NAME` | hash | the runs that have not ended: maps `DUE-MS:PART` to the run (JSON) | due_runs scheduled_run | until the run ends |
| `{b:000}@runs:NAME` | list | the runs (JSON) that have ended, latest first, at most 1,000 | due_runs scheduled_run | until `clean` removes them by age; the latest one stays |
| `{b:000}@leader` | string | `TOKEN OWNER` of the scheduler that leads | elect_scheduler | 7 s after its last heartbeat |
| `{b:000}@fence`, `{b:000}@changes` | string | `@fence`: the last token of a lead; `@changes`: the number of the last change of any schedule | elect_scheduler edit_schedule scheduled_run | forever |
| `{b:000}@credits` | hash | the credits of unlockers that are spent or reserved: `day:UNLOCKER:N`: on day N since the epoch (UTC); `crawl:CRAWL`: by a crawl | unlocker_reserve unlocker_settle | two days; the crawl |
| `{b:000}@calls:UNLOCKER` | hash | the calls in progress: maps the token of a call to `ENDS-MS CREDITS DAY CRAWL` | unlocker_reserve unlocker_settle | until settled or expired |
| `{b:000}@unlocker:UNLOCKER` | string | the circuit breaker of the unlocker (`breaker.lua`) | unlocker_settle | a day after the last fault |
| `{b:000}@alerts` | hash | maps `RULE{label=value,...}` to the alert (JSON, `observability.alert_states`) | alerts | a day after it is resolved |
| `{b:000}@mutes` | hash | maps a pattern of alerts to the time until which they are muted, in seconds since the epoch | alerts | until set again |
| `{b:000}@cleaned` | string | the time of the last cleanup in ms | cleanup | forever |
"""

from __future__ import annotations

import re

from gossamer.model.late_pattern import late_pattern

VERSION = 1
META = "gossamer"
CRAWLS = "gossamer:crawls"
MALFORMED, MALFORMED_COUNT = "gossamer:malformed", "gossamer:malformed:count"


ALERTS, MUTES = "{b:000}@alerts", "{b:000}@mutes"


def record(crawl: str) -> str:
    """Returns the key of a crawl's record."""
    return f"gossamer:crawl:{crawl}"


def turn(crawl: str, name: str) -> str:
    """Returns the key of the lease of a task that one worker does for the whole crawl."""
    return f"{tag(0)}{crawl}:turn:{name}"


def freshness(crawl: str) -> str:
    """Returns the key of the freshness of a crawl that visits its pages again."""
    return f"{tag(0)}{crawl}:fr"


def changed_pages(crawl: str) -> str:
    """Returns the key of the URLs of a crawl that a user reported as changed."""
    return f"{tag(0)}{crawl}:sg"


def totals(bucket: int) -> str:
    """Returns the key of a bucket's totals of all crawls."""
    return f"{tag(bucket)}@totals"


def attempts(crawl: str) -> tuple[str, str]:
    """Returns the keys of a crawl's attempts: the list, and its size."""
    return f"{{attempts:{crawl}}}l", f"{{attempts:{crawl}}}n"


def opened(bucket: int) -> str:
    """Returns the key of the circuit breakers that opened and were not logged yet."""
    return f"{tag(bucket)}@opened"


def anchors(crawl: str) -> str:
    """Returns the key of a crawl's redirected seeds."""
    return f"gossamer:anchors:{crawl}"


def setup(crawl: str) -> str:
    """Returns the key of the stored setup of a crawl that no fleet runs."""
    return f"gossamer:setup:{crawl}"


def group(name: str) -> str:
    """Returns the key of a group of hosts, `ip:192.0.2.1` or `domain:example.com`. Each group has its own
    cluster slot."""
    return f"{{{name}}}"


def quality(site: str) -> str:
    """Returns the key of a site's last good runs."""
    return f"gossamer:quality:{site}"


def lately(crawl: str) -> str:
    """Returns the key of the recent pages of a crawl, as its processes saw them."""
    return f"gossamer:lately:{crawl}"


def told(crawl: str) -> str:
    """Returns the key of the gate warnings that were given for a crawl."""
    return f"gossamer:told:{crawl}"


PROXIES = ("{proxies}s", "{proxies}v")


def session(crawl: str, name: str) -> str:
    """Returns the key of a sticky session. `name` is a domain or a host."""
    return f"gossamer:session:{crawl}:{name}"


LOGINS = "gossamer:logins"


def login(site: str) -> str:
    """Returns the key of a site's log-ins."""
    return f"gossamer:login:{site}"


def checks(pool: str) -> str:
    """Returns the key of the lease on a pool's health checks."""
    return f"{{proxies}}c:{pool}"


NAME = re.compile(r"(?![ho](?::|\Z))[A-Za-z0-9][A-Za-z0-9._-]{0,79}\Z")
"""The pattern of a crawl's name. It excludes the names `h` and `o`, because the keys of such a crawl would
look like those of hosts."""

_CRAWL_KEYS = r"(?:[ru]:[^:]+|[aeh]:.+|d:\d+|q:.+:-?\d+|t:.+|p:.+|v:.+|hs|hd|l|lp|g|s:\d+:\d+|b:\d+|x|n|f|w|y|y:[ebs]:\d+|turn|k:.+|o|rf|rp|rl|rt|turn:[a-z]+|pl|po|fr|sg)"
_CLOCK_KEYS = r"@(?:totals|opened|alerts|mutes|schedules|(?:schedule|open|runs):[A-Za-z0-9._-]+|leader|fence|changes|cleaned|credits|(?:calls|unlocker):[a-z]+)"
KNOWN = late_pattern(
    rf"(?:gossamer|\{{(?:ip|domain):[^}}]+\}}|\{{attempts:{NAME.pattern[:-2]}\}}[ln]|gossamer:(?:rates|domains|scores|session:.+|logins|login:.+|quality:[A-Za-z0-9._-]+)|\{{proxies\}}(?:[sv]|c:.+)|gossamer:(?:crawls|malformed(?::count)?|workers|orders|refused|name:.+|slot:.+:\d+|lead:.+)|gossamer:(?:crawl|anchors|setup|lately|told):{NAME.pattern[:-2]}|\{{b:[0-9a-f]{{3}}\}}(?:[cew]|h:.+|o:[hs]:.+|@rung:.+|{_CLOCK_KEYS}|{NAME.pattern[:-2]}:{_CRAWL_KEYS}))\Z"
)


def tag(bucket: int) -> str:
    """Returns the hash tag of a bucket, for example `{b:0a3}`."""
    return f"{{b:{bucket:03x}}}"


def bucket_of(host: str, buckets: int) -> int:
    """Returns the bucket of a host. The bucket depends only on the registered domain. All hosts of a domain
    therefore share one bucket, which applies the limits and the politeness of the domain."""
    if buckets == 1:
        return 0
    from gossamer import url

    return url.fingerprint(url.registered_domain(host), 0) % buckets


def known(key: str) -> bool:
    """Returns whether a key is one of those listed above."""
    return KNOWN.match(key) is not None
