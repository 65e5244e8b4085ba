"""The fleet. Celery keeps worker processes alive and assigns them slices of crawling time. A slot is the
right to run one slice at a time (`state.slots`). The frontier decides which URLs are crawled.

`brokers` parses broker URLs and checks brokers, and `rabbitmq_tls` connects to RabbitMQ over TLS.
`slice_process` runs slices in the processes of a worker, and `active_crawls` manages the crawls that a
process works on. `fair_share` divides the process among crawls, and `process_load` limits its claims.
`site_versions` compares the site files of a machine with the fleet's versions. `heartbeat` and `finalize`
close outputs and finalize crawls. `worker_keeper` fills the slots and updates the worker's record.
`message_checks` checks messages before Celery reads them, `broker_cleanup` removes leftovers of dead workers,
and `app` is the Celery application.

The crawling itself is not in this package. A slice runs the same `app.crawl_worker.CrawlWorker` as `gossamer
crawl`.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gossamer.fleet.app import app as app

__all__ = ["app"]


def __getattr__(name: str) -> Any:
    """Imports the Celery application when it is first used. `celery -A gossamer.fleet worker` finds the
    application here. All other imports of this package work without Celery."""
    if name == "app":
        from gossamer.fleet.app import app

        return app
    raise AttributeError(name)
