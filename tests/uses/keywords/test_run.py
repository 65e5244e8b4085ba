"""The checks of a keyword run before it begins."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

from gossamer.errors import ConfigError
from gossamer.uses.keywords.run import KeywordRunOptions, run_keywords


def test_a_missing_library_is_told_before_the_crawl(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    here = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "numpy" else here(name))
    options = KeywordRunOptions(folder=str(tmp_path / "keywords"))
    with pytest.raises(ConfigError, match=r"keywords needs other packages \(numpy\): .*keywords"):
        run_keywords(["http://a.example/"], options, print)
    assert list(tmp_path.iterdir()) == []
