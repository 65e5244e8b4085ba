"""The test web: many hosts of pages on 127.x addresses, with a ground truth and a log of every request.

A `Plan` (seed, hosts, pages, features) is the single source. The server renders pages from it and the test
computes the expected results from it, so they agree without communication. `with serve(preset("small")) as
web:` starts the server as a separate process. Afterwards the test passes `web.log()` to the pure functions of
`web.judge`. The command line is `PYTHONPATH=tests python -m web --plan small`.

Modules: `plan` defines the types and `presets` contains ready plans. `graph` computes the pages and their
links, `odd` the URLs that misbehave, `robots` and `sitemaps` those files, `traps` the endless spaces, and
`truth` the expected results. `html` and `wire` produce bytes, and `acts` the answers of odd URLs. `server`
serves requests, `record` logs them, and `judge` reads the log. `client` starts the web, `docs` serves a real
folder, and `certs` creates a temporary certificate authority. Nothing here imports gossamer, so that the
judge cannot share its faults.
"""

from web.client import Web, serve
from web.plan import Expected, Link, Plan
from web.presets import preset
from web.record import Hit

__all__ = ["Expected", "Hit", "Link", "Plan", "Web", "preset", "serve"]
