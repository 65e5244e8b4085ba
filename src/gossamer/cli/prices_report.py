"""`gossamer prices moves`, `market`, `stale` and `report`: what a price history shows."""

from __future__ import annotations

import csv
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

from gossamer.cli.options import Argument, Json, Option
from gossamer.cli.prices_rules import HistoryUrl, opened
from gossamer.errors import UsageError

Days = Annotated[int, Option("--days", metavar="N", help="Only the last N days (default 30).")]
Shop = Annotated[str | None, Option("--shop", metavar="SHOP", help="Only this shop.")]
Limit = Annotated[int, Option("--limit", metavar="N", help="At most N rows (default 50).")]
AsCsv = Annotated[bool, Option("--csv", help="Print CSV.")]
DAY_S = 86_400.0


def moves(
    days: Days = 30,
    shop: Shop = None,
    limit: Limit = 50,
    history: HistoryUrl = None,
    as_csv: AsCsv = False,
    as_json: Json = False,
) -> int:
    """List the biggest changes of price, biggest first. A rise by half is as big as the fall that undoes it."""
    from gossamer.uses.prices.series import biggest_moves

    now = time.time()
    _check(days, limit)
    with opened(history) as base:
        found = biggest_moves(
            base.database, after=now - days * DAY_S, before=now, limit=limit, shop=shop or ""
        )
    rows = [
        (
            *(one.name or one.target, one.target, one.variant, one.shop, _when(one.time)),
            *(_text(one.before), _text(one.after), one.currency or "", f"{one.percent:+.1f}"),
        )
        for one in found
    ]
    heads = ("name", "target", "variant", "shop", "time", "before", "after", "currency", "percent")
    put_rows(heads, rows, as_csv, as_json, right=("before", "after", "percent"), least=("variant", "target"))
    return 0


def market(
    product: Annotated[
        str | None, Argument(metavar="[PRODUCT]", help="The product's id in the list, or a target's key.")
    ] = None,
    limit: Limit = 50,
    history: HistoryUrl = None,
    as_csv: AsCsv = False,
    as_json: Json = False,
) -> int:
    """Compare the offers of a product, or of all products with several targets, cheapest first.

    Index: the price in percent of the median of the offers that can be bought.
    """
    from gossamer.uses.prices.report import list_products
    from gossamer.uses.prices.series import read_market

    _check(1, limit)
    rows = []
    with opened(history) as base:
        for name in [product] if product is not None else list_products(base, limit=limit):
            offers = read_market(base.database, name)
            if not offers and product is not None:
                raise UsageError(
                    f"{product}: no offer of this product is known; its id stands in the column product of the list"
                )
            rows += [
                (
                    *(name, one.shop, one.target, "" if one.rank is None else str(one.rank)),
                    *(_text(one.price), one.currency or "", _text(one.price_index), one.availability or ""),
                )
                for one in offers
            ]
    heads = ("product", "shop", "target", "rank", "price", "currency", "index", "availability")
    put_rows(heads, rows, as_csv, as_json, right=("rank", "price", "index"), least=("target",))
    return 0


def stale(
    days: Annotated[int, Option("--days", metavar="N", help="Not found for N days (default 2).")] = 2,
    shop: Shop = None,
    history: HistoryUrl = None,
    as_csv: AsCsv = False,
    as_json: Json = False,
) -> int:
    """List the targets that no visit has found for days, oldest first."""
    from gossamer.uses.prices.series import stale_offers

    _check(days, 1)
    with opened(history) as base:
        found = stale_offers(base.database, before=time.time() - days * DAY_S, limit=1_000_000)
    rows = [
        (one.target, one.variant, one.shop, _when(one.last_seen), _when(one.last_checked))
        for one in found
        if not shop or one.shop == shop
    ]
    put_rows(
        ("target", "variant", "shop", "last found", "last visit"), rows, as_csv, as_json, least=("variant",)
    )
    return 0


def report(
    output: Annotated[
        str, Option("-o", "--output", metavar="FILE", help="The HTML file (default report.html).")
    ] = "report.html",
    days: Days = 30,
    shop: Shop = None,
    history: HistoryUrl = None,
    as_json: Json = False,
) -> int:
    """Write a report as one HTML file: biggest moves with charts, the market, failing and stale targets.

    The file needs no other file, no script and no network, so it can be sent by mail.
    """
    from gossamer.uses.prices.report import read_report
    from gossamer.uses.prices.report_html import render_report

    _check(days, 1)
    with opened(history) as base:
        if shop and shop not in {one.shop for one in base.shops()}:
            raise UsageError(f"--shop {shop}: no such shop; gossamer prices shops lists them")
        found = read_report(base, now=time.time(), days=days, shop=shop or "")
    try:
        Path(output).write_text(render_report(found), encoding="utf-8")
    except OSError as error:
        raise UsageError(f"-o {output}: {error.strerror}") from error
    moves, products, charts = len(found.moves), len(found.markets), len(found.charts)
    if as_json:
        from gossamer.cli.printing import put_json

        put_json({"file": output, "moves": moves, "products": products, "charts": charts})
    else:
        print(f"{output}: {moves:,} moves, {products:,} products, {charts:,} charts")
    return 0


def _check(days: int, limit: int) -> None:
    if not 0 < days <= 36_500:
        raise UsageError("--days: a number from 1 to 36500")
    if limit < 1:
        raise UsageError("--limit: at least 1")


def put_rows(
    heads: Sequence[str],
    rows: Sequence[Sequence[str]],
    as_csv: bool,
    as_json: bool,
    right: Sequence[str] = (),
    least: Sequence[str] = (),
) -> None:
    """Prints rows as a table, as CSV, or as one JSON object per row."""
    from gossamer.cli.printing import put_json, put_table

    if as_csv:
        from gossamer.sinks.csv import guarded_field

        out = csv.writer(sys.stdout, lineterminator="\n")
        out.writerow(heads)
        out.writerows([guarded_field(one) for one in row] for row in rows)  # names come from pages
    elif as_json:
        for row in rows:
            put_json(dict(zip(heads, row, strict=True)))
    else:
        put_table(heads, rows, right=right, least=least)


def _text(value: Any) -> str:
    return "" if value is None else f"{value:f}"


def _when(seconds: float) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds)) if seconds else ""
