"""The commands of docs/audit.md print the output that the page shows, and the page lists every check."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

from cli.command_line import gossamer
from examples.documented_commands import DOCUMENTED, commands_of, comparable
from gossamer.uses.audit.checks.audit_check import AuditCheck
from gossamer.uses.audit.model import PageFacts, Severity
from gossamer.uses.audit.registry import CHECKS
from house.tree import ROOT

PAGE = (ROOT / "docs" / "audit.md").read_text()


def printed(text: str) -> str:
    """Return the comparable text without the lines about slow pages."""
    return comparable("\n".join(line for line in text.splitlines() if "slow-page" not in line))


def test_commands_of_the_page(tmp_path: Path, bookshop: str) -> None:
    console = "".join(re.findall(r"^```console\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL))
    commands = commands_of(console)
    assert len(commands) == 3
    for words, shown in commands:
        typed, _, file = words.partition(" > ")
        for one, other in (
            (DOCUMENTED, bookshop),
            (DOCUMENTED.replace(":", "-"), bookshop.replace(":", "-")),
        ):
            typed = typed.replace(one, other)
        code, out, err = gossamer(tmp_path, *shlex.split(typed))
        assert code == 0, err
        if file:
            assert json.loads(out)["pages"] == 15
            continue
        for one, other in (
            (bookshop, DOCUMENTED),
            (bookshop.replace(":", "-"), DOCUMENTED.replace(":", "-")),
        ):
            out = out.replace(one, other)
        assert printed(out) == printed(shown), words


def test_page_lists_every_check() -> None:
    rows = re.findall(r"^\| `([a-z0-9-]+)` \| (\w+) \| (.+) \|$", PAGE, re.MULTILINE)
    assert rows == [(check.id, check.severity.value, check.title) for check in CHECKS]


def test_the_check_that_the_page_adds_works() -> None:
    text = PAGE.partition("## Add a check")[2].partition("```python\n")[2].partition("```")[0]
    names = {"AuditCheck": AuditCheck, "NOTICE": Severity.NOTICE}
    check = eval(text, names)  # noqa: S307 - the page is ours
    assert check.id not in {one.id for one in CHECKS}
    assert check.test(PageFacts(url="https://e.example/", titles=["BUY NOW"])) == "BUY NOW"
    assert check.test(PageFacts(url="https://e.example/", titles=["Buy now"])) == ""
