"""Tests of imitated browsers: everything that a server can observe of them is compared with captures of
the real browsers."""

from __future__ import annotations

import ssl
from collections.abc import Callable
from typing import Any

import pytest

from collectors.impersonated.captures import OURS, captures, frames_of, hello_of, lines, told
from collectors.impersonated.conftest import guise
from collectors.impersonated.recording_proxy import Proxy
from collectors.impersonated.recording_server import Recorder, Seen
from gossamer.collectors.impersonated import ImpersonatedCollector
from gossamer.identity.browsers import BROWSERS, browser_for
from gossamer.identity.headers import browser_headers
from gossamer.model.page import Page
from gossamer.model.request import Request

CAPTURES = captures()
Make = Callable[..., ImpersonatedCollector]
# Headers that intentionally differ from the capture. The capture of an Android phone contains a hint that the
# device is not mobile, which no real browser sends.
ON_PURPOSE = {"chrome_131.0.6778.81_android": {"sec-ch-ua-mobile: ?0": "sec-ch-ua-mobile: ?1"}}


async def seen(
    recorder: Recorder, collector: ImpersonatedCollector, name: str, proxy: str | None = None
) -> Seen:
    """Return the first connection of an imitated browser."""
    before = len(recorder.seen)
    url = recorder.url()
    page = await collector.collect(
        Request(url), browser_headers(BROWSERS[name], url), guise(name, proxy=proxy)
    )
    assert isinstance(page, Page), page
    assert (page.status, page.body, page.collector, page.version) == (
        200,
        b"<title>seen</title>",
        "impersonated",
        "2",
    )
    return recorder.seen[before]


def same(found: Seen, capture: dict[str, Any], purpose: dict[str, str]) -> None:
    shuffled = bool(capture.get("options", {}).get("tls_permute_extensions"))
    assert found.hello is not None
    assert hello_of(found.hello, shuffled) == hello_of(capture["tls_client_hello"], shuffled)
    first = told(capture)
    assert [name for name, _ in found.requests[0] if name.startswith(":")] == first["pseudo_headers"]
    assert lines(found, 0) == [purpose.get(line, line) for line in first["headers"]]
    if frames := frames_of(capture["http2"]["frames"]):  # older captures contain only the HEADERS frame
        assert frames_of(found.frames) == frames


@pytest.mark.parametrize("capture", OURS)
async def test_a_browser_of_ours_is_the_real_one(capture: str, recorder: Recorder, collect: Make) -> None:
    if not CAPTURES:
        pytest.skip("the captures of browsers are not at hand")
    same(await seen(recorder, collect(), OURS[capture]), CAPTURES[capture], ON_PURPOSE.get(capture, {}))


def test_every_capture_is_compared() -> None:
    assert set(CAPTURES) <= set(OURS)


@pytest.mark.parametrize("scheme", ["http", "socks5h"])
@pytest.mark.parametrize("name", ["chrome150", "firefox147", "safari2601", "edge150"])
async def test_a_proxy_changes_nothing_of_it(
    name: str, scheme: str, recorder: Recorder, collect: Make
) -> None:
    collector = collect()
    async with Proxy({"www.example.test": recorder.port}, scheme) as proxy:
        behind = await seen(recorder, collector, name, proxy.url)
        assert proxy.asked == [f"www.example.test:{recorder.port}"]
    directly = await seen(recorder, collector, name)
    assert behind is not directly  # the direct request does not reuse the proxy's connection
    assert behind.hello is not None
    assert directly.hello is not None
    shuffled = BROWSERS[name].engine == "chromium"
    assert hello_of(behind.hello, shuffled) == hello_of(directly.hello, shuffled)
    assert (behind.akamai(), behind.requests, frames_of(behind.frames)) == (
        directly.akamai(),
        directly.requests,
        frames_of(directly.frames),
    )


async def test_families_differ_and_versions_agree(recorder: Recorder, collect: Make) -> None:
    """The client supports every browser name, and browsers of one family have equal fingerprints."""
    collector, spoken = collect(), {}
    for name in BROWSERS:
        found = await seen(recorder, collector, name)
        assert found.hello is not None
        spoken[name] = (found.akamai(), found.hello.ja4()[:4])
        headers = dict(found.headers(0))
        agent = headers["user-agent"]
        assert str(BROWSERS[name].version) in agent
        hints = [
            headers[hint]
            for hint in ("sec-ch-ua", "sec-ch-ua-mobile", "sec-ch-ua-platform")
            if hint in headers
        ]
        assert len(hints) == (3 if "Chrome/" in agent else 0), name
        if hints:
            assert f'"Chromium";v="{agent.split("Chrome/")[1].split(".")[0]}"' in hints[0]
            assert ("Microsoft Edge" in hints[0]) == ("Edg/" in agent)
            assert (hints[1] == "?1") == ("Mobile" in agent)
            system = {
                "Windows NT": "Windows",
                "Macintosh": "macOS",
                "X11; Linux": "Linux",
                "Android": "Android",
            }
            assert hints[2] == next(f'"{known}"' for sign, known in system.items() if sign in agent)
    assert len({spoken[name][0] for name in ("chrome150", "firefox147", "safari2601")}) == 3
    assert spoken["edge150"] == spoken["chrome150"]


async def test_over_http_1_names_are_as_browsers_write_them(certified: Any, collect: Make) -> None:
    old = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    old.load_cert_chain(*certified)
    old.set_alpn_protocols(["http/1.1"])
    for secure in (old, None):
        async with Recorder(secure) as server:
            url = server.url()
            await collect().collect(
                Request(url), browser_headers(BROWSERS["chrome150"], url), guise("chrome150")
            )
            names = [name for name, _ in server.seen[0].requests[0]]
        assert names == [
            name
            for name in (
                "Host",
                "Connection",
                "sec-ch-ua",
                "sec-ch-ua-mobile",
                "sec-ch-ua-platform",
                "Upgrade-Insecure-Requests",
                "User-Agent",
                "Accept",
                "Sec-Fetch-Site",
                "Sec-Fetch-Mode",
                "Sec-Fetch-User",
                "Sec-Fetch-Dest",
                "Accept-Encoding",
                "Accept-Language",
            )
            if secure or not name.lower().startswith("sec-")
        ]


def test_random_is_steady_for_a_seed_and_varied_over_seeds() -> None:
    drawn = [browser_for(["any"], f"seed {n}").name for n in range(2000)]
    assert drawn == [browser_for(["any"], f"seed {n}").name for n in range(2000)]
    shares = {name: drawn.count(name) / len(drawn) for name in set(drawn)}
    assert set(shares) == {"chrome150", "safari2601", "edge150", "firefox147"}
    assert shares["chrome150"] == pytest.approx(0.6, abs=0.05)
    with pytest.raises(ValueError, match="no browser 'netscape'"):
        browser_for(["netscape"], "")
