"""`gossamer prices try`: shows all prices of one page, and adds a line to the table of selectors."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from gossamer.cli.options import Argument, Json, Option
from gossamer.cli.prices import SELECTORS, Ladder, Selectors
from gossamer.errors import UsageError

if TYPE_CHECKING:
    from gossamer.uses.prices.try_page import TriedPage

Url = Annotated[str, Argument(metavar="URL", help="A product page.")]
File = Annotated[
    str | None, Option("--file", metavar="FILE", help="Read this saved page instead of fetching the URL.")
]
Write = Annotated[
    int | None,
    Option(
        "--write",
        metavar="N",
        help="Add the selector of candidate N to the table, for the whole domain.",
        least=1,
    ),
]
Choose = Annotated[
    str | None,
    Option(
        "--selector", metavar="CSS", help="Try this selector for the price; with --save, add it to the table."
    ),
]
Save = Annotated[bool, Option("--save", help="Add --selector to the table.")]
Variant = Annotated[
    str | None, Option("--variant", metavar="NAME", help="The variant that is meant: SKU, GTIN or options.")
]


def try_(
    url: Url,
    file: File = None,
    variant: Variant = None,
    selectors: Selectors = None,
    write: Write = None,
    selector: Choose = None,
    save: Save = False,
    ladder: Ladder = None,
    as_json: Json = False,
) -> int:
    """Show every price of a page with its role, source and confidence, and what would be recorded."""
    import msgspec

    from gossamer.cli.printing import put_json, remark
    from gossamer.uses.prices.selector_table import add_line
    from gossamer.uses.prices.try_page import try_page

    table = selectors or SELECTORS
    tried = try_page(
        url,
        file=file,
        variant=variant or "",
        selectors=table if selectors or Path(SELECTORS).is_file() else None,
        selector=selector,
        options={"ladder": ladder.split(",")} if ladder else {},
    )
    chosen = selector if save else None
    if save and selector is None:
        raise UsageError("--save adds the selector that --selector names: give it, too")
    if write is not None:
        if write > len(tried.candidates):
            raise UsageError(f"--write {write}: the page has {len(tried.candidates)} candidates")
        chosen = tried.candidates[write - 1].selector
        if not chosen:
            raise UsageError(f"--write {write}: no selector leads to this candidate; choose another one")
    if as_json:
        put_json(msgspec.to_builtins(tried))
    else:
        _print(tried)
    if chosen:
        add_line(table, tried.domain, "price", chosen)
        remark(f"{table}: {tried.domain},,price,{chosen}")
    return 0


def _print(tried: TriedPage) -> None:
    from gossamer.cli.printing import put_table

    rows: list[tuple[Any, ...]] = [
        (
            str(number),
            *(f"{one.amount}", one.currency or "", one.role, one.source, f"{one.confidence:.2f}"),
            *(one.selector or one.place, one.raw),
        )
        for number, one in enumerate(tried.candidates, 1)
    ]
    put_table(
        ("", "price", "currency", "role", "source", "confidence", "place", "as written"),
        rows,
        right=("price",),
    )
    print("\nrecorded:")
    for one in tried.observations:
        facts = [
            f"{one.price} {one.currency or ''}".strip() if one.price is not None else "",
            one.availability or "",
        ]
        if one.regular_price is not None:
            facts.append(f"instead of {one.regular_price}")
        if one.unit_price is not None:
            facts.append(f"{one.unit_price} per {one.unit}")
        facts += [one.detail, f"variant {one.variant}" if one.variant else ""]
        print(f"  {one.state}: {', '.join(filter(None, facts))}")
