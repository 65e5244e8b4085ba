r"""Lists the keys of the store: the type of each key, its contents, the code that writes it, and its
lifetime. A test fails if the store contains a key that is not listed here.

A bucket is a shard of the frontier. All keys of a bucket contain the bucket's hash tag, such as `{b:0a3}`, so
these keys are in one Cluster slot. All hosts of a registered domain are in one bucket. All crawls share the
state of a host. In a key that belongs to one crawl, the crawl's name follows the hash tag. Scripts receive
the hash tag and, if needed, the crawl's name, and derive the names of all keys from these two texts. The
store must therefore allow scripts to access undeclared keys of the same slot.

| key | type | contents | written by | lifetime |
| --- | --- | --- | --- | --- |
| `gossamer` | hash | `version`, `buckets`, `seed`, `psl`: every client must have the same values. `id`: the store's identity (`store`) | store | forever |
| `gossamer:crawls` | set | the names of all crawls | crawls | until the crawl is removed |
| `gossamer:crawl:NAME` | hash | the record of a crawl. `spec` (JSON): the configuration that must be the same when the crawl is resumed; `state`; `reason`; `started_at`; `ended_at`; `spent`: the number of seconds during which processes have worked on the crawl; `idle`: the number of seconds since the crawl's start during which no process has worked on the crawl; `door` (JSON): pid, host, folder and files of the process that runs the crawl; `outputs`; `sites` (JSON): maps each site's name to the version of its file; `seeded`; `refreshing`: 1 during a pass of `--refresh`; `finishing`: 1 if the crawl retries nothing any more; `live` (JSON, `crawls.LiveChanges`): limits and exclusions that were changed while it ran; `finish_at`: when it will begin to do so; `tells`: what the crawl counts as new, changed and unchanged (`crawls.Record.tells`). The record of a fleet's crawl has more fields. `job`: the submitted job; `revision`: how many times the crawl was submitted; `run_from`: the value of `spent` at the last submission; `timed_at`: the store's time up to which `spent` is counted, while the crawl runs; `weight`; `precedence`; `ends_as`; `reach:SITE` (JSON, `sites.remote_sites`): data for workers that lack the site's file; `apart`: groups of sites (`SITE+SITE`). The hosts of a group wait for workers that have the files of all these sites | crawls | until the crawl is removed |
| `gossamer:states` | hash | maps each crawl to the state and the reason that a fleet's log last reported: `STATE TAB REASON` | store_events | until the crawl is removed |
| `gossamer:workers` | hash | maps each worker's name to its record (JSON, `state.workers`) | the worker | a day after its last heartbeat |
| `gossamer:orders` | hash | maps a worker's name to the command for it: `drain` or `stop` | workers | until the worker is gone |
| `gossamer:refused` | hash | maps `WORKER TAB CRAWL`, or `WORKER TAB SITE TAB CRAWL`, to the reason why the worker refuses to work for the crawl or the site | workers | until the worker accepts the crawl or the site again, or until the crawl ends |
| `gossamer:malformed` | list | the malformed messages that workers removed from the broker's queues, newest first, at most 100 (JSON: `at`, `worker`, `queue`, `reason`, `body`, `size`) | malformed_messages | 30 days after the last malformed message |
| `gossamer:malformed:count` | string | the total number of malformed messages | malformed_messages | 30 days after the last malformed message |
| `gossamer:name:WORKER` | string | the token of the process that uses this worker name | the worker | 15 s |
| `gossamer:slot:LANE:I` | string | the token of the process that holds the slot, or `queued ...` | slots | 6 s |
| `gossamer:lead:WHAT` | string | the token of the one process that does the task WHAT, which is `slots`, `alerts`, `webhooks`, `end CRAWL` or `revisit CRAWL` | slots | 6 s |
| `gossamer:broker` | string | the error with which the broker refused the last message. Missing while the broker takes messages (`state.broker_state`) | keeper | 60 s |
| `gossamer:anchors:NAME` | set | redirects of seeds, as `FROM TAB TO`. The scope treats the URL TO as an additional seed. FROM is '' if TO was added with `gossamer add --as-seeds` | crawls | until removed |
| `gossamer:setup:NAME` | string | the setup of a crawl that runs without a fleet. The setup contains no outputs and no secrets (`app.job_payload`). The command `gossamer add` reads the setup | stored_setup | until removed |
| `gossamer:quality:SITE` | list | the last good runs of a site, at most 10, newest first (JSON, `model.quality.GoodRun`) | quality | 400 days after the last good run |
| `gossamer:runs:LIKENESS` | list | the last good runs that are comparable, at most 30, newest first (JSON, `model.quality.RunRecord`). LIKENESS: a hash of the targets, site versions, limits and mode (`app.run_comparison`) | run_records | 400 days after the last good run |
| `gossamer:lately:CRAWL` | stream | counts of the recent pages of a crawl, in at most 100 entries. The key exists only if the quality gates of the crawl are checked while the crawl runs. Fields of an entry: `w`: the process that saw the pages; `p`: the number of pages; `n`: the counts of these pages (JSON) | quality | a day after the last entry |
| `gossamer:told:CRAWL` | set | the gates that have already caused a warning | quality | an hour after the last warning |
| `gossamer:rates` | hash | the rate caps. `fleet` or a lane -> maximum requests per second; `tat:fleet` or `tat:LANE` -> the time of the next permit in ms | rates | until removed |
| `gossamer:domains` | set | the registered domains that have their own metrics, at most 50 | domains_with_metrics | forever |
| `{attempts:CRAWL}l` | list | the crawl's attempts, oldest first, in batches. A batch consists of 4 bytes (the number of lines) and compressed JSON lines (`state.attempts_table`) | workers of a shared store | the crawl; bounded by `keep_attempts` |
| `{attempts:CRAWL}n` | hash | `lines`: the number of lines written; `dropped`: how many of them were dropped; `bytes`: the current size | workers of a shared store | the crawl |
| `gossamer:scores` | hash | `CRAWL TAB WORKER` -> how often and how fast the worker's recent visits succeeded (JSON, `state.scores`) | the worker | a minute after its last record |
| `{proxies}s` | hash | a proxy's ID, `@PROVIDER` or `ID TAB DOMAIN` -> statistics (`proxy_health.lua`) | proxy_health | a week after its last use |
| `{proxies}v` | zset | each field of `{proxies}s` -> the number of its last change | proxy_health | as `{proxies}s` |
| `{proxies}c:POOL` | string | the worker that runs the health checks of a pool | proxy_stats | 5 s |
| `gossamer:session:CRAWL:NAME` | string | the proxy of a sticky session: the proxy's ID, and the session ID for the proxy's gateway | session_proxy | the session |
| `gossamer:logins` | hash | each site with accounts -> its hosts (JSON) | logins | until forgotten |
| `gossamer:login:SITE` | hash | a site's accounts, for all crawls. The name of a field is a prefix and the account's name. The prefixes: `v:` the version of the log-in; `j:` the cookies and the identity (encrypted if there is a key); `c:` the revision of `j:`; `d:` the fingerprint of the credentials; `t:` ms of the log-in; `l:` `TOKEN MS`, the token of the worker that is logging in, and the ms until which this worker may log in; `u:` ms of the last use; `o:` the number of the last use (counted in the field `turn`); `n:` ms of the earliest next use; `f:` the number of failures in a row; `w:` ms until which no log-in is tried after these failures; `r:` `MS FINGERPRINT REASON`, the ms until which rejected credentials are not tried again, the fingerprint of these credentials, and the reason; `x:` the number of consecutive log-ins without effect | login_account login_result login_cookies login_lost | 90 days after the last change |
| `{ip:ADDRESS}`, `{domain:NAME}` | hash | the request budget that the hosts of a group share (`--polite-by`). `n`: ms of the next start; `r`: ms of the latest start that was assigned to a waiting worker; `w`: the TOKEN of the most recent turn (the right to send one request); `tTOKEN`: ms until which the turn with this TOKEN is valid | host_group_enter host_group_leave | a minute or two |
| `{b:N}c` | set | the crawls that have URLs in this bucket | add | until removed |
| `{b:N}e` | string | `RUN MS`. RUN: the run ID of the server process that ran the last claim. MS: the time in ms of the first claim on the server process RUN, or 0 if the bucket has had only one server process | claim | forever |
| `{b:000}@actions` | stream | who changed what, about 10,000 actions. Field `a`: the action (JSON, `state.action_log.Action`) | action_log | forever |
| `{b:000}@events` | stream | the events of crawls, about 10,000. Field `e`: the event (JSON, `operations.results.CrawlEvent`) | crawl_events | forever |
| `{b:000}@reported` | hash | crawl -> what was last reported about it as an event (JSON) | crawl_events | until the crawl is removed |
| `{b:000}@hooks` | hash | a webhook's id -> the webhook (JSON, `state.webhooks.StoredWebhook`), its secret encrypted if there is a key | webhooks | until removed |
| `{b:000}@hooks:at` | string | the number of the last event that was put into the outbox of webhooks | webhooks | while there are webhooks |
| `{b:000}@hooks:due:WEBHOOK` | zset | the number of an event -> ms of the next attempt to deliver it, at most 10,000 | webhooks | until delivered |
| `{b:000}@hooks:dead:WEBHOOK` | zset | the number of an event -> ms at which its delivery was given up, at most 10,000 | webhooks | until sent again |
| `{b:000}@hooks:box:WEBHOOK` | hash | the number of an event -> its delivery (JSON, `state.webhooks.Delivery`) | webhooks | as the entry of `due` or `dead` |
| `{b:000}@answer:HASH` | string | the answer to a request with an idempotency key (msgpack) | kept_answers | a day |
| `{b:000}@running:HASH` | string | the hash of a request with an idempotency key that is running | kept_answers | 30 s |
| `{b:N}@totals` | hash | the totals of all crawls, which never decrease: the counts of settled visits, and the counts whose names contain `|` (`worker.visit_totals`) | settle add requeue_expired | forever |
| `{b:N}@opened` | list | the openings of hosts' circuit breakers that are not logged yet, newest first, at most 100: `HOST TAB ERROR TAB MS TAB REASON`. MS: the time in ms until which the breaker is open. REASON is empty unless the crawler has given up the host | settle claim free_slots store_robots | an hour |
| `{b:N}w` | string | always empty. A replica that has received this key has also received all earlier writes | client | 1 s |
| `{b:N}h:HOST` | hash | the state of a host. Requests: `i`: number in flight; `m`: the maximum in flight that an operator set; `M`: the maximum in flight if no operator set one; `k`: number of claims modulo 16; `n`: ms of the next start. Delays in ms: `d`: the learned delay; `D`: the delay that an operator set; `F`: the delay that applies after the operator's delay is removed; `cd`: the Crawl-delay. `c`: the learned pace. `p`: ms until which an operator paused the host. `z`: 1 if the next claim takes several URLs at once, because many of them may need no request (`claim.lua`). `b`: the circuit breaker and the share of failures (`breaker.lua`), stored only for a host with failures. robots.txt: `rb`: the token of the open claim that fetches robots.txt; `w`: ms until which the host is closed because robots.txt could not be read. Each scheme X (h or s) has three more fields: `vX`: the version of robots.txt; `eX`: ms of its expiry; `aX`: the number of attempts to fetch it | claim settle store_robots host_control requeue_expired free_slots | 48 h after the last claim, or ten years if an operator has set `D` or `m` |
| `{b:N}@rung:HOST` | string | the record of which rungs can fetch the host's pages (JSON, `politeness.ladder`) | learned_rung | 30 days after the last change |
| `{b:N}o:S:HOST` | string | the robots.txt of an origin (S is h or s), trimmed and compressed | store_robots | 48 h |
| `{b:N}CRAWL:r:HEAP` | zset | a ready heap: host -> ms before which no request to the host may start. The name of a heap is `LANE` or `LANE@REGION`. If the hosts wait for workers that have certain site files, the name contains the sites of these files (`LANE+SITE+SITE`). The name contains `LANE!` if the heap contains hard hosts | all verbs | while hosts wait |
| `{b:N}CRAWL:u:HEAP` | zset | the hosts of a ready heap, sorted by the level of their next URL, and then by time (`host_order.lua`) | all verbs | while hosts wait. The key exists only if the bucket has had URLs of several levels |
| `{b:N}CRAWL:rt` | zset | host -> ms when the host's next retry is due. The key exists only if the bucket has had URLs of several levels | settle claim | while hosts wait for retries |
| `{b:N}CRAWL:h:HOST` | hash | the crawl's data about a host. Numbers of URLs: `q`: queued; `u`: accepted; `o`: parked; `k`: in the cold store. `L`: the levels that hold URLs. `y`: the name of the heap that is assigned to the host. If `y` is missing, the heap `http` is assigned. A `?` at the end of `y` means that some requests of the host may require a certain region. `Y`: the name of the heap that currently contains the host. If `Y` is missing, the assigned heap contains the host. `v`: the number of vouchers. `s`: 1 if a seed was redirected to the host. If hosts have limits (`host_limits.lua`): `B`: the number of bytes so far; `F`: the time of the host's first claim in ms, minus the crawl's idle time until then in ms | add claim settle | the crawl |
| `{b:N}CRAWL:q:HOST:LEVEL` | list | the queue entries (`request.entry`) of one priority level | add claim settle | while not empty |
| `{b:N}CRAWL:k:HOST` | hash | the URLs of a host in the cold store. LEVEL -> the number of cold URLs in the level; `cLEVEL` -> the number of the last cold entry that was moved back to the queue of the level | add settle cold_refill | while not empty |
| `{b:N}CRAWL:o` | list | the outbox, that is, entries on their way to the cold store: `NUMBER TAB LEVEL TAB HOST TAB entry` | add settle cold_written | while not empty |
| `{b:N}CRAWL:rf` | set | hosts that have URLs in the cold store and an almost empty queue | add claim cold_refill | while not empty |
| `{b:000}CRAWL:turn:NAME` | string | the worker that does a task for the whole crawl: `spill` | cold | 5 s |
| `{b:000}CRAWL:pl` | zset | the producers that may add URLs: name of the producer -> ms of its lease's expiry | producers | while they work |
| `{b:000}CRAWL:ag` | hash | the unfinished `gossamer add --again` commands: hash of the command -> `TOKEN SECONDS`, the token of the command and the time of its first run (`app.unfinished_additions`) | unfinished_additions | until the command ends |
| `{b:000}CRAWL:fr` | string | how fresh the known pages of a crawl with `--revisit` are (JSON, `recrawl.freshness`) | revisit_loop | the crawl |
| `{b:000}CRAWL:sg` | list | URLs that a user reported as changed (`gossamer changed`), at most 10,000 | changed revisit_loop | until read |
| `{b:N}CRAWL:vc` | hash | the page table of a fleet's crawl with `--revisit`: number -> chunk of known pages (`recrawl.page_table_chunks`). The keys `vc`, `vq`, `vf`, `vi` and `vl` of a crawl are in one bucket, which depends on the crawl's name (`table_bucket`) | table_commit | the crawl |
| `{b:N}CRAWL:vq` | hash | the known pages that are queued for another visit: ID of the page -> number of its batch | table_commit | until visited |
| `{b:N}CRAWL:vf` | hash | values of the page table: `version` (each commit changes it), `batch`, `price`, `wall`, and sums of measurements | table_commit | the crawl |
| `{b:N}CRAWL:vi` | list | outcomes of visits that the page table does not contain yet, as compressed JSON lines (`KnownLine`) | visit_outcomes table_commit | until taken |
| `{b:N}CRAWL:vl` | hash | the inlinks, stored only with the option `--importance inlinks`: number -> packed pairs of a URL's fingerprint and the number of pages that link to the URL (`recrawl.stored_table`) | table_commit | the crawl |
| `{b:000}CRAWL:po` | hash | the positions of producers: name of the producer -> its position (JSON) | producers | the crawl |
| `{b:N}CRAWL:t:HOST` | zset | the retries of a host: `LEVEL TAB entry` -> ms when the retry is due | settle claim | while not empty |
| `{b:N}CRAWL:w:HOST` | hash | the last failures of a host's URLs that are retried: SHA-1 of the URL's entry without its numbers of failures and crashes -> `reason TAB detail` | settle | until the URL's visit ends |
| `{b:N}CRAWL:p:HOST` | list | the entries that are parked because the host is over its page budget | add | the crawl |
| `{b:N}CRAWL:e:HOST` | list | the entries that are parked because the host is over its byte or time limit: `LEVEL TAB entry` | claim return_parked | while not empty |
| `{b:N}CRAWL:v:HOST` | set | the registered domains that vouch for a discovered host (32-bit hashes, at most 10) | add | the crawl |
| `{b:N}CRAWL:hs` | set | the names of the crawl's heaps, without the `!` for hard hosts. The name `http` may be missing | add settle | the crawl |
| `{b:N}CRAWL:l` | zset | the leases of claims: token of the claim -> ms when the lease expires | claim settle renew_leases requeue_expired | while claims are open |
| `{b:N}CRAWL:lp` | hash | the open claims: token -> `HOST TAB LEVEL TAB kind TAB n0 TAB n1 TAB entry`. n0 and n1 are the host's next start before and after the claim | claim settle requeue_expired | while claims are open |
| `{b:N}CRAWL:d:X` | hash | the depths of URLs, stored only with a low depth limit: part of a URL's fingerprint -> the minimum depth at which the URL was found, plus 100 if the URL has been visited | add settle | the crawl |
| `{b:N}CRAWL:a:HOST` | list | links to a host outside the scope, at most 1,000: `LEVEL TAB LANE TAB HI TAB LO TAB entry`. The links are kept because a seed may later be redirected to the host | add settle admit_held_links | the crawl |
| `{b:N}CRAWL:g` | hash | Seen set: `n`: the number of generations; `sI`: the sets (bloom: pages) in generation I; `cI`: the URLs in generation I; `lost`: the expected number of new URLs that the seen set has mistaken for known URLs, in units of 10^-12 URLs. Cold store: `hot`: the maximum number of URLs of a host and level outside the cold store (0: no maximum); `out`: the number of URLs in the cold store; `seq`: the number of the last entry. `lv`: the level of the first URL, and a `*` if the bucket has had URLs of several levels. `rv`: the number of the last batch of known URLs that was queued again | add settle revisit | the crawl |
| `{b:N}CRAWL:s:GEN:X` | set | one part of the seen set. Each member of this Valkey set is a part of a URL's fingerprint, with 32 bits, or with 64 bits in the mode `exact` | add settle | the crawl |
| `{b:N}CRAWL:b:NODE` | string | one page of the filter in which the mode `bloom` stores the seen set (`filter_pages.lua`) | add settle | the crawl |
| `{b:N}CRAWL:x` | hash | dead letters: ID -> `reason TAB detail TAB HOST TAB LEVEL TAB ms TAB entry` | settle requeue_expired dead_letters undo_dead_letters | until requeued or dropped |
| `{b:N}CRAWL:xu:TOKEN` | hash | the dead letters of one change (`gossamer dead requeue`, `dead drop`), as in `{b:N}CRAWL:x`, for `dead undo` | dead_letters undo_dead_letters | 10 minutes |
| `{b:000}CRAWL:xl` | hash | the last change of dead letters: `verb`, `token`, and the numbers of the `buckets` | operator | 10 minutes |
| `{b:N}CRAWL:n` | hash | the counts of the crawl: `open`, `added`, `found`, `pages` and others, `skip:REASON`, `err:REASON`, `own:NAME` (`page.count`), `q|SITE|...` (`gossamer.model.quality`), `seeds` (the number of seeds without a response so far), `strangers` (the number of pages charged to hosts without a voucher), `singles` (the number of pages charged to hosts with one voucher), `token` (the number of the last claim), `letter` (the number of the last dead letter) | scripts only | the crawl |
| `{b:N}CRAWL:f` | hash | the committed lengths. file: the length of the output file in bytes; fill\|file: the number of bytes of the kept rows (`sinks.rows_in_data_folder`) that have been copied to a new output file | settle | the crawl |
| `{b:000}CRAWL:gs` | hash | a count's name -> the URL of a sample page (`model.quality.SiteCounts`). `@likeness`: the LIKENESS of a run that is unlike the good runs | run_records | the crawl |
| `{b:000}CRAWL:hd` | list | item rows that lack usual values, held back until the gates have judged the run (`frontier.quality_records.HeldRows`) | quality | the run |
| `{b:N}CRAWL:y` | hash | the near-duplicate index. `e`, `b` and `s`: the number of keys in the maps `e` (equal pages), `b` (bands) and `s` (sketches); `ep`, `bp` and `sp`: the number of parts of each map | near_duplicates | the crawl |
| `{b:N}CRAWL:y:MAP:I` | string | a part of a map: concatenated keys and values of fixed width | near_duplicates | the crawl |
| `{b:000}CRAWL:turn` | string | a lock, if the crawl has limits and the store has several buckets: the token of the worker that may claim now | multi_bucket | 5 s |
| `{b:N}CRAWL:rp` | hash | the recent periods of 10 s: number of the period modulo 64 -> `NUMBER,PAGES,REQUESTS`; `at`: ms of the last page | settle | the crawl |
| `{b:N}CRAWL:rl` | hash | the pages of the recent periods of 10 s, counted separately for each combination of the workers' lanes and region: `LANES\|REGION\|NUMBER modulo 64` -> `NUMBER,PAGES`. NUMBER: the start of the period in seconds since the epoch, divided by 10. Pages are not counted if the worker serves only the lane `http` and has no region | settle | the crawl |
| `{b:000}@schedules` | set | the names of all schedules | edit_schedule | forever |
| `{b:000}@schedule:NAME` | hash | a schedule. `spec` (JSON); `rev`: the number of its last change; `mark`: the time in ms up to which all due times have been handled; and the counts `runs`, `failed`, `skipped` and `missed` | edit_schedule due_runs scheduled_run | until removed |
| `{b:000}@open:NAME` | hash | the runs that have not ended: `DUE-MS:PART` -> run (JSON) | due_runs scheduled_run | until the run ends |
| `{b:000}@runs:NAME` | list | the runs (JSON) that have ended, latest first, at most 1,000 | due_runs scheduled_run | until the cleanup removes old runs, but the latest run stays |
| `{b:000}@leader` | string | the scheduler that leads: `TOKEN OWNER` | elect_scheduler | 7 s after its last heartbeat |
| `{b:000}@fence`, `{b:000}@changes` | string | the token of the last leader; the number of the last change to a schedule | elect_scheduler edit_schedule scheduled_run | forever |
| `{b:000}@credits` | hash | the spent and reserved credits of unlockers. `day:UNLOCKER:N`: the credits of one day (N days since the epoch, UTC); `crawl:CRAWL`: the credits of one crawl | unlocker_reserve unlocker_settle | `day:...`: two days. `crawl:...`: the crawl |
| `{b:000}@calls:UNLOCKER` | hash | the calls in progress: token -> `EXPIRY-MS CREDITS DAY CRAWL` | unlocker_reserve unlocker_settle | until settled or expired |
| `{b:000}@unlocker:UNLOCKER` | string | the circuit breaker of the unlocker (`breaker.lua`) | unlocker_settle | a day after the last fault |
| `{b:000}@alerts` | hash | `RULE{label=value,...}` -> an alert (JSON, `observability.alert_states`) | alerts | a day after the alert is resolved |
| `{b:000}@mutes` | hash | a pattern of alerts -> the time until which these alerts are muted, in seconds since the epoch | alerts | until set again |
| `{b:000}@cleaned` | string | the time of the last cleanup in ms | cleanup | forever |
| `{b:000}@swept` | string | exists if a worker has compared slots and leases lately | lost_slots | 27 s |
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterable
from typing import NamedTuple

from gossamer.model.lazy_pattern import lazy_pattern

VERSION = 1
META = "gossamer"
CRAWLS = "gossamer:crawls"
LOGGED_STATES = "gossamer:states"
BROKER, LEAD = "gossamer:broker", "gossamer:lead:"
MALFORMED, MALFORMED_COUNT = "gossamer:malformed", "gossamer:malformed:count"


EVENTS, REPORTED, ACTIONS = "{b:000}@events", "{b:000}@reported", "{b:000}@actions"
WEBHOOKS, WEBHOOKS_AT = "{b:000}@hooks", "{b:000}@hooks:at"
ALERTS, MUTES, SWEPT = "{b:000}@alerts", "{b:000}@mutes", "{b:000}@swept"


def by_bucket(found: Iterable[bytes]) -> dict[int, list[str]]:
    """Groups keys of the frontier by their bucket, without their tags."""
    groups: dict[int, list[str]] = {}
    for key in found:
        bucket, _, rest = key.decode().partition("}")
        groups.setdefault(int(bucket[3:], 16), []).append(rest)
    return groups


def record(crawl: str) -> str:
    """Returns the key of a crawl's record."""
    return f"gossamer:crawl:{crawl}"


def turn(crawl: str, name: str) -> str:
    """Returns the key of the lease on the task `name`. Only the worker with the lease performs this task for
    the crawl."""
    return f"{tag(0)}{crawl}:turn:{name}"


def freshness(crawl: str) -> str:
    """Returns the key that contains the freshness of a crawl's known pages."""
    return f"{tag(0)}{crawl}:fr"


def changed_pages(crawl: str) -> str:
    """Returns the key of the list of a crawl's URLs that users reported as changed."""
    return f"{tag(0)}{crawl}:sg"


class StoredTableKeys(NamedTuple):
    """The keys of the page table of a fleet's crawl."""

    chunks: str
    queued: str
    facts: str
    outcomes: str
    inlinks: str


def table_bucket(crawl: str, buckets: int) -> int:
    """Returns the bucket that holds the page table of a fleet's crawl. Crawls are spread over the buckets."""
    return zlib.crc32(crawl.encode()) % buckets


def stored_table(crawl: str, buckets: int) -> StoredTableKeys:
    """Returns the keys of the page table of a fleet's crawl."""
    start = f"{tag(table_bucket(crawl, buckets))}{crawl}:v"
    return StoredTableKeys(f"{start}c", f"{start}q", f"{start}f", f"{start}i", f"{start}l")


def additions(crawl: str) -> str:
    """Returns the key of a crawl's unfinished `gossamer add --again` commands."""
    return f"{tag(0)}{crawl}:ag"


def last_change(crawl: str) -> str:
    """Returns the key of the last change of a crawl's dead letters."""
    return f"{tag(0)}{crawl}:xl"


def changed_letters(bucket: int, crawl: str, token: str) -> str:
    """Returns the key of the dead letters that one change requeued or dropped in a bucket."""
    return f"{tag(bucket)}{crawl}:xu:{token}"


def totals(bucket: int) -> str:
    """Returns the key of a bucket's totals over all crawls."""
    return f"{tag(bucket)}@totals"


def attempts(crawl: str) -> tuple[str, str]:
    """Returns the two keys of a crawl's attempts table: the list of batches, and the hash with the size of
    the table."""
    return f"{{attempts:{crawl}}}l", f"{{attempts:{crawl}}}n"


def opened(bucket: int) -> str:
    """Returns the key of the list of circuit breaker openings that are not logged yet."""
    return f"{tag(bucket)}@opened"


def anchors(crawl: str) -> str:
    """Returns the key of a crawl's redirected seeds."""
    return f"gossamer:anchors:{crawl}"


def setup(crawl: str) -> str:
    """Returns the key of a crawl's stored setup. Only a crawl that runs without a fleet has a stored
    setup."""
    return f"gossamer:setup:{crawl}"


def group(name: str) -> str:
    """Returns the key of a group of hosts, `ip:192.0.2.1` or `domain:example.com`. Each group has its own
    cluster slot."""
    return f"{{{name}}}"


def quality(site: str) -> str:
    """Returns the key of a site's last good runs."""
    return f"gossamer:quality:{site}"


def runs(likeness: str) -> str:
    """Returns the key of the last good runs that are comparable."""
    return f"gossamer:runs:{likeness}"


def lately(crawl: str) -> str:
    """Returns the key of the counts of a crawl's recent pages."""
    return f"gossamer:lately:{crawl}"


def told(crawl: str) -> str:
    """Returns the key of the set of gates that have already caused a warning in a crawl."""
    return f"gossamer:told:{crawl}"


PROXIES = ("{proxies}s", "{proxies}v")


def session(crawl: str, name: str) -> str:
    """Returns the key of a sticky session. `name` is a domain or a host."""
    return f"gossamer:session:{crawl}:{name}"


def kept_answer(key: str) -> str:
    """Returns the key of the answer to a request. `key`: a hash of its idempotency key."""
    return f"{tag(0)}@answer:{key}"


def running_request(key: str) -> str:
    """Returns the key of the lease of a running request. `key`: a hash of its idempotency key."""
    return f"{tag(0)}@running:{key}"


def webhook_outbox(number: str) -> tuple[str, str, str]:
    """Returns the keys of a webhook's deliveries: those that wait, those that were given up, and their contents."""
    return f"{WEBHOOKS}:due:{number}", f"{WEBHOOKS}:dead:{number}", f"{WEBHOOKS}:box:{number}"


LOGINS = "gossamer:logins"


def login(site: str) -> str:
    """Returns the key of a site's log-ins."""
    return f"gossamer:login:{site}"


def checks(pool: str) -> str:
    """Returns the key of the lease on a pool's health checks."""
    return f"{{proxies}}c:{pool}"


NAME = re.compile(r"(?![ho](?::|\Z))[A-Za-z0-9][A-Za-z0-9._-]{0,79}\Z")
"""The pattern of a crawl's name. The pattern excludes the names `h` and `o`, because the store keys of a
crawl named `h` or `o` would look like the store keys of hosts."""

_CRAWL_KEYS = r"(?:[ru]:[^:]+|[aehw]:.+|d:\d+|q:.+:-?\d+|t:.+|p:.+|v:.+|hs|hd|gs|l|lp|g|s:\d+:\d+|b:\d+|x|xl|xu:[0-9a-f]{8}|n|f|y|y:[ebs]:\d+|turn|k:.+|o|rf|rp|rl|rt|turn:[a-z]+|pl|po|ag|fr|sg|v[cqfil])"
_CLOCK_KEYS = r"@(?:totals|opened|actions|events|reported|hooks(?::at|:(?:due|dead|box):[0-9a-z]+)?|(?:answer|running):[0-9a-f]+|alerts|mutes|schedules|(?:schedule|open|runs):[A-Za-z0-9._-]+|leader|fence|changes|cleaned|swept|credits|(?:calls|unlocker):[a-z]+)"
KNOWN = lazy_pattern(
    rf"(?:gossamer|\{{(?:ip|domain):[^}}]+\}}|\{{attempts:{NAME.pattern[:-2]}\}}[ln]|gossamer:(?:rates|domains|scores|session:.+|logins|login:.+|quality:[A-Za-z0-9._-]+|runs:[0-9a-f]+)|\{{proxies\}}(?:[sv]|c:.+)|gossamer:(?:crawls|states|malformed(?::count)?|workers|orders|refused|name:.+|slot:.+:\d+|lead:.+)|gossamer:(?:crawl|anchors|setup|lately|told):{NAME.pattern[:-2]}|\{{b:[0-9a-f]{{3}}\}}(?:[cew]|h:.+|o:[hs]:.+|@rung:.+|{_CLOCK_KEYS}|{NAME.pattern[:-2]}:{_CRAWL_KEYS}))\Z"
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
    """Returns whether the table in this module's docstring lists a key."""
    return KNOWN.match(key) is not None
