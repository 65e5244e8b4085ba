"""The crawl of an audit. The crawl uses only the public API. The page function of the site reads the facts of
each page. Two sinks write pages and attempts into the database before a visit is settled."""

from __future__ import annotations

import base64
from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import msgspec

import gossamer
from gossamer import Site
from gossamer.client.stored_pages import UNSTORED
from gossamer.errors import CrawlFailed, NothingFound
from gossamer.uses.audit.database import AuditDatabase, ResponseRow, host_of
from gossamer.uses.audit.model import PAGE_KINDS, HostAlias, PageFacts, PageLink, to_json
from gossamer.uses.audit.page_facts import read_page

if TYPE_CHECKING:
    from gossamer import PageView
    from gossamer.parsing.rendering_need import RenderingNeed

RETRIES = "10s,1m"
"""The waiting times before the retries of a failed page. The waiting times are short so that failed pages do
not delay the report for long."""
ERROR_STATUSES = range(400, 500)
FINAL_OUTCOMES = ("done", "redirected", "dead", "skipped")
ROBOTS = "/robots.txt"
_writers: dict[str, AuditWriter] = {}
"""Maps an id to the writer of each running crawl. The URL of the sink `AuditAttempts` contains the id, so
that the sink can find the writer of its crawl."""
_facts = msgspec.json.Decoder(PageFacts).decode
_links = msgspec.json.Decoder(list[PageLink]).decode


class AuditWriter:
    """Writes the pages and responses of a crawl into the database. `checked`: whether the crawl only checks
    links."""

    def __init__(self, database: AuditDatabase, checked: bool = False) -> None:
        self.database, self.checked = database, checked
        self._silent: dict[str, str] = {}
        """Maps each origin whose robots.txt could not be requested to the error of the request."""

    def write(self, rows: Sequence[Mapping[str, Any]]) -> None:
        """Writes pages and failures. The rows are durable when the method returns."""
        self.database.write_pages(
            (
                row["page"],
                _facts(row["facts"]),
                _links(row["links"]),
                base64.b64decode(row["sketch"]),
                row["elapsed"],
            )
            for row in rows
            if "facts" in row
        )
        self.database.write_responses(
            ResponseRow(
                row["page"], row["status"], "dead", row["failed"], 0.0, 0, None, row["at"], self.checked
            )
            for row in rows
            if "failed" in row
        )
        self.database.note_unstored(row["page"] for row in rows if "unstored" in row)
        self.database.write_sizes((row["page"], row["length"]) for row in rows if "length" in row)

    def write_attempts(self, rows: Sequence[Mapping[str, Any]]) -> None:
        """Writes redirects and the last attempt of each visit, except attempts for robots.txt."""
        for row in rows:
            if row["status"] is None and row["url"].endswith(ROBOTS) and row.get("error"):
                self._silent[row["url"].removesuffix(ROBOTS)] = row["error"]
        self.database.write_responses(
            ResponseRow(
                url=row["url"],
                status=row["status"],
                outcome=row["outcome"],
                error=row.get("error"),
                seconds=row["seconds"],
                size=row["bytes_wire"],
                location=row.get("location"),
                at=row["ts"],
                checked=self.checked,
            )
            for row in rows
            if row["outcome"] in FINAL_OUTCOMES and not row["url"].endswith(ROBOTS)
        )

    def explain_unreachable(self) -> None:
        """Replaces the error `robots-unreachable` with the error of the request for robots.txt."""
        with self.database.transaction() as base:
            for origin, reason in self._silent.items():
                base.execute(
                    "UPDATE responses SET error = ? WHERE error = 'robots-unreachable' AND id IN "
                    "(SELECT id FROM urls WHERE host = ? AND url LIKE ? || '/%')",
                    [reason, host_of(f"{origin}/"), origin],
                )

    def __enter__(self) -> str:
        """Returns the name of the sink for attempts."""
        _writers[name := str(id(self))] = self
        return f"python://gossamer.uses.audit.site_crawl:AuditAttempts?writer={name}"

    def __exit__(self, *_: object) -> None:
        _writers.pop(str(id(self)), None)


class AuditAttempts:
    """The sink for attempts."""

    def __init__(self, url: str) -> None:
        self._writer = _writers[url.rpartition("=")[2]]

    def write(self, rows: Sequence[Mapping[str, Any]]) -> None:
        """Writes rows. The rows are durable when the method returns."""
        self._writer.write_attempts(rows)


def page_item(
    view: PageView, need: RenderingNeed | None = None, alias: HostAlias | None = None
) -> dict[str, Any]:
    """Returns the facts of a page as an item."""
    try:
        facts, links, sketch = read_page(view, need, alias)
    except ValueError as error:  # the page would take too much memory
        page = view.page
        facts = PageFacts(
            url=view.url,
            status=view.status,
            content_type=page.content_type or "",
            size=len(page.body),
            structured_errors=[f"the page is too costly to read: {error}"[:300]],
        )
        links, sketch = [], b""
    return {
        "page": view.url,
        "facts": to_json(facts),
        "links": to_json(links),
        "sketch": base64.b64encode(sketch).decode(),
        "elapsed": view.page.elapsed,
    }


def make_site(
    name: str,
    writer: AuditWriter,
    alias: HostAlias | None = None,
    named: Collection[str] = (),
    **options: Any,
) -> Site:
    """Returns the site whose pages are audited. `alias`: the other host whose URLs count as URLs of the site.
    `named`: the hosts on which the crawl also visits pages that are only named, for example as a canonical
    URL."""
    from gossamer.parsing.rendering_need import RenderingNeed  # a late import, because it loads the parser

    site = Site(name, sinks=[writer], retries=options.pop("retries", RETRIES), **options)

    need = RenderingNeed()

    @site.page(name="page")
    def page(view: PageView) -> Iterator[Any]:
        item = page_item(view, need, alias)
        yield item
        for url in _named_pages(item, alias):
            if host_of(url) in named:
                yield view.request(url)

    @site.page(name="error_page", status=ERROR_STATUSES)
    def error_page(view: PageView) -> Iterator[dict[str, Any]]:
        yield {"page": view.url, "unstored": True} if is_unstored(view) else page_item(view, alias=alias)

    record_failures(site)
    return site


def _named_pages(item: Mapping[str, Any], alias: HostAlias | None) -> Iterator[str]:
    """Yields the URLs that a page names and to which no ordinary link may lead: its canonical URL, its language
    versions, the target of its script, and links to the host of `alias`."""
    facts: PageFacts = _facts(item["facts"])
    found = [facts.canonical, facts.script_redirect, *(url for _, _, url in facts.hreflangs)]
    if alias is not None:
        found += [one.url for one in _links(item["links"]) if one.kind in PAGE_KINDS and one.nofollow != 1]
    yield from dict.fromkeys(url.partition("#")[0] for url in found if url and url != facts.url)


def is_unstored(view: PageView) -> bool:
    """Returns whether a page is missing in the archive. For a missing page, the archive returns its own 404
    response."""
    return view.status == 404 and view.body == UNSTORED


def record_failures(site: Site) -> None:
    """Registers a function that yields an item for each failed URL of the site."""

    @site.failed
    def failed(failure: Any) -> Iterator[dict[str, Any]]:
        yield {
            "page": failure.url,
            "failed": str(failure.reason),
            "status": failure.status,
            "at": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.999Z"),
        }


def run_crawl(
    site: Site, writer: AuditWriter, seeds: list[Any], options: Mapping[str, Any]
) -> tuple[str, Any]:
    """Runs or resumes a crawl. Returns the state and the summary of the crawl. A crawl in which every page
    failed raises no error, because the failures are findings."""
    with writer as attempts:
        try:
            result: Any = gossamer.run(site, *([seeds] if seeds else []), attempts=attempts, **options)
        except (CrawlFailed, NothingFound) as error:
            result = error.summary
    writer.explain_unreachable()
    return getattr(result, "state", "finished"), result
