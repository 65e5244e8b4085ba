"""The commands of docs/prices.md print the output that the page shows, from a CSV file to the first alert."""

from __future__ import annotations

import re
from pathlib import Path

from cli.command_line import gossamer
from examples.documented_commands import DOCUMENTED, commands_of, comparable_without_times
from house.tree import ROOT

PAGE = ROOT / "docs" / "prices.md"


def test_commands_of_the_page_lead_to_the_first_alert(tmp_path: Path, bookshop: str) -> None:
    page = PAGE.read_text()
    blocks = re.findall(r"^```(csv|console)\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    (_, table), (_, console) = blocks[:2]
    (tmp_path / "targets.csv").write_text(table.replace(DOCUMENTED, bookshop))
    commands = commands_of(console)
    assert len(commands) == 5
    for words, shown in commands:
        code, out, err = gossamer(tmp_path, *words.replace(DOCUMENTED, bookshop).split())
        assert code == 0, err
        assert comparable_without_times(out.replace(bookshop, DOCUMENTED)) == comparable_without_times(
            shown
        ), words
    assert "slow-maps: 15 GBP is below 16" in console
