"""Formats the summary of a crawl as a small table. The numbers in the rows that are marked with = and + add
up to the number of found URLs."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from gossamer.cli.printing import is_plain_stderr, put_table
from gossamer.config.value_texts import format_bytes, format_counts, format_duration, format_number
from gossamer.model.summary import OTHER_HOSTS

if TYPE_CHECKING:
    from gossamer.model.quality import Quality
    from gossamer.model.summary import Summary

MAX_SITES, MAX_LOW_FIELDS = 10, 4
"""Maximum number of sites shown, and of fields shown for each site."""
MAX_ADVICE_HOSTS = 3
"""Maximum number of hosts in one line of advice."""


def summary_rows(summary: Summary) -> list[tuple[str, str]]:
    """Returns the labels and values of the summary table. The value of the row `found` is the sum of the rows
    that are marked with = and +."""
    s = summary
    state = s.state + (f": {s.reason}" if s.reason else "")
    items = (
        [("rejected", f"{s.rejected} items (rejected-items.jsonl in the crawl's folder)")]
        if s.rejected
        else []
    )
    known = (
        ("new", s.new),
        ("changed", s.changed),
        ("unchanged", s.unchanged),
        ("gone", s.gone),
        ("refused by a store", s.refused),
    )
    told = [", ".join(f"{n} {what}" for what, n in known if n)]
    told.append("unknown: " + ", ".join(what for what, n in known if n is None))
    if said := "; ".join(one for one in told if one not in ("", "unknown: ")):
        items = [("rows", said), *items]
    items += [("files", f"{s.files} kept")] if s.files else []
    items += [("dropped", f"{s.dropped} items, by steps")] if s.dropped else []
    items += [("duplicates", format_duplicates(s.duplicates))] if s.duplicates else []
    items += [("counters", format_counts(s.counters))] if s.counters else []
    items += [(f"site {name}", site_line(one)) for name, one in list(s.sites.items())[:MAX_SITES]]
    return [
        ("crawl", f"{s.crawl} ({state})"),
        ("found", f"{format_number(s.found, 'URL')} on {format_number(s.hosts, 'host')}"),
        ("= pages", f"{s.pages}, of which {s.succeeded} succeeded; {s.items} items, {format_bytes(s.bytes)}"),
        ("+ redirected", str(s.redirected)),
        ("+ failed", str(s.failed)),
        ("+ dead", f"{s.dead}" + (f" (gossamer dead list {s.crawl})" if s.dead else "")),
        ("+ pending", str(s.pending)),
        ("+ skipped", f"{sum(s.skipped.values())}: {format_counts(s.skipped)}" if s.skipped else "0"),
        ("errors", format_counts(s.errors)),
        *items,
        (
            "time",
            f"{format_duration(s.elapsed)} at work, {s.pages_per_second} pages/s, {s.retried} {'retry' if s.retried == 1 else 'retries'}",
        ),
        ("outputs", ", ".join(s.outputs) or "-"),
    ]


def advice(summary: Summary) -> list[str]:
    """Returns advice about pages that the crawl could not read, and about links that the crawl could not
    follow. Each kind of advice is one line."""
    lines = []
    if found := summary.unrendered:
        one = sum(found.values()) == 1
        lines.append(
            f"{format_number(sum(found.values()), 'page')} of {_hosts(found)} {'looks' if one else 'look'} "
            "empty without JavaScript: --ladder plain,browser"
        )
    if found := summary.unfollowed_routes:
        one = sum(found.values()) == 1
        lines.append(
            f"{format_number(sum(found.values()), 'link')} to #/routes of {_hosts(found)} "
            f"{'was' if one else 'were'} not followed: --ladder plain,browser --fragments routes makes each "
            "route a page, --fragments drop leaves them out"
        )
    if found := summary.unread_sitemaps:
        one = sum(found.values()) == 1
        lines.append(
            f"{format_number(sum(found.values()), 'sitemap')} of {_hosts(found)} could not be read, so "
            f"{'its' if one else 'their'} pages are missing: gossamer attempts {summary.crawl} shows why"
        )
    if found := summary.unused_sitemaps:
        one = sum(found.values()) == 1
        lines.append(
            f"robots.txt names {format_number(sum(found.values()), 'sitemap')} of {_hosts(found)}, which "
            f"{'was' if one else 'were'} not read: --sitemaps makes {'its' if one else 'their'} pages seeds"
        )
    return lines


def _hosts(counts: dict[str, int]) -> str:
    """Formats the names of the hosts with the highest counts for a message."""
    names = sorted((name for name in counts if name != OTHER_HOSTS), key=lambda name: -counts[name])
    more = len(counts) - len(names[:MAX_ADVICE_HOSTS])
    listed = f"host{'s' if len(counts) > 1 else ''} {', '.join(names[:MAX_ADVICE_HOSTS])}"
    return listed + (" and more" if more else "")


def format_duplicates(found: dict[str, int]) -> str:
    """Formats the number of pages that duplicate another page.

    >>> format_duplicates({"exact": 2, "near": 1})
    '2 pages have the same text as another page, 1 nearly'
    """
    text = f"{found.get('exact', 0)} pages have the same text as another page, {found.get('near', 0)} nearly"
    unkept = found.get("unkept", 0)
    return text + (
        f"; {unkept} more were not kept to compare with (raise ?most= of --duplicates)" if unkept else ""
    )


def site_line(one: Quality) -> str:
    """Formats the quality of a site as one line. The line contains the quality score, the fields that are
    missing most often, and the values that are lower than in earlier runs."""
    low = sorted((share, field) for field, share in one.coverage.items() if share < 1)[:MAX_LOW_FIELDS]
    fell = sorted(((by, name) for name, by in one.drift.items() if by >= 0.01), reverse=True)[:MAX_LOW_FIELDS]
    words = [f"quality {format_share(one.quality)}"]
    words += [", ".join(f"{field} in {format_share(n)}" for n, field in low)] if low else []
    words += (
        ["below earlier runs: " + ", ".join(f"{name} by {format_share(by)}" for by, name in fell)]
        if fell
        else []
    )
    return "; ".join(words)


def format_share(n: float) -> str:
    """Formats a share as a percentage. The percentage is rounded down, so 100% means that the share is
    complete.

    >>> format_share(0.9996), format_share(0.5)
    ('99.9%', '50%')
    """
    return f"{int(n * 1000) / 10:g}%"


def put_summary(summary: Summary, quiet: bool) -> None:
    """Prints the summary on stderr. On a terminal, the summary is a table. Otherwise, the summary is one line
    of JSON. If logging has started, the summary is a log event."""
    from gossamer.observability import logs

    if quiet:
        return
    if logs.started() is not None:
        logs.log_event("summary", **summary.dict())
        return
    if is_plain_stderr():
        import msgspec

        print(msgspec.json.encode(summary).decode(), file=sys.stderr)
        return
    put_table((), summary_rows(summary), file=sys.stderr)
