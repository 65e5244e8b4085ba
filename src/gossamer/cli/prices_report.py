"""`gossamer prices send`, `moves`, `market`, `stale` and `report`: send and show the data of a price history."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated

from gossamer.cli.options import Argument, Json, Option
from gossamer.cli.prices_rules import HISTORY, HistoryUrl, opened
from gossamer.cli.record_output import (
    Again,
    PriceKinds,
    RecordOutputs,
    RecordsToSend,
    put_sent,
    sending_folder,
)
from gossamer.cli.table_output import put_table_rows
from gossamer.errors import UsageError

Days = Annotated[int, Option("--days", metavar="N", help="Only the last N days (default 30).")]
Shop = Annotated[str | None, Option("--shop", metavar="SHOP", help="Only this shop.")]
Limit = Annotated[int, Option("--limit", metavar="N", help="At most N rows (default 50).")]
AsCsv = Annotated[bool, Option("--csv", help="Print CSV.")]
Tag = Annotated[str | None, Option("--tag", metavar="TAG", help="Only targets with this tag.")]
Product = Annotated[
    str | None, Option("--product", metavar="PRODUCT", help="Only this product: its id, or a target's key.")
]
TableFile = Annotated[
    str | None,
    Option(
        "-o", "--output", metavar="FILE", help="Write the table to .xlsx, .parquet, .csv, .jsonl, .sqlite."
    ),
]
DAY_S = 86_400.0


def send(
    output: RecordOutputs = None,
    what: PriceKinds = None,
    again: Again = False,
    history: HistoryUrl = None,
    as_json: Json = False,
) -> int:
    """Send the recorded prices and events to outputs: each output gets what it does not have yet.

    A record is sent at least once, always with the same id. The history keeps all records.
    """
    from gossamer.uses.prices.records import KINDS

    folder = sending_folder(history, HISTORY, "prices")
    records = RecordsToSend(output, KINDS, what, folder, needed=True)
    return put_sent(records.send(lambda: opened(history), again=again), as_json)


def moves(
    days: Days = 30,
    shop: Shop = None,
    tag: Tag = None,
    product: Product = None,
    limit: Limit = 50,
    history: HistoryUrl = None,
    output: TableFile = None,
    as_csv: AsCsv = False,
    as_json: Json = False,
) -> int:
    """List the biggest changes of price, biggest first. A rise from 2 to 3 counts as much as a fall from 3 to
    2."""
    from gossamer.cli.printing import remark
    from gossamer.config.value_texts import format_number
    from gossamer.uses.prices.report import choose_targets
    from gossamer.uses.prices.report_tables import moves_table
    from gossamer.uses.prices.series import biggest_moves

    now = time.time()
    _check(days, limit)
    with opened(history) as base:
        chosen = choose_targets(base, shop, tag, product)
        found = biggest_moves(base.database, after=now - days * DAY_S, before=now, limit=limit, chosen=chosen)
    put_table_rows(
        *("moves", moves_table(found), output, as_csv, as_json),
        right=("before", "after", "percent"),
        least=("variant", "target"),
    )
    if not found:
        remark(f"no price changed within {format_number(days, 'day')}")
    return 0


def market(
    product: Annotated[
        str | None, Argument(metavar="[PRODUCT]", help="The product's id in the list, or a target's key.")
    ] = None,
    limit: Limit = 50,
    history: HistoryUrl = None,
    output: TableFile = None,
    as_csv: AsCsv = False,
    as_json: Json = False,
) -> int:
    """Compare the offers of a product, or of all products with several targets, cheapest first.

    The column `index` contains the price in percent of the median price of all available offers.
    """
    from gossamer.cli.printing import remark
    from gossamer.uses.prices.report import list_products
    from gossamer.uses.prices.report_tables import market_table
    from gossamer.uses.prices.series import read_market

    _check(1, limit)
    with opened(history) as base:
        names = [product] if product is not None else list_products(base, limit=limit)
        markets = {name: read_market(base.database, name) for name in names}
    if product is not None and not markets[product]:
        raise UsageError(
            f"{product}: no offer of this product is known; its id stands in the column product of the list"
        )
    put_table_rows(
        *("market", market_table(markets), output, as_csv, as_json),
        right=("rank", "price", "index"),
        least=("target",),
    )
    if not markets:
        remark(
            "no product has several targets: give them the same value in the column product of the list, or run "
            "gossamer prices match"
        )
    return 0


def stale(
    days: Annotated[int, Option("--days", metavar="N", help="Not found for N days (default 2).")] = 2,
    shop: Shop = None,
    tag: Tag = None,
    product: Product = None,
    history: HistoryUrl = None,
    output: TableFile = None,
    as_csv: AsCsv = False,
    as_json: Json = False,
) -> int:
    """List the targets that no visit has found for days, oldest first."""
    from gossamer.cli.printing import remark
    from gossamer.config.value_texts import format_number
    from gossamer.uses.prices.report import choose_targets
    from gossamer.uses.prices.report_tables import stale_table
    from gossamer.uses.prices.series import stale_offers

    _check(days, 1)
    with opened(history) as base:
        found = stale_offers(
            base.database,
            before=time.time() - days * DAY_S,
            limit=1_000_000,
            chosen=choose_targets(base, shop, tag, product),
        )
    put_table_rows("stale", stale_table(found), output, as_csv, as_json, least=("variant",))
    if not found:
        remark(f"every target was found within {format_number(days, 'day')}")
    return 0


def report(
    output: Annotated[
        str,
        Option(
            "-o",
            "--output",
            metavar="FILE",
            help="The HTML file (default report.html), or the tables as .xlsx, .parquet, .csv, ...",
        ),
    ] = "report.html",
    days: Days = 30,
    shop: Shop = None,
    tag: Tag = None,
    product: Product = None,
    history: HistoryUrl = None,
    as_json: Json = False,
) -> int:
    """Write a report as one HTML file: biggest moves with charts, the market, failing and stale targets.

    The file needs no other file, no script and no network, so it can be sent by mail. With another file
    extension, only the tables are written: to one sheet per table in Excel, or to one file per table in CSV
    and Parquet.
    """
    from gossamer.uses.prices.report import choose_targets, read_report

    _check(days, 1)
    with opened(history) as base:
        found = read_report(base, now=time.time(), days=days, chosen=choose_targets(base, shop, tag, product))
    files = [output]
    if Path(output).suffix.lower() in (".html", ".htm"):
        from gossamer.uses.prices.report_html import render_report

        try:
            Path(output).write_text(render_report(found), encoding="utf-8")
        except OSError as error:
            raise UsageError(f"-o {output}: {error.strerror}") from error
    else:
        from gossamer.client.table_files import write_tables
        from gossamer.uses.prices.report_tables import report_tables

        files = write_tables(output, report_tables(found))
    moves, products, charts = len(found.moves), len(found.markets), len(found.charts)
    if as_json:
        from gossamer.cli.printing import put_json

        put_json({"file": output, "files": files, "moves": moves, "products": products, "charts": charts})
    else:
        print(f"{', '.join(files)}: {moves:,} moves, {products:,} products, {charts:,} charts")
    return 0


def _check(days: int, limit: int) -> None:
    if not 0 < days <= 36_500:
        raise UsageError("--days: a number from 1 to 36500")
    if limit < 1:
        raise UsageError("--limit: at least 1")
