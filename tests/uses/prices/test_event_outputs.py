"""Outputs for confirmed events: a webhook, a file, and Kafka."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path
from typing import Any

import pytest

from gossamer.errors import GossamerError, SinkAway, UsageError
from gossamer.uses.prices.history import History
from gossamer.uses.prices.records import KINDS
from gossamer.uses.record_stream import send_records
from sinks.databases.database_servers import KafkaPlace, running
from support.fleet_workers import until
from support.web_receiver import receiving
from uses.prices.visits import run, seen, target

KEYS = ["a", "b", "c"]


def events_to(history: History, outputs: list[str], folder: str) -> int:
    """Sends events, and returns their number."""
    return sum(one.rows for one in send_records(history.database, outputs, folder, [KINDS["events"]]))


def begin(history: History, clock: Any) -> None:
    history.list_targets([target(key) for key in KEYS])
    run(history, clock, KEYS, lambda key, time, _: [seen(key, time)])


def change(history: History, clock: Any, price: str) -> None:
    run(history, clock, KEYS, lambda key, time, _: [seen(key, time, price if key == "b" else "99.90")])


def test_a_file_gets_each_event_once(history: History, clock: Any, tmp_path: Path) -> None:
    begin(history, clock)
    outputs = [str(tmp_path / "events.jsonl")]
    assert events_to(history, outputs, str(tmp_path / "work")) == 3
    assert events_to(history, outputs, str(tmp_path / "work")) == 0
    change(history, clock, "89.90")
    assert events_to(history, outputs, str(tmp_path / "work")) == 1
    rows = [json.loads(line) for line in Path(outputs[0]).read_text().splitlines()]
    assert [row["kind"] for row in rows] == ["first"] * 3 + ["price"]
    assert (rows[3]["before"], rows[3]["after"], rows[3]["url"]) == (
        "99.90",
        "89.90",
        "https://shop.example/b",
    )


def test_a_webhook_gets_changes_and_no_pages(
    history: History, clock: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begin(history, clock)
    monkeypatch.setenv("HOOK", "whsec_c2VjcmV0")
    with receiving([200]) as hook:
        outputs = [hook.url.replace("http://", "http+webhook://") + "/?secret=${env:HOOK}"]
        assert events_to(history, outputs, str(tmp_path)) == 3
        change(history, clock, "99.90")
        assert events_to(history, outputs, str(tmp_path)) == 0
        change(history, clock, "89.90")
        assert events_to(history, outputs, str(tmp_path)) == 1
    first, second = (json.loads(call.body)["rows"] for call in hook.calls)
    assert [len(first), len(second)] == [3, 1]
    assert (second[0]["kind"], second[0]["row"]["after"]) == ("price_event", "89.90")
    ids = [call.headers["webhook-id"] for call in hook.calls]
    assert len(set(ids)) == 2


def test_what_a_receiver_refuses_is_sent_again_under_the_same_id(
    history: History, clock: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begin(history, clock)
    monkeypatch.setenv("HOOK", "whsec_c2VjcmV0")
    with receiving([503, 200]) as hook:
        outputs = [hook.url.replace("http://", "http+webhook://") + "/?secret=${env:HOOK}"]
        with pytest.raises(GossamerError):
            events_to(history, outputs, str(tmp_path))
        assert events_to(history, outputs, str(tmp_path)) == 3
    assert len({call.headers["webhook-id"] for call in hook.calls}) == 1


def test_an_output_of_whole_files_is_refused(history: History, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="appended"):
        events_to(history, [str(tmp_path / "events.xlsx")], str(tmp_path))


def test_kafka_gets_each_event_once_with_its_id_as_the_key(
    history: History, clock: Any, tmp_path: Path
) -> None:
    with running("kafka") as place:
        assert isinstance(place, KafkaPlace)
        outputs = [f"{place.spec}?key=id&journal={tmp_path}/journal"]
        begin(history, clock)

        def first_events() -> int:
            with contextlib.suppress(SinkAway):  # the broker has just started
                return events_to(history, outputs, str(tmp_path))
            return 0

        assert until("the broker takes rows", first_events) == 3
        change(history, clock, "89.90")
        assert events_to(history, outputs, str(tmp_path)) == 1
        assert events_to(history, outputs, str(tmp_path)) == 0
        found = [(key, json.loads(value), headers) for key, value, headers in place.messages()]
    rows = [row for _, row, _ in found]
    assert sorted(row["kind"] for row in rows) == ["first"] * 3 + ["price"]
    (changed,) = [row for row in rows if row["kind"] == "price"]
    assert (changed["before"], changed["after"], changed["target"]) == ("99.90", "89.90", "b")
    assert {headers["kind"] for _, _, headers in found} == {"price_event"}
    assert len({key for key, _, _ in found}) == 4
