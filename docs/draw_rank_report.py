"""Draws the picture of the rank report: `python docs/draw_rank_report.py` writes
`docs/images/rank-report.png`.

The program follows a site and two competitors for twelve made-up keywords over 45 days. Positions move, some
checks fail, and a layout changes for three days. The picture shows the report of these days in Chromium.
`--html FILE` keeps the report.
"""

from __future__ import annotations

import random
from pathlib import Path

from report_picture import draw_report

from gossamer.parsing.ranks import Result, ResultPage
from gossamer.uses.ranks.history import RankHistory
from gossamer.uses.ranks.model import FetchedResultPage, Keyword, Search
from gossamer.uses.ranks.pages_to_fetch import Depth
from gossamer.uses.ranks.report import read_report
from gossamer.uses.ranks.report_html import render_report

DAY, START, DAYS = 86_400.0, 1_790_000_000.0, 45
OWN, RIVALS = "alpenkaffee.example", ("kontor.example", "roastery.example")
WORDS = {
    "espresso machine": 9900,
    "burr grinder": 5400,
    "milk frother": 3600,
    "espresso cups": 1900,
    "pour over set": 1600,
    "moka pot": 6600,
    "coffee scale": 880,
    "cold brew maker": 1300,
    "tamper 58 mm": 480,
    "descaler": 720,
    "portafilter": 1000,
    "knock box": 390,
}


def page_of(words: str, page: int, places: dict[str, int]) -> ResultPage:
    """Returns a made-up result page with the followed domains at their positions, and with other sites
    elsewhere."""
    results = []
    for rank in range(1, 11):
        place = (page - 1) * 10 + rank
        host = next((name for name, at in places.items() if at == place), f"site-{place}.example")
        results.append(
            Result(
                "organic",
                rank,
                rank + 1,
                f"{words.capitalize()} at {host}",
                f"https://{host}/{words.replace(' ', '-')}",
            )
        )
    if page == 1:
        ahead = min(places, key=lambda name: places[name])
        results.insert(0, Result("ai_overview", None, 1, "", f"https://{ahead}/guide", sub=0))
        results.append(
            Result("people_also_ask", None, 12, f"Which {words} is good?", f"https://{RIVALS[0]}/faq", sub=0)
        )
    return ResultPage("google", "ok", "", tuple(results), 0, "made-up", words, page)


def fill(history: RankHistory, now: list[float]) -> None:
    """Writes the checks of all days into the history."""
    rng, depth = random.Random(11), Depth("custom", 30)
    keywords = [
        Keyword(
            search=Search(keyword=words, country="us", language="en"),
            domain=OWN,
            competitors=RIVALS,
            volume=volume,
        )
        for words, volume in WORDS.items()
    ]
    history.list_keywords(keywords)
    at = {(one.search.id, name): rng.randint(2, 26) for one in keywords for name in (OWN, *RIVALS)}
    for day in range(DAYS):
        now[0] = START + day * DAY
        history.begin_run()
        for one in keywords:
            for name in (OWN, *RIVALS):
                drift = -0.12 if name == OWN else 0.05
                at[one.search.id, name] = max(1, round(at[one.search.id, name] + rng.gauss(drift, 0.9)))
            places: dict[str, int] = {}
            for name in (OWN, *RIVALS):
                place = at[one.search.id, name]
                while place in places.values():
                    place += 1
                places[name] = place
            history.record(list(fetched(one, places, day, rng, now[0])))
        history.end_run(depth)


def fetched(
    one: Keyword, places: dict[str, int], day: int, rng: random.Random, at: float
) -> list[FetchedResultPage]:
    """Returns the pages of a check. Some checks fail, and all checks fail during the days of the new layout."""
    name, words = one.search.id, one.search.keyword
    if 24 <= day < 27:
        parsed = ResultPage("google", "layout_unknown", "no block is known")
        return [FetchedResultPage(search=name, page=1, time=at, parsed=parsed, source="made-up")]
    if rng.random() < 0.03:
        return [FetchedResultPage(search=name, page=1, time=at, error="timeout", source="made-up")]
    return [
        FetchedResultPage(
            search=name, page=page, time=at, parsed=page_of(words, page, places), source="made-up"
        )
        for page in (1, 2, 3)
    ]


def report_of_days(folder: Path) -> str:
    """Returns the report of all days."""
    now = [START]
    with RankHistory(f"{folder}/ranks.db", clock=lambda: now[0]) as history:
        fill(history, now)
        return render_report(read_report(history, now=now[0] + 3600, days=DAYS))


if __name__ == "__main__":
    draw_report(__doc__, "rank-report.png", 1900, report_of_days)
