"""The user and password of a site reach the page's frames and the requests of its scripts, but no other
origin. A response that asks for a password shows its body."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable
from typing import Any

import pytest

from collectors.browser.conftest import IN_MODULE, Shared, Stage, page
from gossamer.model.rendering import Render

pytestmark = IN_MODULE

BASIC = "Basic " + b64encode(b"ann:secret").decode()
ASKS = {"www-authenticate": 'Basic realm="shop"'}
CORS = {"access-control-allow-origin": "*", "access-control-allow-headers": "*"}


def guarded(stage: Stage, body: str) -> Callable[[], tuple[int, dict[str, str], str]]:
    """Return a page that the server sends only with the right credentials."""

    def answer() -> tuple[int, dict[str, str], str]:
        right = stage.seen[-1][1].get("authorization") == BASIC
        return (200, {}, body) if right else (401, ASKS, "<p>who are you?</p>")

    return answer


def sent(stage: Stage) -> dict[str, str | None]:
    """Return the credentials of the last request for each path."""
    return {path: headers.get("authorization") for path, headers in stage.seen}


async def test_frames_and_fetches_of_the_origin_are_let_in(stage: Stage, shared: Shared) -> None:
    other = stage.url("/other", "two.test")
    script = (
        "Promise.all([fetch('/api').then(r => r.text()), fetch('/own', {headers: {authorization: 'Bearer own'}}),"
        f" fetch('{other}').catch(() => 0), fetch('/away').catch(() => 0)])"
        ".then(all => { document.querySelector('b').textContent = all[0]; window.done = 1 })"
    )
    stage.pages |= {
        "/": guarded(
            stage, f"<b></b><iframe src=/frame></iframe><iframe src={other}-frame></iframe><script>{script}</script>"
        ),
        "/frame": guarded(stage, "<p>framed</p><script src=/in-frame.js></script>"),
        "/in-frame.js": (200, {"content-type": "text/javascript"}, "1"),
        "/api": guarded(stage, "rows"),
        "/own": "own",
        "/away": (302, {"location": stage.url("/leak", "two.test")} | CORS, ""),
        **dict.fromkeys(("/other", "/other-frame", "/leak"), (200, CORS, "x")),
    }  # fmt: skip
    shared.looks["shop.test"] = Render(until="window.done")
    got = await page(shared.collector, stage.url(host="shop.test"), {"Authorization": BASIC})
    assert (got.status, got.late) == (200, "")
    assert (b"<b>rows</b>" in got.body, b"framed" in got.body) == (True, True)
    assert sent(stage) == {
        **dict.fromkeys(("/", "/frame", "/in-frame.js", "/api", "/away"), BASIC),
        "/own": "Bearer own",
        **dict.fromkeys(("/other", "/other-frame", "/leak")),
    }


async def test_other_authorization_stays_with_the_document(stage: Stage, shared: Shared) -> None:
    stage.pages |= {"/": "<script src=/a.js></script>", "/a.js": (200, {"content-type": "text/javascript"}, "1")}  # fmt: skip
    await page(shared.collector, stage.url(), {"Authorization": "Bearer token"})
    assert sent(stage) == {"/": "Bearer token", "/a.js": None}


@pytest.mark.parametrize("how", [ASKS, {"www-authenticate": "Negotiate"}, {}])
@pytest.mark.parametrize("headers", [{}, {"Authorization": "Basic eDp5"}])
async def test_a_refusal_shows_its_body(
    stage: Stage, shared: Shared, how: dict[str, str], headers: dict[str, Any]
) -> None:
    stage.pages |= {"/": (401, how, "<title>Members</title><p>Please log in</p>"), "/next": "<p>next</p>"}
    got = await page(shared.collector, stage.url(), headers)
    assert (got.status, b"<p>Please log in</p>" in got.body, got.requests) == (401, True, 1)
    assert b"next" in (await page(shared.collector, stage.url("/next"))).body, "the tab serves the next page"


async def test_a_frame_and_a_fetch_that_are_refused_end(stage: Stage, shared: Shared) -> None:
    stage.pages |= {
        "/": "<p>page</p><iframe src=/frame></iframe><script>fetch('/api').then(r => r.text()).then(t => { document.querySelector('p').textContent = t; window.done = 1 })</script>",
        "/frame": (401, ASKS, "<p>no frame for you</p>"),
        "/api": (401, ASKS, "no rows for you"),
    }
    shared.looks["closed.test"] = Render(until="window.done")
    got = await page(shared.collector, stage.url(host="closed.test"))
    assert (got.late, b"no rows for you" in got.body, b"no frame for you" in got.body) == ("", True, True)
