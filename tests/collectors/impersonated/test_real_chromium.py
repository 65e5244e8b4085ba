"""Compares an imitated Chromium with Debian's Chromium at the same server: header order, HTTP/2 and TLS
are equal.

Debian's version is newer than any version that can be imitated. Differences between versions (the version
in the brands, image types in Accept, an additional extension) are therefore allowed. Chromium 156 has one
more TLS extension than our 150 (trust anchors, 51764), GREASE among its signature algorithms, and
`image/jxl` in Accept. Requests of scripts have the HTTP/2 weight 220 in Chromium 156, and 256 in our
imitation."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import ssl
import tempfile
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress

import pytest

from collectors.impersonated.conftest import guise
from collectors.impersonated.recording_server import Recorder, Seen
from gossamer.collectors.impersonated import ImpersonatedCollector
from gossamer.identity.account_identity import AccountIdentity
from gossamer.identity.browsers import BROWSERS
from gossamer.identity.headers import browser_headers
from gossamer.model.page import Page
from gossamer.model.request import Request
from gossamer.parsing.page_view import PageView

CHROMIUM = shutil.which("chromium")
SCRIPT = b"<script>fetch('/api', {headers: {accept: 'application/json'}}).then(() => { location.href = '/next' })</script>"
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="needs chromium")


@asynccontextmanager
async def browsing(url: str) -> AsyncIterator[None]:
    """Run Chromium with its own profile at a URL. Every host name resolves to this machine. The profile's
    path is short, because it contains a socket."""
    folder = tempfile.mkdtemp(prefix="gc-")
    words = [
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--no-first-run",
        "--disable-background-networking",
        "--ignore-certificate-errors",
        "--remote-debugging-port=0",
        "--host-resolver-rules=MAP * 127.0.0.1",
        f"--user-data-dir={folder}",
    ]
    null = asyncio.subprocess.DEVNULL
    running = await asyncio.create_subprocess_exec(
        str(CHROMIUM),
        *words,
        url,
        stdout=null,
        stderr=null,
        start_new_session=True,
        env={**os.environ, "TMPDIR": folder},
    )
    try:
        yield
    finally:
        with suppress(ProcessLookupError):
            os.killpg(running.pid, signal.SIGKILL)
        await running.wait()
        shutil.rmtree(folder, ignore_errors=True)


def asked(recorder: Recorder, path: str) -> list[str] | None:
    """Return the header names of the request for a path, in order and as sent. Return None if the path was
    not requested."""
    for seen in recorder.seen:
        if path in seen.paths[: len(seen.requests)]:
            return [name for name, _ in seen.headers(seen.paths.index(path))]
    return None


@pytest.mark.parametrize("secure", [True, False])
async def test_ours_is_asked_as_chromium_asks(
    secure: bool, context: ssl.SSLContext, collect: Callable[..., ImpersonatedCollector]
) -> None:
    async with Recorder(context if secure else None) as recorder:
        recorder.bodies["/"] = (SCRIPT, {"content-type": "text/html", "set-cookie": "id=1"})
        async with browsing(recorder.url()), asyncio.timeout(60):
            while asked(recorder, "/next") is None:
                recorder.news.clear()
                await recorder.news.wait()
        theirs = {path: asked(recorder, path) for path in ("/", "/api", "/next")}
        first = next(seen for seen in recorder.seen if seen.requests)
        recorder.seen.clear()
        collector, root, who = collect(), recorder.url(), guise("chrome150")
        asks = {"/": {}, "/api": {"accept": "application/json"}, "/next": {}}
        for path, given in asks.items():
            back = None if path == "/" else root
            headers = browser_headers(
                BROWSERS["chrome150"],
                recorder.url(path=path),
                referrer=back,
                given=given,
                cookies="id=1" if back else "",
            )
            await collector.collect(Request(recorder.url(path=path)), headers, who)
        ours = {path: asked(recorder, path) for path in asks}
    if secure:  # Chromium navigated by script, whereas our requests imitate a person's click
        assert ours["/next"] is not None
        ours["/next"].remove("sec-fetch-user")
    assert {path: [name.lower() for name in names or ()] for path, names in ours.items()} == {
        path: [name.lower() for name in names or ()] for path, names in theirs.items()
    }
    # names are compared including their case, which HTTP/1.1 preserves
    assert (ours["/"], ours["/next"]) == (theirs["/"], theirs["/next"])
    if secure:
        alike(first, recorder.seen[0])


FORM = b"<form method=post action=/sent><input name=user value=ann></form><script>document.forms[0].submit()</script>"


@pytest.mark.parametrize("secure", [True, False])
async def test_a_form_of_ours_is_sent_as_chromium_sends_it(
    secure: bool, context: ssl.SSLContext, collect: Callable[..., ImpersonatedCollector]
) -> None:
    async with Recorder(context if secure else None) as recorder:
        recorder.bodies["/"] = (FORM, {"content-type": "text/html", "set-cookie": "id=1"})
        async with browsing(recorder.url()), asyncio.timeout(60):
            while asked(recorder, "/sent") is None:
                recorder.news.clear()
                await recorder.news.wait()
        theirs = told(recorder, "/sent")
        recorder.seen.clear()
        page = Page(recorder.url(), 200, [("content-type", "text/html")], FORM, 0.0, 0.0, len(FORM))
        request = PageView(page).form("form").fill()
        member = AccountIdentity(
            "ann", "club/ann/1", BROWSERS["chrome150"], lambda one: one.headers or {}, lambda host: host
        )
        member.jar.take(recorder.url(), b"id=1")
        await collect().collect(request, *member.lend(request))
        ours = told(recorder, "/sent")
    if secure:  # Chromium sent the form by script, whereas our request imitates a person's click
        ours.pop("sec-fetch-user")
    assert list(ours) == list(theirs)
    own = ("accept", "accept-language", "sec-ch-ua", "sec-ch-ua-platform", "user-agent")
    assert {name: value for name, value in ours.items() if name not in own} == {
        name: value for name, value in theirs.items() if name not in own
    }


def told(recorder: Recorder, path: str) -> dict[str, str]:
    """Return the headers of the request for a path, with lower-case names."""
    seen = next(seen for seen in recorder.seen if path in seen.paths[: len(seen.requests)])
    return {name.lower(): value for name, value in seen.headers(seen.paths.index(path))}


def alike(theirs: Seen, ours: Seen) -> None:
    """Assert that HTTP/2 is equal, and that Chromium's ClientHello contains every element of ours.
    Extensions that do not depend on the version must be equal."""
    assert ours.akamai() == theirs.akamai()
    first = [
        next(frame for frame in seen.frames if frame["frame_type"] == "HEADERS") for seen in (ours, theirs)
    ]
    assert first[0] == first[1]  # the frames contain the stream, its weight and its dependency
    assert ours.hello is not None
    assert theirs.hello is not None
    assert ours.hello.ciphersuites == theirs.hello.ciphersuites
    for one in ours.hello.extensions:
        if one["type"] not in ("signature_algorithms", "padding", "GREASE"):
            assert one == theirs.hello.get(one["type"]), one
    own = set(ours.hello.get("signature_algorithms")["sig_hash_algs"])
    assert own <= set(theirs.hello.get("signature_algorithms")["sig_hash_algs"])
