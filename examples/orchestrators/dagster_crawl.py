"""A Dagster job that crawls: dagster job execute -f dagster_crawl.py -j books

Three calls: start the crawl, wait for its end, fail by its exit code. A retry has the same run id, so it finds the crawl
of the try before.
"""

import os

import dagster

import gossamer
from gossamer.errors import UnknownCrawl


@dagster.op(retry_policy=dagster.RetryPolicy(max_retries=2, delay=60))
def crawl(context: dagster.OpExecutionContext) -> dict:
    client = gossamer.Client(os.environ["GOSSAMER_SERVER"], token=os.environ.get("GOSSAMER_TOKEN"))
    name = f"dagster-{context.run_id}"
    try:
        client.outcome(name)
    except UnknownCrawl:
        client.start(os.environ["GOSSAMER_TARGET"], name=name, limit=100)
    try:
        client.wait(name)
    except dagster.DagsterExecutionInterruptedError:
        client.cancel(name)
        raise
    outcome = client.outcome(name)
    counts = {
        name: getattr(outcome, name) for name in ("crawl", "state", "pages", "items", "dead", "pending")
    }
    context.log.info(f"{counts}")
    if outcome.exit_code:
        said = f"exit code {outcome.exit_code}, {outcome.meaning}: {outcome.error or outcome.reason}"
        raise dagster.Failure(
            said, metadata=counts, allow_retries=outcome.exit_code not in (2, 3, 4, 5, 30, 31)
        )
    context.add_output_metadata(counts)
    return counts


@dagster.job
def books() -> None:
    crawl()
