"""The pages of the documentation: links and anchors are valid, the real parser accepts the commands, and the
site builds."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import click
import pytest

from gossamer.cli.commands import app
from house.tree import ROOT

PAGES = sorted(
    file
    for pattern in ("*.md", "docs/**/*.md", "examples/*.md", "benchmarks/*.md")
    for file in ROOT.glob(pattern)
)
PAST = {ROOT / "CHANGELOG.md", *(ROOT / "docs" / "decisions").glob("0*.md")}
"""Pages that may contain names that have changed since: the changelog, and the tables of what trials found."""
FENCE = re.compile(r"^( *)```(\w*)[^\n]*\n(.*?)^\1```", re.MULTILINE | re.DOTALL)
SHELL_BLOCKS = ("", "sh", "bash", "console")


def prose(text: str) -> str:
    """Returns the text without its code."""
    return re.sub(r"`[^`\n]+`", "code", FENCE.sub("", text))


def github_slug(heading: str) -> str:
    """Returns the anchor that GitHub gives a heading.

    The heading "What a `Site` takes: all" gives "what-a-site-takes-all".
    """
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).replace("`", "").strip().lower()
    return re.sub(r"[^\w\- ]", "", text).replace(" ", "-")


@cache
def anchors(page: Path) -> set[str]:
    """Returns the anchors of a page: those of its headings (repeated headings get `-1`, `-2`) and those set
    with `<a id>`."""
    text = FENCE.sub("", page.read_text())
    found: set[str] = set(re.findall(r"<a (?:id|name)=\"([^\"]+)\"", text))
    for heading in re.findall(r"^#+ (.+)$", text, re.MULTILINE):
        slug = first = github_slug(heading)
        number = 0
        while slug in found:
            number += 1
            slug = f"{first}-{number}"
        found.add(slug)
    return found


def links(page: Path) -> Iterator[tuple[str, str]]:
    """Yields (target, anchor) of the page's links within the checkout."""
    for target in re.findall(r"\]\(([^)\s]+)\)", prose(page.read_text())):
        if not re.match(r"\w+:", target):
            path, _, anchor = target.partition("#")
            yield path, anchor


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_and_anchors_lead_somewhere(page: Path) -> None:
    broken = []
    for path, anchor in links(page):
        target = page.parent / path if path else page
        if not target.exists() or (anchor and target.suffix == ".md" and anchor not in anchors(target)):
            broken.append(f"{path}#{anchor}")
    assert broken == []


def command_lines(page: Path) -> Iterator[tuple[str, bool]]:
    """Yields (command line, is whole) of every `gossamer ...` that a page shows. A line in a code block is
    whole and can be run. Parts may be missing from a command in the text."""
    text = page.read_text()
    for _, language, block in FENCE.findall(text):
        lines = re.sub(r"\\\n\s*", "", block).splitlines() if language in SHELL_BLOCKS else []
        for line in lines:
            if found := re.match(r"\s*(?:\$ )?(?:\S*/)?gossamer (?!--with)(.*)", line):
                yield found[1], True
    for span in re.findall(r"`([^`\n]+)`", FENCE.sub("", text)):
        if found := re.match(r"(?:\./)?gossamer (?!--with|-h\b|--help)(.*)", span.replace("\\|", "|")):
            yield found[1], False


def refusal(line: str, is_whole: bool) -> str:
    """Returns the reason why the real parser refuses a command line, or an empty string if it accepts the
    line."""
    words = shlex.split(line, comments=True)
    words = list(iter_until_shell_word(words))
    context = click.Context(app, info_name="gossamer", help_option_names=["-h", "--help"])
    command: click.Command | None = app
    while isinstance(command, click.Group) and words:
        words = command.with_default(words)
        command = command.get_command(context, words[0])
        if command is None:
            return f"no command {words[0]}"
        context = click.Context(command, parent=context, info_name=words.pop(0))
    if isinstance(command, click.Group) or command is None:
        return ""
    prepare = getattr(command, "prepare_words", None)
    words = prepare(words, command) if prepare else words
    if prepare and "--" in words and (why := refusal(shlex.join(words[words.index("--") + 1 :]), is_whole)):
        return why
    numbers = {"N": "1", "SECONDS": "1", "...": "x"}
    words = [numbers.get(word, word) for word in words if word != "..." or is_whole]
    try:
        if is_whole:
            command.make_context(command.name, words, parent=context.parent)
        else:
            command.make_parser(context).parse_args(words)
    except (click.exceptions.Exit, click.exceptions.NoArgsIsHelpError):
        return ""
    except click.BadParameter as error:
        return "" if not is_whole and isinstance(error, click.MissingParameter) else error.format_message()
    except click.UsageError as error:
        return error.format_message()
    return ""


def iter_until_shell_word(words: list[str]) -> Iterator[str]:
    """Yields the words of the first command, up to a pipe, a redirection or the next command."""
    for word in words:
        if word in ("|", ">", ">>", "2>", "&", "&&", ";"):
            return
        if word.endswith(";"):
            yield word[:-1]
            return
        yield word


@pytest.mark.parametrize(
    "page", [page for page in PAGES if page not in PAST], ids=lambda page: str(page.relative_to(ROOT))
)
def test_commands_of_the_docs_are_accepted(page: Path) -> None:
    refused = {line: why for line, whole in command_lines(page) if (why := refusal(line, whole))}
    assert refused == {}


@pytest.mark.parametrize(
    ("line", "is_good"),
    [
        ("crawl https://example.com --limit 3 -o a.jsonl | head", True),
        ("crawl https://example.com --limt 3", False),
        ("crawl https://example.com --limit", False),
        ("dead lst", False),
        ("dead list --host a.example", True),
        ("explain", False),
    ],
)
def test_a_wrong_command_is_found(line: str, is_good: bool) -> None:
    assert bool(refusal(line, True)) is not is_good


def test_the_site_is_built_without_a_warning(tmp_path: Path) -> None:
    """With `--strict`, a broken link, a missing anchor or a page outside the navigation is an error."""
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(tmp_path / "site")]
    env = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    index = (tmp_path / "site" / "search" / "search_index.json").read_text()
    assert all(f'"location":"{page}/' in index for page in ("tutorial", "commands", "project/CONTRIBUTING"))
    assert not list((tmp_path / "site").rglob("*.py"))


def test_what_a_check_refuses_is_called_rejected() -> None:
    """The documentation uses one word for items, rows and lines that a check refused."""
    pages = [page for page in PAGES if page not in PAST]
    files = [*pages, *(ROOT / "src" / "gossamer").rglob("*.py")]
    assert [str(file) for file in files if re.search(r"\bkept[ _-]aside\b", file.read_text())] == []


def test_a_row_of_the_threats_names_each_file_once() -> None:
    twice = []
    for row in (ROOT / "docs" / "security.md").read_text().splitlines():
        for cell in row.split(" | ") if row.startswith("|") else []:
            files = re.findall(r"`([\w./:]+)`", cell)
            twice += [file for file in files if "/" in file and files.count(file) > 1]
    assert twice == []
