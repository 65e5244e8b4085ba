"""Tests of `--json` and `--quiet`: every command accepts them, and then prints only JSON to stdout and
nothing to stderr."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import click
import pytest

from cli.test_control_commands import A, Desk, desk, fill, state
from gossamer.cli.commands import app
from gossamer.cli.printing import put_json

__all__ = ["desk"]

BY_HAND = {"metrics", "serve", "shell", "worker"}
"""Commands that run until they are interrupted, and print no result at their end."""
OF_JSON = {"config schema"}
"""Commands that always print JSON."""


def leaves(group: click.Group = app, path: str = "") -> Iterator[tuple[str, set[str]]]:
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if isinstance(command, click.Group):
            yield from leaves(command, f"{path}{name} ")
        elif command is not None:
            yield path + name, {flag for one in command.params for flag in one.opts}


def test_every_verb_takes_json_and_quiet() -> None:
    assert {name for name, flags in leaves() if "--json" not in flags} == BY_HAND | OF_JSON
    assert [name for name, flags in leaves() if "--quiet" not in flags] == []


@pytest.mark.parametrize(
    ("words", "facts"),
    [
        (("pause", "one"), {"crawl": "one", "state": "stopped"}),
        (("resume", "one"), {"crawl": "one", "state": "stopped"}),
        (("stop", "one"), {"crawl": "one", "state": "stopped"}),
        (("cancel", "one"), {"crawl": "one", "state": "cancelled"}),
        (("weight", "one", "3"), {"crawl": "one", "weight": 3}),
        (("weight", "one", "--precedence", "-2"), {"crawl": "one", "precedence": -2}),
        (("weight", "one", "2", "--precedence", "1"), {"crawl": "one", "weight": 2, "precedence": 1}),
        (("host", "pause", A), {"host": A}),
        (("host", "resume", A), {"host": A}),
        (
            ("host", "rate", A, "2", "--per-host", "3"),
            {"host": A, "said": "2 s from start to start, 3 at once"},
        ),
        (("host", "rung", A, "browser"), {"host": A, "rung": "browser", "said": "by browser alone"}),
        (("schedule", "add", "s", "@daily", "https://a.example/", "-O", "/tmp/"), {"schedule": "s"}),
    ],
)
def test_what_steers_says_what_it_did(desk: Desk, words: tuple[str, ...], facts: dict[str, Any]) -> None:
    desk.do(lambda store: fill(store, "one", "stopped"))
    found = desk.json(*words)
    assert {name: found[name] for name in facts} == facts
    assert found["said"]


def test_json_speaks_on_stdout_alone(desk: Desk) -> None:
    desk.do(lambda store: fill(store, "one", "stopped"))
    assert desk("cancel", "one", "--json")[2] == ""
    assert state(desk) == "cancelled"


def test_quiet_keeps_remarks_back(desk: Desk) -> None:
    assert "there is no crawl yet" in desk("status")[2]
    assert desk("status", "--quiet") == (0, "", "")
    assert "there is no crawl yet" in desk("status")[2]


def test_explain_names_the_crawl_and_its_state_apart(desk: Desk) -> None:
    desk.do(lambda store: fill(store, "one", "stopped"))
    for url in (f"https://{A}/0", "mailto:a@b.c"):
        found = desk.json("explain", url, "--crawl", "one")
        assert (found["crawl"], found["state"]) == ("one", "stopped")
    assert "one (stopped)" in desk("explain", f"https://{A}/0", "--crawl", "one")[1]


def test_what_is_printed_is_json_as_it_is_in_outputs(capsys: pytest.CaptureFixture[str]) -> None:
    put_json({"price": Decimal("1.50"), "none": Decimal("NaN"), "half": "\ud800"})
    assert capsys.readouterr().out == '{"price":1.50,"none":null,"half":"�"}\n'
