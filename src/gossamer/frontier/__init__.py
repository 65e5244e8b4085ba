"""The frontier decides which URL is next. It consists of verbs, one Lua script each, and the Python code that
calls them.

`store.keys` names every key. `verbs` calls the scripts. `crawls` keeps the records of crawls and changes
their state. `stats` only reads, for entry points. Scripts are assembled from shared parts: `prelude` (clock,
slots of hosts), `queue` (levels of a host), `seen` (the seen set; `pages` and `filter` with `--seen bloom`),
`later` (what is learned about a URL after it was added), `budget` (pages of discovered hosts), `links`
(taking URLs in). The decisions behind it are in docs/decisions/.
"""
