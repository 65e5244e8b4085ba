"""Simulates a search engine over many days: keywords whose domains move by a script, checks that fail,
captchas, and a layout that changes on one day and can be read again once the data file describes it.

Pages are HTML in the structure of Google's result pages. The new layout has none of the old ids and classes,
so a page in the new layout must give a verdict and never a position.
"""

from __future__ import annotations

import random
from html import escape
from typing import NamedTuple

from gossamer.parsing.ranks import ResultPage, result_page
from gossamer.uses.ranks.history import RankHistory
from gossamer.uses.ranks.model import FetchedResultPage, Keyword, Search
from gossamer.uses.ranks.pages_to_fetch import Depth

DAY_S = 86_400.0
OWN, RIVAL = "own.example", "rival.example"
PAGES = 3
NEW_LAYOUT, KNOWN_AGAIN = 30, 33
"""The day on which the layout changes, and the day on which the data file describes the new layout."""
CAPTCHA = b"<html><body><form id=captcha-form action=/sorry/index><div class=g-recaptcha></div>unusual traffic</form></body></html>"


class Truth(NamedTuple):
    """The true course of a simulation. `positions` contains the true position by (day, keyword), or None for
    "not in the first N". `blind` and `drifted` are the checks that could not see the position."""

    positions: dict[tuple[int, str], int | None]
    blind: set[tuple[int, str]]
    drifted: set[tuple[int, str]]
    pages: dict[tuple[int, str], set[int]]
    """The pages that were fetched. A check stops at a page that it cannot read, because further pages cost
    money. If the domain was on another page, the stored page does not show its position later either."""


def page_html(words: str, page: int, place: int | None, rival: int | None, new: bool) -> bytes:
    """Returns a result page. `place` is the position of our domain. With `new`, the page has the new
    layout."""
    blocks = []
    for n in range((page - 1) * 10 + 1, page * 10 + 1):
        host = OWN if n == place else RIVAL if n == rival else f"site-{n}.example"
        link = f"https://www.{host}/{n if host not in (OWN, RIVAL) else 'page'}"
        if new:
            blocks.append(f"<x-card><x-line data-go='{link}'>{escape(words)} {n}</x-line></x-card>")
        else:
            blocks.append(
                f'<div class="MjjYud"><div class="tF2Cxc" data-hveid="C{n}"><div class="yuRUbf"><a jsname="U" href="{link}" '
                f'data-ved="{n}"><h3>{escape(words)} {n}</h3></a><cite>{host}</cite></div>'
                f'<div class="VwiC3b">about {escape(words)}</div></div></div>'
            )
    inner = "".join(blocks)
    body = (
        f"<x-deck>{inner}</x-deck>"
        if new
        else f'<div id="rcnt"><div id="center_col"><div id="res"><div id="search"><div id="rso">{inner}</div></div></div>'
        '</div></div><div id="botstuff"></div>'
    )
    return (
        f'<html><head><title>{escape(words)} - Google Search</title></head><body><form action="/search"><textarea name="q">'
        f"{escape(words)}</textarea></form>{body}</body></html>"
    ).encode()


def parse(body: bytes, engine: str, url: str | None, version: str) -> ResultPage:
    """Parses a result page. With version `old`, the data file describes only the old layout. With `new`, it
    describes both, and the cards of the new layout are read like the blocks of the old one."""
    if version == "new" and b"<x-deck>" in body:
        text = body.replace(b"<x-card><x-line data-go='", b'<div class="MjjYud"><a data-ved="1" href="')
        text = text.replace(b"</x-line></x-card>", b"</h3></a></div>").replace(b"'>", b'"><h3>')
        text = text.replace(b"<x-deck>", b'<div id="rcnt"><div id="search"><div id="rso">')
        body = text.replace(b"</x-deck>", b"</div></div></div>")
    found = result_page(body, engine, url)
    return ResultPage(
        found.engine,
        found.verdict,
        found.reason,
        found.results,
        found.unknown,
        version,
        found.query,
        found.page,
    )


class Simulation:
    """The days of a simulated engine, written into a history as real runs would write them."""

    def __init__(self, history: RankHistory, clock: object, keywords: int, seed: int = 7) -> None:
        self.history, self._clock, self._rng = history, clock, random.Random(seed)
        self.depth = Depth("smart", PAGES * 10)
        self.keywords = [
            Keyword(search=Search(keyword=f"keyword {n}", country="us"), domain=OWN, competitors=(RIVAL,))
            for n in range(keywords)
        ]
        self._at: dict[str, int | None] = {
            one.search.id: self._rng.choice((1, 2, 5, 9, 10, 11, 18, 25, None)) for one in self.keywords
        }
        self.truth = Truth({}, set(), set(), {})
        self.requests = 0
        history.list_keywords(self.keywords)

    def day(self, number: int) -> None:
        """Moves the positions by the script and makes a run."""
        rng, history = self._rng, self.history
        self._clock.now = 1_790_000_000.0 + number * DAY_S  # type: ignore[attr-defined]
        for name, at in self._at.items():
            if rng.random() < 0.12:
                self._at[name] = (
                    rng.choice((None, 31, *range(1, 31))) if rng.random() < 0.3 else _step(rng, at)
                )
            if self._at[name] == 31:
                self._at[name] = None
            self.truth.positions[number, name] = self._at[name]
        fates = {one.search.id: rng.random() for one in self.keywords}
        history.begin_run()
        version = "new" if number >= KNOWN_AGAIN else "old"
        while requests := history.next_requests(self.depth):
            history.record([self._answer(number, one.search, one.page, fates, version) for one in requests])
            self.requests += len(requests)
        history.end_run(self.depth)

    def _answer(
        self, day: int, name: str, page: int, fates: dict[str, float], version: str
    ) -> FetchedResultPage:
        words = next(one.search.keyword for one in self.keywords if one.search.id == name)
        fate, new = fates[name], day >= NEW_LAYOUT
        self.truth.pages.setdefault((day, name), set()).add(page)
        at = self._clock.now  # type: ignore[attr-defined]
        if fate < 0.03:
            self.truth.blind.add((day, name))
            return FetchedResultPage(
                search=name, page=page, time=at, error="timeout: no answer in 60 s", source="sim"
            )
        body = CAPTCHA if fate < 0.05 else page_html(words, page, self._at[name], 7, new)
        if fate < 0.05:
            self.truth.blind.add((day, name))
        elif new and version == "old":
            self.truth.drifted.add((day, name))
        parsed = parse(body, "google", None, version)
        return FetchedResultPage(
            search=name, page=page, time=at, parsed=parsed, source="sim", body=body, url=""
        )


def _step(rng: random.Random, at: int | None) -> int | None:
    if at is None:
        return rng.choice((None, 28, 30))
    moved = at + rng.choice((-3, -2, -1, 1, 2, 3))
    return None if moved > 30 else max(1, moved)


def on_fetched(truth: Truth, key: tuple[int, str]) -> bool:
    """Returns whether the domain's page was fetched. For a domain without a position, returns whether all
    pages were fetched."""
    place, pages = truth.positions[key], truth.pages[key]
    return len(pages) == PAGES if place is None else (place - 1) // 10 + 1 in pages


def wrong(simulation: Simulation, days: int) -> list[tuple[object, ...]]:
    """Returns the positions, events and failed checks of the history that differ from the truth."""
    history, truth, start = simulation.history, simulation.truth, 1_790_000_000.0
    blind = truth.blind | {key for key in truth.drifted if not on_fetched(truth, key)}
    stored = {
        (round((at - start) // DAY_S), name): place
        for name, at, place in history.query(
            "SELECT search, time, position FROM rank_positions WHERE domain = ?", [OWN]
        )
    }
    states = {
        (round((at - start) // DAY_S), name): state
        for name, at, state in history.query("SELECT search, time, state FROM rank_checks")
    }
    found: list[tuple[object, ...]] = []
    for key, place in truth.positions.items():
        if key in blind:
            found += [("a position from a failed check", key, stored[key])] if key in stored else []
            found += [] if states[key] == "failed" else [("a failed check is called", key, states[key])]
        elif key not in stored:
            found.append(("no position", key, states.get(key)))
        elif stored[key] != place:
            found.append(("position", key, place, stored[key]))
    kinds = ("rank", "entered", "lost")
    events = {
        (round((one.time - start) // DAY_S), one.search): (one.before, one.after)
        for one in history.events()
        if one.domain == OWN and one.kind in kinds
    }
    due: dict[tuple[int, str], tuple[str | None, str | None]] = {}
    last: dict[str, int | None] = {}
    for day in range(days):
        for one in simulation.keywords:
            key = day, one.search.id
            if key in blind:
                continue
            place = truth.positions[key]
            if key[1] in last and last[key[1]] != place:
                due[key] = tuple(None if n is None else str(n) for n in (last[key[1]], place))  # type: ignore[assignment]
            last[key[1]] = place
    found += [
        ("move", key, due.get(key), events.get(key))
        for key in {*due, *events}
        if due.get(key) != events.get(key)
    ]
    return found
