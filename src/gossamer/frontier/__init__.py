"""The frontier decides which URL is fetched next. Each of its operations (add, claim, settle, ...) is one Lua
script that Python calls. `frontier_client` calls the scripts for a worker. `crawls` keeps the records of
crawls and changes their state. `stats` only reads the frontier, for commands and other entry points.
`store.keys` lists every key.

Each script consists of shared Lua parts and its own file. `prelude` contains the clock and common functions.
`host_state` manages the slots of a host, and `host_order` the order between hosts. `queue` manages the
priority levels of a host. `seen` is the seen set, which `filter_pages` and `quotient_filter` implement for
`--seen bloom`. `min_depth` stores the shortest distance of each URL from a seed. `page_budget` limits the
pages of a discovered host. `links` adds URLs. docs/decisions/frontier.md explains the decisions behind the frontier.
"""
