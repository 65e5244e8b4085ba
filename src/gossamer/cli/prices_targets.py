"""`gossamer prices targets`: makes a list of targets from a shop, a sitemap, a query or another list."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from gossamer.cli.options import Argument, Json, Option
from gossamer.cli.prices import Ladder, Rejected, read_list
from gossamer.errors import UsageError

if TYPE_CHECKING:
    from gossamer.uses.prices.model import PriceTarget

Sources = Annotated[
    list[str],
    Argument(
        metavar="SOURCES...",
        help="shop:URL (crawls the shop for product pages), sitemap:URL, 'sql:DATABASE QUERY', or lists.",
    ),
]
Output = Annotated[
    str | None, Option("-o", "--output", metavar="FILE", help="The list, as CSV (default targets.csv).")
]
Include = Annotated[
    str | None, Option("--include", metavar="PATTERN", help="Only URLs that contain a match of this.")
]
Limit = Annotated[
    int,
    Option("--limit", metavar="N", help="The most pages of a shop that are crawled (default 5000).", least=1),
]
Delay = Annotated[str | None, Option("--delay", metavar="SECONDS", help="Between two requests to a host.")]


def targets(
    sources: Sources,
    output: Output = None,
    include: Include = None,
    limit: Limit = 5000,
    delay: Delay = None,
    ladder: Ladder = None,
    rejected: Rejected = None,
    as_json: Json = False,
) -> int:
    """Make a list of targets from a shop, a sitemap, a query or another list."""
    from gossamer.cli.printing import put_json, remark
    from gossamer.uses.prices.targets import write_targets

    try:
        wanted = re.compile(include or "")
    except re.error as error:
        raise UsageError(f"--include {include!r}: {error}") from None
    found: dict[str, PriceTarget] = {}
    for source in sources:
        if source.startswith("shop:"):
            many = _discovered(source.partition(":")[2], limit, delay, ladder)
        else:
            many = iter(read_list([source], rejected).targets)
        for one in many:
            if wanted.search(one.url):
                found.setdefault(one.key, one)
    if not found:
        raise UsageError(f"no product page was found in {', '.join(sources)[:200]}")
    path = Path(output or "targets.csv")
    write_targets(path, found.values())
    if as_json:
        put_json({"file": str(path), "targets": len(found)})
    remark(f"{len(found):,} targets are in {path}: add columns such as product, tags, rules as you need them")
    return 0


def _discovered(url: str, limit: int, delay: str | None, ladder: str | None) -> Iterator[PriceTarget]:
    from gossamer.uses.prices.discovery import discover

    options = {"delay": delay, "ladder": ladder.split(",") if ladder else None}
    return discover(url, limit=limit, options={name: value for name, value in options.items() if value})
