"""The tables, the report and the files of a small history, on each database."""

from __future__ import annotations

import csv
import re
from pathlib import Path
from typing import Any

import pytest

from gossamer.errors import UsageError
from gossamer.parsing.ranks import Result, ResultPage
from gossamer.uses.ranks import series
from gossamer.uses.ranks.export import export
from gossamer.uses.ranks.history import DAY_S, RankHistory
from gossamer.uses.ranks.model import FetchedResultPage, Keyword, Search
from gossamer.uses.ranks.pages_to_fetch import Depth
from gossamer.uses.ranks.report import read_report
from gossamer.uses.ranks.report_html import render_report

OWN, RIVAL = "own.example", "rival.example"
EVIL = "<script>alert(1)</script>=cmd"
KETTLE, POT = Search(keyword="kettle"), Search(keyword="pot")
PAGE = b"<html><head><script>1</script><meta http-equiv=refresh content=0><link rel=stylesheet href=//x></head><body>kept</body></html>"


def results(own: int, rival: int, path: str = "") -> ResultPage:
    hosts = {own: f"{OWN}/{path}", rival: f"{RIVAL}/"}
    found = [
        Result("organic", n, n, EVIL, f"https://{hosts.get(n, f'site-{n}.example/')}") for n in range(1, 11)
    ]
    if own == 2:
        found.append(Result("organic", None, 11, "also", f"https://{OWN}/second"))
        found.append(Result("ai_overview", None, 1, "", f"https://{OWN}/a"))
    return ResultPage("google", "ok", "", tuple(found), 0, "v", "kettle", 1)


@pytest.fixture
def filled(history: RankHistory, clock: Any) -> RankHistory:
    """Fills a history with two keywords over three days. The second keyword fails on the last day."""
    history.list_keywords(
        [
            Keyword(search=KETTLE, domain=OWN, competitors=(RIVAL,), volume=100),
            Keyword(search=POT, domain=OWN, volume=300),
        ]
    )
    days = (((5, 1), (3, 9)), ((4, 6), (3, 9)), ((2, 6), None))
    for day, (kettle, pot) in enumerate(days):
        clock.now = 1_790_000_000.0 + day * DAY_S
        history.begin_run()
        page = {"page": 1, "time": clock.now, "source": "test"}
        path = "new" if day == 2 else ""
        pages = [FetchedResultPage(search=KETTLE.id, parsed=results(*kettle, path), body=PAGE, **page)]
        if pot is not None:
            pages.append(FetchedResultPage(search=POT.id, parsed=results(*pot), **page))
        else:
            pages.append(FetchedResultPage(search=POT.id, error="timeout", **page))
        history.record(pages)
        history.end_run(Depth("basic"))
    return history


def test_standings(filled: RankHistory, clock: Any) -> None:
    kettle, pot = series.standings(filled, now=clock.now, days=2)
    assert (kettle.position, kettle.before, kettle.change, kettle.best, kettle.worst) == (2, 5, 3, 2, 5)
    assert (pot.position, pot.change, pot.state, pot.error) == (3, 0, "failed", "failed: timeout")
    assert pot.time == clock.now - DAY_S  # the day of the last known position
    assert [one.domain for one in series.standings(filled, now=clock.now, own=False)] == [OWN, RIVAL, OWN]
    assert [one.keyword for one in series.moves([kettle, pot])] == ["kettle"]
    assert [one.position for one in series.standings(filled, now=clock.now, domain=RIVAL, own=False)] == [6]


def test_series_failing_and_daily(filled: RankHistory, clock: Any) -> None:
    assert [point.position for point in series.read_series(filled, KETTLE.id, OWN)] == [5, 4, 2]
    assert [point.position for point in series.read_series(filled, POT.id, OWN)] == [3, 3]
    (failed,) = series.failing(filled)
    assert (failed.search.keyword, failed.state, failed.runs, failed.known) == (
        "pot",
        "failed",
        1,
        clock.now - DAY_S,
    )
    days = series.daily(
        filled, OWN, now=clock.now + 1, days=5, curve={1: 0.5, 2: 0.4, 3: 0.3, 4: 0.2, 5: 0.1}
    )
    assert [round(day.visibility, 3) for day in days] == [0.5, 0.55, 0.65]
    assert [day.known for day in days] == [2, 2, 2]


def test_a_search_fails_since_its_first_failure_after_the_last_good_check(
    filled: RankHistory, clock: Any
) -> None:
    first = clock.now
    for _ in range(2):
        clock.now += DAY_S
        filled.begin_run()
        page = FetchedResultPage(search=POT.id, error="captcha", page=1, time=clock.now, source="test")
        filled.record([page])
        filled.end_run(Depth("basic"))
    (failed,) = (one for one in series.failing(filled) if one.search == POT)
    assert (failed.since, failed.runs, failed.error) == (first, 3, "failed: captcha")


def test_features_volatility_and_competing(filled: RankHistory, clock: Any) -> None:
    (overview,) = [one for one in series.features(filled, now=clock.now, days=1) if one.type == "ai_overview"]
    assert (overview.pages, overview.shown, overview.owned, overview.shown_before) == (2, 1, 1, 0)
    calm, moved = series.volatility(filled)
    assert (calm.searches, moved.searches) == (2, 1)
    assert 0 < moved.jaccard < 1
    assert 0 < moved.rbo < 1
    (one,) = series.competing(filled)
    assert (one.keyword, one.switches, one.position) == ("kettle", 1, 2)
    voice = series.share_of_voice(filled)
    assert voice[OWN] > voice[RIVAL] > 0
    assert sum(voice.values()) == pytest.approx(1)


def test_the_report_is_one_safe_file(filled: RankHistory, clock: Any) -> None:
    report = read_report(filled, now=clock.now + 60, days=7)
    text = render_report(report)
    assert "<script" not in text
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in text
    assert re.findall(r'(?:src|href)="(?!https?://)', text) == []
    frame = re.search(r"<iframe sandbox[^>]* srcdoc=\"([^\"]*)\"", text)
    assert frame
    assert "kept" in frame[1]
    assert "refresh" not in frame[1]
    assert "stylesheet" not in frame[1]
    assert "position 1 at the top" in text
    assert "timeout" in text
    with pytest.raises(UsageError, match="not followed"):
        read_report(filled, now=clock.now, domain="other.example")
    with pytest.raises(UsageError, match="no page 1"):
        read_report(filled, now=clock.now, show="nobody")


def test_an_empty_history_says_what_to_do(history: RankHistory) -> None:
    with pytest.raises(UsageError, match="gossamer ranks run"):
        read_report(history, now=1.0)


def test_files(filled: RankHistory, tmp_path: Path) -> None:
    openpyxl, parquet = pytest.importorskip("openpyxl"), pytest.importorskip("pyarrow.parquet")
    assert export(filled, str(tmp_path / "a.csv")) == {"positions": 8}
    rows = list(csv.DictReader((tmp_path / "a.csv").read_text().splitlines()))
    assert [row["position"] for row in rows if row["keyword"] == "kettle" and row["domain"] == OWN] == [
        "5",
        "4",
        "2",
    ]
    assert rows[0]["title"].startswith("<script")
    counts = export(filled, str(tmp_path / "a.xlsx"))
    assert counts["checks"] == 6
    book = openpyxl.load_workbook(tmp_path / "a.xlsx")
    assert book.sheetnames == ["positions", "checks", "features", "events"]
    assert book["positions"].max_row == 9
    export(filled, str(tmp_path / "a.parquet"), "results")
    table = parquet.read_table(tmp_path / "a.parquet")
    assert table.num_rows == 52
    assert str(table.schema.field("time").type) == "timestamp[us, tz=UTC]"
    with pytest.raises(UsageError, match="ends in"):
        export(filled, str(tmp_path / "a.txt"))
    with pytest.raises(UsageError, match="--what"):
        export(filled, str(tmp_path / "a.csv"), "prices")


def test_old_bodies_are_removed_and_a_list_may_change(filled: RankHistory, clock: Any) -> None:
    count = "SELECT count(*) FROM rank_pages WHERE body IS NOT NULL"
    assert filled.query(count) == [(3,)]
    filled.list_keywords([Keyword(search=KETTLE, domain=OWN)])
    clock.now += 31 * DAY_S
    filled.begin_run()
    filled.end_run(Depth("basic"))
    assert filled.query(count) == [(0,)]
    assert set(filled.searches()) == {KETTLE.id}
    assert len(series.read_series(filled, POT.id, OWN)) == 2  # the history is kept
