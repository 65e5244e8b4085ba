"""The operation that fetches and reads one page."""

from __future__ import annotations

import asyncio

import msgspec

from gossamer.app.dry_run import trial_values, try_one
from gossamer.app.job import Job
from gossamer.operations import inputs, results
from gossamer.operations.context import OperationContext
from gossamer.operations.guarded_targets import check_target
from gossamer.parsing.encodings import decode
from gossamer.parsing.text import markdown

PAGES_AT_ONCE = 4
_turns: dict[asyncio.AbstractEventLoop, asyncio.Semaphore] = {}


def one_turn() -> asyncio.Semaphore:
    """Returns the semaphore that limits how many requests of callers fetch pages at once."""
    return _turns.setdefault(asyncio.get_running_loop(), asyncio.Semaphore(PAGES_AT_ONCE))


async def scrape(context: OperationContext, given: inputs.Scrape) -> results.ScrapedPage:
    """Fetches and reads one page, and stores nothing. robots.txt, limits and guards apply as in a crawl."""
    check_target(given.url, context.settings, "/url")
    targets = [] if given.site is None else [context.site_file(given.site, "/site")]
    settings = context.settings
    if given.screenshot is not None:
        settings = msgspec.structs.replace(settings, ladder=("browser",))
    job = Job(targets=targets, settings=settings, screenshot=given.screenshot or "")
    async with one_turn():
        trial = await try_one(job, given.url, given.use)
    plain = trial_values(trial)
    page = dict(plain["page"] or {})
    text = page.pop("text", None)
    page.pop("out_links", None)
    page.pop("screenshot", None)  # a file that is already removed
    body = trial.page.body if trial.page is not None else b""
    return results.ScrapedPage(
        url=given.url,
        page=page or None,
        items=plain["items"],
        text=text if given.text else None,
        markdown=await asyncio.to_thread(markdown, body, given.url) if given.markdown and body else None,
        html=decode(body, trial.page.read_as) if given.html and trial.page is not None else None,
        links=plain["links"] if given.links else None,
        screenshot=trial.screenshot,
        robots=plain["robots"],
        errors=plain["errors"],
        skipped=plain["skipped"],
        unread=plain["unread"],
        attempts=plain["attempts"],
    )
