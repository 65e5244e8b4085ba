"""The test web: many hosts of pages on 127.x addresses, with a ground truth and a log of every request.

A `Plan` (seed, hosts, pages, features) is the single source: the server renders from it and the test computes
from it, so they agree without talking. `with serve(preset("small")) as web:` starts the server as a process
of its own; afterwards `web.log()` goes to the pure functions of `web.judge`. On the command line:
`PYTHONPATH=tests python -m web --plan small`.

Map: `plan` the nouns, `presets` ready plans, `graph` the pages and their links, `odd` the URLs that
misbehave, `robots` and `sitemaps`, `traps` the endless spaces, `truth` what must come out; `html` and `wire`
make bytes, `acts` the odd answers, `server` and `record` serve and write down, `judge` reads the log,
`client` starts it all, `docs` serves a real folder, `certs` makes a throw-away authority. Nothing here
imports gossamer: the judge must not share the accused's mistakes.
"""

from web.client import Web, serve
from web.plan import Expected, Link, Plan
from web.presets import preset
from web.record import Hit

__all__ = ["Expected", "Hit", "Link", "Plan", "Web", "preset", "serve"]
