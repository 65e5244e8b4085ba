"""The escalation of a visit to a higher rung, and the learned results, in a real store."""

from __future__ import annotations

import pytest

from gossamer.blocks import block
from gossamer.model.page import Failure, Page
from gossamer.model.request import Request
from gossamer.model.visit import Claim
from gossamer.politeness.ladder import Ladder
from gossamer.state.learned_rungs import LearnedRungs
from gossamer.store.store import Store
from gossamer.worker.climbing import Climbing, block_kind

URL = "https://a.example/shop/1"
CLAIM = Claim(1, 0, "a.example", Request(URL))
HTML = [("content-type", "text/html")]
RUNGS = ("plain", "impersonated", "browser")
CHALLENGE = b"<title>Just a moment...</title><script>window._cf_chl_opt={}</script>"
SHELL = b'<title>A shop of many kettles</title><div id="root"></div><script src="/app.js"></script>'
NOBODYS = b"<title>Welcome to nginx!</title><h1>Welcome to nginx!</h1><p>If you see this page, the nginx web server is installed.</p>"
WORDS = (
    b"<title>A shop of many kettles</title><script src=/a.js></script>"
    + b"<p>A kettle boils water.</p>" * 200
)


def answer(status: int, body: bytes = b"") -> Page:
    return Page(URL, status, HTML, body, 0.0, 0.1, len(body))


@pytest.mark.parametrize(
    ("status", "body", "kind"),
    [
        (200, WORDS, ""),
        (404, b"no", ""),
        (500, b"no", ""),
        (503, b"back soon", ""),
        (403, CHALLENGE, "challenge"),
        (403, b"<h1>403 Forbidden</h1>", "denied"),
        (429, b"", "rate-limit"),
        (451, b"<h1>451</h1>", ""),
        (401, b"", ""),
        (200, SHELL, "rendering"),
        (200, NOBODYS, "decoy"),
    ],
)
def test_what_climbs(status: int, body: bytes, kind: str) -> None:
    page = answer(status, body)
    found = block(status, HTML, body, URL)
    page.unrendered = "it is empty" if kind == "rendering" else ""
    assert block_kind(page, found, RUNGS) == kind
    if kind == "rendering":
        assert block_kind(page, found, ("plain", "impersonated")) == "", "there is nothing that renders"


async def test_a_visit_climbs_and_all_learn(store: Store) -> None:
    climbing = Climbing(LearnedRungs(store), lambda request: RUNGS)
    climb = await climbing.begin(Request(URL), "a.example")
    assert climb is not None
    page = answer(403, CHALLENGE)
    assert climb.higher(page, block(403, HTML, CHALLENGE, URL), 0.0)
    assert climb.request.rung == "impersonated"
    assert not climb.higher(answer(200, WORDS), None, 0.0)
    await climbing.end(climb, CLAIM, answer(200, WORDS))
    other = await Climbing(LearnedRungs(store), lambda request: RUNGS).begin(Request(URL), "a.example")
    assert other is not None
    assert (other.began, other.probes) == ("impersonated", False)


async def test_what_does_not_climb(store: Store) -> None:
    climbing = Climbing(LearnedRungs(store), lambda request: RUNGS)
    climb = await climbing.begin(Request(URL), "a.example")
    assert climb is not None
    assert not climb.higher(Failure("timeout", "x", 0.0, 1.0), None, 0.0), "an error"
    assert not climb.higher(answer(403, CHALLENGE), block(403, HTML, CHALLENGE, URL), 60.0), (
        "who is told when to come again"
    )
    await climbing.end(climb, CLAIM, Failure("timeout", "x", 0.0, 1.0))
    assert await LearnedRungs(store).known("a.example") == "", "an error teaches nothing"
    alone = Climbing(LearnedRungs(store), lambda request: ("plain",))
    assert await alone.begin(Request(URL), "a.example") is None


async def test_a_fixed_rung_and_what_cannot_be_read(store: Store) -> None:
    learning = LearnedRungs(store)
    await learning.learn("a.example", lambda text: Ladder(fixed="browser").text())
    climb = await Climbing(LearnedRungs(store), lambda request: RUNGS).begin(Request(URL), "a.example")
    assert climb is not None
    assert climb.request.rung == "browser"
    assert not climb.higher(answer(403, CHALLENGE), block(403, HTML, CHALLENGE, URL), 0.0)
    await learning.learn("a.example", lambda text: '{"host": "of another version"}')
    climb = await Climbing(LearnedRungs(store), lambda request: RUNGS).begin(Request(URL), "a.example")
    assert climb is not None
    assert climb.began == "plain"
