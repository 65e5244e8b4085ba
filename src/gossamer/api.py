"""The Python API: `gossamer.crawl` yields pages or items as they arrive, `gossamer.run` does the same as the
`gossamer crawl` command, and `gossamer.fetch` returns one page."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, overload

import msgspec

from gossamer.client.adding import AddUrlOptions, add_to_crawl
from gossamer.client.background import Background
from gossamer.client.fetch import fetch_page
from gossamer.client.iteration import Crawl, folder_of
from gossamer.client.options import CrawlOptions, PageOptions, check_names, job_of, paths
from gossamer.client.progress import ProgressLine, RetryNotice, log_warning
from gossamer.client.records import CrawledPage, Found
from gossamer.client.submission import submit_to_fleet
from gossamer.client.tables import RunResult, result_of
from gossamer.client.targets import Target, Url, read_targets
from gossamer.model.request import Request
from gossamer.model.site import Site
from gossamer.sites.script_targets import script_targets

if TYPE_CHECKING:
    from typing import Unpack

    from gossamer.app.url_adding import Added
    from gossamer.model.summary import Summary

__all__ = [
    "AddUrlOptions",
    "Crawl",
    "CrawlOptions",
    "CrawledPage",
    "PageOptions",
    "RunResult",
    "Target",
    "add",
    "add_async",
    "crawl",
    "fetch",
    "fetch_async",
    "job_of",
    "run",
    "run_async",
    "submit",
    "submit_async",
]

Output = str | os.PathLike[str] | Sequence[str | os.PathLike[str]]


@overload
def crawl(*targets: Site, **options: Unpack[CrawlOptions]) -> Crawl[Found]: ...
@overload
def crawl(  # type: ignore[overload-overlap] # a text is not meant as a list of its characters
    *targets: str | os.PathLike[str], **options: Unpack[CrawlOptions]
) -> Crawl[CrawledPage | Found]: ...
@overload
def crawl(*targets: Request | Iterable[Url], **options: Unpack[CrawlOptions]) -> Crawl[CrawledPage]: ...
@overload
def crawl(*targets: Target, **options: Unpack[CrawlOptions]) -> Crawl[CrawledPage | Found]: ...
def crawl(*targets: Target, **options: Unpack[CrawlOptions]) -> Crawl[Any]:
    """Crawls targets and yields the results: pages for plain URLs, items for sites. Use it with `for` or
    `async for`.

    A target is a text as on the command line, a `Site`, or a list or generator of URLs. Options have the
    names of the command-line options: `limit=100`, `delay=1`, `scope="domain"`, `header={"Accept":
    "text/html"}`. If `data` is not given, nothing is stored, and the files of items are downloaded only if
    `files=` is given. Raises GossamerError. If no page was fetched or nothing was found, the error is raised
    after the last row (docs/python.md). Raises UnknownOption, a TypeError, for an unknown option.

    >>> for page in gossamer.crawl("https://example.com", limit=100):  # doctest: +SKIP
    ...     print(page.url, page.title, page.css("h1::text").get())
    """
    check_names(options, CrawlOptions.__annotations__)
    return Crawl(targets, dict(options))


def run(*targets: Target, output: Output = (), **options: Unpack[CrawlOptions]) -> RunResult:
    """Runs a crawl like `gossamer crawl`, writes into `output`, and returns the summary. An unfinished crawl
    is resumed. `run` also works in a notebook, because the crawl has its own thread and event loop. Ctrl-C
    stops the crawl within two seconds, and its results are kept. Raises GossamerError for any failure. Also
    raises GossamerError if the crawl fetched no page or found nothing.

    >>> gossamer.run("sites/", output="items.parquet", limit=1000)  # doctest: +SKIP
    """
    background = _running(targets, output, dict(options))
    background.start()
    return background.wait()


async def run_async(*targets: Target, output: Output = (), **options: Unpack[CrawlOptions]) -> RunResult:
    """Does the same as `run` in a coroutine. Cancelling the coroutine stops the crawl.

    >>> await gossamer.run_async("sites/", output="items.parquet")  # doctest: +SKIP
    """
    background = _running(targets, output, dict(options))
    background.start()
    return await background.wait_async()


def submit(
    *targets: Target,
    output: Output = (),
    wait: bool = False,
    say: Callable[[str], None] = lambda _: None,
    **options: Unpack[CrawlOptions],
) -> Summary:
    """Submits a crawl to the fleet of `store=` like `gossamer submit`, and returns its summary. `wait`:
    whether to return only after the crawl has ended. Ctrl-C ends the wait, and the crawl continues. `say`:
    called with messages, for example about workers that refuse the crawl. A site is given as a file, or as
    `module:PACKAGE.MODULE`. Raises GossamerError for any failure. Also raises GossamerError if the crawl
    fetched no page or found nothing.

    >>> gossamer.submit("shop.py", store="valkey://store", output="/shared/items/", wait=True)  # doctest: +SKIP
    """
    check_names(options, CrawlOptions.__annotations__)
    background = Background(lambda _stop: submit_to_fleet(targets, output, dict(options), wait=wait, say=say))
    background.start()
    return background.wait()


async def submit_async(
    *targets: Target,
    output: Output = (),
    wait: bool = False,
    say: Callable[[str], None] = lambda _: None,
    **options: Unpack[CrawlOptions],
) -> Summary:
    """Does the same as `submit` in a coroutine. `say` is called from another thread.

    >>> await gossamer.submit_async("shop.py", store="valkey://store")  # doctest: +SKIP
    """
    check_names(options, CrawlOptions.__annotations__)
    background = Background(lambda _stop: submit_to_fleet(targets, output, dict(options), wait=wait, say=say))
    background.start()
    return await background.wait_async()


def add(crawl: str, *urls: Target, **options: Unpack[AddUrlOptions]) -> Added:
    """Adds URLs to the crawl of this name, which may be running, paused or ended, in a data folder or on a
    fleet (`store=`). If the crawl is finished, it visits the new URLs when you run the command of the crawl
    again. On a fleet, a finished crawl continues immediately. If the crawl already knows a URL, the URL
    counts as a duplicate. Elements that are not URLs are listed in `rejected_lines` of the result. Raises
    GossamerError.

    >>> gossamer.add("shop", ["https://shop.example/new"], priority=9, id="42")  # doctest: +SKIP
    """
    check_names(options, AddUrlOptions.__annotations__)
    background = Background(lambda _stop: add_to_crawl(crawl, urls, dict(options)))
    background.start()
    return background.wait()


async def add_async(crawl: str, *urls: Target, **options: Unpack[AddUrlOptions]) -> Added:
    """Does the same as `add` in a coroutine.

    >>> await gossamer.add_async("shop", "https://shop.example/new", priority=9)  # doctest: +SKIP
    """
    check_names(options, AddUrlOptions.__annotations__)
    background = Background(lambda _stop: add_to_crawl(crawl, urls, dict(options)))
    background.start()
    return await background.wait_async()


def fetch(url: str, **options: Unpack[PageOptions]) -> CrawledPage:
    """Fetches one page. robots.txt, limits and guards apply as in a crawl, but there are no retries. If the
    response has an error status such as 404, the page is still returned. Raises FetchFailed if no page was
    received.

    >>> gossamer.fetch("https://example.com").css("h1::text").get()  # doctest: +SKIP
    'Example Domain'
    """
    check_names(options, PageOptions.__annotations__)
    background = Background(lambda _stop: fetch_page(url, dict(options)))
    background.start()
    return background.wait()


async def fetch_async(url: str, **options: Unpack[PageOptions]) -> CrawledPage:
    """Does the same as `fetch` in a coroutine.

    >>> page = await gossamer.fetch_async("https://example.com")  # doctest: +SKIP
    """
    check_names(options, PageOptions.__annotations__)
    background = Background(lambda _stop: fetch_page(url, dict(options)))
    background.start()
    return await background.wait_async()


def _running(targets: Sequence[Target], output: Output, options: dict[str, Any]) -> Background[RunResult]:
    check_names(options, CrawlOptions.__annotations__)
    return Background(lambda stop: _run(targets, output, options, stop))


async def _run(
    targets: Sequence[Target], output: Output, options: dict[str, Any], stop: asyncio.Event
) -> RunResult:
    from gossamer.app.found_problems import found_problems
    from gossamer.app.job import JobOutput
    from gossamer.app.outcome import error_of
    from gossamer.app.runner import ExtraReceivers
    from gossamer.app.runner import crawl as run_crawl

    names, made = read_targets(targets)
    with script_targets(made):
        job = job_of(names, options)
        outputs = [JobOutput(one) for one in paths(output)]
        job = msgspec.structs.replace(job, outputs=[*outputs, *job.outputs])
        progress, began = ProgressLine() if options.get("progress") else RetryNotice(), time.time()
        try:
            summary = await run_crawl(job, progress, stop, ExtraReceivers(warn=log_warning))
        finally:
            progress.close()
        folder = folder_of(job, summary.crawl)
        result = result_of(summary, folder, await asyncio.to_thread(found_problems, folder, began))
        if not stop.is_set() and (error := error_of(job, result)) is not None:
            raise error
    return result
