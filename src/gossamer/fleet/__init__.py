"""The fleet: Celery keeps worker processes alive and hands them slices of crawling; the frontier says what is
crawled.

`brokers` reads broker URLs, `child` runs slices in a worker's process, `works` is what it works on,
`versions` which site files are here, `lacking` tells of those that are not, `fair` divides it among crawls,
`keeper` keeps the slots filled and the worker's record true, `intake` checks messages before Celery reads
them, `app` ties them to Celery. There is no crawl logic here: a slice runs the same `assemble.Bench` as
`gossamer crawl`.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gossamer.fleet.app import app as app

__all__ = ["app"]


def __getattr__(name: str) -> Any:
    """`celery -A gossamer.fleet worker` finds the application here; nothing else needs Celery."""
    if name == "app":
        from gossamer.fleet.app import app

        return app
    raise AttributeError(name)
