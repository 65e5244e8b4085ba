"""The message keys that `?key=` produces, without a broker."""

from __future__ import annotations

import msgspec
import pytest

from gossamer.sinks.kafka import KafkaTopic
from gossamer.sinks.shipper import JournalRow
from gossamer.sinks.sink_url import parse_sink_url

pytest.importorskip("aiokafka")
ROW = b'{"sku":"A-1","n":7,"nested":{"a":1},"nothing":null}'


@pytest.mark.parametrize(
    ("given", "key"),
    [
        ("", b"shop.example"),
        ("?key=host", b"shop.example"),
        ("?key=_key", b"book/1"),
        ("?key=item", b"book:book/1"),
        ("?key=sku", b"A-1"),
        ("?key=n", b"7"),
        ("?key=nested", b'{"a":1}'),
        ("?key=nothing", b"book/1"),
        ("?key=absent", b"book/1"),
    ],
)
def test_the_key_of_a_message(given: str, key: bytes) -> None:
    topic = KafkaTopic(parse_sink_url(f"kafka://127.0.0.1:9092/books{given}"), "c", lambda *_: None)
    assert topic._keyed(JournalRow("book", "book/1", "shop.example", msgspec.Raw(ROW))) == key
