"""Operations on rank histories. The rows are those of the commands `gossamer ranks ...`."""

from __future__ import annotations

from functools import partial

from gossamer.errors import InvalidField
from gossamer.operations import inputs_of_uses as inputs
from gossamer.operations import results_of_uses
from gossamer.operations.command_runs import start_run
from gossamer.operations.context import OperationContext
from gossamer.uses.ranks import tables
from gossamer.uses.ranks.domains import plain_domain
from gossamer.uses.ranks.history import RankHistory
from gossamer.uses.ranks.model import RankEventKind
from gossamer.web.use_tables import (
    Rows,
    data_folder,
    event_rows,
    history_option,
    history_table,
    list_words,
    moment,
    need_name,
    options_of,
    value_rows,
)

_table = partial(history_table, RankHistory, "rank_meta", "rank history")


def followed_domain(base: RankHistory, text: str | None) -> str:
    """Returns a followed domain as the history names it, or ''. Raises InvalidField and UnknownName."""
    if text is None:
        return ""
    found = plain_domain(text)
    if found is None:
        raise InvalidField(f"{text[:200]!r} is not a domain", "/domain")
    need_name(found, {name for names in base.followed().values() for name in names}, "domain")
    return found


@_table
def rank_positions(base: RankHistory, given: inputs.ListPositions, most: int) -> Rows:
    """Lists the current, best and worst positions of the own domains, and the change in some days."""
    domain = followed_domain(base, given.domain)
    found = tables.positions_table(
        base, domain=domain, days=given.days, only_moves=given.moves, tag=given.tag
    )
    return value_rows(found)


@_table
def rank_history(base: RankHistory, given: inputs.RankSeries, most: int) -> Rows:
    """Lists the results of all checks of a keyword, including failed checks, oldest first."""
    words = " ".join(given.keyword.split())
    need_name(words, {one.keyword for one in base.searches(listed=False).values()}, "keyword")
    domain = followed_domain(base, given.domain)
    return value_rows(tables.keyword_table(base, words, domain=domain, days=given.days))


@_table
def rank_competitors(base: RankHistory, given: inputs.ListCompetitors, most: int) -> Rows:
    """Compares domains by share of voice, or side by side for each keyword."""
    domain = followed_domain(base, given.domain)
    if given.side_by_side:
        return value_rows(tables.side_by_side_table(base, domain=domain))
    return value_rows(tables.competitors_table(base, domain=domain, limit=most))


@_table
def rank_features(base: RankHistory, given: inputs.ListRankDays, most: int) -> Rows:
    """Lists the features of first result pages, and how often they contain own domains."""
    return value_rows(tables.features_table(base, days=given.days))


@_table
def rank_volatility(base: RankHistory, given: inputs.ListRankDays, most: int) -> Rows:
    """Lists how much the first ten results changed from run to run."""
    return value_rows(tables.volatility_table(base, days=given.days))


@_table
def rank_competing(base: RankHistory, given: inputs.ListRankDays, most: int) -> Rows:
    """Lists the keywords for which several own pages compete."""
    return value_rows(tables.competing_table(base, days=given.days))


@_table
def rank_failing(base: RankHistory, given: inputs.ListRanks, most: int) -> Rows:
    """Lists the searches that were never checked, and those whose last check failed or was skipped."""
    return value_rows(tables.failing_table(base))


@_table
def rank_events(base: RankHistory, given: inputs.ListRankEvents, most: int) -> Rows:
    """Lists the changes that checks found, oldest first."""
    need_name(given.kind, [kind.value for kind in RankEventKind], "kind")
    return event_rows(base.events(after=moment(given.since)), given.kind, most)


async def rank_run(context: OperationContext, given: inputs.StartRankRun) -> results_of_uses.CommandRun:
    """Starts a rank run by the provider of the server's settings, and records positions. It spends credits: `budget`
    limits those of a day. A run that was stopped continues with the next one, and pays for no page twice."""
    return await start_run(context, "ranks", rank_run_words(context, given), given.wait)


def rank_run_words(context: OperationContext, given: inputs.StartRankRun) -> list[str]:
    """Returns the words of the command behind `rank_run`. Raises InvalidField."""
    words = ["ranks", "run", *context.words, history_option(context, given.history)]
    words += [f"--data={data_folder(context)}"]
    words += options_of(
        given,
        *("budget", "first", "strategy", "no_fallback", "failed", "domain", "engine", "country"),
        *("language", "device", "if_older"),
    )
    words += ["--json", "--quiet", "--", *list_words(context, given.lists)]
    return words
