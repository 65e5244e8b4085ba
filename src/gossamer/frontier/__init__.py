"""The frontier decides which URL is fetched next. Each of its operations (add, claim, settle, ...) is one Lua
script that Python calls. `frontier_client` calls the scripts for a worker. `crawls` keeps the records of
crawls and changes their state. `stats` only reads the frontier, for commands and other entry points.
`store.keys` lists every key.

A script is assembled from shared Lua parts and its own file. The shared parts are `prelude` (the clock and
common functions), `host_state` (the slots of a host), `host_order` (the order between hosts), `queue` (the
priority levels of a host), `seen` (the seen set; `filter_pages` and `quotient_filter` implement it for
`--seen bloom`), `min_depth` (the shortest distance of each URL from a seed), `page_budget` (how many pages a
discovered host may have) and `links` (adding URLs). The decisions behind the frontier are in docs/decisions/.
"""
