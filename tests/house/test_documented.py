"""Everything that users touch is documented: commands, options, settings, words in outputs, and the two
commands of the README."""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from house.tree import ROOT, SRC

DOCS = ROOT / "docs"


def quoted(page: Path) -> set[str]:
    """Returns the words that a page formats as code, cut before an argument, so that `--limit N` documents
    `--limit`."""
    text = page.read_text()
    blocks = re.findall(r"^```.*?^```", text, re.MULTILINE | re.DOTALL)
    spans = re.findall(r"`([^`\n]+)`", re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL))
    words = set(spans) | {word for span in [*spans, *blocks] for word in re.split(r"[\s,/|=]+", span)}
    return words | {" ".join(span.split()[:n]) for span in spans for n in (2, 3)}


def commands(group: Any, before: str = "") -> Iterator[tuple[str, Any]]:
    """Yields every command that a user can type, as ("dead list", command)."""
    for name in group.list_commands(None):
        command = group.get_command(None, name)
        if hasattr(command, "list_commands"):
            yield from commands(command, f"{before}{name} ")
        else:
            yield f"{before}{name}", command


def command_tree() -> Any:
    """Returns the command tree, or None if the `cli` package does not exist."""
    if not (SRC / "cli" / "commands.py").exists():
        return None
    return importlib.import_module("gossamer.cli.commands").app


def test_every_command_and_option_is_documented() -> None:
    tree = command_tree()
    if tree is None:
        return
    known = quoted(DOCS / "commands.md")
    missing = []
    for name, command in commands(tree):
        heads = {f"gossamer {name}", name}
        if not heads & known and not all(word in known for word in name.split()):
            missing.append(name)
        options = [
            option for parameter in command.params for option in parameter.opts if option.startswith("--")
        ]
        missing += [f"{name} {option}" for option in options if option != "--help" and option not in known]
    assert missing == []


def test_every_setting_is_documented() -> None:
    if not (SRC / "config" / "settings.py").exists():
        return
    settings = importlib.import_module("gossamer.config.settings").Settings
    known = quoted(DOCS / "settings.md")
    assert [name for name in settings.__struct_fields__ if name not in known] == []
    assert (
        len(settings.__struct_fields__) < 82
    )  # including the settings of a fleet, of an account and of the alerts


def test_every_exit_code_is_documented() -> None:
    from gossamer import errors

    codes = {str(kind.exit_code) for kind in vars(errors).values() if hasattr(kind, "exit_code")}
    page = DOCS / "commands.md"
    if page.exists():
        assert codes <= set(re.findall(r"(?<![\w.])(\d{1,2})(?![\w.])", page.read_text()))


def test_the_readme_has_exactly_two_set_up_commands() -> None:
    readme = (ROOT / "README.md").read_text()
    section = re.search(r"^## Set-up\n(.*?)^## ", readme, re.MULTILINE | re.DOTALL)
    assert section, "the README has no section `## Set-up`"
    block = re.search(r"^```\w*\n(.*?)^```", section[1], re.MULTILINE | re.DOTALL)
    assert block, "the section has no commands"
    lines = [re.sub(r"\s+#.*", "", line) for line in block[1].splitlines() if line.strip()]
    assert lines == ["./gossamer crawl https://books.toscrape.com -o books.jsonl", "./test"]


WORDS = {
    "skips": "duplicate robots scope depth budget trap nofollow private content-type filter",
    "errors": "dns connect tls timeout reset http-4xx http-5xx rate-limited blocked too-large redirect-loop"
    " robots-unreachable parse sink crash expired",
    "states": "finished limited stopped paused cancelled failed",
}


@pytest.mark.parametrize("kind", WORDS)
def test_every_word_of_the_outputs_is_in_the_glossary(kind: str) -> None:
    known = quoted(DOCS / "glossary.md")
    assert [word for word in WORDS[kind].split() if word not in known] == []


def test_links_between_our_pages_lead_somewhere() -> None:
    links = [
        (page, target)
        for page in [*ROOT.glob("*.md"), *DOCS.rglob("*.md")]
        for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text())
    ]
    assert [f"{page.name}: {target}" for page, target in links if not (page.parent / target).exists()] == []


def test_every_decision_is_listed() -> None:
    pages = {page.name for page in (DOCS / "decisions").glob("*.md")} - {"README.md"}
    listed = set(re.findall(r"\]\(([^)]+\.md)\)", (DOCS / "decisions" / "README.md").read_text()))
    assert pages == listed


def test_every_page_is_reachable_from_the_index() -> None:
    listed = set(re.findall(r"\]\(([^)#]+)", (DOCS / "index.md").read_text()))
    assert [page.name for page in DOCS.glob("*.md") if page.name not in listed | {"index.md"}] == []


def test_the_glossary_has_forty_nouns_at_most() -> None:
    nouns = (DOCS / "glossary.md").read_text().split("\n## ")[1]
    assert 10 < len(re.findall(r"^\| [a-z]", nouns, re.MULTILINE)) - 1 <= 40


def test_the_files_that_decide_are_there() -> None:
    table = (DOCS / "architecture.md").read_text().split("\n## Where is it decided?")[1].split("\n## ")[0]
    files = re.findall(r"`([a-z_/]+\.(?:py|lua))`", table)
    assert len(files) >= 20
    assert [file for file in files if not (ROOT / "src" / "gossamer" / file).exists()] == []
