"""Each kind of record of each use, sent to each output and read back."""

from __future__ import annotations

import csv
import json
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from gossamer.errors import SinkAway, UsageError
from gossamer.parsing.ranks import Result, ResultPage
from gossamer.uses.audit.database import AuditDatabase
from gossamer.uses.audit.exports import check_outputs as check_audit_outputs
from gossamer.uses.audit.exports import write_output
from gossamer.uses.audit.model import AuditSummary, CheckOutcome
from gossamer.uses.audit.records import KINDS as AUDIT_KINDS
from gossamer.uses.audit.records import read_records
from gossamer.uses.keywords.exports import check_output, export
from gossamer.uses.keywords.records import TABLES as KEYWORD_TABLES
from gossamer.uses.prices.history import History
from gossamer.uses.prices.records import KINDS as PRICE_KINDS
from gossamer.uses.ranks.history import RankHistory
from gossamer.uses.ranks.model import FetchedResultPage, Keyword, Search
from gossamer.uses.ranks.pages_to_fetch import Depth
from gossamer.uses.ranks.recorder import CheckRecorder
from gossamer.uses.ranks.records import KINDS as RANK_KINDS
from gossamer.uses.record_stream import RecordKind, SentRecords, check_outputs, send_records
from sinks.databases.database_servers import Place, running
from support.fleet_workers import until
from support.web_receiver import receiving
from uses.keywords.stored import count, page
from uses.prices.visits import DAY_S, run, seen, target

ALL = 1 << 62
FILES = ("jsonl", "csv", "parquet", "sqlite")
Rows = dict[str, dict[str, Mapping[str, Any]]]
"""Records by kind and id."""


@pytest.fixture
def prices(tmp_path: Path, clock: Any) -> Iterator[History]:
    """Three offers. One changes on the second day."""
    with History(str(tmp_path / "prices.db"), clock) as history:
        history.list_targets([target("a"), target("b", product="kettle", tags=("x",)), target("c")])
        for price in ("99.90", "89.90"):
            run(
                history,
                clock,
                "abc",
                lambda key, time, _, price=price: [seen(key, time, price if key == "b" else "5.00")],
            )
        yield history


@pytest.fixture
def ranks(tmp_path: Path, clock: Any) -> Iterator[RankHistory]:
    """A search on two days, and one that fails."""
    kettle, pot = Search(keyword="kettle"), Search(keyword="pot")
    with RankHistory(str(tmp_path / "ranks.db"), clock) as history:
        followed = [Keyword(search=kettle, domain="own.example", competitors=("rival.example",), volume=100)]
        history.list_keywords([*followed, Keyword(search=pot, domain="own.example")])
        for own in (5, 2):
            clock.now += DAY_S
            history.begin_run()
            found = [
                Result(
                    "organic", n, n, f"title {n}", f"https://{'own' if n == own else f'site-{n}'}.example/"
                )
                for n in range(1, 11)
            ]
            parsed = ResultPage("google", "ok", "", tuple(found), 0, "v", "kettle", 1)
            given = {"page": 1, "time": clock.now, "source": "test"}
            history.record(
                [
                    FetchedResultPage(search=kettle.id, parsed=parsed, **given),
                    FetchedResultPage(search=pot.id, error="timeout", **given),
                ]
            )
            history.end_run(Depth("basic"))
        yield history


AUDIT = AuditSummary(
    url="https://a.example/",
    audit=2,
    before=1,
    state="finished",
    whole=False,
    reasons=["2 links lead deeper than --depth"],
    pages=9,
    recent=3,
    indexable=8,
    links=40,
    external_checked=1,
    external=2,
    errors=1,
    warnings=1,
    notices=0,
    new=1,
    fixed=0,
    seconds=1.5,
    database="a.db",
    checks=[
        CheckOutcome(
            "broken-link", "status", "error", "Broken links", "Mend them.", "checked", "", 1, 1, 0, 0.1
        ),
        CheckOutcome("orphan", "links", "warning", "Orphans", "Link them.", "likely", "", 1, 0, 0, 0.1),
    ],
)


@pytest.fixture
def audits(tmp_path: Path) -> Iterator[AuditDatabase]:
    """An audit with two findings, and the audit before it."""
    with AuditDatabase(tmp_path / "audits" / "a.db") as database:
        for number in (1, 2):
            assert database.begin(AUDIT.url, {}).number == number
            database.update(number, ended=1795600000.0)
        with database.transaction() as base:
            rows = (
                (1, "orphan", "https://a.example/o", "", "", 0),
                (2, "orphan", "https://a.example/o", "", "likely", 0),
                (
                    2,
                    "broken-link",
                    "https://a.example/x",
                    "https://a.example/\u00fc",
                    "HTTP 404, \u201chere\u201d",
                    1,
                ),
            )
            base.executemany("INSERT INTO findings VALUES (?, ?, ?, ?, ?, ?)", rows)
        yield database


def send_audit(outputs: Sequence[str], audits: AuditDatabase) -> Rows:
    """Sends an audit, and returns its records."""
    check_audit_outputs(outputs)
    for output in outputs:
        write_output(output, audits, AUDIT)
    rows: Rows = {kind: dict(read_records(audits, AUDIT, kind)) for kind in AUDIT_KINDS}
    assert {kind: len(of) for kind, of in rows.items()} == {"audit": 1, "audit_finding": 2}
    return rows


PAGES = [
    page(
        "https://www.a.example/1",
        "hot tea here | with a bar, tea",
        _seen_at="2026-11-25T10:00:00Z",
        title="Tea",
        language="en",
    ),
    page("https://b.example/2", "more tea now", time=1795600000.0, title="x"),
    page("https://b.example/3", "a cup of milk", title="tea"),
]


def expected(kinds: Mapping[str, RecordKind], history: Any) -> Rows:
    """Returns the records of a history."""
    return {kind.name: dict(kind.read(history.database, -ALL, ALL)) for kind in kinds.values()}


def same(given: Any, found: Any) -> bool:
    """Whether an output contains a value, as a type or a text that stands for it."""
    if given is None or given == []:
        return found in (None, "", "[]", [], "null")
    if isinstance(given, bool):
        return str(found).lower() in (str(given).lower(), str(int(given)))
    if isinstance(given, int | float | Decimal):
        return abs(float(found) - float(given)) < 1e-9 * max(1, abs(float(given)))
    if isinstance(given, datetime):
        at = found if isinstance(found, datetime) else datetime.fromisoformat(found)
        return abs((at if at.tzinfo else at.replace(tzinfo=UTC)).timestamp() - given.timestamp()) < 0.002
    if isinstance(given, list):
        return given == (json.loads(found) if isinstance(found, str) else list(found))
    return given == found


def check(found: Sequence[Mapping[str, Any]], rows: Mapping[str, Mapping[str, Any]], kind: str) -> None:
    """Checks that an output has exactly these records of a kind, each with all of its fields."""
    whole = [
        json.loads(row["data"]) if isinstance(row.get("data"), str) else row.get("data") or row
        for row in found
    ]
    assert sorted(row["id"] for row in whole) == sorted(rows), kind
    for row in whole:
        wrong = {
            name: (value, row.get(name))
            for name, value in rows[row["id"]].items()
            if not same(value, row.get(name))
        }
        assert wrong == {}, kind


@pytest.mark.parametrize(
    "name", ["postgresql", "mongodb", "hash", "hashes", "list", "kafka", "webhook", "cassandra"]
)
def test_each_record_of_each_use_is_read_back_from_a_store(
    name: str, tmp_path: Path, prices: History, ranks: RankHistory, audits: AuditDatabase
) -> None:
    with running(name) as place:
        wanted = _send_all(place, prices, ranks, tmp_path) | send_audit([place.spec], audits)
        for kind, rows in wanted.items():
            assert rows, kind
            check(place.found(kind), rows, kind)


def _send_all(place: Place, prices: History, ranks: RankHistory, folder: Path) -> Rows:
    """Sends all records, and returns them."""
    wanted: Rows = {}
    for history, kinds in ((prices, PRICE_KINDS), (ranks, RANK_KINDS)):

        def sent(history: Any = history, kinds: Mapping[str, RecordKind] = kinds) -> list[SentRecords]:
            try:
                return send_records(
                    history.database, [place.spec], str(folder / "work"), list(kinds.values())
                )
            except SinkAway:  # a broker that has just started
                return []

        wanted |= (rows := expected(kinds, history))
        assert {one.kind: one.rows for one in until("the store takes rows", sent)} == {
            kind: len(of) for kind, of in rows.items()
        }
        assert send_records(history.database, [place.spec], str(folder / "work"), list(kinds.values())) == []
    keywords = _send_keywords([place.spec], folder)
    if place.spec.startswith("postgresql"):  # a keyword run writes these tables itself, without ids
        for kind, rows in keywords.items():
            check_table(place.found(kind), rows, kind)
        return wanted
    return wanted | keywords


def _send_keywords(outputs: Sequence[str], folder: Path) -> Rows:
    """Exports a keyword run, and returns its records, as JSON Lines contain them."""
    lines = folder / "keywords.jsonl"
    with count(folder, PAGES, ["tea", "milk"])[1] as tables:
        for output in (str(lines), *outputs):
            check_output(output)
            export(tables, "one", output, list(KEYWORD_TABLES), str(folder))
    rows: Rows = {}
    for line in lines.read_text().splitlines():
        row = json.loads(line)
        row["time"] = row["time"] and datetime.fromisoformat(row["time"])
        rows.setdefault(row.pop("_kind"), {})[row["id"]] = row
    assert rows.keys() == {one.table for one in KEYWORD_TABLES.values()}
    return rows


def check_table(
    found: Sequence[Mapping[str, Any]],
    rows: Mapping[str, Mapping[str, Any]],
    kind: str,
    lacks: Sequence[str] = (),
    digits: int = 17,
) -> None:
    """Checks a table that a keyword run itself writes. It has no ids, and its contexts are one text. `lacks`: the
    fields that it lacks. `digits`: how many digits its numbers have."""
    (key,) = (one.key for one in KEYWORD_TABLES.values() if one.table == kind)
    ids = {tuple(row[name] for name in key): name for name, row in rows.items()}

    def stored(field: str, value: Any) -> Any:
        if field == "contexts":
            return " | ".join(value) or None
        return float(f"{value:.{digits}g}") if isinstance(value, float) else value

    wanted = {
        name: {field: stored(field, value) for field, value in row.items() if field not in lacks}
        for name, row in rows.items()
    }
    check([{**row, "id": ids[tuple(row[name] or "" for name in key)]} for row in found], wanted, kind)


def test_each_record_is_read_back_from_files(tmp_path: Path, prices: History, ranks: RankHistory) -> None:
    import pyarrow.parquet as pq

    for folder, history, kinds in (
        (tmp_path / "p", prices, PRICE_KINDS),
        (tmp_path / "r", ranks, RANK_KINDS),
    ):
        folder.mkdir()
        outputs = [str(folder / f"out.{ending}") for ending in FILES]
        for _ in range(2):
            send_records(history.database, outputs, str(tmp_path / "work"), list(kinds.values()))
        wanted = expected(kinds, history)
        for kind, rows in wanted.items():
            with sqlite3.connect(folder / "out.sqlite") as base:
                base.row_factory = sqlite3.Row
                check([dict(row) for row in base.execute(f'SELECT * FROM "{kind}"')], rows, kind)  # noqa: S608
            with open(folder / f"out.{kind}.csv", newline="") as file:
                check([*csv.DictReader(file)], rows, kind)
            parts = pq.read_table(folder / f"out.{kind}.parquet").to_pylist()
            extra = [json.loads(row.pop("_extra") or "{}") for row in parts]
            check([{**row, **more} for row, more in zip(parts, extra, strict=True)], rows, kind)
        lines = [json.loads(line) for line in (folder / "out.jsonl").read_text().splitlines()]
        check(lines, {key: row for rows in wanted.values() for key, row in rows.items()}, "all")


def test_each_record_of_an_audit_is_read_back_from_files(tmp_path: Path, audits: AuditDatabase) -> None:
    import pyarrow.parquet as pq

    outputs = [str(tmp_path / f"out.{ending}") for ending in ("jsonl", "parquet", "sqlite")]
    wanted = send_audit(outputs, audits)
    for kind, rows in wanted.items():
        with sqlite3.connect(tmp_path / "out.sqlite") as base:
            base.row_factory = sqlite3.Row
            check([dict(row) for row in base.execute(f'SELECT * FROM "{kind}"')], rows, kind)  # noqa: S608
        parts = pq.read_table(tmp_path / f"out.{kind}.parquet").to_pylist()
        extra = [json.loads(row.pop("_extra") or "{}") for row in parts]
        check([{**row, **more} for row, more in zip(parts, extra, strict=True)], rows, kind)
    lines = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    check(lines, {key: row for rows in wanted.values() for key, row in rows.items()}, "all")
    with pytest.raises(UsageError, match="appended"):
        check_audit_outputs(["s3://bucket/audits"])


def test_each_record_of_a_keyword_run_is_read_back_from_files(tmp_path: Path) -> None:
    import pyarrow.parquet as pq

    outputs = [str(tmp_path / name) for name in ("k.sqlite", "k.csv", "k/")]
    outputs[-1] += "/"
    csv_names = {"keyword_totals": "k.csv", "keyword_pages": "k.pages.csv", "keyword_terms": "k.terms.csv"}
    for kind, rows in _send_keywords(outputs, tmp_path).items():
        with sqlite3.connect(tmp_path / "k.sqlite") as base:
            base.row_factory = sqlite3.Row
            check_table([dict(row) for row in base.execute(f'SELECT * FROM "{kind}"')], rows, kind)  # noqa: S608
        check_table(pq.read_table(tmp_path / "k" / f"{kind}.parquet").to_pylist(), rows, kind, ["run"])
        if kind in csv_names:
            with open(tmp_path / csv_names[kind], newline="") as file:
                check_table([*csv.DictReader(file)], rows, kind, ["run"], digits=6)


def test_a_second_output_gets_the_whole_history_and_each_output_only_what_is_new(
    tmp_path: Path, prices: History, clock: Any
) -> None:
    kinds, work = [PRICE_KINDS["prices"], PRICE_KINDS["events"]], str(tmp_path / "work")
    first, second = str(tmp_path / "first.jsonl"), str(tmp_path / "second.jsonl")

    def sent(*outputs: str, again: bool = False) -> dict[str, int]:
        found: dict[str, int] = {}
        for one in send_records(prices.database, outputs, work, kinds, again=again):
            found[Path(one.output).name] = found.get(Path(one.output).name, 0) + one.rows
        return found

    assert sent(first) == {"first.jsonl": 8}
    run(prices, clock, "abc", lambda key, time, _: [seen(key, time, "79.90" if key == "b" else "5.00")])
    assert sent(second, first) == {"first.jsonl": 2, "second.jsonl": 10}
    assert sent(second, first) == {}
    Path(second).unlink()
    assert sent(second, first) == {"second.jsonl": 10}
    assert sent(first, again=True) == {"first.jsonl": 10}
    rows = [json.loads(line) for line in Path(second).read_text().splitlines()]
    changed = [(row["was"], row["price"]) for row in rows if row["_kind"] == "price" and row["target"] == "b"]
    assert changed == [(None, 99.9), (99.9, 89.9), (89.9, 79.9)]


def test_an_output_that_is_away_holds_no_other_and_gets_the_rest_later(
    tmp_path: Path, prices: History, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOOK", "whsec_c2VjcmV0")
    kinds, work = [PRICE_KINDS["prices"]], str(tmp_path / "work")
    with receiving([503, 200]) as hook:
        away = hook.url.replace("http://", "http+webhook://") + "/?secret=${env:HOOK}"
        here = str(tmp_path / "here.jsonl")
        with pytest.raises(SinkAway):
            send_records(prices.database, [away, here], work, kinds)
        assert len(Path(here).read_text().splitlines()) == 4
        (one,) = send_records(prices.database, [away, here], work, kinds)
        assert (one.kind, one.rows) == ("price", 4)
        assert "${env:HOOK}" in one.output or "***" in one.output


def test_a_position_that_a_run_writes_again_is_sent_once(tmp_path: Path, ranks: RankHistory) -> None:
    kinds, output = [RANK_KINDS["positions"]], [str(tmp_path / "ranks.jsonl")]
    (one,) = send_records(ranks.database, output, str(tmp_path), kinds)
    assert one.rows == 4
    run_number = ranks.query("SELECT max(run) FROM rank_positions")[0][0]
    names = [name for (name,) in ranks.query("SELECT DISTINCT search FROM rank_positions")]
    with ranks.database.transaction():
        recorder = CheckRecorder(ranks.database, ranks.followed(names), Depth("basic"))
        recorder.settle(run_number, names, ranks.clock(), {}, again=True)
    assert send_records(ranks.database, output, str(tmp_path), kinds) == []


def test_an_output_that_cannot_receive_records_is_told_before_the_run(tmp_path: Path) -> None:
    kinds = list(PRICE_KINDS.values())
    for output in ("p.xlsx", "p.json", "p.warc.gz", "s3://bucket/prices"):
        with pytest.raises(UsageError, match="appended"):
            check_outputs([str(tmp_path / output) if "://" not in output else output], kinds, str(tmp_path))
    with pytest.raises(SinkAway):
        check_outputs(["mongodb://127.0.0.1:1/prices"], kinds, str(tmp_path))
    check_outputs([str(tmp_path / f"p.{ending}") for ending in FILES], kinds, str(tmp_path))
    assert not list(tmp_path.glob("p*")), "a file that the check makes would not count as new"
