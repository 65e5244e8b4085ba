"""The folders of the tests mirror the code: each folder of tests has the name of a package or a module."""

from __future__ import annotations

import re

from house.tree import ROOT, kept_files

OWN = {
    "e2e": "whole crawls by the command line",
    "e2e/item_files": "whole crawls of items with files",
    "examples": "the shipped examples",
    "house": "the code itself",
    "sinks/databases": "the same tests for each database and stream",
    "support": "servers and processes that tests start",
    "walls": "the web of hosts that block",
    "web": "the web that tests crawl",
}
"""Folders of tests that match no package or module, each with a description of its content."""


def test_a_folder_of_tests_is_a_package_or_a_module() -> None:
    folders = {
        path.rpartition("/")[0].removeprefix("tests/")
        for path in kept_files()
        if re.match(r"tests/.+/.+\.py$", path)
    }
    code = ROOT / "src" / "gossamer"
    strange = {
        folder
        for folder in folders - OWN.keys()
        if not (code / folder).is_dir() and not (code / f"{folder}.py").is_file()
    }
    assert not strange, "move these tests to the folder of the package that they test"
    assert folders >= OWN.keys()


def test_texts_name_tests_that_exist() -> None:
    """The changelog may contain names that have changed since."""
    missing: list[str] = []
    for path in kept_files():
        if not path.endswith((".md", ".toml", ".sh")) or path.startswith("CHANGELOG"):
            continue
        names = re.findall(r"\btests/[\w/]+\.(?:py|txt)", (ROOT / path).read_text())
        missing += [f"{path}: {name}" for name in names if not (ROOT / name).exists()]
    assert not missing
