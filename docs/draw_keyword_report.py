"""Draws the picture of the keyword report: `python docs/draw_keyword_report.py` writes
`docs/images/keywords-report.png`.

The program counts the texts of the example tea shops in six weekly runs. In each week, each shop has one page
more. The picture shows the report in Chromium. `--html FILE` keeps the report.
"""

from __future__ import annotations

import importlib.util
import json
import time
from pathlib import Path
from typing import Any

from report_picture import draw_report

from gossamer.uses.keywords.counting import CountOptions, count_texts
from gossamer.uses.keywords.report import render_report
from gossamer.uses.keywords.run import KeywordRun, run_folder, save
from gossamer.uses.keywords.views import RunTables

ROOT = Path(__file__).resolve().parents[1]
SITES = ("leaf-and-kettle.example", "matcha-house.example")
WORDS = ["green tea", "tea pot", "matcha latte", "oat milk", "sencha", "bubble tea", "black tea", "cold brew"]
START, WEEK, WEEKS = 1_790_000_000.0, 7 * 86_400.0, 6


def shops() -> dict[str, list[tuple[str, str]]]:
    """Returns the articles of the example by shop."""
    spec = importlib.util.spec_from_file_location("serve", ROOT / "examples" / "teashops" / "serve.py")
    assert spec is not None
    assert spec.loader is not None
    module: Any = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    found: dict[str, list[tuple[str, str]]] = module.SHOPS
    return found


def count_week(folder: Path, week: int) -> tuple[KeywordRun, Path]:
    """Counts the pages of the shops in one week."""
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


def report_of_weeks(folder: Path) -> str:
    """Counts all weeks. Returns the report of the last run."""
    for week in range(WEEKS):
        run, place = count_week(folder, week)
    with RunTables(place) as tables:
        return render_report(tables, run, str(folder))


if __name__ == "__main__":
    draw_report(__doc__, "keywords-report.png", 1330, report_of_weeks)
