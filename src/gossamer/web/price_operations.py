"""Operations on price histories. The rows are those of the commands `gossamer prices ...`."""

from __future__ import annotations

import asyncio
import time
from functools import partial
from typing import Any

from gossamer.client.table_files import TableRows, text_rows
from gossamer.errors import InvalidField
from gossamer.operations import inputs_of_uses as inputs
from gossamer.operations import inputs_of_views, results_of_uses, results_of_views
from gossamer.operations.command_runs import start_run
from gossamer.operations.context import OperationContext
from gossamer.operations.guarded_targets import check_target
from gossamer.uses.prices import report_tables, series
from gossamer.uses.prices.failing import list_failing
from gossamer.uses.prices.history import History
from gossamer.uses.prices.match_offers import OpenPair, decide, list_open
from gossamer.uses.prices.model import EventKind
from gossamer.uses.prices.report import choose_targets, list_products
from gossamer.uses.prices.target_filter import TargetFilter
from gossamer.web.use_tables import (
    Rows,
    data_folder,
    event_rows,
    history_of,
    history_option,
    history_table,
    list_words,
    moment,
    need_name,
    options_of,
    value_rows,
)

DAY_S = 86_400.0
_table = partial(history_table, History, "price_meta", "price history")


def _texts(table: TableRows) -> Rows:
    return [dict(zip(table.names, row, strict=True)) for row in text_rows(table)]


def _chosen(base: History, given: inputs.ChoosePrices) -> TargetFilter:
    need_name(given.shop, (one.shop for one in base.shops()), "shop")
    return choose_targets(base, given.shop, given.tag, given.product)


@_table
def price_list(base: History, given: inputs.ChoosePrices, most: int) -> Rows:
    """Lists the current prices, as the table `prices` of `gossamer prices report` does."""
    found = series.current_prices(base.database, limit=most, chosen=_chosen(base, given))
    return _texts(report_tables.current_table(found))


@_table
def price_moves(base: History, given: inputs.ListPriceMoves, most: int) -> Rows:
    """Lists the biggest changes of price, biggest first. A rise from 2 to 3 counts as much as a fall from 3 to 2."""
    now, chosen = time.time(), _chosen(base, given)
    after = now - given.days * DAY_S
    found = series.biggest_moves(base.database, after=after, before=now, limit=most, chosen=chosen)
    return _texts(report_tables.moves_table(found))


@_table
def price_market(base: History, given: inputs.ListMarket, most: int) -> Rows:
    """Compares the offers of a product, or of all products with several targets, cheapest first."""
    names = [given.product] if given.product is not None else list_products(base, limit=most)
    markets = {name: series.read_market(base.database, name) for name in names}
    if given.product is not None and not markets[given.product]:
        need_name(given.product, {one.product for one in base.targets()} - {""}, "product")
    return _texts(report_tables.market_table(markets))


@_table
def price_stale(base: History, given: inputs.ListStalePrices, most: int) -> Rows:
    """Lists the targets that no visit has found for days, oldest first."""
    before, chosen = time.time() - given.days * DAY_S, _chosen(base, given)
    found = series.stale_offers(base.database, before=before, limit=most, chosen=chosen)
    return _texts(report_tables.stale_table(found))


@_table
def price_failing(base: History, given: inputs.ListFailingPrices, most: int) -> Rows:
    """Lists the targets that fail: since when, in how many runs, and the last response."""
    need_name(given.shop, (one.shop for one in base.shops()), "shop")
    found = list_failing(
        base.database,
        state=given.state or "",
        chosen=TargetFilter(shop=given.shop or ""),
        least_runs=given.runs,
        limit=most,
    )
    return [{**one._asdict(), "url": url} for one, url in found]


@_table
def price_shops(base: History, given: inputs.ListShops, most: int) -> Rows:
    """Lists the shops with their state: ok, redesigned, away or moved."""
    return value_rows(report_tables.shops_table(base.shops()))


@_table
def price_series(base: History, given: inputs.PriceSeries, most: int) -> Rows:
    """Lists the prices of a target, oldest first. Each holds from its time until that of the next row."""
    need_name(given.target, (one.key for one in base.targets()), "target")
    found = series.read_series(base.database, given.target, given.variant, after=moment(given.since))
    return _texts(report_tables.series_table(found[:most]))


@_table
def price_events(base: History, given: inputs.ListPriceEvents, most: int) -> Rows:
    """Lists the changes of prices, availability, sellers, pages and shops, oldest first."""
    need_name(given.target, (one.key for one in base.targets()), "target")
    need_name(given.kind, [kind.value for kind in EventKind], "kind")
    found = base.events(after=moment(given.since), target=given.target or "")
    return event_rows(found, given.kind, most)


@_table
def price_matches(base: History, given: inputs_of_views.ListPriceMatches, most: int) -> Rows:
    """Lists pairs of offers with similar names that wait for a decision of a person, most similar first."""
    return [_pair(one) for one in list_open(base, later=given.skipped, limit=most)]


def _pair(pair: OpenPair) -> dict[str, Any]:
    found = {"one": pair.one, "other": pair.other, "score": round(pair.score, 2)}
    for name, values in (("shop", pair.shops), ("name", pair.names), ("url", pair.urls)):
        found |= {name: values[0], f"other_{name}": values[1]}
    prices = [
        None if price is None else f"{price:f} {currency}".strip()
        for price, currency in zip(pair.prices, pair.currencies, strict=True)
    ]
    return {**found, "price": prices[0], "other_price": prices[1], "conflict": pair.conflict or None}


async def price_decide(
    context: OperationContext, given: inputs_of_views.DecidePriceMatch
) -> results_of_views.MatchDecision:
    """Decides whether two targets offer the same product. `later` keeps the pair aside."""
    url = await asyncio.to_thread(history_of, context, given.history, "price_meta", "price history")

    def store() -> int:
        with History(url) as base:
            known = [one.key for one in base.targets()]
            need_name(given.one, known, "target")
            need_name(given.other, known, "target")
            if given.one == given.other:
                raise InvalidField("a target is always the same product as itself", "/other")
            decide(base, [(given.one, given.other, given.decision)], time.time())
            return len(list_open(base))

    left = await asyncio.to_thread(store)
    return results_of_views.MatchDecision(
        one=given.one, other=given.other, decision=given.decision, left=left
    )


async def price_run(context: OperationContext, given: inputs.StartPriceRun) -> results_of_uses.CommandRun:
    """Starts a price run: visits all product pages, and records every change. The lists are files in the folder of
    `serve`. A run that was stopped continues with the next one."""
    return await start_run(context, "prices", price_run_words(context, given), given.wait)


def price_run_words(context: OperationContext, given: inputs.StartPriceRun) -> list[str]:
    """Returns the words of the command behind `price_run`. Raises InvalidField."""
    if not given.lists and not given.urls:
        raise InvalidField("no target: give lists (names of files) or urls", "/lists")
    for number, url in enumerate(given.urls):
        check_target(url, context.settings, f"/urls/{number}")
    words = ["prices", "run", *context.words, history_option(context, given.history)]
    words += [f"--data={data_folder(context)}"]
    words += options_of(given, "delay", "within", "spread", "partly", "if_older")
    words += ["--json", "--quiet", "--", *list_words(context, given.lists), *given.urls]
    return words
