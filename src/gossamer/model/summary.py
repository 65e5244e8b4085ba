"""The summary of a crawl, which `status` shows and `--json` prints (docs/records.md)."""

from __future__ import annotations

from typing import Any

import msgspec

from gossamer.model.quality import Quality

OTHER_HOSTS = "*"
"""The key for the sum of all other hosts, in a mapping from hosts to counts."""
STATES = (
    "running",
    "paused",
    "stopping",
    "cancelling",
    "finished",
    "limited",
    "stopped",
    "cancelled",
    "failed",
)
Counts = dict[str, int]
Qualities = dict[str, Quality]
"""Aliases, because `dict` in the class `Summary` is the method of this name."""


class Summary(msgspec.Struct):
    """The summary of a crawl. At any time, `found == pages + redirected + failed + dead + pending +
    sum(skipped)`."""

    crawl: str
    state: str
    reason: str | None
    started_at: str
    elapsed: float
    """Seconds of work on the crawl, including earlier runs."""
    found: int
    pages: int
    """Visits that ended with an HTTP response of any status."""
    redirected: int
    items: int
    succeeded: int
    """Pages with status 2xx or 304."""
    failed: int
    """URLs that failed permanently and are not dead letters, because they were dropped or canceled."""
    skipped: Counts
    retried: int
    dead: int
    """Dead letters that wait for a decision."""
    pending: int
    bytes: int
    """Total bytes of the bodies as received."""
    pages_per_second: float
    hosts: int
    errors: Counts
    outputs: list[str]
    new: int | None = 0
    """Items that the output's database did not contain before the run. Without a database that keeps the
    items, `new` is the number of pages that no earlier pass visited. `new`, `changed`, `unchanged` and `gone`
    are None if the outputs of the crawl cannot know them (docs/absence.md)."""
    changed: int | None = 0
    """Rows of items whose content differed from the stored content. Without a database that keeps the items,
    `changed` is the number of changed pages of a `--refresh`."""
    unchanged: int | None = 0
    """Rows of items whose content equaled the stored content, and unchanged pages of a `--refresh`. Unchanged
    items and pages cause no new rows."""
    gone: int | None = 0
    """Items marked as gone. Without a database that keeps the items, `gone` is the number of known pages that
    now return 404 or 410."""
    refused: int = 0
    """Rows that an output refused. The file refused.jsonl in the crawl's folder contains the refused rows."""
    files: int = 0
    """Files of items that were stored."""
    rejected: int = 0
    """Items that were rejected because of an error."""
    dropped: int = 0
    """Items that a pipeline step dropped."""
    refused_kinds: list[str] = []
    """Kinds whose rows were all refused by an output during the run."""
    duplicates: Counts = {}
    """Numbers of duplicate pages. `exact`: pages that equal an earlier page. `near`: pages that nearly equal
    an earlier page. `unkept`: pages that could not be added to the index of earlier pages, because the index
    was full."""
    counters: Counts = {}
    """The counters of page functions and steps (`page.count`)."""
    sites: Qualities = {}
    """The quality of each site, by name."""
    unfollowed_routes: Counts = {}
    """Maps hosts to the number of links on their pages that lead to a route in a fragment (`#/guide`) and
    were not followed. Links to routes in fragments are not included in the number `found`."""
    unrendered: Counts = {}
    """Maps hosts to the number of their pages that look empty without JavaScript and were fetched without a
    browser. `*`: other hosts."""

    unread_sitemaps: Counts = {}
    """Maps hosts to the number of their sitemaps and feeds that could not be read, for example because of a
    404."""
    unused_sitemaps: Counts = {}
    """Maps hosts of seeds to the number of sitemaps that their robots.txt names and the crawl does not use."""

    def adds_up(self) -> bool:
        """Returns whether the counts of all outcomes add up to the number of found URLs."""
        ended = self.pages + self.redirected + self.failed + self.dead
        return self.found == ended + self.pending + sum(self.skipped.values())

    def dict(self) -> dict[str, Any]:
        """Returns the summary as `gossamer crawl --json` prints it."""
        found: dict[str, Any] = msgspec.to_builtins(self)
        return found

    def keys(self) -> tuple[str, ...]:
        """Returns the names of the fields, so that `dict(summary)` works."""
        return self.__struct_fields__

    def __getitem__(self, name: str) -> Any:
        if name not in self.__struct_fields__:
            raise KeyError(name)
        return msgspec.to_builtins(getattr(self, name))

    def _repr_html_(self) -> str:
        from html import escape

        shown = {name: value for name, value in self.dict().items() if value not in (None, 0, [], {}, "")}
        rows = (
            f"<tr><th>{escape(name)}</th><td>{escape(str(value))}</td></tr>" for name, value in shown.items()
        )
        return f"<table>{''.join(rows)}</table>"

    def of_site(self, name: str) -> Summary:
        """Returns a copy of the summary in which `sites` contains only the site `name`."""
        return msgspec.structs.replace(self, sites={name: self.sites[name]})


def failed_summary(crawl: str, reason: str) -> Summary:
    """Returns the summary of a crawl that failed before its counts could be read.

    >>> failed_summary("books", "the store does not answer").state
    'failed'
    """
    from datetime import UTC, datetime

    return Summary(
        crawl=crawl,
        state="failed",
        reason=reason,
        started_at=datetime.now(UTC).isoformat(timespec="seconds"),
        elapsed=0.0,
        found=0,
        pages=0,
        redirected=0,
        items=0,
        succeeded=0,
        failed=0,
        skipped={},
        retried=0,
        dead=0,
        pending=0,
        bytes=0,
        pages_per_second=0.0,
        hosts=0,
        errors={},
        outputs=[],
    )
