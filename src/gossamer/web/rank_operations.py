"""Operations on rank histories. The rows are those of the commands `gossamer ranks ...`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from gossamer.client.table_files import TableRows
from gossamer.errors import InvalidField
from gossamer.operations import inputs_of_uses as inputs
from gossamer.operations import results, results_of_uses
from gossamer.operations.command_runs import start_run
from gossamer.operations.context import OperationContext
from gossamer.uses.ranks import tables
from gossamer.uses.ranks.domains import plain_domain
from gossamer.uses.ranks.history import RankHistory
from gossamer.uses.ranks.model import RankEventKind
from gossamer.web.use_tables import (
    Rows,
    check_seen,
    data_folder,
    database_of,
    list_words,
    moment,
    need_name,
    options_of,
    table_page,
)


def _rows(table: TableRows) -> Rows:
    return [dict(zip(table.names, row, strict=True)) for row in table.rows]


async def _page(
    context: OperationContext, given: Any, read: Callable[[RankHistory, int], Rows]
) -> results.RowPage:
    path = database_of(context, given.history, "rank_meta", "rank history")

    def rows(most: int) -> Rows:
        with RankHistory(path) as base:
            return read(base, most)

    return await table_page(given, rows)


def followed_domain(base: RankHistory, text: str | None) -> str:
    """Returns a followed domain as the history names it, or ''. Raises InvalidField and UnknownName."""
    if text is None:
        return ""
    found = plain_domain(text)
    if found is None:
        raise InvalidField(f"{text[:200]!r} is not a domain", "/domain")
    need_name(found, {name for names in base.followed().values() for name in names}, "domain")
    return found


async def rank_positions(context: OperationContext, given: inputs.ListPositions) -> results.RowPage:
    """Lists the current, best and worst positions of the own domains, and the change in some days."""
    return await _page(
        context,
        given,
        lambda base, most: _rows(
            tables.positions_table(
                base,
                domain=followed_domain(base, given.domain),
                days=given.days,
                only_moves=given.moves,
                tag=given.tag,
            )
        ),
    )


async def rank_history(context: OperationContext, given: inputs.RankSeries) -> results.RowPage:
    """Lists the results of all checks of a keyword, including failed checks, oldest first."""

    def read(base: RankHistory, most: int) -> Rows:
        words = " ".join(given.keyword.split())
        need_name(words, {one.keyword for one in base.searches(listed=False).values()}, "keyword")
        domain = followed_domain(base, given.domain)
        return _rows(tables.keyword_table(base, words, domain=domain, days=given.days))

    return await _page(context, given, read)


async def rank_competitors(context: OperationContext, given: inputs.ListCompetitors) -> results.RowPage:
    """Compares domains by share of voice, or side by side for each keyword."""

    def read(base: RankHistory, most: int) -> Rows:
        domain = followed_domain(base, given.domain)
        if given.side_by_side:
            return _rows(tables.side_by_side_table(base, domain=domain))
        return _rows(tables.competitors_table(base, domain=domain, limit=most))

    return await _page(context, given, read)


async def rank_features(context: OperationContext, given: inputs.ListRankDays) -> results.RowPage:
    """Lists the features of first result pages, and how often they contain own domains."""
    return await _page(context, given, lambda base, most: _rows(tables.features_table(base, days=given.days)))


async def rank_volatility(context: OperationContext, given: inputs.ListRankDays) -> results.RowPage:
    """Lists how much the first ten results changed from run to run."""
    return await _page(
        context, given, lambda base, most: _rows(tables.volatility_table(base, days=given.days))
    )


async def rank_competing(context: OperationContext, given: inputs.ListRankDays) -> results.RowPage:
    """Lists the keywords for which several own pages compete."""
    return await _page(
        context, given, lambda base, most: _rows(tables.competing_table(base, days=given.days))
    )


async def rank_failing(context: OperationContext, given: inputs.ListRanks) -> results.RowPage:
    """Lists the searches that were never checked, and those whose last check failed or was skipped."""
    return await _page(context, given, lambda base, most: _rows(tables.failing_table(base)))


async def rank_events(context: OperationContext, given: inputs.ListRankEvents) -> results.RowPage:
    """Lists the changes that checks found, oldest first."""

    def read(base: RankHistory, most: int) -> Rows:
        need_name(given.kind, [kind.value for kind in RankEventKind], "kind")
        found = base.events(after=moment(given.since))
        chosen = [one for one in found if given.kind in (None, one.kind.value)]
        return [msgspec.to_builtins(one) for one in chosen[:most]]

    return await _page(context, given, read)


async def rank_run(context: OperationContext, given: inputs.StartRankRun) -> results_of_uses.CommandRun:
    """Starts a rank run by the provider of the server's settings, and records positions. It spends credits: `budget`
    limits those of a day. A run that was stopped continues with the next one, and pays for no page twice."""
    history = check_seen(context, given.history, "/history")
    words = ["ranks", "run", *context.words, f"--history={history}.db"]
    words += [f"--data={data_folder(context)}"]
    words += options_of(
        given,
        *("budget", "first", "strategy", "no_fallback", "failed", "domain", "engine", "country"),
        *("language", "device", "if_older"),
    )
    words += ["--json", "--quiet", "--", *list_words(context, given.lists)]
    return await start_run(context, "ranks", words, given.wait)
