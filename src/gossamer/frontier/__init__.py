"""Which URL is next: the verbs of the frontier, one Lua file each, and the Python that calls them.

`keys` names every key. `store` reaches a Valkey and checks that it is ours; `embedded` runs one beside the
data folder; `verbs` calls the scripts; `crawls` keeps what is known of each crawl and steers it; `census`
only reads, for the doors. Scripts are put together from shared parts: `prelude` (clock, host slots), `queue`
(levels of a host), `seen` (the seen-set; `pages` and `filter`: that of `--seen bloom`), `later` (what is
known of a URL too late), `budget` (pages of discovered hosts), `links` (taking URLs in). Decisions behind it:
docs/decisions/.
"""
