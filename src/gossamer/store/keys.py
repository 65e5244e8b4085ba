"""Every key of the store: its type, who writes it, how long it lives. A test fails on a key that is not named
here.

A bucket is a shard of the frontier; its tag `{b:0a3}` puts all its keys into one cluster slot. A registered
domain lies in one bucket. Host state is shared by all crawls; what belongs to one crawl carries the crawl's
name after the tag. Scripts get the tag (and the crawl) and derive the rest, so the store must allow derived
keys within a slot.

| key | type | holds | written by | lives |
| --- | --- | --- | --- | --- |
| `gossamer` | hash | version, buckets, seed, psl: what must match; `id`: the store's identity (`store`) | store | for ever |
| `gossamer:crawls` | set | names of all crawls | crawls | until the crawl is removed |
| `gossamer:crawl:NAME` | hash | `spec` (JSON: what must match on resume), `state`, `reason`, `started_at`, `ended_at`, `spent` seconds at work, `idle` seconds not at work since it began, `door` (JSON: pid, host, folder, files), `outputs`, `sites` (JSON: name -> version of the file), `seeded`, `refreshing` (1: a pass of `--refresh`); of a fleet's crawl also `job` (`submitted`), `revision` (how often it was submitted), `weight`, `ends_as`, `reach:SITE` (JSON, `sites.reach`: what workers without its file are to know), `apart` (groups `SITE+SITE` that hosts were set apart for) | crawls | until removed |
| `gossamer:workers` | hash | worker's name -> JSON: what it is and does (`fleet.crew`) | the worker | a day after its last sign |
| `gossamer:orders` | hash | worker's name -> `drain` or `stop` | crew | until it is gone |
| `gossamer:refused` | hash | `WORKER TAB CRAWL`, or `WORKER TAB SITE TAB CRAWL` -> why it does no work for it | crew | until it does, or the crawl ended |
| `gossamer:malformed` | list | malformed messages that workers took off the broker, the newest first, at most 100 (JSON: `at`, `worker`, `queue`, `reason`, `body`, `size`) | malformed | 30 days after the last one |
| `gossamer:malformed:count` | string | how many there were | malformed | 30 days after the last one |
| `gossamer:name:WORKER` | string | who bears a worker's name | the worker | 15 s |
| `gossamer:slot:LANE:I` | string | who has a slot, or `queued ...` | slots | 15 s |
| `gossamer:lead:WHAT` | string | who does a thing that one alone does: `slots`, `end CRAWL` | slots | 10 s |
| `gossamer:anchors:NAME` | set | `FROM TAB TO`: redirected seeds that widen the scope | crawls | until removed |
| `gossamer:quality:SITE` | list | the last good runs of a site, at most 10, the last one first (JSON, `gossamer.quality.Run`) | quality | 400 days after the last one |
| `gossamer:lately:CRAWL` | stream | pages of late, of crawls whose gates are looked at while they run: `w` the process that saw them, `p` how many, `n` (JSON) their counts; at most 100 entries | quality | a day after the last one |
| `gossamer:told:CRAWL` | set | gates of which somebody was warned | quality | an hour after the last one |
| `gossamer:rates` | hash | caps in requests a second: `fleet` and lanes -> N, `tat:` before them -> ms of the next permit | rates | until lifted |
| `gossamer:scores` | hash | worker's name -> JSON: how its visits went of late (`scores`) | the worker | a minute after its last sign |
| `{proxies}s` | hash | proxy's id, `@PROVIDER` or `ID TAB DOMAIN` -> how it stands (`prove.lua`) | prove | a week after it was seen last |
| `{proxies}v` | zset | the same names -> number of their last change | prove | as `{proxies}s` |
| `{proxies}c:POOL` | string | who does the health checks of a pool | proving | 5 s |
| `gossamer:session:CRAWL:NAME` | string | what a sticky session goes through: proxy's id, word of the gateway's session | bind | the session |
| `gossamer:logins` | hash | sites with accounts -> their hosts (JSON) | logins | until forgotten |
| `gossamer:login:SITE` | hash | a site's accounts, for all crawls; of each NAME: `v:` version of its log-in, `j:` cookies and identity (sealed where there is a key), `c:` their revision, `d:` what tells its credentials, `t:` ms of the log-in, `l:` `TOKEN MS`: who logs in, `u:` ms of the last use, `o:` its number (of `turn`), `n:` ms of the next, `w:` ms until which it waits after `f:` failures, `r:` `MS TOLD WHY`: refused, `x:` log-ins that helped nothing | member joined jar lost | 90 days after the last change |
| `{ip:ADDRESS}`, `{domain:NAME}` | hash | what hosts share with `--polite-by`: `n` ms of the next start, `r` of the last time that a waiter was told, `w` who began last, `tTOKEN` a turn -> ms until which it is held | enter leave | a minute or two |
| `{b:N}c` | set | crawls with URLs in this bucket | add | until removed |
| `{b:N}e` | string | `RUN MS`: run id of the server's process that gave the last claims, and when it was first asked (0: it was the first) | claim | for ever |
| `{b:N}w` | string | nothing: written so that the replicas' answer covers all that was written before | client | 1 s |
| `{b:N}h:HOST` | hash | host state: `i` in flight, `m` at once, `n` next start ms, `d` delay ms, `c` pace, `p` paused until ms, `D` operator's delay ms, `F` the one that would hold without it, `cd` crawl-delay ms, `rb` robots claim out, `z` gate wide, `k` claims; per scheme h/s: `vX` robots version, `eX` robots expiry ms, `aX` robots attempts; `w` closed until ms, as robots.txt could not be read; `b` its trouble: breaker and failing share (`breaker.lua`), of hosts that fail | claim settle robots hold sweep landed | 48 h after the last claim; while an operator's `D` or `m` holds, ten years |
| `{b:N}@rung:HOST` | string | by which rung its pages are got (JSON, `politeness.ladder`) | learn | 30 days after the last change |
| `{b:N}o:S:HOST` | string | robots.txt of an origin (S is h or s): trimmed, compressed | robots | 48 h |
| `{b:N}CRAWL:r:HEAP` | zset | ready heap: host -> earliest next start ms. Heaps are called `LANE` or `LANE@REGION`, those of hosts that wait for workers with the files of all their sites `LANE+SITE+SITE`, those of hard hosts `LANE!` and `LANE!@REGION` | all verbs | while hosts wait |
| `{b:N}CRAWL:h:HOST` | hash | `q` queued, `L` levels that hold URLs, `y` its own heap where that is not `http` (`?` behind it: requests ask for regions), `Y` the heap it stands in where that may differ, `u` URLs accepted, `v` vouchers, `o` parked, `k` in the cold store, `s` a seed was redirected to it; where hosts have limits (`host_limits.lua`): `B` bytes, `F` ms of its first claim by the crawl's time at work | add claim settle | the crawl |
| `{b:N}CRAWL:q:HOST:LEVEL` | list | queue entries (`request.entry`) of one priority | add claim settle | while not empty |
| `{b:N}CRAWL:k:HOST` | hash | URLs in the cold store: level -> how many, `cLEVEL` -> number of the last one brought back | add settle refill | while there are some |
| `{b:N}CRAWL:o` | list | outbox to the cold store: `NUMBER TAB LEVEL TAB HOST TAB entry` | add settle spilled | while not empty |
| `{b:N}CRAWL:rf` | set | hosts with cold URLs whose queue runs low | add claim refill | while there are some |
| `{b:000}CRAWL:turn:NAME` | string | who does some work of which one is enough: `spill` | spiller | 5 s |
| `{b:000}CRAWL:pl` | zset | producers that may add: name -> ms until their lease runs out | producers | while they work |
| `{b:000}CRAWL:po` | hash | producer -> how far it came (JSON) | producers | the crawl |
| `{b:N}CRAWL:t:HOST` | zset | `LEVEL TAB entry` -> due ms: retries | settle claim | while not empty |
| `{b:N}CRAWL:p:HOST` | list | entries over the host's page budget, parked | add | the crawl |
| `{b:N}CRAWL:e:HOST` | list | `LEVEL TAB entry`: parked, as the host had its bytes or its time | claim regain | while there are some |
| `{b:N}CRAWL:v:HOST` | set | registered domains that vouch for a discovered host (32-bit hashes, at most 10) | add | the crawl |
| `{b:N}CRAWL:hs` | set | names of the heaps there are beside `http`, without `!` | add settle | the crawl |
| `{b:N}CRAWL:l` | zset | lease: token -> expiry ms | claim settle renew sweep | while claims are out |
| `{b:N}CRAWL:lp` | hash | token -> `HOST TAB LEVEL TAB kind TAB n0 TAB n1 TAB entry` | claim settle sweep | while claims are out |
| `{b:N}CRAWL:d:X` | hash | where a depth limit is set: part of the fingerprint -> least depth at which the URL was found, 100 more when it was visited | add settle | the crawl |
| `{b:N}CRAWL:a:HOST` | list | `LEVEL TAB LANE TAB HI TAB LO TAB entry`: links to a host outside the scope, in case a seed is redirected to it; at most 1,000 | add settle admit | the crawl |
| `{b:N}CRAWL:g` | hash | generations of the seen-set: `n` how many, `sI` sets (bloom: pages), `cI` URLs in it; `hot`: most URLs of a host and level outside the cold store (0: no bound), `out` in it, `seq` the last number given; `lost`: new URLs that are expected to have been taken for known ones so far, in 10^-12 URLs | add settle | the crawl |
| `{b:N}CRAWL:s:GEN:X` | set | seen: 32-bit (exact: 64-bit) remainders of fingerprints | add settle | the crawl |
| `{b:N}CRAWL:b:NODE` | string | seen, as a page of a filter (`pages.lua`) | add settle | the crawl |
| `{b:N}CRAWL:x` | hash | dead letters: id -> `reason TAB detail TAB HOST TAB LEVEL TAB ms TAB entry` | settle sweep dead | until requeued or dropped |
| `{b:N}CRAWL:n` | hash | counts: open added found pages ... `skip:REASON` `err:REASON` `q|SITE|...` (`gossamer.model.quality`), `seeds` not answered yet, `strangers` and `singles` (pages that hosts with no or one voucher took), `token`, `letter` | scripts only | the crawl |
| `{b:N}CRAWL:f` | hash | file -> committed length in bytes | settle | the crawl |
| `{b:000}CRAWL:hd` | list | item rows that lack usual values, until the run is judged (`frontier.quality.Held`) | Held | the run |
| `{b:N}CRAWL:y` | hash | index of what says the same: of the maps `e` (same), `b` (bands) and `s` (sketches) how many keys, and `ep` `bp` `sp` parts | alike | the crawl |
| `{b:N}CRAWL:y:MAP:I` | string | a part of a map: keys and values of fixed width, one behind the other | alike | the crawl |
| `{b:000}CRAWL:turn` | string | whose turn it is to claim under limits, where there are many buckets | turns | 5 s |
| `{b:N}CRAWL:w` | hash | worker name -> heartbeat (JSON) | worker loop | the crawl |
| `{b:000}@schedules` | set | names of all schedules | schedule | for ever |
| `{b:000}@schedule:NAME` | hash | `spec` (JSON), `rev` the number of its last change, `mark` ms up to which due times are decided, counts `runs failed skipped missed` | schedule due turn | until removed |
| `{b:000}@open:NAME` | hash | `DUE-MS:PART` -> run (JSON) that has not ended | due turn | until the run ends |
| `{b:000}@runs:NAME` | list | runs (JSON) that ended, the last one first, at most 1,000 | due turn | cleaned by age, but for the last |
| `{b:000}@leader` | string | `TOKEN OWNER`: the scheduler that leads | lead | 7 s after its last beat |
| `{b:000}@fence`, `{b:000}@changes` | string | the last token of a lead; the number of the last change of a schedule | lead schedule turn | for ever |
| `{b:000}@credits` | hash | credits of unlockers, spent and reserved: `day:UNLOCKER:N` (days since the epoch, UTC), `crawl:CRAWL` | reserve repay | two days; the crawl |
| `{b:000}@calls:UNLOCKER` | hash | calls that are out: token -> `ENDS-MS CREDITS DAY CRAWL` | reserve repay | until settled, or their time is over |
| `{b:000}@unlocker:UNLOCKER` | string | its breaker (`breaker.lua`) | repay | a day after the last fault |
| `{b:000}@cleaned` | string | ms when the store was cleaned last | cleaning | for ever |
"""

from __future__ import annotations

import re

VERSION = 1
META = "gossamer"
CRAWLS = "gossamer:crawls"
MALFORMED, MALFORMED_COUNT = "gossamer:malformed", "gossamer:malformed:count"


def record(crawl: str) -> str:
    """The key of a crawl's record."""
    return f"gossamer:crawl:{crawl}"


def turn(crawl: str, name: str) -> str:
    """The key of the lease of some work of which one is enough."""
    return f"{tag(0)}{crawl}:turn:{name}"


def anchors(crawl: str) -> str:
    """The key of a crawl's redirected seeds."""
    return f"gossamer:anchors:{crawl}"


def group(name: str) -> str:
    """The key of what hosts share, `ip:192.0.2.1` or `domain:example.com`: a slot of its own."""
    return f"{{{name}}}"


def quality(site: str) -> str:
    """The key of a site's last good runs."""
    return f"gossamer:quality:{site}"


def lately(crawl: str) -> str:
    """The key of what the processes of a crawl saw of late."""
    return f"gossamer:lately:{crawl}"


def told(crawl: str) -> str:
    """The key of what was told of a crawl's gates."""
    return f"gossamer:told:{crawl}"


PROXIES = ("{proxies}s", "{proxies}v")


def session(crawl: str, name: str) -> str:
    """The key of a sticky session, a domain or a host."""
    return f"gossamer:session:{crawl}:{name}"


LOGINS = "gossamer:logins"


def login(site: str) -> str:
    """The key of a site's log-ins."""
    return f"gossamer:login:{site}"


def checks(pool: str) -> str:
    """The key of the lease on a pool's health checks."""
    return f"{{proxies}}c:{pool}"


NAME = re.compile(r"(?![ho](?::|\Z))[A-Za-z0-9][A-Za-z0-9._-]{0,79}\Z")
"""A crawl's name. Its keys would be those of hosts if it were called `h` or `o`."""

_CRAWL_KEYS = r"(?:r:[^:]+|[aeh]:.+|d:\d+|q:.+:-?\d+|t:.+|p:.+|v:.+|hs|hd|l|lp|g|s:\d+:\d+|b:\d+|x|n|f|w|y|y:[ebs]:\d+|turn|k:.+|o|rf|turn:[a-z]+|pl|po)"
_CLOCK_KEYS = r"@(?:schedules|(?:schedule|open|runs):[A-Za-z0-9._-]+|leader|fence|changes|cleaned|credits|(?:calls|unlocker):[a-z]+)"
KNOWN = re.compile(
    rf"(?:gossamer|\{{(?:ip|domain):[^}}]+\}}|gossamer:(?:rates|scores|session:.+|logins|login:.+|quality:[A-Za-z0-9._-]+)|\{{proxies\}}(?:[sv]|c:.+)|gossamer:(?:crawls|malformed(?::count)?|workers|orders|refused|name:.+|slot:.+:\d+|lead:.+)|gossamer:(?:crawl|anchors|lately|told):{NAME.pattern[:-2]}|\{{b:[0-9a-f]{{3}}\}}(?:[cew]|h:.+|o:[hs]:.+|@rung:.+|{_CLOCK_KEYS}|{NAME.pattern[:-2]}:{_CRAWL_KEYS}))\Z"
)


def tag(bucket: int) -> str:
    """The hash tag of a bucket: `{b:0a3}`."""
    return f"{{b:{bucket:03x}}}"


def bucket_of(host: str, buckets: int) -> int:
    """The bucket of a host: that of its registered domain, so that limits and politeness of a domain meet in
    one."""
    if buckets == 1:
        return 0
    from gossamer import url

    return url.fingerprint(url.registered_domain(host), 0) % buckets


def known(key: str) -> bool:
    """Whether a key found in the store is one of those named above."""
    return KNOWN.match(key) is not None
