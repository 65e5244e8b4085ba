"""Parses stored result pages again after the data file with the page rules has changed. Corrects the
positions in the history, and adds a note to each corrected position."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable
from typing import NamedTuple

from gossamer.parsing.ranks import ResultPage
from gossamer.uses.ranks import page_rows
from gossamer.uses.ranks.history import RankHistory
from gossamer.uses.ranks.pages_to_fetch import Depth
from gossamer.uses.ranks.rank_crawl import refuse_other_query
from gossamer.uses.ranks.recorder import CheckRecorder

Parse = Callable[[bytes, str, str], ResultPage]
"""A function that parses a page, given the body, the engine and the URL of the page."""


class Reparsed(NamedTuple):
    """The result of `parse_again`. `corrected`: the number of positions that were added, changed or
    removed."""

    pages: int
    checks: int
    corrected: int


def count_outdated(history: RankHistory, version: str) -> int:
    """Returns the number of stored HTML pages that were parsed with another version of the data file."""
    ((count,),) = history.query(
        "SELECT count(*) FROM rank_pages WHERE body IS NOT NULL AND form = 'html' AND data_version <> ?",
        [version],
    )
    return int(count)


def parse_again(history: RankHistory, version: str, parse: Parse, *, everything: bool = False) -> Reparsed:
    """Parses stored HTML pages again if their `data_version` differs from `version`. `everything`: whether to
    parse all stored HTML pages. Corrects each run in one transaction, and adds a note to each corrected
    position. Past events are also corrected, but the corrections cause no alerts."""
    found = history.query("SELECT run, count(*) FROM rank_pages GROUP BY run ORDER BY run")
    _, _, is_open = history.run()
    open_run = history.run()[0] if is_open else -1
    pages = checks = corrected = 0
    touched: set[str] = set()
    for run, _ in found:
        with history.database.transaction():
            changed, searches = _parse_run(history, run, version, parse, everything)
            pages += changed
            touched |= searches
            if run == open_run or not touched:
                continue
            rows = history.query("SELECT search, time FROM rank_checks WHERE run = ? ORDER BY search", [run])
            names = [name for name, _ in rows if name in touched]
            if not names:
                continue
            before = _positions(history, run)
            started = min(at for _, at in rows)
            CheckRecorder(history.database, _all_domains(history), Depth()).settle(
                run, names, started, {}, again=True
            )
            after = _positions(history, run)
            checks += len(searches & set(names))
            corrected += sum(before.get(key, 0) != value for key, value in after.items())
            corrected += sum(key not in after for key in before)
    return Reparsed(pages, checks, corrected)


def _parse_run(
    history: RankHistory, run: int, version: str, parse: Parse, everything: bool
) -> tuple[int, set[str]]:
    """Parses the stored pages of a run again. Returns the number of parsed pages, and the ids of the searches
    whose parsed results changed."""
    rows = history.query(
        "SELECT p.search, p.page, p.verdict, p.results, p.data_version, p.url, s.engine, s.keyword, p.source "
        "FROM rank_pages p JOIN "
        "rank_searches s ON s.id = p.search WHERE p.run = ? AND p.body IS NOT NULL AND p.form = 'html'",
        [run],
    )
    count, searches = 0, set()
    for search, page, verdict, results, old, url, engine, keyword, source in rows:
        if old == version and not everything:
            continue
        key = (search, run, page)
        ((packed,),) = history.query(
            "SELECT body FROM rank_pages WHERE search = ? AND run = ? AND page = ?", list(key)
        )
        body = page_rows.body_of(packed)
        if body is None:
            continue
        parsed, count = refuse_other_query(parse(body, engine, url), keyword, source), count + 1
        note = ""
        if parsed.verdict != verdict or page_rows.pack_results(parsed.results) != results:
            searches.add(search)
            day = time.strftime("%Y-%m-%d", time.gmtime(history.clock()))
            note = f"parsed again on {day} with data {parsed.data_version}; was {verdict.replace('_', ' ')}"
        page_rows.rewrite_page(history.database, key, parsed, note)
    return count, searches


def _positions(history: RankHistory, run: int) -> dict[tuple[str, str], int | None]:
    rows = history.query("SELECT search, domain, position FROM rank_positions WHERE run = ?", [run])
    return {(search, domain): position for search, domain, position in rows}


def _all_domains(history: RankHistory) -> dict[str, dict[str, bool]]:
    found: dict[str, dict[str, bool]] = defaultdict(dict)
    for search, domain, own in history.query(
        "SELECT search, domain, own FROM rank_domains ORDER BY search, domain"
    ):
        found[search][domain] = bool(own)
    return dict(found)
