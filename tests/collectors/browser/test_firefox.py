"""If the browser rung uses Firefox, options that Firefox does not support are refused at the start, in one
line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from gossamer.cli.commands import run
from gossamer.errors import ConfigError

SITE = "from gossamer import Login, Site\nsite = Site('shop', seeds=['http://127.0.0.1:9/'], {more})\n"


@pytest.mark.parametrize(
    ("more", "words", "said"),
    [
        (
            "render={'steps': [{'click': 'b'}], 'capture': '/api'}",
            ["--ladder", "plain,browser"],
            "site shop: capture works in Chromium",
        ),
        ("", ["--ladder", "impersonated,browser"], "no ladder may contain both impersonated and Firefox"),
    ],
)
def test_what_firefox_does_not_do(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    more: str,
    words: list[Any],
    said: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "shop.py").write_text(SITE.replace("{more}", more))
    code = run(["crawl", "shop.py", "--allow-private", "127.0.0.0/8", "-s", "chromium=firefox-esr", *words])
    assert (code, said in capsys.readouterr().err) == (ConfigError.exit_code, True)
