"""Fetches and reads one page in a temporary store, for `try` and `shell`."""

from __future__ import annotations

import json
import tempfile
from collections import Counter
from decimal import Decimal
from pathlib import Path
from typing import Any

import msgspec

from gossamer import url as urls
from gossamer.app.enqueuer import policy
from gossamer.app.job import Job, Setup
from gossamer.app.page_preview import (
    NOT_SELECTED,
    NOT_YIELDED,
    PagePreview,
    RobotsLine,
    RobotsRules,
    preview,
    shut_by,
)
from gossamer.app.runner import ExtraReceivers, crawl
from gossamer.config.settings import Settings
from gossamer.errors import UsageError
from gossamer.frontier.crawls import Crawls
from gossamer.frontier.frontier_client import Frontier
from gossamer.frontier.stats import CrawlStatistics
from gossamer.model.page import Page
from gossamer.model.request import split
from gossamer.model.summary import Summary
from gossamer.model.visit import Claim, Row
from gossamer.politeness import robots_access
from gossamer.sites import host_rules
from gossamer.sites.failed_pages import failure_reasons
from gossamer.sites.loaded_site import LoadedSite
from gossamer.sites.loading import load_all
from gossamer.store.keys import bucket_of
from gossamer.store.store import Store

NAME = "try"
"""The name of the crawl that fetches the page."""


class Trial(msgspec.Struct):
    """The result of a dry run. `page` is None if no page was received. `rows` contains the rows that a crawl
    would write. `attempts` has one record for each request."""

    summary: Summary
    page: Page | None
    claim: Claim | None
    rows: list[Row]
    attempts: list[dict[str, Any]]
    dead: list[str]
    """The reasons why the fetch failed for good, each in one line."""
    unread: list[str] = []
    """The reasons why a site could not read the page, each with file, line and error."""
    preview: PagePreview | None = None
    """The decisions that a crawl would make about the page, or None if no page was received."""
    disallowed: RobotsLine | None = None
    """The robots.txt line that disallows the URL."""
    closed_origin: str = ""
    """The reason why robots.txt forbids all pages of the URL's origin, or '' if the crawl may fetch pages of
    the origin."""
    sites: list[LoadedSite] = []
    pictures: list[str] = []
    """The paths of the pictures before and after each step (`Job.show`), in order."""
    screenshot: bytes | None = None
    """The screenshot of the page as PNG (`Job.screenshot`), or None if no browser loaded the page."""


class RowsInMemory:
    """A sink that keeps rows in memory."""

    def __init__(self) -> None:
        self.rows: list[Row] = []

    def target(self) -> str:
        """Returns the name of this sink."""
        return "memory"

    def prepare(self) -> int:
        """Does nothing."""
        return 0

    def upsert(self, rows: list[Row]) -> None:
        """Keeps rows, one per key."""
        known = {(row.kind, row.key) for row in rows}
        self.rows = [row for row in self.rows if (row.kind, row.key) not in known] + list(rows)

    def close(self) -> None:
        """Does nothing."""


class RobotsReader:
    """Reads the robots.txt rules of a dry run from the dry run's temporary store, before that store is
    removed. `url`: the URL at the end of the redirects so far. `rules`: the robots.txt rules of the origin of
    `url`."""

    def __init__(self, settings: Settings, sites: list[LoadedSite]) -> None:
        self._settings, self._sites, self.url = settings, sites, ""
        self.rules: RobotsRules | None = None

    async def read(self, setup: Setup, store: Store) -> None:
        """Follows the redirects of the seed, and reads the robots.txt rules of the last URL's origin."""
        self.url = setup.seeds[0]
        redirects = dict((await Crawls(store).look(NAME))[1])
        for _ in range(len(redirects)):
            self.url = redirects.get(self.url, self.url)
        scheme, host, _ = split(self.url)
        if self._settings.ignore_robots or not host_rules.host_needs(self._sites, host).robots:
            return
        known = (await CrawlStatistics(store).host(host)).robots.get(scheme)
        if known is None:
            return
        self.rules = RobotsRules(f"{urls.origin(self.url)}/robots.txt", agent_of(self._settings))
        version = int(known["version"])
        if version < 0:
            closed = robots_access.CLOSED.get(version, robots_access.CLOSED[robots_access.UNREACHABLE])
            self.rules = self.rules._replace(closed=closed)
        elif version != robots_access.OPEN:
            frontier = Frontier(store, NAME, policy(self._settings))
            kept = await frontier.rules(bucket_of(host, store.buckets), host, scheme[4:] or "h")
            if kept is not None:
                self.rules = self.rules._replace(robots=robots_access.rules(kept))


def agent_of(settings: Settings) -> str:
    """Returns the product token that is compared with the user agents of a robots.txt."""
    return settings.agent.partition("/")[0].strip()


async def try_one(job: Job, url: str, use: str | None = None, carry: Any = None) -> Trial:
    """Visits one URL and its redirects. robots.txt, limits and guards apply as in a crawl, but there are no
    retries. The page is read with the site files among the job's targets. The seeds of the site files are not
    visited. `use`: the page function that reads the page. `carry`: the value that the request carries. Raises
    UsageError if no site has the function `use`."""
    kept, pages, sites = RowsInMemory(), [], load_all(job.targets, job.args)
    _check_function(sites, use)
    robots = RobotsReader(job.settings, sites)

    def tap(claim: Claim, page: Page) -> None:
        pages.append((claim, page))

    with tempfile.TemporaryDirectory(prefix="gossamer-") as folder:
        settings = msgspec.structs.replace(
            job.settings,
            data=folder,
            store=None,
            retries=(),
            processes=1,
            scope="page",
            include=(),
            exclude=(),
            limit=None,
        )
        once = msgspec.structs.replace(
            job, settings=settings, outputs=[], name=NAME, text=True, links=True, fresh=False, sitemaps=False
        )
        receivers = ExtraReceivers(
            tables=[kept],
            page=tap,
            only=url,
            use=use,
            carry=carry,
            worked=robots.read,
            attach_pages=True,
        )
        summary = await crawl(once, receivers=receivers)
        log = Path(folder) / NAME / "attempts.jsonl"
        attempts = [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []
        screenshot = _screenshot(pages[-1][1]) if pages else None
        unread = [why for why, _, _ in failure_reasons(Path(folder) / NAME / "failed")]
    claim, page = pages[-1] if pages else (None, None)
    trial = Trial(
        summary, page, claim, kept.rows, attempts, sorted(summary.errors) + sorted(summary.skipped), unread
    )
    trial.sites, trial.screenshot = sites, screenshot
    if job.show:
        trial.pictures = _pictures(Path(job.show))
    if page is not None and claim is not None:
        trial.preview = preview(job, sites, claim, page, robots.rules)
    elif robots.rules is not None:
        trial.disallowed = shut_by(robots.rules, robots.url)
        closed = robots.rules.closed
        trial.closed_origin = closed.detail if closed is not None else ""
    return trial


def _screenshot(page: Page) -> bytes | None:
    return None if page.screenshot is None else Path(page.screenshot).read_bytes()


def _pictures(folder: Path) -> list[str]:
    return [str(path) for path in sorted(folder.glob("*.png"), key=lambda path: path.stat().st_mtime_ns)]


def _check_function(sites: list[LoadedSite], use: str | None) -> None:
    """Raises UsageError if no site has the page function."""
    names = [one.name for site in sites for one in site.site.functions]
    if use is not None and use not in names:
        known = f"the page functions are {', '.join(names)}" if names else "name a site file with --site FILE"
        raise UsageError(f"--use {use}: unknown page function; {known}")


def trial_values(trial: Trial) -> dict[str, Any]:
    """Converts a `Trial` to a dict of values that JSON supports."""
    preview = trial.preview
    rows = [
        {"kind": row.kind, **msgspec.to_builtins(row.data, builtin_types=(Decimal,))} for row in trial.rows
    ]
    return {
        "page": next((row for row in rows if row["kind"] == "page"), None),
        "items": [row for row in rows if row["kind"] != "page"],
        "headers": trial.page.headers if trial.page is not None else None,
        "site": preview.site or None if preview else None,
        "function": preview.function or None if preview else None,
        "carry": trial.claim.request.carry if trial.claim else None,
        "requests": msgspec.to_builtins(preview.requests) if preview else [],
        "links": msgspec.to_builtins(preview.links) if preview else [],
        "empty_without_scripts": preview.empty_without_scripts if preview else None,
        "robots": msgspec.to_builtins(trial.disallowed),
        "skipped": skipped(trial),
        "errors": trial.summary.errors,
        "unread": trial.unread,
        "attempts": trial.attempts,
        "pictures": trial.pictures,
    }


def skipped(trial: Trial) -> dict[str, int]:
    """Returns the number of URLs that a crawl would skip, by reason. The URLs are the links and requests of
    the page. If no page was received, the only URL is the requested URL."""
    if trial.preview is None:
        return trial.summary.skipped
    urls = {one.url: one for one in [*trial.preview.requests, *trial.preview.links]}
    reasons = Counter(one.reason for one in urls.values() if not one.followed)
    return {word: n for word, n in reasons.items() if word not in (NOT_YIELDED, NOT_SELECTED, "parse")}
