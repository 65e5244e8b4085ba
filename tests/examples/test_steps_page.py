"""The page docs/steps.md and examples/teahouse: the commands run as printed, and Chromium and Firefox get the teas that
the shop was built from."""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from examples.documented_commands import commands_of
from gossamer.cli.commands import run
from gossamer.model.rendering import ACTS
from house.tree import ROOT
from support.answers import answering
from support.scripts import script

PAGE = (ROOT / "docs" / "steps.md").read_text()
FILE = ROOT / "examples" / "teahouse" / "shop.py"
SERVE: Any = script("examples/teahouse/serve.py")
NEEDS = {"chrome": "chromium", "firefox": "firefox-esr"}


@pytest.fixture(params=["chrome", "firefox"])
def port(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    """Serve both sites, and copy the example with their port and with the browser. Yield the port."""
    if shutil.which(NEEDS[request.param]) is None and os.environ.get("CI") != "true":
        pytest.skip(f"needs {NEEDS[request.param]}")
    monkeypatch.chdir(tmp_path)
    with answering(SERVE.Handler, SERVE.SHOP) as port, answering(SERVE.Handler, SERVE.CONSENT, port):
        copy = tmp_path / "examples" / "teahouse" / "shop.py"
        copy.parent.mkdir(parents=True)
        text = FILE.read_text().replace(":8010", f":{port}")
        copy.write_text(text.replace('ladder="browser"', f'ladder="browser", browser="{request.param}"'))
        yield port


def test_the_commands_of_the_page(port: int, capsys: pytest.CaptureFixture[str]) -> None:
    (crawl, _), (once, _) = commands_of(PAGE)
    assert run(crawl.split()) == 0
    rows = [json.loads(line) for line in Path("teas.jsonl").read_text().splitlines()]
    wanted = [(one["name"], Decimal(one["price"])) for one in SERVE.TEAS]
    assert sorted((row["name"], Decimal(str(row["price"]))) for row in rows) == wanted
    assert run(once.replace(":8010", f":{port}").split()) == 0
    pictures = re.findall(r"picture: (\S+)", capsys.readouterr().err)
    assert len(pictures) == 2 * 6
    assert all(Path(one).exists() for one in pictures)


def test_the_example_is_on_the_page_and_each_word_has_a_row() -> None:
    assert FILE.read_text().partition('"""\n\n')[2] in PAGE
    rows = re.findall(r'^\| `(?:\{")?"?(\w+)"', PAGE, re.MULTILINE)
    assert sorted(rows) == sorted(ACTS)
