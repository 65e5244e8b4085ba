"""Draws the picture of the keyword report: `python docs/draw_keyword_report.py` writes `docs/images/keywords-report.png`.

The texts of the example tea shops are counted in six weekly runs. In each week, the shops have two pages more. The
report is shown in Chromium. `--html FILE` keeps the report.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

from gossamer.uses.keywords.counting import CountOptions, count_texts
from gossamer.uses.keywords.report import render_report
from gossamer.uses.keywords.run import KeywordRun, run_folder, save
from gossamer.uses.keywords.views import RunTables

ROOT = Path(__file__).resolve().parents[1]
IMAGE = ROOT / "docs" / "images" / "keywords-report.png"
SITES = ("leaf-and-kettle.example", "matcha-house.example")
WORDS = ["green tea", "tea pot", "matcha latte", "oat milk", "sencha", "bubble tea", "black tea", "cold brew"]
START, WEEK, WEEKS = 1_790_000_000.0, 7 * 86_400.0, 6


def shops() -> dict[str, list[tuple[str, str]]]:
    """Returns the articles of the example."""
    spec = importlib.util.spec_from_file_location("serve", ROOT / "examples" / "teashops" / "serve.py")
    assert spec is not None
    assert spec.loader is not None
    module: Any = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    found: dict[str, list[tuple[str, str]]] = module.SHOPS
    return found


def count_week(folder: Path, week: int) -> tuple[KeywordRun, Path]:
    """Counts the pages that the shops have in a week."""
    began = START + week * WEEK
    number = time.strftime("%Y%m%d-%H%M%S", time.gmtime(began))
    place = run_folder(str(folder), number)
    place.mkdir(parents=True)
    texts = place / "pages.jsonl"
    with texts.open("w") as file:
        for site, articles in zip(SITES, shops().values(), strict=True):
            for n, (title, text) in enumerate(articles[: 1 + week]):
                page = {
                    "url": f"https://{site}/{n}",
                    "title": title,
                    "headings": [title],
                    "text": f"{title}\n\n{text}",
                }
                file.write(json.dumps(page) + "\n")
    run = KeywordRun(id=number, began=began, sources=list(SITES), state="done", files=[str(texts)])
    run.result = count_texts(run.files, place, CountOptions(keywords=WORDS), lambda _: None)
    save(run, place)
    return run, place


def main() -> None:
    """Writes the picture."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--html", type=Path, help="a file for the report")
    parser.add_argument("--chromium", default="chromium")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        for week in range(WEEKS):
            run, place = count_week(Path(name), week)
        with RunTables(place) as tables:
            text = render_report(tables, run, name)
        page = options.html or Path(name) / "report.html"
        page.write_text(text, encoding="utf-8")
        flags = (
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--hide-scrollbars",
            "--window-size=1200,1330",
        )
        subprocess.run(
            [options.chromium, *flags, f"--screenshot={IMAGE}", page.resolve().as_uri()],
            check=True,
            stderr=subprocess.DEVNULL,
        )
    print(IMAGE)


if __name__ == "__main__":
    main()
