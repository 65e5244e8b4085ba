"""Rank rules: the changes that fire an alert, once, and again only after the condition was false, and the
delivery to receivers."""

from __future__ import annotations

import re
from typing import Any

import pytest

from gossamer.client.notifications import Receivers
from gossamer.errors import ConfigError
from gossamer.parsing.ranks import Result, ResultPage
from gossamer.uses.ranks.history import DAY_S, RankHistory
from gossamer.uses.ranks.model import FetchedResultPage, Keyword, Search
from gossamer.uses.ranks.pages_to_fetch import Depth
from gossamer.uses.ranks.rank_alerts import deliver, evaluate
from gossamer.uses.ranks.rules import parse_condition, parse_rules
from gossamer.uses.rule_files import BadRule

OWN, RIVAL = "own.example", "rival.example"


class Days:
    """Runs of one keyword, with the positions of our domain and of a competitor."""

    def __init__(
        self, history: RankHistory, clock: Any, rules: str = "", own_rules: tuple[str, ...] = ()
    ) -> None:
        self.history, self.clock = history, clock
        self.book = parse_rules(rules)
        search = Search(keyword="kettle", country="us")
        self.search = search.id
        keyword = Keyword(search=search, domain=OWN, competitors=(RIVAL,), tags=("money",), rules=own_rules)
        history.list_keywords([keyword])

    def run(self, own: int | None, rival: int | None = None, ad: bool = False, error: str = "") -> list[str]:
        """Makes a run and returns the texts of its alerts."""
        self.clock.now += DAY_S
        self.history.begin_run()
        hosts = {own: OWN, rival: RIVAL}
        results = [
            Result("organic", n, n, "t", f"https://{hosts.get(n, f'site-{n}.example')}/")
            for n in range(1, 21)
        ]
        if ad:
            results.append(Result("ai_overview", None, 1, "", f"https://{OWN}/a"))
        parsed = None if error else ResultPage("google", "ok", "", tuple(results))
        page = FetchedResultPage(
            search=self.search, page=2, since_page=1, time=self.clock.now, parsed=parsed, error=error
        )
        self.history.record([page])
        self.history.end_run(Depth("smart", 20))
        found = evaluate(self.history, self.book, ["r"], self.clock)
        assert evaluate(self.history, self.book, ["r"], self.clock) == []  # nothing fires twice
        return [one.notification.text.partition("): ")[2] for one in found]


def rule(when: str) -> str:
    return f'[rules.one]\nwhen = "{when}"\n'


@pytest.mark.parametrize(
    ("when", "places", "due"),
    [
        ("below 10", [5, 12, 15, 10, 11, 9, 12], {1: "12 is below 10", 6: "12 is below 10"}),
        ("below 10", [None], {0: ">20 is below 10"}),
        ("above 4", [5, 3, 4, 3, 5, 1], {1: "3 is above 4", 5: "1 is above 4"}),
        ("not in results", [5, None, None, 8, None], {1: "not in the first 20", 4: "not in the first 20"}),
        ("falls 3", [5, 6, 7, 8, 9, 5, 8], {3: "5 -> 8 (-3)", 6: "5 -> 8 (-3)"}),
        ("falls 3", [5, None], {1: "5 -> >20 (-16)"}),
        ("rises 3", [9, 8, 7, 6, 6], {3: "9 -> 6 (+3)"}),
        ("changes 2", [5, 6, 7, 5], {2: "5 -> 7 (-2)", 3: "7 -> 5 (+2)"}),
        ("enters 10", [12, 10, 8, 12, 3], {1: "12 -> 10: in the first 10", 4: "12 -> 3: in the first 10"}),
        ("leaves 10", [8, 12, None], {1: "8 -> 12: out of the first 10"}),
        ("falls", [5, 6], {1: "5 -> 6 (-1)"}),
    ],
)
def test_moves(
    history: RankHistory, clock: Any, when: str, places: list[int | None], due: dict[int, str]
) -> None:
    days = Days(history, clock, rule(when))
    fired = {number: texts for number, place in enumerate(places) if (texts := days.run(place))}
    assert fired == {number: [text] for number, text in due.items()}


def test_a_failed_check_fires_no_rule_about_positions(history: RankHistory, clock: Any) -> None:
    days = Days(
        history,
        clock,
        rule("falls 3") + '[rules.two]\nwhen = "checks fail"\n[rules.three]\nwhen = "not in results"\n',
    )
    assert days.run(5) == []
    assert days.run(None, error="timeout") == ["the check failed: failed: timeout"]
    assert days.run(None, error="timeout") == []
    assert days.run(5) == []


def test_competitors_features_and_urls(history: RankHistory, clock: Any) -> None:
    rules = (
        rule("competitor passes")
        + '[rules.two]\nwhen = "feature ai_overview won"\n[rules.three]\nwhen = "feature lost"\n'
    )
    days = Days(history, clock, rules)
    assert days.run(5, 8) == []
    assert days.run(5, 3, ad=True) == ["is in ai overview now", "rival.example (3) is ahead of 5"]
    assert days.run(5, 2, ad=True) == []
    assert days.run(5, 8) == ["is not in ai overview any more"]
    assert days.run(5, 4) == ["rival.example (4) is ahead of 5"]


def test_rules_of_a_keyword_and_scopes(history: RankHistory, clock: Any) -> None:
    scoped = (
        rule("above 30") + 'tag = "other"\n[rules.two]\nwhen = "above 30"\ntag = "money"\nengine = "google"\n'
    )
    days = Days(history, clock, scoped, own_rules=("below 3",))
    assert sorted(days.run(5)) == ["5 is above 30", "5 is below 3"]


def test_alerts_wait_for_a_receiver_that_does_not_accept(history: RankHistory, clock: Any) -> None:
    days = Days(history, clock, rule("above 30"))
    assert days.run(5)

    class Doors(Receivers):
        def __init__(self) -> None:
            self.names, self.answers = ["r"], ["no", ""]
            self.got: list[str] = []

        def send(self, name: str, notifications: Any, suppressed: int = 0) -> str:
            if not (failure := self.answers.pop(0)):
                self.got += [one.text for one in notifications]
            return failure

    doors = Doors()
    assert deliver(history, days.book, doors, clock).failures == ("no",)
    assert deliver(history, days.book, doors, clock).sent == 1
    assert deliver(history, days.book, doors, clock).sent == 0
    assert doors.got == ["own.example: kettle (google us): 5 is above 30"]


@pytest.mark.parametrize(
    "text",
    [
        "rules = 3",
        '[rules.a]\nwhen = "jumps 3"',
        '[rules.a]\nwhen = "below 0"',
        "[rules.a]\n",
        '[rules.a]\nwhen = "falls"\nseverity = "loud"',
        '[rules.a]\nwhen = "falls"\nshop = "a"',
        '[rules.a]\nwhen = "falls"\ntag = 3',
        'digest = "never"',
        "max_per_day = 0",
        "not toml",
    ],
)
def test_wrong_rules_say_what_to_write(text: str) -> None:
    with pytest.raises(ConfigError) as told:
        parse_rules(text, "rank-rules.toml")
    assert re.match(r"rank-rules\.toml(, line \d, column \d+)?: ", str(told.value))
    assert "\n" not in str(told.value)


def test_a_condition_is_a_whole_text() -> None:
    for text in ("below", "below ten", "falls 3 places", "", "feature"):
        with pytest.raises(BadRule):
            parse_condition(text)
