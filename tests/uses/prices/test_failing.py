"""Targets that fail in several runs, and their list as CSV."""

from __future__ import annotations

import csv
import io
from typing import Any

from gossamer.uses.prices.failing import failing_csv, list_failing
from gossamer.uses.prices.history import History
from gossamer.uses.prices.model import Observation, OfferState
from uses.prices.visits import failed, run, seen, target


def test_failing_targets_are_counted_over_runs(history: History, clock: Any) -> None:
    history.list_targets([target(key) for key in "abcd"])
    states = {"a": OfferState.GONE, "b": OfferState.MOVED, "c": OfferState.EMPTY}

    def visit(key: str, time: float, confirming: bool) -> list[Observation]:
        if key not in states:
            return [seen(key, time, confirming=confirming)]
        url = "https://new.example/b" if key == "b" else f"https://shop.example/{key}"
        return [failed(key, time, states[key], url=url, detail="http-4xx 404", confirming=confirming)]

    for _ in range(3):
        run(history, clock, list("abcd"), visit)
    found = {one.target: one for one, _ in list_failing(history.database)}
    assert {key: (one.state, one.runs) for key, one in found.items()} == {
        "a": ("gone", 3),
        "b": ("moved", 3),
        "c": ("empty", 3),
    }
    assert found["c"].checks == 6
    assert found["a"].tried == ("gone: http-4xx 404",)
    del states["a"]
    run(history, clock, list("abcd"), visit)
    assert [one.target for one, _ in list_failing(history.database, least_runs=4)] == ["b", "c"]
    assert [one.target for one, _ in list_failing(history.database, state="moved")] == ["b"]


def test_the_csv_is_a_list_of_targets_with_new_addresses(history: History, clock: Any) -> None:
    history.list_targets([target("a"), target("b")])
    run(
        history,
        clock,
        ["a", "b"],
        lambda key, time, _: [
            failed(
                key, time, OfferState.MOVED if key == "a" else OfferState.GONE, url="https://new.example/a"
            )
        ],
    )
    rows = list(
        csv.DictReader(io.StringIO(failing_csv(list_failing(history.database), lambda time: f"{time:.0f}")))
    )
    assert [(row["key"], row["url"], row["old_url"]) for row in rows] == [
        ("a", "https://new.example/a", "https://shop.example/a"),
        ("b", "https://shop.example/b", ""),
    ]


def test_a_taken_over_address_is_no_event(history: History, clock: Any) -> None:
    history.list_targets([target("a")])
    run(history, clock, ["a"], lambda key, time, _: [seen(key, time)])
    new = "https://new.example/a"
    run(history, clock, ["a"], lambda key, time, _: [failed(key, time, OfferState.MOVED, url=new)])
    history.list_targets([target("a", url=new)])
    assert run(history, clock, ["a"], lambda key, time, _: [seen(key, time, url=new)]) == []
    offer = history.last("a")
    assert offer is not None
    assert (offer.state, offer.url) == ("priced", new)
    assert list_failing(history.database) == []
