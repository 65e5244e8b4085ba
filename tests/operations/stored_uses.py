"""Small histories of prices, ranks, keyword counts and audits, as the commands leave them in a folder."""

from __future__ import annotations

import time
from pathlib import Path

from cli.command_line import gossamer
from gossamer.parsing.ranks import Result, ResultPage
from gossamer.uses.keywords.counting import CountOptions, count_texts
from gossamer.uses.keywords.run import KeywordRun, run_folder, save
from gossamer.uses.prices.history import History
from gossamer.uses.ranks.history import RankHistory
from gossamer.uses.ranks.model import FetchedResultPage, Keyword, Search
from gossamer.uses.ranks.pages_to_fetch import Depth
from uses.keywords.stored import page, write
from uses.prices.visits import failed, run, seen, target

DAY_S = 86_400.0
OWN, RIVAL = "own.example", "rival.example"
KETTLE, POT = Search(keyword="kettle"), Search(keyword="pot")


class Clock:
    """A clock that tests set."""

    def __init__(self, now: float) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now


def fill_prices(path: Path | str) -> None:
    """Writes a history of four days: two prices fall, and one target is gone."""
    clock = Clock(time.time() - 4.5 * DAY_S)
    keys = ("kettle", "pot", "gone")
    with History(str(path), clock) as history:
        history.list_targets(
            [
                target("kettle", product="k", tags=("kitchen",)),
                target("pot", product="k", shop="other.example"),
                target("gone"),
            ]
        )
        for price in ("100.00", "100.00", "80.00", "80.00"):

            def visit(key: str, at: float, _: bool, price: str = price) -> list[object]:
                if key == "gone":
                    return [failed(key, at)]
                return [seen(key, at, price)]

            run(history, clock, keys, visit)  # type: ignore[arg-type]


def fill_ranks(path: Path | str) -> None:
    """Writes a history of three days: one keyword rises, and the check of another one fails on the last day."""
    clock = Clock(time.time() - 3.5 * DAY_S)
    with RankHistory(str(path), clock) as history:
        history.list_keywords(
            [
                Keyword(search=KETTLE, domain=OWN, competitors=(RIVAL,), volume=100, tags=("kitchen",)),
                Keyword(search=POT, domain=OWN, volume=300),
            ]
        )
        for own in (5, 4, 2):
            clock.now += DAY_S
            history.begin_run()
            fields = {"page": 1, "time": clock.now, "source": "test"}
            kettle = FetchedResultPage(search=KETTLE.id, parsed=_results(own), **fields)  # type: ignore[arg-type]
            if own == 2:
                pot = FetchedResultPage(search=POT.id, error="timeout", **fields)  # type: ignore[arg-type]
            else:
                pot = FetchedResultPage(search=POT.id, parsed=_results(3), **fields)  # type: ignore[arg-type]
            history.record([kettle, pot])
            history.end_run(Depth("basic"))


def _results(own: int) -> ResultPage:
    hosts = {own: f"{OWN}/", 6: f"{RIVAL}/"}
    found = [
        Result("organic", n, n, "title", f"https://{hosts.get(n, f'site-{n}.example/')}")
        for n in range(1, 11)
    ]
    return ResultPage("google", "ok", "", tuple(found), 0, "v", "kettle", 1)


def fill_keywords(folder: Path) -> None:
    """Writes two runs that counted two keywords on the pages of two sites."""
    folder.mkdir(exist_ok=True)
    texts = write(
        folder / "texts.jsonl",
        [
            page("https://a.example/1", "The kettle boils. A kettle is hot.", title="kettle"),
            page("https://a.example/2", "The kettle and the pot.", title="kettle and pot"),
            page("https://b.example/1", "A pot of tea, and a teapot."),
            page("https://b.example/2", "Another pot of tea for a guest."),
        ],
    )
    for number in ("20260101-000000", "20260102-000000"):
        place = run_folder(str(folder), number)
        place.mkdir(parents=True)
        result = count_texts([texts], place, CountOptions(keywords=["kettle", "pot"]), lambda _: None)
        save(
            KeywordRun(id=number, began=0.0, sources=["https://a.example/"], state="done", result=result),
            place,
        )


def fill_folder(folder: Path, web: str) -> None:
    """Writes all histories, an audit of the local web, and a list for each use."""
    fill_prices(folder / "prices.db")
    fill_ranks(folder / "ranks.db")
    fill_keywords(folder / "keywords")
    (folder / "targets.csv").write_text(f"key,url\none,{web}/1\n")
    (folder / "keywords.csv").write_text("keyword\nkettle\n")
    words = ["audit", f"{web}/", "--database", ".gossamer/audits/a.example.db", "--external", "0"]
    words += ["-s", "allow_private=127.0.0.0/8", "--delay", "0.01", "--data", "audited", "-o", "audit.html"]
    code, _, err = gossamer(folder, *words)
    assert code == 0, err
