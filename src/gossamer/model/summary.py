"""The summary of a crawl: what `status` shows and `--json` prints (docs/records.md)."""

from __future__ import annotations

import msgspec

from gossamer.model.quality import Quality

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


class Summary(msgspec.Struct):
    """`found == pages + redirected + failed + dead + pending + sum(skipped)` holds at any time."""

    crawl: str
    state: str
    reason: str | None
    started_at: str
    elapsed: float
    """Seconds the crawl was at work, earlier runs included."""
    found: int
    pages: int
    """Visits that ended with an HTTP answer, whatever its status."""
    redirected: int
    items: int
    succeeded: int
    """Pages with status 2xx or 304."""
    failed: int
    """Errors for good that are no dead letters: dropped or cancelled ones."""
    skipped: dict[str, int]
    retried: int
    dead: int
    """Dead letters that wait for a decision."""
    pending: int
    bytes: int
    """Of bodies as received."""
    pages_per_second: float
    hosts: int
    errors: dict[str, int]
    outputs: list[str]
    new: int = 0
    """Items that the store did not have before the run; without a store that keeps items: pages that no
    earlier pass knew (docs/absence.md)."""
    changed: int = 0
    """Items that say something else than before; without such a store: pages of a `--refresh` that do."""
    unchanged: int = 0
    """Items that say what they said before, and pages of a `--refresh` that are as they were: no row was
    written."""
    gone: int = 0
    """Items that were marked as gone; without a store that keeps items: pages that were there and answer 404
    or 410."""
    refused: int = 0
    """Rows that a store refused (refused.jsonl in the crawl's folder)."""
    files: int = 0
    """Files of items that were kept."""
    rejected: int = 0
    """Items kept aside, as something is wrong with them."""
    dropped: int = 0
    """Items that steps dropped."""
    refused_kinds: list[str] = []
    """Kinds of which a store refused every row of the run."""
    duplicates: dict[str, int] = {}
    """Pages that say the same as another (`exact`), or nearly (`near`); `unkept`: that began a group when
    there was no more room."""
    sites: dict[str, Quality] = {}
    """What the sites give, by name."""

    def adds_up(self) -> bool:
        """Whether every found URL is accounted for."""
        ended = self.pages + self.redirected + self.failed + self.dead
        return self.found == ended + self.pending + sum(self.skipped.values())

    def of_site(self, name: str) -> Summary:
        """The same with one of its sites alone."""
        return msgspec.structs.replace(self, sites={name: self.sites[name]})


def failed(crawl: str, reason: str) -> Summary:
    """The summary of a crawl that failed before its counts could be read.

    >>> failed("books", "the store does not answer").state
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
