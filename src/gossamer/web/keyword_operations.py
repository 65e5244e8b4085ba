"""Operations on keyword counts. The rows are those of the commands `gossamer keywords ...`."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import msgspec

from gossamer.config.value_parsers import nearest
from gossamer.errors import InvalidField, UnknownName, UsageError
from gossamer.operations import inputs_of_uses as inputs
from gossamer.operations import results, results_of_uses
from gossamer.operations.command_runs import start_run
from gossamer.operations.context import OperationContext
from gossamer.operations.guarded_targets import check_target
from gossamer.uses.keywords.run import done_run, list_runs
from gossamer.uses.keywords.views import RunTables, read_trend
from gossamer.web.use_tables import (
    Rows,
    check_seen,
    data_folder,
    list_words,
    names_file,
    need_name,
    options_of,
    table_page,
)


def keyword_folder(context: OperationContext, name: str) -> str:
    """Returns the folder of keyword runs. Raises UnknownName, with the nearest name that the caller may see."""
    known = sorted(
        path.parent.name
        for path in Path().glob("*/runs")
        if context.caller.sees(path.parent.name) and any(path.glob("*/run.json"))
    )
    if name not in known:
        raise UnknownName(f"no folder of keyword counts is named {name!r}{nearest(name, known)}")
    return name


def _rows(found: Iterable[Any]) -> Rows:
    return [msgspec.to_builtins(one) for one in found]


async def _page(
    context: OperationContext, given: Any, read: Callable[[RunTables, int], Iterable[Any]]
) -> results.RowPage:
    folder = keyword_folder(context, given.folder)

    def rows(most: int) -> Rows:
        need_name(given.run, (one.id for one in list_runs(folder) if one.state == "done"), "run that is done")
        try:
            _, place = done_run(folder, given.run)
            with RunTables(place) as tables:
                return _rows(read(tables, most))
        except UsageError as error:  # a site or a keyword of this name was not counted
            raise UnknownName(str(error)) from None

    return await table_page(given, rows)


def _site(tables: RunTables, site: str | None) -> str:
    return tables.check_site(site) if site else ""


async def keyword_runs(context: OperationContext, given: inputs.ListKeywordRuns) -> results.RowPage:
    """Lists the keyword counts of a folder, oldest first."""
    folder = keyword_folder(context, given.folder)
    return await table_page(given, lambda most: _rows(list_runs(folder)[:most]))


async def keyword_totals(context: OperationContext, given: inputs.ListKeywordTotals) -> results.RowPage:
    """Lists the counted keywords, the most frequent first: counts, pages, density, places on the pages."""
    return await _page(context, given, lambda tables, most: tables.keywords(_site(tables, given.site), most))


async def keyword_terms(context: OperationContext, given: inputs.ListKeywordTerms) -> results.RowPage:
    """Lists the words and phrases that matter on the pages, with count, pages, density and TF-IDF."""
    return await _page(
        context,
        given,
        lambda tables, most: tables.terms(_site(tables, given.site), given.language or "", given.words, most),
    )


async def keyword_pages(context: OperationContext, given: inputs.ListKeywordPages) -> results.RowPage:
    """Lists the pages with a keyword: count, density, where on the page, and the first contexts."""
    return await _page(
        context,
        given,
        lambda tables, most: tables.pages_of(given.keyword, _site(tables, given.site), most),
    )


async def keyword_gaps(context: OperationContext, given: inputs.ListKeywordGaps) -> results.RowPage:
    """Lists the keywords and terms that a competitor's pages have and the own pages do not have."""
    return await _page(
        context,
        given,
        lambda tables, most: tables.gaps(
            tables.check_site(given.mine, "mine"), tables.check_site(given.theirs, "theirs"), most
        ),
    )


async def keyword_overlap(context: OperationContext, given: inputs.CompareKeywordSites) -> results.RowPage:
    """Compares the sites of a run pair by pair: the keywords on both sites, and on only one."""
    return await _page(context, given, lambda tables, most: tables.overlap()[:most])


async def keyword_cannibals(context: OperationContext, given: inputs.ListCannibals) -> results.RowPage:
    """Lists keywords for which several pages of one site compete."""
    return await _page(context, given, lambda tables, most: tables.cannibals(_site(tables, given.site), most))


async def keyword_trend(context: OperationContext, given: inputs.KeywordTrend) -> results.RowPage:
    """Lists how often a keyword was found in each run, oldest first."""
    folder = keyword_folder(context, given.folder)

    def read(most: int) -> Rows:
        runs = [one for one in list_runs(folder) if one.state == "done"]
        found = read_trend(folder, runs, given.keyword, (given.site or "").removeprefix("www."))
        if not found:
            raise UnknownName(f"{given.keyword!r} was counted in no run of {folder}")
        return _rows(found[:most])

    return await table_page(given, read)


async def keyword_run(context: OperationContext, given: inputs.StartKeywordRun) -> results_of_uses.CommandRun:
    """Starts a keyword count: crawls sites, counts keywords in their main texts, and discovers the terms that matter.
    Lists are files in the folder of `serve`."""
    return await start_run(context, "keywords", keyword_run_words(context, given), given.wait)


def keyword_run_words(context: OperationContext, given: inputs.StartKeywordRun) -> list[str]:
    """Returns the words of the command behind `keyword_run`. Raises InvalidField."""
    for number, url in enumerate(given.urls):
        check_target(url, context.settings, f"/urls/{number}")
    for number, word in enumerate(given.keywords):
        if names_file(word):
            raise InvalidField(f"{word!r} names a file: give it in lists", f"/keywords/{number}")
    folder = check_seen(context, given.folder, "/folder")
    words = ["keywords", "count", *context.words, f"--folder={folder}"]
    words += [f"--data={data_folder(context)}"]
    words += [f"--list={name}" for name in (*list_words(context, given.lists), *given.keywords)]
    words += options_of(
        given, *("stem", "context", "limit", "scope", "include", "exclude", "delay", "if_older", "fresh")
    )
    words += ["--json", "--quiet", "--", *given.urls]
    return words
