"""Rows in lists of a real Valkey, where a field of the row gives the name of the list."""

from __future__ import annotations

import json

import msgspec
import pytest
import redis

from gossamer.sinks.shipper import JournalRow
from gossamer.sinks.sink_url import SinkUrl
from gossamer.sinks.valkey import ValkeyLists


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
