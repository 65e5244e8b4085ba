"""The requests of one visit: missing elements of a page, pauses, the time limit of a visit, and the hook of a
site. The store is real and the network is simulated."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gossamer import url as urls
from gossamer.identity.plain_identity import PlainIdentity
from gossamer.model.page import Failure, Page
from gossamer.model.request import Request
from gossamer.model.verdict import Done, Retry
from gossamer.model.visit import Claim
from gossamer.parsing.page_view import PageView
from gossamer.politeness.ladder import Ladder, Learned
from gossamer.sites.captcha_hook import solver
from gossamer.sites.loading import load
from gossamer.state.learned_rungs import LearnedRungs
from gossamer.store.store import Store
from gossamer.worker.climbing import Climbing, NoIdentity, Rung
from gossamer.worker.fetching import Fetched, Fetching, SiteHelps
from gossamer.worker.reader import Reader, ReadSettings
from gossamer.worker.robots_gate import HostTreatment
from worker.worker_parts import Make, Net, Road

URL = "https://a.example/shop/1"
RUNGS = ("plain", "impersonated", "unlocker")
GOODS = "<title>Kettles</title><main>" + "<p>A kettle boils water.</p>" * 50
DECOY = "<title>Tea and how it is made</title>" + "<p>All about tea, and more.</p>" * 50
CHALLENGE = (
    403,
    {"content-type": "text/html"},
    b"<title>Just a moment...</title><script>window._cf_chl_opt={}</script>",
)
REFUSED = (403, {"content-type": "text/html"}, b"<h1>403 Forbidden</h1>")


class Keyed(Net):
    """Answers with the page if the request has the cookie of the pass and a header of its own, otherwise with
    a challenge."""

    async def collect(
        self, request: Request, headers: dict[str, str], guise: object = None
    ) -> Page | Failure:
        let = "pass=1" in headers.get("Cookie", "") and (
            request.url != URL or headers.get("X-Proof") == "yes"
        )
        self.answers[request.url] = GOODS if let else CHALLENGE
        return await super().collect(request, headers, guise)


Visit = Callable[..., Any]


@pytest.fixture
def visit(store: Store, road: Make, tmp_path: Path) -> Visit:
    """A function that visits URL once: `visit({rung: answer}, site="...", ...)`."""

    async def one(
        answers: dict[str, Any],
        site: str = "",
        url: str = URL,
        tried: int = 0,
        patience: float = 30.0,
        rungs: tuple[str, ...] = RUNGS,
        retries: tuple[float, ...] = (1.0, 1.0),
    ) -> Fetched:
        (tmp_path / "site.py").write_text(
            f"from gossamer import Site\nsite = Site('s', hosts='a.example', must_have='main')\n{site}\n"
        )
        table: Road = road(Net())
        sites = load(tmp_path / "site.py")
        reader = Reader(sites, table.link_intake, urls.key, ReadSettings(pages=True))
        plain = PlainIdentity({}, {}, [], urls.registered_domain)
        nets = {name: made if isinstance(made, Net) else Net({url: made}) for name, made in answers.items()}
        made = {
            name: Rung(name, net, plain if isinstance(net, Keyed) else NoIdentity())
            for name, net in nets.items()
        }
        kept: list[str] = []
        fetching = Fetching(
            lambda request: made[request.rung or "plain"],
            lambda _: HostTreatment(retries, None),
            reader,
            same=lambda *_: False,
            climbing=Climbing(LearnedRungs(store), lambda _: rungs, patience) if len(rungs) > 1 else None,
            helps=SiteHelps(solver(sites, lambda page, request, why: kept.append(why), 5.0)),
        )
        notes: list[Any] = []
        claim = Claim(1, 0, "a.example", Request(url), attempt=tried)
        got = await fetching.fetch(
            claim, lambda result, outcome, why: notes.append((result.rung, outcome, why)) or []
        )  # type: ignore[func-returns-value]
        got.attempts.extend([*notes, *kept])
        return got

    return one


async def known(store: Store) -> Learned:
    return Ladder.of(await LearnedRungs(store).known("a.example")).host


async def test_a_page_without_what_it_must_have_climbs_as_a_block(visit: Visit, store: Store) -> None:
    got = await visit({"plain": DECOY, "impersonated": GOODS})
    assert (got.result.rung, got.verdict, got.result.block) == ("impersonated", Done(), None)
    assert got.attempts == [("plain", "climbed", None)]
    assert got.wire == len(DECOY), "what was climbed past counts"
    assert [(one.rung, one.block) for one in got.passed] == [("plain", "generic missing (must_have: main)")]
    assert (await known(store)).rung == 1
    assert "missing (must_have: main)" in Ladder.of(await LearnedRungs(store).known("a.example")).why


async def test_what_no_rung_has_is_soon_climbed_for_rarely(visit: Visit, store: Store) -> None:
    tops = []
    for _ in range(8):
        got = await visit(dict.fromkeys(RUNGS, DECOY))
        assert got.verdict == Done(), "the page is read, and is an error of its parsing"
        tops.append(got.result.rung)
    assert tops == [*["unlocker"] * 3, "plain", "unlocker", "plain", "plain", "plain"]
    assert (await known(store)).rung == 0, "nothing is said of the host"


async def test_a_refusal_where_pages_came_rests_once_and_then_climbs(visit: Visit) -> None:
    answers = {"plain": [GOODS, GOODS, GOODS, REFUSED, REFUSED], "impersonated": GOODS}
    nets = {"plain": Net({URL: answers["plain"]}), "impersonated": Net({URL: GOODS})}
    for _ in range(3):
        assert (await visit(nets)).verdict == Done()
    got = await visit(nets)
    assert isinstance(got.verdict, Retry), "a bare 403 is a page of its own business but here"
    assert (got.verdict.reason, got.verdict.after, got.result.rung) == ("blocked", 5.0, "plain")
    assert (await visit(nets, tried=1)).result.rung == "impersonated"


async def test_the_last_try_does_not_rest(visit: Visit) -> None:
    nets = {"plain": Net({URL: [GOODS, GOODS, GOODS, REFUSED]}), "impersonated": Net({URL: GOODS})}
    for _ in range(3):
        await visit(nets, retries=())
    assert (await visit(nets, retries=())).result.rung == "impersonated"
    got = await visit({"plain": 429, "impersonated": GOODS}, retries=())
    assert (got.result.rung, got.verdict.reason, got.verdict.after) == ("plain", "rate-limited", 0.0), (
        "it is not a haste that helps"
    )


async def test_a_visit_has_its_time_and_the_next_begins_where_it_ended(visit: Visit, store: Store) -> None:
    got = await visit({"plain": REFUSED, "impersonated": GOODS}, patience=0.0)
    assert (got.result.rung, got.verdict.reason) == ("plain", "blocked")
    assert (await known(store)).rung == 1
    got = await visit({"plain": REFUSED, "impersonated": GOODS}, patience=0.0, tried=1)
    assert (got.result.rung, got.attempts) == ("impersonated", [])


HOOK = """
@site.captcha
def proved(page):
    assert page.block.startswith("cloudflare challenge"), page.block
    return {"Cookie": "pass=1", "X-Proof": "yes"}
"""


@pytest.mark.parametrize("rungs", [("plain",), ("plain", "unlocker")])
async def test_a_site_has_its_own_way_with_captchas(visit: Visit, rungs: tuple[str, ...]) -> None:
    net = Keyed()
    got = await visit({"plain": net, "unlocker": GOODS}, HOOK, rungs=rungs)
    assert (got.result.rung, got.verdict, got.attempts) == ("plain", Done(), [("plain", "again", "blocked")])
    assert net.asked == [URL, URL]


async def test_a_hook_that_fails_or_has_nothing_leaves_it_to_the_ladder(visit: Visit, store: Store) -> None:
    for hook, said in (
        ("return None", []),
        ("raise KeyError('x')", ["s: captcha: KeyError: 'x'"]),
        ("return 5", ["TypeError"]),
    ):
        got = await visit(
            {"plain": CHALLENGE, "impersonated": GOODS}, f"@site.captcha\ndef f(page):\n    {hook}\n"
        )
        assert got.attempts[0] == ("plain", "climbed", "blocked")
        assert [one for one in got.attempts[1:] if one in said or "TypeError" in one] == got.attempts[1:]
        assert len(got.attempts) == 1 + len(said)
        await LearnedRungs(store).learn("a.example", lambda _: "")


async def test_a_page_looked_at_is_parsed_once(
    road: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from gossamer.parsing import html

    (tmp_path / "site.py").write_text(
        "from gossamer import Site\nsite = Site('s', hosts='a.example', must_have='main')\n"
    )
    reader = Reader(load(tmp_path / "site.py"), road(Net()).link_intake, urls.key, ReadSettings(pages=True))
    parses, parse = [], html.parse
    monkeypatch.setattr(html, "parse", lambda *words: parses.append(1) or parse(*words))
    page = Page(URL, 200, [("content-type", "text/html")], GOODS.encode(), 0.0, 0.1, 9)
    claim = Claim(1, 0, "a.example", Request(URL))
    assert await reader.lacks(claim, page) == ""
    assert reader.read(claim, page, None).error is None
    assert len(parses) == 1
    assert PageView(page).block is None
