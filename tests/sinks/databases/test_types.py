"""Each field type of items in each output. Values are written and read back by the usual reader of the
output, and must be equal. The table in docs/outputs.md lists the resulting types."""

from __future__ import annotations

import base64
import csv
import json
import math
import os
import sqlite3
from collections.abc import Callable, Mapping
from contextlib import closing
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from enum import Enum, StrEnum
from pathlib import Path
from types import SimpleNamespace
from typing import Annotated, Any, Literal
from uuid import UUID

import msgspec
import pytest

from gossamer import Digits, Item
from gossamer.app.query.sources import rows_of
from gossamer.items import item_times
from gossamer.model.item import plain_fields, to_json_value
from gossamer.model.visit import Row
from gossamer.sinks.columns import item_columns
from gossamer.sinks.jsonl import decode
from gossamer.sinks.output_spec import open_output
from sinks.databases import database_servers as places
from sinks.databases.database_servers import PLACES, running
from sinks.databases.test_rows import patiently
from sinks.rows_and_commits import ours

DOCS = Path(__file__).parents[3] / "docs" / "outputs.md"


class Colour(StrEnum):
    RED = "red"


class Size(Enum):
    BIG = 3


class Maker(msgspec.Struct):
    name: str
    since: date
    at: datetime | None = None


class Sample(Item, key="text"):
    text: str
    whole: int
    real: float
    flag: bool
    price: Decimal
    exact: Annotated[Decimal, Digits(30, 20)]
    day: date
    at: datetime
    naive: datetime
    clock: time
    span: timedelta
    raw: bytes
    uuid: UUID
    colour: Colour
    size: Size
    word: Literal["a", "b"]
    maybe: int | None
    nothing: int | None
    either: int | str
    texts: list[str]
    numbers: list[int]
    prices: list[Decimal]
    days: list[date]
    maker: Maker
    makers: list[Maker]
    stock: dict[str, int]
    free: dict[str, Any]


MADE = Sample(
    text='ünï "x", \n=1+1',
    whole=-(2**63),
    real=0.1,
    flag=True,
    price=Decimal("19.90"),
    exact=Decimal("1234567890.01234567890123456789"),
    day=date(2026, 1, 31),
    at=datetime(2026, 1, 31, 12, 30, 1, 250_000, tzinfo=timezone(timedelta(hours=2))),
    naive=datetime(2026, 1, 31, 12, 30),
    clock=time(8, 30),
    span=timedelta(days=1, hours=2),
    raw=b"\0\xff",
    uuid=UUID(int=7),
    colour=Colour.RED,
    size=Size.BIG,
    word="a",
    maybe=7,
    nothing=None,
    either=5,
    texts=["a", "ü"],
    numbers=[1, -2],
    prices=[Decimal("1.5"), Decimal("2.25")],
    days=[date(2026, 1, 31)],
    maker=Maker("Ann", date(2020, 2, 29), datetime(2026, 1, 31, 12)),
    makers=[Maker("Bob", date(1999, 12, 31))],
    stock={"x": 1},
    free={"a": [1, {"b": None}]},
)
COLUMNS = item_columns([Sample])
FIELDS = Sample.__struct_fields__


def row(item: Any = MADE) -> Row:
    """Returns the row that a crawl makes from an item."""
    fields = item_times.with_zone(plain_fields(item), item_times.time_fields(type(item)))
    return Row(
        "sample",
        item.text,
        {**fields, **ours("sample", item.text, fields), "_seen_at": "2026-01-31T12:00:00.250Z"},
    )


def written(spec: str, folder: Path, rows: list[Row], columns: Any = COLUMNS) -> list[dict[str, Any]]:
    """Writes rows to an output and returns the refused rows."""
    folder.mkdir(exist_ok=True)
    output: Any = open_output(spec, columns, folder=str(folder), owner="c@1")
    if hasattr(output, "upsert"):
        output.prepare()
        output.upsert(rows)
        output.close()
    else:
        for sink, part in output.route(rows):
            length = sink.append(patiently(sink.prepare), part)
            if hasattr(sink, "ship"):
                patiently(lambda sink=sink, length=length: sink.ship(length))
            sink.close(length)
    aside = folder / "refused.jsonl"
    return [json.loads(line) for line in aside.read_text().splitlines()] if aside.exists() else []


def natural(value: Any) -> Any:
    """Returns a value of an item as a plain Python value, with times in UTC."""
    if isinstance(value, datetime):
        return (value if value.tzinfo else value.replace(tzinfo=UTC)).astimezone(UTC)
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, msgspec.Struct):
        return {name: natural(getattr(value, name)) for name in value.__struct_fields__}
    if isinstance(value, list):
        return [natural(one) for one in value]
    return value


def equal(was: Any, now: Any) -> bool:
    """Returns whether a reader got the value, either unchanged or as an equivalent text."""
    if isinstance(now, datetime) and now.tzinfo is None:  # the reader drops the time zone
        now = now.replace(tzinfo=UTC)
    if type(was) is date and isinstance(now, datetime):
        return now == datetime.combine(was, time(), UTC)
    if isinstance(was, list) and isinstance(now, list):
        return len(was) == len(now) and all(map(equal, was, now))
    if isinstance(was, dict) and isinstance(now, list):  # a map of Arrow
        now = dict(now)
    if isinstance(was, dict) and isinstance(now, dict):
        return was.keys() == now.keys() and all(equal(one, now[name]) for name, one in was.items())
    if isinstance(was, Decimal) and isinstance(now, float):
        return Decimal(repr(now)) == was
    if isinstance(was, float | int) and not isinstance(was, bool) and isinstance(now, str):
        return Decimal(now) == Decimal(repr(was))
    if now == was or (was is None and now == ""):
        return True
    if isinstance(was, list | dict) and isinstance(now, str):
        return equal(was, decode(now))
    if type(was) is date and isinstance(now, str) and now == f"{was}T00:00:00.000Z":
        return True  # MongoDB has no type for dates without a time
    if isinstance(was, datetime) and isinstance(now, str):
        return datetime.fromisoformat(now) == was  # a time without a zone would raise an error here
    if not isinstance(now, str):
        return isinstance(was, UUID) and str(was) == str(now)
    said = to_json_value(was)
    return (
        now in (said, str(said))
        or (isinstance(was, bool) and now == ("true" if was else "false"))
        or (isinstance(was, Decimal) and Decimal(now) == was)
    )


def jsonl(path: Path) -> dict[str, Any]:
    return decode(path.read_bytes())  # type: ignore[no-any-return]


def sheet(path: Path) -> dict[str, Any]:
    with path.with_name("out.sample.csv").open(newline="") as file:
        (found,) = csv.DictReader(file)
    return {name: value[1:] if value[:2] == "'=" else value or None for name, value in found.items()}


def base(path: Path) -> dict[str, Any]:
    with closing(sqlite3.connect(path)) as opened:
        opened.row_factory = sqlite3.Row
        return dict(opened.execute("SELECT * FROM sample").fetchone())


def parts(path: Path) -> dict[str, Any]:
    import pyarrow.parquet

    (found,) = pyarrow.parquet.read_table(path.with_name("out.sample.parquet")).to_pylist()
    return found  # type: ignore[no-any-return]


FILES: dict[str, tuple[str, Callable[[Path], dict[str, Any]]]] = {
    "JSON lines": ("out.jsonl", jsonl),
    "CSV": ("out.csv", sheet),
    "SQLite": ("out.sqlite", base),
    "Parquet": ("out.parquet", parts),
}


def by_psycopg(place: Any) -> dict[str, Any]:
    import psycopg
    from psycopg.rows import dict_row

    with psycopg.connect(place.spec, row_factory=dict_row) as opened:
        return opened.execute("SELECT * FROM sample").fetchone() or {}


def by_pymongo(place: Any) -> dict[str, Any]:
    (found,) = place.server.rows("db", "sample")
    return found  # type: ignore[no-any-return]


def by_cassandra(place: Any) -> dict[str, Any]:
    names = [*FIELDS, "_extra"]
    listed = ", ".join(f'"{name}"' for name in names)
    (found,) = place.server.ask(f'SELECT {listed} FROM ks."sample"')  # noqa: S608 - names of this file
    return {
        name: value.date() if type(value).__name__ == "Date" else value
        for name, value in zip(names, found, strict=True)
    }


def by_json(place: Any) -> dict[str, Any]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(places, "json", SimpleNamespace(loads=decode))  # with all digits
        (found,) = place.found("sample")
    return found  # type: ignore[no-any-return]


STORES: dict[str, tuple[str, Callable[[Any], dict[str, Any]]]] = {
    "postgresql": ("PostgreSQL", by_psycopg),
    "mongodb": ("MongoDB", by_pymongo),
    "cassandra": ("Cassandra", by_cassandra),
    "hash": ("JSON lines", by_json),
    "hashes": ("Valkey hashes", by_json),
    "list": ("JSON lines", by_json),
    "kafka": ("JSON lines", by_json),
    "webhook": ("JSON lines", by_json),
}


def judged(output: str, found: Mapping[str, Any]) -> None:
    """Checks that all values are present and that their types are those in the table of the docs."""
    types = {}
    for name in FIELDS:
        was, now = natural(getattr(MADE, name)), found.get(name)
        assert equal(was, now), (output, name, was, now)
        types[name] = "null" if now is None else type(now).__name__
    if where := os.environ.get("GOSSAMER_TYPES"):  # writes the columns of the table
        Path(where, output.replace(" ", "_")).write_text(json.dumps(types))
    assert types == table()[output]


def table() -> dict[str, dict[str, str]]:
    """Returns the types that the documentation lists: for each output, the type of each field in its usual
    reader."""
    lines = [line for line in DOCS.read_text().splitlines() if line.startswith("| `") and "<!--" in line]
    heads = next(line for line in DOCS.read_text().splitlines() if line.startswith("| field of an item"))
    outputs = [cell.strip() for cell in heads.strip("|").split("|")][1:]
    found: dict[str, dict[str, str]] = {output: {} for output in outputs}
    for line in lines:
        first, *cells = [cell.strip() for cell in line.strip("|").split("|")]
        name = first.partition("<!--")[2].partition("-->")[0].strip()
        for output, cell in zip(outputs, cells, strict=True):
            found[output][name] = cell
    return found


@pytest.mark.parametrize("output", FILES)
def test_every_type_in_every_file(output: str, tmp_path: Path) -> None:
    name, read = FILES[output]
    aside = written(str(tmp_path / name), tmp_path, [row()])
    assert [one["reason"].partition(":")[0] for one in aside] == (["exact"] if output == "SQLite" else [])
    found = read(tmp_path / name)
    if output == "SQLite":  # 15 digits
        assert found["exact"] is None
        found["exact"] = decode(found["_extra"])["exact"]
    judged(output, found)


@pytest.mark.parametrize("name", STORES)
def test_every_type_in_every_store(name: str, tmp_path: Path) -> None:
    output, read = STORES[name]
    with running(name) as place:
        aside = patiently(lambda: written(place.spec, tmp_path, [row()]))
        assert [one["reason"].partition(":")[0] for one in aside] == (
            ["exact"] if output == "MongoDB" else []
        )
        found = read(place)
        if name == "webhook":  # the test receiver reads numbers as floats
            found["exact"] = MADE.exact
        if output == "MongoDB":  # FerretDB 1 has no decimals
            assert found["exact"] is None
            found["exact"] = found["_extra"]["exact"]
        judged(output, found)
        if name in ("kafka", "webhook"):
            with pytest.raises(Exception, match="cannot be read back"):
                list(rows_of(place.spec))
            return
        (again,) = rows_of(place.spec)
        for field in FIELDS:
            assert equal(natural(getattr(MADE, field)), again.get(field)), (field, again.get(field))


def test_readers_of_parquet_agree(tmp_path: Path) -> None:
    duckdb, pandas, polars = map(pytest.importorskip, ("duckdb", "pandas", "polars"))
    written(str(tmp_path / "out.parquet"), tmp_path, [row()])
    folder = tmp_path / "out.sample.parquet"
    with duckdb.connect() as opened:
        opened.execute("SET TimeZone = 'UTC'")
        cursor = opened.execute(f"SELECT * FROM '{folder}/*.parquet'")  # noqa: S608 - a path of this test
        by_duckdb = dict(zip([one[0] for one in cursor.description], cursor.fetchone(), strict=True))
    by_polars = polars.read_parquet(folder / "*.parquet").to_dicts()[0]
    by_pandas = pandas.read_parquet(folder, dtype_backend="pyarrow").iloc[0].to_dict()
    for name in FIELDS:
        was = natural(getattr(MADE, name))
        assert equal(was, by_duckdb[name]), (name, by_duckdb[name])
        if name != "stock":  # in Polars, a map is a list of structs
            assert equal(was, by_polars[name]), (name, by_polars[name])
        if was is None:
            assert pandas.isna(by_pandas[name])
        elif name != "free":
            assert equal(was, by_pandas[name]), (name, by_pandas[name])


@pytest.mark.parametrize("name", ["postgresql", "cassandra"])
def test_decimals_of_any_length_are_kept_whole_where_the_store_has_them(name: str, tmp_path: Path) -> None:
    prices = [
        Decimal("0.12345678901234567890"),
        Decimal("9" * 60),
        Decimal("1e40"),
        Decimal("-1E-30"),
        Decimal("1" * 30 + "." + "3" * 40),
    ]

    class Thing(Item, key="sku"):
        sku: str
        price: Decimal

    rows = [
        Row("thing", str(n), {"sku": str(n), "price": price, **ours("thing", str(n), {"n": n})})
        for n, price in enumerate(prices)
    ]
    with running(name) as place:
        assert written(place.spec, tmp_path, rows, item_columns([Thing])) == []
        found = {one["_key"]: one["price"] for one in rows_of(place.spec)}
    assert [Decimal(str(found[str(n)])) for n in range(len(prices))] == prices


@pytest.mark.parametrize("output", ["Parquet", "SQLite", "postgresql", "mongodb", "cassandra"])
def test_what_a_store_cannot_hold_is_refused_and_told(
    output: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    wide, price = 2**70, Decimal("1." + "3" * 20)

    class Thing(Item, key="sku"):
        sku: str
        whole: int
        price: Decimal
        at: datetime

    def made(key: str, **fields: Any) -> Row:
        whole = {"sku": key, "whole": 1, "price": Decimal(1), "at": "2026-01-31T12:00:00Z", **fields}
        return Row("thing", key, {**whole, **ours("thing", key, whole)})

    rows = [
        made("fits"),
        made("wide", whole=wide),
        made("long", price=price),
        made("fine", at="2026-01-31T12:00:00.000001Z"),
    ]
    lost = {
        "Parquet": {"wide", "long"},
        "SQLite": {"wide", "long"},
        "postgresql": {"wide"},
        "mongodb": {"wide", "long", "fine"},
        "cassandra": {"wide", "fine"},
    }

    def checked(spec: str) -> None:
        aside = written(spec, tmp_path, rows, item_columns([Thing]))
        assert {one["key"] for one in aside} == lost[output]
        assert capfd.readouterr().err.count("\n") == 1  # one line, for the first row of its kind
        found = {one["_key"]: one for one in rows_of(spec)}
        assert (found["wide"]["whole"], Decimal(str(found["long"]["price"]))) == (wide, price)
        assert found["fine"]["at"][:26] in ("2026-01-31T12:00:00.000001",)

    if output in FILES:
        checked(str(tmp_path / FILES[output][0]))
    else:
        with running(output) as place:
            checked(place.spec)


def test_what_is_no_number_is_null_everywhere(tmp_path: Path) -> None:
    made = msgspec.structs.replace(MADE, real=math.inf, price=Decimal("NaN"), exact=Decimal(1))
    for name, read in FILES.values():
        assert written(str(tmp_path / name), tmp_path, [row(made)]) == []
        found = read(tmp_path / name)
        assert (found["real"], found["price"]) == (None, None)


def test_bytes_are_base64_in_text() -> None:
    assert row().data["raw"] == base64.b64encode(MADE.raw).decode()  # type: ignore[index]


def test_every_output_is_in_the_table() -> None:
    assert {output for output, _ in STORES.values()} | {*FILES} == {*table()}
    assert {*STORES} == {*PLACES} - {"jsonb"}
