"""The files with word lists. Long lists of words belong in these files and not in Python code."""

from __future__ import annotations

import ast
import re

import pytest

from gossamer.data import FOLDER, sections
from house.tree import ROOT, sources

LISTS = sorted(path.stem for path in FOLDER.glob("*.txt"))
TABLES = ("currencies", "encodings", "units")
"""Files whose lines are rows of a table, not patterns."""

KEPT = {
    "__init__.py::_HOMES": "the public names, each with its module",
    "cli/commands.py::TREE": "the commands, each with its module",
    "cli/crawl.py::HELP": "help texts",
    "cli/crawl.py::METAVARS": "what stands for an option's value in the help",
    "cli/examples.py::EXAMPLES": "examples of the commands",
    "cli/help.py::CRAWL_GROUPS": "the options of a command in groups",
    "cli/crawl.py::OWN": "options of the command",
    "operations/table.py::NOT_OFFERED": "commands without an operation, each with the reason",
    "operations/table.py::OPERATIONS": "the operations, each with its types and function",
    "operations/table_of_state.py::STATE": "operations, each with its types and function",
    "operations/table_of_uses.py::USES": "operations, each with its types and function",
    "operations/table_of_views.py::VIEWS": "operations, each with its types and function",
    "config/settings.py::ABOUT": "the settings, each with its type and help",
    "observability/alert_rules.py::RULES": "the alert rules, each with the function that reads it",
    "observability/metrics.py::METRICS": "the metrics, each with its help and the function that reads it",
    "identity/browsers.py::_ALL": "browsers with their fingerprints, which belong together with the code",
    **{
        f"uses/audit/checks/{name}.py::CHECKS": "the checks of an audit, each with its query or function"
        for name in ("status", "indexability", "titles", "content", "links")
    },
    "parsing/products/state_product.py::_NOW": "keys of data in scripts, in the order in which they are trusted",
    "url/tracking.py::TRACKING": "needed by the first URL of each crawl; a file would cost every start",
}
"""Literals of more than 60 strings that stay in Python, each with the reason."""


def test_there_are_lists() -> None:
    assert len(LISTS) >= 7
    documented = (ROOT / "docs" / "word-lists.md").read_text()
    assert [name for name in LISTS if f"`{name}.txt`" not in documented] == []


@pytest.mark.parametrize("name", LISTS)
def test_a_list_names_its_source_and_date_and_has_each_entry_once(name: str) -> None:
    text = (FOLDER / f"{name}.txt").read_text()
    head = text.partition("\n[")[0]
    assert re.search(r"^# Source: \S", head, re.MULTILINE)
    assert re.search(r"^# Date: 20\d\d-\d\d-\d\d$", head, re.MULTILINE)
    assert not re.search(r"[ \t]$", text, re.MULTILINE), "write a space at an end as [ ]"
    for section, entries in sections(name).items():
        assert entries, section
        if name not in TABLES and section != "month_names":
            assert len(set(entries)) == len(entries), section
            for entry in entries:
                re.compile(entry.replace("{no}", "no"))


def test_long_lists_of_words_are_not_in_python() -> None:
    found = set()
    for source in sources():
        if not source.path.startswith("src/gossamer/"):
            continue
        for node in source.tree.body:
            if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
                target = node.targets[0] if isinstance(node, ast.Assign) else node.target
                texts = [
                    one
                    for one in ast.walk(node.value)
                    if isinstance(one, ast.Constant) and isinstance(one.value, str)
                ]
                if len(texts) > 60:
                    found.add(f"{source.path.removeprefix('src/gossamer/')}::{ast.unparse(target)}")
    assert found == KEPT.keys()
