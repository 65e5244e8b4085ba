"""Tests of the help texts: groups of commands and options, examples that work, and a width that follows
the terminal."""

from __future__ import annotations

import itertools
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest

from cli.command_line import gossamer
from gossamer.cli.commands import CONTEXT, GROUPS, TREE, app, run
from gossamer.cli.examples import EXAMPLES
from support.screen import TerminalProcess


def commands(group: Any, before: str = "") -> Iterator[tuple[str, click.Command]]:
    for name in group.list_commands(None):
        command = group.get_command(None, name)
        if hasattr(command, "list_commands"):
            yield from commands(command, f"{before}{name} ")
        else:
            yield f"{before}{name}", command


def help_of(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    assert run([*words, "--help"]) == 0
    return capsys.readouterr().out


def test_every_command_is_in_one_group(capsys: pytest.CaptureFixture[str]) -> None:
    assert sorted(itertools.chain(*GROUPS.values())) == sorted(TREE)
    text = help_of(capsys)
    titles = re.findall(r"^(\w+):$", text, re.MULTILINE)
    assert titles == ["Options", *GROUPS]


@pytest.mark.parametrize("words", [(), ("dead",), ("host",), ("schedule",), ("crawl",)])
def test_no_line_is_cut(capsys: pytest.CaptureFixture[str], words: tuple[str, ...]) -> None:
    lines = [line for line in help_of(capsys, *words).splitlines() if not line.startswith("Usage:")]
    cut = [line for line in lines if line.endswith("...") and line.split()[-1] != "TARGET..."]
    assert cut == []


def test_the_options_of_crawl_are_in_groups(capsys: pytest.CaptureFixture[str]) -> None:
    text = help_of(capsys, "crawl")
    assert re.findall(r"^(\w[\w ]+):$", text, re.MULTILINE) == [
        "Examples",
        "What to crawl",
        "Where rows go",
        "Politeness",
        "Limits",
        "Getting pages",
        "Run again",
        "Storage and settings",
        "Output of the command",
    ]
    politeness = text.partition("Politeness:")[2].partition("Limits:")[0]
    assert "--delay" in politeness
    assert "--limit" not in politeness


@pytest.mark.parametrize(("name", "command"), list(commands(app)), ids=lambda one: str(one))
def test_each_command_has_examples_that_it_accepts(
    name: str, command: click.Command, capsys: pytest.CaptureFixture[str]
) -> None:
    assert 2 <= len(EXAMPLES[name]) <= 3
    text = help_of(capsys, *name.split())
    for example in EXAMPLES[name]:
        assert f"  {example}\n" in text
        words = shlex.split(example.partition(" > ")[0])
        assert words[: 1 + len(name.split())] == ["gossamer", *name.split()]
        from gossamer.cli.commands import below_zero

        rest = below_zero(words[1:])[len(name.split()) :]
        command.make_context(name, rest, **CONTEXT)


def test_there_are_no_other_examples() -> None:
    assert EXAMPLES.keys() == {name for name, _ in commands(app)}


@pytest.mark.parametrize(("columns", "widest"), [(60, 60), (80, 80), (100, 100), (160, 100)])
def test_the_width_follows_the_terminal(tmp_path: Path, columns: int, widest: int) -> None:
    terminal = TerminalProcess(["--help"], tmp_path, columns=columns, rows=100)
    assert terminal.end() == 0
    width = max(map(len, terminal.screen.everything()))
    assert widest - 15 <= width <= widest
    assert "\x1b[1mCrawl:\x1b[0m" in terminal.text


def test_help_on_a_pipe_has_no_colours(tmp_path: Path) -> None:
    code, out, _ = gossamer(tmp_path, "crawl", "--help")
    assert (code, "\x1b" in out) == (0, False)
