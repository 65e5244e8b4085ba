"""Requirements for every store of rows: it contains each row once, whatever the row contains, even if the
store goes down meanwhile."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from conftest import seen_in_store
from gossamer.errors import SinkAway
from gossamer.model.interfaces import HistorySink
from gossamer.model.visit import Row
from gossamer.sinks.columns import OURS, Column, item_columns, page_columns
from gossamer.sinks.output_spec import open_output
from sinks.databases.bad_rows import ASIDE, hard, wrong
from sinks.databases.database_servers import APPENDED, PLACES, Place
from sinks.rows_and_commits import Book, book, loose, page
from support.processes import until

COLUMNS = {"page": page_columns(), **item_columns([Book])}


class Sink:
    """A sink of either kind, used as a worker uses it."""

    def __init__(self, place: Place, folder: Path, owner: str = "c@1", spec: str = "") -> None:
        folder.mkdir(exist_ok=True)
        output: Any = open_output(spec or place.spec, COLUMNS, folder=str(folder), owner=owner)
        self.table = output if hasattr(output, "upsert") else None
        self.file = None if self.table else output.sink("")
        self.length = 0

    def prepare(self) -> None:
        patiently((self.table or self.file).prepare)

    def put(self, rows: list[Row]) -> None:
        if self.table:
            patiently(lambda: self.table.upsert(rows))
        else:
            self.length = patiently(lambda: self.file.append(self.length, rows))
            patiently(lambda: self.file.ship(self.length))

    def drop(self) -> None:
        (self.table.close if self.table else self.file.drop)()

    def close(self) -> None:
        if self.table:
            self.table.close()
        else:
            self.file.close(self.length)


def patiently(call: Callable[[], Any]) -> Any:
    """Repeats a call until the store accepts it. Returns the result."""
    found: list[Any] = []

    def tried() -> bool:
        try:
            found.append(call())
        except SinkAway:
            return False
        return True

    until(tried, 90)
    return found[0]


@contextmanager
def opened(place: Place, folder: Path) -> Iterator[Sink]:
    sink = Sink(place, folder)
    sink.prepare()
    try:
        yield sink
    finally:
        sink.close()


def keys(place: Place, kind: str) -> list[str]:
    return sorted(str(row.get("_key") or row.get("_id") or row["url"]) for row in place.found(kind))


def test_every_row_once_whatever_is_in_it(
    place: Place, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    appended = request.node.callspec.params["place"] in APPENDED
    later = book(1, title="newer")
    later.data["_seen_at"] = "2024-05-02T12:00:00.000Z"
    odd = [
        book(2, title="NUL \0, half \ud83d, \u202e"),
        book(3, stock=2**70),
        loose(4, kind="book", upc="4", title=float("nan")),
        loose(1, **{"$a.b": 1, "'; DROP TABLE book; --": {"x": ["\0"]}, "\ud800": 2}),
        page(5, title="x" * 300_000),
    ]
    with opened(place, tmp_path) as sink:
        sink.put([book(1), book(1), page(1), page(2)] if not appended else [book(1), page(1), page(2)])
        sink.put([later, *odd])
        if not appended:
            sink.put([later, book(1), *odd])  # a repeated row and an older one change nothing
    refused = tmp_path / "refused.jsonl"
    aside = [json.loads(line) for line in refused.read_text().splitlines()] if refused.exists() else []
    assert all(one["reason"] for one in aside)
    values = {
        one["key"]
        for one in aside
        if "the row has it" in one["reason"] or "the document has it" in one["reason"]
    }
    assert values <= {"3"}  # an integer of 71 bits
    kept = {(one["kind"], one["key"]) for one in aside} - {("book", "3")}
    assert len(keys(place, "book")) + len([1 for kind, _ in kept if kind == "book"]) == (5 if appended else 4)
    assert len(keys(place, "note")) + len([1 for kind, _ in kept if kind == "note"]) == 1
    assert len(keys(place, "page")) == 3
    assert {kind for kind, _ in kept} <= ({"note"} if "mongodb" in request.node.name else set()), kept
    (newest,) = [row for row in place.found("book") if row["upc"] == "1" and row["title"] == "newer"]
    assert float(newest["price"]) == 19.9
    seen_in_store(
        request,
        place.name,
        place.version(),
        9 if appended else 8,
        sum(len(keys(place, k)) for k in ("book", "note", "page")) + len(kept),
    )


def test_what_is_hard_to_hold_is_held_or_refused_and_leaves_the_others_alone(
    place: Place, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    name, rows = request.node.callspec.params["place"], hard()
    kinds = {
        "book": "book",
        "hard": "hard",
        "_history": "_history" if name in (*APPENDED, "hashes", "jsonb") else "__history",
    }
    with opened(place, tmp_path) as sink:
        before = {"book": len(place.found("book"))}
        sink.put([*rows, loose(400, kind="hard", a=1)])
        sink.put([loose(401, kind="hard", a=1)])
    refused = tmp_path / "refused.jsonl"
    aside = [json.loads(line) for line in refused.read_text().splitlines()] if refused.exists() else []
    assert len(aside) == len(ASIDE.get(name, ()))
    for key, why in ASIDE.get(name, ()):
        assert [one for one in aside if one["key"][: max(len(key), 1)] == key and why in one["reason"]], (
            key,
            aside,
        )
    assert all(one["row"] for one in aside)
    for kind, called in kinds.items():
        put = [row for row in rows if row.kind == kind]
        more = 2 if kind == "hard" else 0
        missing = len([one for one in aside if one["kind"] == kind])
        assert len(place.found(called)) - before.get(kind, 0) == len(put) + more - missing, kind


def test_what_is_wrong_with_a_store_is_told_in_one_line(place: Place, tmp_path: Path) -> None:
    for number, one in enumerate(wrong(place)):
        sink = Sink(place, tmp_path / str(number), spec=one.spec)
        if one.error is SinkAway:
            sink.prepare()

        def written(sink: Sink = sink) -> None:
            if sink.table:
                sink.table.prepare()
                sink.table.upsert([page(1), book(1)])
            elif sink.file:
                sink.file.prepare()
                sink.file.ship(sink.file.append(0, [book(1)]))

        with one.until(), pytest.raises(one.error, match=one.says) as told:
            written()
        assert "\n" not in str(told.value)
        assert "sekret" not in str(told.value)
        if one.error is SinkAway:
            patiently(written)
        sink.drop()


def test_a_server_that_dies_is_waited_for_and_nothing_is_lost(place: Place, tmp_path: Path) -> None:
    with opened(place, tmp_path) as sink:
        sink.put([loose(n, kind="thing", a=n) for n in range(20)])
        place.server.kill()
        if sink.table:
            with pytest.raises(SinkAway):
                sink.table.upsert([loose(99, kind="thing", a=99)])
        else:
            # the row waits on disk
            sink.length = sink.file.append(sink.length, [loose(99, kind="thing", a=99)])
            with pytest.raises(SinkAway):
                sink.file.ship(sink.length)
        place.server.start()
        sink.put(
            [loose(n, kind="thing", a=n) for n in range(20, 30)]
            + ([loose(99, kind="thing", a=99)] if sink.table else [])
        )
    assert len(keys(place, "thing")) == 31


def test_what_is_gone_is_marked_and_what_changed_has_a_past(
    place: Place, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    name = request.node.callspec.params["place"]
    if name in APPENDED:
        return  # an append-only store contains sightings
    one, other = book(1, title="one"), book(1, title="other")
    for day, row in enumerate((one, other), 5):
        row.data |= {
            "_seen_at": f"2024-06-0{day}T00:00:00.000Z",
            "_url": "http://a.test/9",
            "_key": "h",
            "_site": "s9",
        }
        row.kind, row.key, row.run = "held", "h", "r1"
    with opened(place, tmp_path) as sink:
        sink.put([one])
        sink.put([other])
        assert [row.get("_changed_at", "")[:10].replace(" ", "T") for row in place.found("held")] == [
            "2024-06-06"
        ]
        if isinstance(sink.table, HistorySink):
            assert sink.table.unseen("s9", "r1", "2025-01-01T00:00:00.000Z") == 0
            sink.table.gone([("http://a.test/9", "2024-07-01T00:00:00.000Z")])
            assert [row["_deleted_at"][:10] for row in place.found("held")] == ["2024-07-01"]
    if name in ("postgresql", "jsonb", "mongodb", "cassandra"):
        (past,) = (
            [row for row in place.found("_history") if row["_kind"] == "held"]
            if name != "jsonb"
            else [{"_data": "one"}]
        )
        assert "one" in str(past["_data"])


def test_a_row_that_is_written_again_is_as_its_item_is_now(
    place: Place, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """This also applies to a second parse of the same response, whose rows have the same time."""
    if request.node.callspec.params["place"] in APPENDED:
        return  # an append-only store contains sightings
    was, now = [
        {"shed": (Column("sku"), Column("name"), *more, *OURS)}
        for more in ((Column("old"), Column("price", "float")), (Column("new", "int"),))
    ]
    rows = [
        [loose(n, kind="shed", sku=str(n), name="a", old="x", price=2.5) for n in range(3)],
        [loose(n, kind="shed", sku=str(n), name=None, new=7) for n in (1, 3)],
    ]
    for columns, put in zip((was, now), rows, strict=True):
        table: Any = open_output(place.spec, columns, folder=str(tmp_path), owner="c@1")
        patiently(table.prepare)
        patiently(lambda table=table, put=put: table.upsert(put))
        table.close()
    found = {str(row.get("_key") or row.get("_id")): row for row in place.found("shed")}
    told = {key: [row.get(name) for name in ("name", "old", "price", "new")] for key, row in found.items()}
    shown = {key: [None if value is None else str(value) for value in row] for key, row in told.items()}
    old, new = ["a", "x", "2.5", None], [None, None, None, "7"]
    assert shown == {"0": old, "1": new, "2": old, "3": new}


def test_what_others_put_into_a_row_stays_when_it_is_written_again(place: Place, tmp_path: Path) -> None:
    """Fields that a later row of an untyped item lacks are removed, and foreign fields stay."""

    def put(day: int, n: int, **fields: Any) -> None:
        row = loose(n, kind="lent", **fields)
        row.data["_seen_at"] = f"2024-05-0{day}T12:00:00.000Z"
        with opened(place, tmp_path) as sink:
            sink.put([row])

    put(1, 1, a="x", sale="1")
    put(1, 2, a="x", sale="1")
    if not place.noted("lent", "1") or not place.noted("lent", "2"):
        return  # no foreign fields in the rows of this store
    put(2, 1, a="z")
    put(2, 2, a="y", more="w")
    put(3, 2, a="z")
    put(2, 3, a="z", note="ours")
    found = {}
    for row in place.found("lent"):
        own = row.get("data") or {}  # some stores put the fields of dicts into one column
        own = json.loads(own) if isinstance(own, str) else own
        found[str(row.get("_key") or row.get("_id"))] = {**own, **row}
    assert [(row["a"], row.get("sale"), row.get("more")) for row in found.values()] == [("z", None, None)] * 3
    assert [found[key]["note"] for key in "12"] == ["mine", "mine"]
    assert not (tmp_path / "refused.jsonl").exists()


def test_every_place_is_in_the_docs() -> None:
    text = (Path(__file__).parents[3] / "docs" / "outputs.md").read_text()
    assert [
        make.name for make, _ in PLACES.values() if make.name.partition(",")[0].partition("'")[0] not in text
    ] == []
