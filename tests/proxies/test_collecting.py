"""The plain collector through proxies: real proxies of each kind, the party that a failure is blamed on, and
addresses that are never dialled."""

from __future__ import annotations

from pathlib import Path

import pytest

from collectors.http.http2_server import ADDRESS, made
from gossamer.egress.resolver import Resolver
from gossamer.model.browser_profile import Guise
from gossamer.model.request import Request
from support.byte_servers import answer, bad, collecting, good, names_of, saying, serving
from support.light_proxies import Light, lights, target
from support.processes import free_port
from support.real_proxies import SOCKS, SQUID, TINY, microsocks, squid, tinyproxy


def through(url: str) -> Guise:
    return Guise(proxy=url)


@pytest.mark.skipif(not (SQUID and TINY and SOCKS), reason="squid, tinyproxy and microsocks are not here")
async def test_real_proxies_of_each_kind(tmp_path: Path) -> None:
    port = free_port()
    with (
        squid(["127.0.7.1", "127.0.7.2"], port, "joe:s3cret"),
        tinyproxy(tmp_path, "127.0.7.3", port),
        microsocks("127.0.7.4", port),
        microsocks("127.0.7.5", port, "joe:pw"),
    ):
        ways = {
            f"http://joe:s3cret@127.0.7.1:{port}": "127.0.7.1",
            f"http://joe:s3cret@127.0.7.2:{port}": "127.0.7.2",
            f"http://127.0.7.3:{port}": "127.0.7.3",
            f"socks5h://127.0.7.4:{port}": "127.0.7.4",
            f"socks5://127.0.7.4:{port}": "127.0.7.4",
            f"socks5h://joe:pw@127.0.7.5:{port}": "127.0.7.5",
        }
        async with target() as site, collecting(total=5.0) as collector:
            for way, address in ways.items():
                for _ in range(2):
                    page = good(
                        await collector.collect(Request(f"http://127.0.0.1:{site.port}/"), {}, through(way))
                    )
                    assert (page.status, b"True page" in page.body, page.address) == (200, True, None), way
                assert site.came.pop(address) == 2, way
            assert not site.came, "a request left directly"
            for way in (f"http://joe:wrong@127.0.7.1:{port}", f"http://127.0.7.1:{port}"):
                assert (
                    good(
                        await collector.collect(Request(f"http://127.0.0.1:{site.port}/"), {}, through(way))
                    ).status
                    == 407
                )
            failed = bad(
                await collector.collect(
                    Request(f"http://127.0.0.1:{site.port}/"),
                    {},
                    through(f"socks5h://joe:no@127.0.7.5:{port}"),
                )
            )
            assert (failed.reason, failed.blame) == ("proxy", "proxy")
            closed = Request(f"http://127.0.0.1:{free_port()}/")
            assert (
                bad(await collector.collect(closed, {}, through(f"socks5h://127.0.7.4:{port}"))).blame
                == "path"
            )
            assert not site.came


BLAMES = [
    ("dead", "http", "proxy"),
    ("hangs", "http", "path"),
    ("breaks", "http", "path"),
    ("refuses", "https", "proxy"),
    ("breaks", "https", "path"),
    ("hangs", "socks", "path"),
    ("good", "closed", "path"),
    ("dead", "socks", "proxy"),
]


@pytest.mark.parametrize(("manner", "how", "blame"), BLAMES)
async def test_whose_fault_it_is(manner: str, how: str, blame: str) -> None:
    async with (
        target() as site,
        lights(Light("127.0.7.9", port := free_port(), manner)),
        collecting(Resolver(["127.0.0.0/8"]), total=1.0, connect=0.6) as collector,
    ):
        scheme = "socks5h" if how == "socks" else "http"
        url = (
            f"https://127.0.0.1:{free_port()}/"
            if how in ("https", "closed")
            else f"http://127.0.0.1:{site.port}/"
        )
        failed = bad(
            await collector.collect(Request(url), {}, through(f"{scheme}://joe:hunter2@127.0.7.9:{port}"))
        )
        assert failed.blame == blame, failed
        assert "hunter2" not in failed.detail
        assert not site.came


@pytest.mark.parametrize("scheme", ["http", "socks5h"])
async def test_a_tunnel_of_one_user_is_not_another_s(tmp_path: Path, scheme: str) -> None:
    """Each user of a gateway is a session with an address of its own. Each session has its own connections
    and reuses them."""
    context, ca = made(tmp_path / "tls", "ok")
    gate = Light("127.0.7.9", free_port())
    async with (
        serving(saying(answer(b"<p>ok")), ADDRESS, tls=context) as server,
        lights(gate),
        collecting(ca_file=ca) as collector,
    ):
        for user in ("ann", "bob", "ann", "bob"):
            good(
                await collector.collect(
                    Request(server.url()), {}, through(f"{scheme}://{user}:x@127.0.7.9:{gate.port}")
                )
            )
        assert (gate.asked, server.accepts) == (2, 2)


async def test_a_name_is_the_proxys_to_resolve_or_a_checked_address() -> None:
    known = {"site.test": ["127.0.0.1"], "127.0.7.9": ["127.0.7.9"]}
    gate = Light("127.0.7.9", free_port())
    async with target() as site, lights(gate), collecting(names_of(known)) as collector:
        for scheme in ("socks5h", "socks5", "http"):
            good(
                await collector.collect(
                    Request(f"http://site.test:{site.port}/"),
                    {},
                    through(f"{scheme}://127.0.7.9:{gate.port}"),
                )
            )
        assert gate.names == ["site.test", "127.0.0.1", "site.test"]


PRIVATE = [
    ("http://10.1.2.3:1", "http://public.test/", "proxy"),
    ("http://inside.test:1", "http://public.test/", "proxy"),
    ("http://public.test:1", "http://10.1.2.3/", "private"),
    ("http://public.test:1", "http://inside.test/", "private"),
    ("http://public.test:1", "http://169.254.169.254/latest/meta-data/", "private"),
    ("http://2130706433:1", "http://public.test/", "proxy"),
    ("gopher://public.test:1", "http://public.test/", "filter"),
]


@pytest.mark.parametrize(("proxy", "url", "reason"), PRIVATE)
async def test_neither_proxy_nor_target_may_lie_inside(proxy: str, url: str, reason: str) -> None:
    async def lookup(host: str, _port: int) -> list[str]:
        return {
            "public.test": ["93.184.216.34"],
            "inside.test": ["192.168.0.1"],
            "2130706433": ["127.0.0.1"],
        }.get(host, [host])

    async with collecting(Resolver(lookup=lookup), connect=0.2, total=0.4) as collector:
        failed = bad(await collector.collect(Request(url), {}, through(proxy)))
        assert (failed.reason, failed.sent) == (reason, False)
        assert reason == "filter" or "refused" in failed.detail or "is in" in failed.detail
