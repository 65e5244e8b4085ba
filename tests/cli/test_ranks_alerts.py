"""Tests of `gossamer ranks run` and `gossamer ranks alert`, from a provider to real receivers. A webhook,
Slack, a mail and a program each receive every move, feature and layout drift exactly once, and a failed
check is never reported as a lost position."""

from __future__ import annotations

import json
from collections.abc import Iterator
from email import message_from_string, policy
from html import unescape
from pathlib import Path

import pytest

from cli.command_line import gossamer
from support.mail_server import MailServer, mail_server
from support.search_providers import KEY, SearchProvider, invented_results, serving
from support.web_receiver import Receiver, receiving

OWN = "own.example"
WORDS = [f"kettle {n}" for n in range(6)]
RULES = """
[rules.falls]
when = "falls 3"
[rules.missing]
when = "not in results"
[rules.won]
when = "feature won"
keyword = "kettle 4"
[rules.lost]
when = "feature lost"
keyword = "kettle 4"
[rules.drift]
when = "layout drift"
severity = "page"
[rules.failing]
when = "checks fail"
keyword = "kettle 2"
"""
SNIPPET = {"answerBox": {"title": "Kettles", "link": f"https://{OWN}/kettles", "snippet": "Boil."}}
FORMLESS = (200, {"unexpected": True})
EMPTY = (200, {"searchParameters": {"q": "kettle"}, "organic": [], "credits": 1})


class Watched:
    """Tracked keywords at a search provider whose positions a test changes, with one receiver of each
    kind."""

    def __init__(self, folder: Path, provider: SearchProvider, hook: Receiver, mail: MailServer) -> None:
        self.folder, self.provider, self.hook, self.mail = folder, provider, hook, mail
        self.places: dict[str, int | None] = dict.fromkeys(WORDS, 4)
        provider.results = self._results
        (folder / "keywords.csv").write_text("keyword,domain\n" + "".join(f"{one},{OWN}\n" for one in WORDS))
        (folder / "key").write_text(KEY)
        (folder / "rank-rules.toml").write_text(RULES)
        alerts = [
            f"{hook.url}/hook",
            f"slack+{hook.url}/slack",
            f"mailto:seo@example.com?smtp=smtp://127.0.0.1:{mail.port}&from=g@example.com",
            f"command:tee {folder}/paged.json",
        ]
        (folder / "gossamer.toml").write_text(
            f'unlocker = "serper?endpoint={provider.url}"\nunlocker_key = "${{file:key}}"\nalerts = {json.dumps(alerts)}\n'
            'allow_private = ["127.0.0.0/8"]\n'
        )

    def _results(self, words: str) -> list[dict[str, str]]:
        found = invented_results(words)
        if place := self.places[words]:
            found[place - 1]["url"] = f"https://www.{OWN}/"
        return found

    def day(self, code: int = 0) -> dict[str, list[str]]:
        """Check the keywords, then send the alerts. Return the texts that the webhook received, keyed by
        rule, after comparing them with the texts of the other receivers."""
        calls, letters = len(self.hook.calls), len(self.mail.letters)
        status, _, err = gossamer(self.folder, "ranks", "run", "keywords.csv", "-q")
        assert status == code, err
        for _ in range(2):  # the second call sends no further alerts
            status, _, err = gossamer(self.folder, "ranks", "alert")
            assert status == 0, err
        got = {call.path: json.loads(call.body) for call in self.hook.calls[calls:]}
        assert len(self.hook.calls) - calls == len(got)
        if not got:
            assert len(self.mail.letters) == letters
            return {}
        alerts = got["/hook"]["alerts"]
        assert sorted(got) == ["/hook", "/slack"]
        (letter,) = self.mail.letters[letters:]
        mail = message_from_string(letter.text, policy=policy.default).get_content()
        paged = json.loads((self.folder / "paged.json").read_text())
        assert paged["alerts"] == alerts
        found: dict[str, list[str]] = {}
        for one in alerts:
            assert one["text"] in unescape(got["/slack"]["text"])
            assert one["text"] in mail
            found.setdefault(one["alert"], []).append(one["text"].partition("): ")[2] or one["text"])
        return found


@pytest.fixture
def watched(tmp_path: Path) -> Iterator[Watched]:
    with serving(SearchProvider("serper")) as provider, receiving() as hook, mail_server() as mail:
        yield Watched(tmp_path, provider, hook, mail)


def test_moves_features_and_layout_drift_reach_every_receiver_once(watched: Watched) -> None:
    assert watched.day() == {}
    watched.places["kettle 1"] = 12
    watched.provider.features = SNIPPET
    assert watched.day() == {"falls": ["4 -> 12 (-8)"], "won": ["is in featured snippet now"]}
    watched.provider.errors = [FORMLESS] * len(WORDS)
    drifted = watched.day(code=9)
    assert sorted(drifted) == ["drift", "failing"]
    assert drifted["drift"] == ["layout drift: google serper desktop: 6 of 6 pages have an unknown layout"]
    watched.provider.features = {}
    assert watched.day() == {"lost": ["is not in featured snippet any more"]}
    watched.places["kettle 3"] = None
    assert watched.day() == {"falls": ["4 -> >20 (-17)"], "missing": ["not in the first 20"]}


def test_checks_that_failed_are_no_lost_positions(watched: Watched) -> None:
    watched.places |= dict.fromkeys(WORDS[3:], 15)
    watched.provider.features = SNIPPET
    assert watched.day() == {}
    # the provider bills this response, which contains no results
    watched.provider.errors = [EMPTY] * len(WORDS)
    assert list(watched.day(code=9)) == ["failing"]
    watched.provider.errors = [EMPTY, None, FORMLESS, None, EMPTY, None, FORMLESS]
    assert not {"falls", "missing", "lost"} & watched.day().keys()
    watched.provider.errors = []
    assert watched.day() == {}


def test_each_run_sends_its_positions_to_an_output(watched: Watched) -> None:
    """A day after a failed check has no position to send."""
    words = ("ranks", "run", "keywords.csv", "-q", "-o", "ranks.jsonl", "--json")
    sent = []
    for place, expected in ((4, 0), (12, 9), (12, 0)):
        watched.places["kettle 1"] = place
        watched.provider.errors = [FORMLESS] * len(WORDS) if expected else []
        code, out, err = gossamer(watched.folder, *words)
        assert code == expected, err
        sent.append([one["records"] for one in json.loads(out).get("sent", [])])
    assert sent == [[len(WORDS)], [], [len(WORDS)]]
    rows = [json.loads(line) for line in (watched.folder / "ranks.jsonl").read_text().splitlines()]
    assert [row["position"] for row in rows if row["keyword"] == "kettle 1"] == [4, 12]
    assert len({row["id"] for row in rows}) == len(rows) == 2 * len(WORDS)
