"""The commands of docs/ranks.md print the output that the page shows: three commands lead from a list of
keywords and a provider's key to the first report, and further commands show positions and an alert."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from cli.command_line import gossamer
from examples.documented_commands import commands_of, comparable_without_times
from house.tree import ROOT
from support.search_providers import KEY, SearchProvider, invented_results, serving

PAGE = ROOT / "docs" / "ranks.md"
PLACES = {
    "espresso machine": {4: "shop", 2: "rival"},
    "burr grinder": {12: "shop", 15: "rival"},
}


def results(words: str) -> list[dict[str, str]]:
    found = invented_results(words)
    for place, host in PLACES.get(words, {}).items():
        found[place - 1]["url"] = f"https://www.{host}.example/{words.replace(' ', '-')}"
    return found


def test_three_commands_of_the_page_lead_to_the_first_report(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = PAGE.read_text()
    blocks = re.findall(r"^```(toml|csv|console)\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    (_, settings), (_, table), (_, first), (_, second) = blocks[:4]
    monkeypatch.setenv("SERPER_KEY", KEY)
    (tmp_path / "keywords.csv").write_text(table)
    with serving(SearchProvider("serper", results)) as provider:
        local = settings.replace('"serper"', f'"serper?endpoint={provider.url}"')
        (tmp_path / "gossamer.toml").write_text(f'{local}allow_private = ["127.0.0.0/8"]\n')
        commands = commands_of(first + second)
        assert len(re.findall(r"^\$ ", first, re.MULTILINE)) == 3
        for words, shown in commands:
            code, out, err = gossamer(tmp_path, *words.split())
            assert code == 0, err
            assert comparable_without_times(out) == comparable_without_times(shown), words
        assert len(provider.calls) == 5
    report = (tmp_path / "ranks.html").read_text()
    assert "espresso machine" in report
    assert "<script" not in report
    assert KEY not in report + (tmp_path / "gossamer.toml").read_text()
