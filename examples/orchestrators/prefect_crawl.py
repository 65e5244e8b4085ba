"""A Prefect flow that crawls: python prefect_crawl.py

Three calls: start the crawl, wait for its end, fail by its exit code. A retry has the same run id, so it finds the crawl
of the try before.
"""

import os
from typing import Any

from prefect import flow, get_run_logger, task
from prefect.runtime import task_run

import gossamer
from gossamer.errors import UnknownCrawl

LASTING_CODES = (2, 3, 4, 5, 30, 31)


class CrawlFailed(Exception):
    """The crawl ended with another exit code than 0."""

    def __init__(self, code: int | None, said: str) -> None:
        super().__init__(said)
        self.code = code


def is_worth_a_retry(task: Any, run: Any, state: Any) -> bool:
    error = state.result(raise_on_failure=False)
    return not isinstance(error, CrawlFailed) or error.code not in LASTING_CODES


@task(retries=2, retry_delay_seconds=60, retry_condition_fn=is_worth_a_retry)
def crawl(target: str) -> dict[str, Any]:
    client = gossamer.Client(os.environ["GOSSAMER_SERVER"], token=os.environ.get("GOSSAMER_TOKEN"))
    name = f"prefect-{task_run.id}"
    try:
        client.outcome(name)
    except UnknownCrawl:
        client.start(target, name=name, limit=100)
    client.wait(name)
    outcome = client.outcome(name)
    counts = {
        name: getattr(outcome, name) for name in ("crawl", "state", "pages", "items", "dead", "pending")
    }
    get_run_logger().info("%s", counts)
    if outcome.exit_code:
        said = f"exit code {outcome.exit_code}, {outcome.meaning}: {outcome.error or outcome.reason}"
        raise CrawlFailed(outcome.exit_code, said)
    return counts


@flow
def books() -> dict[str, Any]:
    return crawl(os.environ["GOSSAMER_TARGET"])


if __name__ == "__main__":
    print(books())
