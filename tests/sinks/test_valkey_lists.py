"""Rows in lists of a real Valkey, where a field of the row gives the name of the list.
Also, what happens to rows that a list already has."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path
from types import SimpleNamespace

import msgspec
import pytest
import redis

from gossamer.app.query.writing import write
from gossamer.errors import SinkError, UsageError
from gossamer.sinks.journal import open_journal
from gossamer.sinks.shipper import JournalRow
from gossamer.sinks.sink_url import SinkUrl, parse_sink_url
from gossamer.sinks.valkey import Earlier, ValkeyLists
from support.fleet_workers import Server


def lines(*rows: dict[str, object]) -> list[JournalRow]:
    return [
        JournalRow("book", str(n), "shop.example", msgspec.Raw(json.dumps(row).encode()))
        for n, row in enumerate(rows)
    ]


def lists(url: str) -> dict[str, list[object]]:
    with redis.Redis.from_url(url, decode_responses=True) as client:
        names = list(client.scan_iter("shop*"))
        return {name: [json.loads(row)["n"] for row in client.lrange(name, 0, -1)] for name in names}


def test_a_list_may_hold_one_field(valkey_url: str) -> None:
    place = SinkUrl("valkey", valkey_url, {"list": "shop:{author}", "value": "text"}, "valkey")
    sink = ValkeyLists(place, "v", lambda *_: None)
    sink.send(0, 9, lines({"author": "a", "text": "“One”"}, {"author": "a", "text": 2}, {"author": "a"}))
    sink.drop()
    with redis.Redis.from_url(valkey_url, decode_responses=True) as client:
        assert client.lrange("shop:a", 0, -1) == ["“One”", "2", ""]


@pytest.mark.parametrize(
    ("pattern", "names"),
    [
        ("shop", {"shop": [0, 1, 2, 3]}),
        ("shop:{category}", {"shop:Poetry": [0, 2], "shop:Travel": [1], "shop:": [3]}),
        ("shop:{kind}:{host}", {"shop:book:shop.example": [0, 1, 2, 3]}),
        ("shop:{price}", {"shop:9.50": [0], "shop:10": [1], "shop:true": [2], "shop:": [3]}),
    ],
)
def test_the_name_of_a_list_contains_fields(
    valkey_url: str, pattern: str, names: dict[str, list[int]]
) -> None:
    sink = ValkeyLists(SinkUrl("valkey", valkey_url, {"list": pattern}, "valkey"), "c", lambda *_: None)
    rows = lines(
        {"n": 0, "category": "Poetry", "price": "9.50"},
        {"n": 1, "category": "Travel", "price": 10},
        {"n": 2, "category": "Poetry", "price": True},
        {"n": 3},
    )
    assert sink.open() == 0
    assert sink.send(0, 10, rows[:3]) == 10
    assert sink.send(0, 10, rows[:3]) == 10  # repeated after a kill, but each row counts once
    assert sink.send(10, 20, rows[3:]) == 20
    sink.drop()
    assert lists(valkey_url) == names
    assert sink.open() == 20
    sink.drop()


def pushed(
    url: str, owner: str, earlier: Earlier, *rows: dict[str, object], pattern: str = "shop:{c}"
) -> None:
    """Begins an output as the start `owner` of a crawl does, and appends the rows."""
    place = SinkUrl("valkey", url, {"list": pattern}, f"valkey://h/0?list={pattern}")
    sink = ValkeyLists(place, f"{owner} {pattern}", lambda *_: None, owner=owner, earlier=earlier)
    with contextlib.closing(SimpleNamespace(close=sink.drop)):
        sink.begin()
        if rows:
            at = sink.open()
            sink.send(at, at + len(rows), lines(*rows))


A, B = {"c": "a", "n": 1}, {"c": "b", "n": 2}


def test_overwriting_replaces_the_lists_of_the_output_alone(valkey_url: str) -> None:
    pushed(valkey_url, "c@1", "report", A, B)
    pushed(valkey_url, "d@1", "report", A)
    with redis.Redis.from_url(valkey_url) as client:
        client.rpush("shop:of another program", json.dumps(B))
    pushed(valkey_url, "c@2", "replace", B)
    assert lists(valkey_url) == {"shop:b": [2], "shop:of another program": [2]}
    pushed(valkey_url, "c@3", "replace")
    assert lists(valkey_url) == {"shop:of another program": [2]}


def test_overwriting_replaces_a_list_that_another_program_filled(valkey_url: str) -> None:
    with redis.Redis.from_url(valkey_url) as client:
        client.rpush("shop", json.dumps(A))
    pushed(valkey_url, "c@1", "replace", B, pattern="shop")
    assert lists(valkey_url) == {"shop": [2]}


def test_a_fresh_start_replaces_what_this_crawl_alone_wrote(
    valkey_url: str, capsys: pytest.CaptureFixture[str]
) -> None:
    pushed(valkey_url, "c@1", "report", A, B)
    pushed(valkey_url, "c@2", "replace-own", A)
    assert lists(valkey_url) == {"shop:a": [1]}
    assert capsys.readouterr().err == ""
    pushed(valkey_url, "d@1", "report", A, B)
    with redis.Redis.from_url(valkey_url) as client:
        client.rpush("shop:b", json.dumps(B))
    pushed(valkey_url, "d@2", "replace-own")
    assert lists(valkey_url) == {"shop:a": [1, 1], "shop:b": [2, 2]}


def test_a_second_run_says_what_the_lists_have(valkey_url: str, capsys: pytest.CaptureFixture[str]) -> None:
    pushed(valkey_url, "c@1", "report", A, A, B)
    assert capsys.readouterr().err == ""
    pushed(valkey_url, "c@2", "report", A)
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("gossamer: valkey://h/0?list=shop:{c} has 2 lists with 3 entries of earlier runs")
    assert line.endswith("appends its rows to them. -O replaces them")
    pushed(valkey_url, "c@3", "keep", B)
    assert capsys.readouterr().err == ""
    pushed(valkey_url, "c@1", "report", A, pattern="shop:all")
    pushed(valkey_url, "c@2", "report", A, pattern="shop:all")
    assert "list=shop:all has 1 entry of earlier runs" in capsys.readouterr().err


def test_the_second_process_of_a_start_removes_nothing(valkey_url: str) -> None:
    pushed(valkey_url, "c@1", "report", A)
    pushed(valkey_url, "c@2", "replace", B)
    pushed(valkey_url, "c@2", "replace")
    assert lists(valkey_url) == {"shop:b": [2]}


def test_a_key_of_another_type_is_refused_and_stays(valkey_url: str) -> None:
    with redis.Redis.from_url(valkey_url) as client:
        client.set("shop", "x")
        with pytest.raises(SinkError, match="choose another name"):
            pushed(valkey_url, "c@1", "replace", pattern="shop")
        assert client.get("shop") == b"x"


@pytest.mark.parametrize(
    "spec", ["kafka://127.0.0.1:9/t", "https+webhook://127.0.0.1/?secret=x"], ids=["kafka", "webhook"]
)
def test_a_stream_cannot_be_overwritten(spec: str, tmp_path: Path) -> None:
    output = parse_sink_url(spec)
    with pytest.raises(UsageError, match="cannot be removed: write them with -o"):
        open_journal(output, lambda *_: None, owner="c@1", folder=str(tmp_path), overwrite=True, log=None)


def test_an_export_replaces_the_list(tmp_path: Path) -> None:
    with Server(tmp_path / "own") as server, redis.Redis(port=server.port) as client:
        for rows in ([A, B], [B]):
            found = [{"_kind": "book", "_key": str(row["n"]), **row} for row in rows]
            write(f"{server.url(0)}?list=shop", "items", found, folder=str(tmp_path))
        assert [json.loads(row)["n"] for row in client.lrange("shop", 0, -1)] == [2]
