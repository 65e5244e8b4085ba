"""Tests of connections: a kept connection is reused only for the same host and address, and a request is
repeated only if this is safe."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import Callable
from typing import Any

import pycurl
import pytest
import uvloop

from gossamer.collectors.http.collector import HttpCollector
from gossamer.collectors.http.transfer import BodyLimits, Transfer
from gossamer.egress.resolver import Resolver
from gossamer.model.request import Request
from support.byte_servers import (
    LOOPBACK,
    Asked,
    answer,
    bad,
    collecting,
    get,
    good,
    names_of,
    saying,
    serving,
)

OK = answer(b"<p>ok")
POST = {"method": "POST", "body": "a=1"}


async def closes_kept(asked: Asked, writer: asyncio.StreamWriter) -> bool:
    """Answer the first request of each connection, and close the connection at the second request, as
    after an idle timeout."""
    if asked.number == 1:
        writer.write(OK)
        return False
    return True


async def test_a_kept_connection_is_reused() -> None:
    async with serving(saying(OK)) as server, collecting() as collector:
        for _ in range(5):
            page = good(await collector.collect(Request(server.url()), {}))
            assert (page.requests, page.address) == (1, "127.0.0.1")
        assert server.accepts == 1
        assert len(server.asked) == 5


async def test_a_get_is_sent_once_more_and_counted() -> None:
    async with serving(closes_kept) as server, collecting() as collector:
        first = good(await collector.collect(Request(server.url("/a")), {}))
        second = good(await collector.collect(Request(server.url("/b")), {}))
        assert (first.requests, second.requests) == (1, 2)
        assert server.lines == ["GET /a HTTP/1.1", "GET /b HTTP/1.1", "GET /b HTTP/1.1"]
        head = good(await collector.collect(Request(server.url("/c"), method="HEAD"), {}))
        assert head.requests == 2


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH"])
async def test_what_is_not_safe_to_repeat_is_never_sent_twice(method: str) -> None:
    async with serving(closes_kept) as server, collecting() as collector:
        good(await collector.collect(Request(server.url("/a")), {}))
        page = good(await collector.collect(Request(server.url("/b"), method=method, body="x"), {}))
        assert page.requests == 1
        assert server.lines.count(f"{method} /b HTTP/1.1") == 1
        assert server.accepts == 2, (
            "it gets a new connection, which cannot be an old one that is about to close"
        )

    async def never(asked: Asked, writer: asyncio.StreamWriter) -> bool:
        return True

    async with serving(never) as server, collecting() as collector:
        failure = bad(await collector.collect(Request(server.url(), method=method, body="x"), {}))
        assert (failure.reason, failure.sent) == ("reset", True)
        assert len(server.asked) == 1


async def test_a_get_is_sent_twice_at_most() -> None:
    async def only_first(asked: Asked, writer: asyncio.StreamWriter) -> bool:
        writer.write(
            OK if asked.connection <= 6 and asked.number == 1 and asked.line.startswith("GET /warm") else b""
        )
        return not asked.line.startswith("GET /warm")

    async with serving(only_first) as server, collecting() as collector:
        await asyncio.gather(*(collector.collect(Request(server.url("/warm")), {}) for _ in range(6)))
        failure = bad(await collector.collect(Request(server.url("/x")), {}))
        assert (failure.reason, failure.final, failure.sent) == ("reset", False, True)
        assert server.lines.count("GET /x HTTP/1.1") <= 2


async def test_connections_belong_to_a_host_and_an_address() -> None:
    addresses = {"a.example": ["127.0.0.1"], "b.example": ["127.0.0.1"]}
    resolver = names_of(addresses)
    resolver._ttl = 0.0
    async with serving(saying(OK), "0.0.0.0") as server, collecting(resolver) as collector:
        for host, accepts in (("a.example", 1), ("b.example", 2), ("a.example", 2), ("b.example", 2)):
            good(await collector.collect(Request(server.url(host=host)), {}))
            assert server.accepts == accepts
        addresses["a.example"] = ["127.0.0.2"]
        page = good(await collector.collect(Request(server.url(host="a.example")), {}))
        assert (page.address, server.accepts) == ("127.0.0.2", 3), (
            "the new address is dialled, the kept connection is not used"
        )
        assert server.asked[-1].headers["host"] == f"a.example:{server.port}"


async def test_a_collector_beside_another_uses_its_connections() -> None:
    async with serving(saying(OK)) as server, collecting() as pages:
        robots = HttpCollector(
            pages._resolver, user_agent="us", wire=100, truncate=True, accept=None, beside=pages
        )
        assert good(await robots.collect(Request(server.url("/robots.txt")), {})).body == b"<p>ok"
        assert good(await pages.collect(Request(server.url("/")), {})).body == b"<p>ok"
        assert server.accepts == 1
        await robots.close()
        assert bad(await pages.collect(Request(server.url("/")), {})).reason


async def test_rebinding_is_refused_also_where_a_connection_is_kept() -> None:
    addresses = {"a.example": ["127.0.0.1"]}

    async def lookup(host: str, port: int) -> list[str]:
        return addresses[host]

    resolver = Resolver(["127.0.0.1/32"], lookup=lookup, ttl=0.0)
    async with serving(saying(OK), "0.0.0.0") as server, collecting(resolver) as collector:
        good(await collector.collect(Request(server.url(host="a.example")), {}))
        for inner in (["127.0.0.2"], ["127.0.0.1", "10.0.0.1"], ["169.254.169.254"]):
            addresses["a.example"] = inner
            failure = bad(await collector.collect(Request(server.url(host="a.example")), {}))
            assert (failure.reason, failure.final, failure.sent) == ("private", True, False)
        assert len(server.asked) == 1


def test_the_second_lock_refuses_other_addresses() -> None:
    transfer = Transfer(BodyLimits(1000))
    transfer.dial("127.0.0.1")
    kind = (socket.AF_INET, socket.SOCK_STREAM, 6)
    for place in (("127.0.0.2", 80), ("10.0.0.1", 80), ("::1", 80)):
        assert transfer.open(0, (*kind, place)) == pycurl.SOCKET_BAD
        assert transfer.problem == "private"
        assert transfer.before(place[0], "", 80, 1) == pycurl.PREREQFUNC_ABORT
    assert transfer.open(0, (*kind, ("127.0.0.1", 80))) != pycurl.SOCKET_BAD
    transfer.curl.close()


async def test_the_second_lock_holds_when_curl_would_dial_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    # simulate that curl's target differs from the pinned address
    def astray(self: Transfer, address: str) -> None:
        self.pin, self.allowed = "127.0.0.9", ("127.0.0.9",)
        self.curl.setopt(pycurl.CONNECT_TO, [f"::{address}:"])

    monkeypatch.setattr(Transfer, "dial", astray)
    async with serving(saying(OK)) as server, collecting() as collector:
        failure = bad(await collector.collect(Request(server.url()), {}))
        assert (failure.reason, failure.final, failure.sent) == ("private", True, False)
        assert server.accepts == 0


async def test_ipv6_is_pinned_and_kept() -> None:
    async with (
        serving(saying(OK), "::1") as server,
        collecting(names_of({"six.example": ["0:0:0:0:0:0:0:1"], "::1": ["::1"]})) as collector,
    ):
        for _ in range(3):
            page = good(await collector.collect(Request(server.url(host="six.example")), {}))
            assert (page.address, page.requests) == ("::1", 1)
        assert server.accepts == 1
        page = good(await collector.collect(Request(server.url()), {}))
        assert page.address == "::1"
        assert server.asked[-1].headers["host"] == f"[::1]:{server.port}"


async def test_the_next_address_is_tried_when_one_does_not_connect() -> None:
    table = {
        "h.example": ["::1", "127.0.0.1"],
        "far.example": ["127.0.0.3", "127.0.0.4", "127.0.0.5", "127.0.0.1"],
    }
    async with serving(saying(OK)) as server, collecting(names_of(table)) as collector:
        for _ in range(3):
            page = good(await collector.collect(Request(server.url(host="h.example")), {}))
            assert (page.address, page.requests) == ("127.0.0.1", 1)
        assert (server.accepts, len(server.asked)) == (1, 3), (
            "the one that answered is asked first the next time"
        )
        failure = bad(await collector.collect(Request(server.url(host="far.example")), {}))
        assert (failure.reason, failure.sent) == ("connect", False), "three are tried, not all"


async def test_an_address_that_does_not_answer_the_connect_is_left_in_time() -> None:
    with socket.socket() as full:  # a listener with a full queue drops new connections, so connecting hangs
        full.bind(("127.0.0.1", 0))
        full.listen(0)
        port = full.getsockname()[1]
        with contextlib.ExitStack() as stack:
            for _ in range(4):
                one = stack.enter_context(socket.socket())
                one.setblocking(False)
                with contextlib.suppress(BlockingIOError):
                    one.connect(("127.0.0.1", port))
            await asyncio.sleep(0.05)
            table = {"h.example": ["127.0.0.1", "127.0.0.2"], "one.example": ["127.0.0.1"]}
            async with (
                serving(saying(OK), "127.0.0.2", port) as server,
                collecting(names_of(table), connect=0.6) as collector,
            ):
                page = good(await collector.collect(Request(server.url(host="h.example")), {}))
                assert page.address == "127.0.0.2"
                failure = bad(await collector.collect(Request(server.url(host="one.example")), {}))
                assert (failure.reason, failure.sent, failure.final) == ("timeout", False, False)


async def test_an_error_after_the_request_went_out_is_not_tried_elsewhere() -> None:
    async def never(asked: Asked, writer: asyncio.StreamWriter) -> bool:
        return True

    table = {"h.example": ["127.0.0.1", "127.0.0.2"]}
    async with serving(never, "0.0.0.0") as server, collecting(names_of(table)) as collector:
        assert bad(await collector.collect(Request(server.url(host="h.example")), {})).reason == "reset"
        assert (server.accepts, len(server.asked)) == (1, 1)


@pytest.mark.parametrize("options", [{"epoll": True}, {"epoll": False}])
@pytest.mark.parametrize("loop", [asyncio.new_event_loop, uvloop.new_event_loop], ids=["asyncio", "uvloop"])
def test_two_hundred_at_once_on_each_loop(
    loop: Callable[[], asyncio.AbstractEventLoop], options: dict[str, Any]
) -> None:
    async def slowly(asked: Asked, writer: asyncio.StreamWriter) -> bool:
        await asyncio.sleep(0.02)
        number = int(asked.line.split("/")[1].split(" ")[0])
        writer.write(answer(b"%d" % number * 3000))
        return number % 7 == 0

    async def main() -> None:
        async with serving(slowly) as server, collecting(connections=50, **options) as collector:
            for _ in range(2):
                pages = await asyncio.gather(
                    *(collector.collect(Request(server.url(f"/{n}")), {}) for n in range(200))
                )
                assert [good(page).body for page in pages] == [b"%d" % n * 3000 for n in range(200)]
            await mixed(server.url, collector)

    with asyncio.Runner(loop_factory=loop) as runner:
        runner.run(main())


async def mixed(url: Callable[[str], str], collector: HttpCollector) -> None:
    """Cancel every other request. The remaining requests return their pages."""
    tasks = [asyncio.create_task(collector.collect(Request(url(f"/{n}")), {})) for n in range(60)]
    await asyncio.sleep(0.005)
    for task in tasks[::2]:
        task.cancel()
    await asyncio.wait(tasks)
    assert all(task.cancelled() for task in tasks[::2])
    assert [good(task.result()).body[:2] for task in tasks[1:20:2]] == [
        b"%d" % n * 2 if n < 10 else b"%d" % n for n in range(1, 20, 2)
    ]


async def test_cancelling_leaves_the_rest_usable() -> None:
    async def hangs(asked: Asked, writer: asyncio.StreamWriter) -> bool:
        if "hang" in asked.line:
            await asyncio.sleep(60)
        writer.write(OK)
        return False

    async with serving(hangs) as server, collecting() as collector:
        for _ in range(5):
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(collector.collect(Request(server.url("/hang")), {}), 0.05)
            good(await collector.collect(Request(server.url()), {}))
        before = asyncio.create_task(collector.collect(Request(server.url()), {}))
        before.cancel()
        with pytest.raises(asyncio.CancelledError):
            await before
        good(await collector.collect(Request(server.url()), {}))


async def test_close_ends_what_is_under_way() -> None:
    async def hangs(asked: Asked, writer: asyncio.StreamWriter) -> bool:
        await asyncio.sleep(60)
        return True

    async with serving(hangs) as server, collecting() as collector:
        waiting = [asyncio.create_task(collector.collect(Request(server.url()), {})) for _ in range(3)]
        while len(server.asked) < 3:  # noqa: ASYNC110 - the server runs in this loop
            await asyncio.sleep(0.01)
        await collector.close()
        for failure in await asyncio.gather(*waiting):
            assert (bad(failure).reason, bad(failure).detail, bad(failure).sent) == (
                "reset",
                "the collector was closed",
                True,
            )
        after = bad(await collector.collect(Request(server.url()), {}))
        assert (after.reason, after.sent) == ("reset", False)
        await collector.close()


async def test_proxies_and_passwords_of_the_environment_are_not_ours(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    (tmp_path / ".netrc").write_text("machine 127.0.0.1 login me password secret\n")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("NETRC", str(tmp_path / ".netrc"))
    async with serving(saying(OK)) as server, collecting() as collector:
        good(await collector.collect(Request(server.url()), {}))
        assert "authorization" not in server.asked[0].headers


async def test_what_the_guard_refuses_makes_no_connection() -> None:
    async with serving(saying(OK)) as server, collecting(Resolver()) as collector:
        for host in ("127.0.0.1", "localhost", "[::ffff:127.0.0.1]"):
            failure = bad(await collector.collect(Request(f"http://{host}:{server.port}/"), {}))
            assert (failure.reason, failure.final, failure.sent) == ("private", True, False)
        assert server.accepts == 0
    async with collecting(Resolver(LOOPBACK, lookup=None)) as collector:
        assert bad(await collector.collect(Request("http://nobody.invalid/"), {})).reason == "dns"


async def test_the_same_collector_serves_all_sizes() -> None:
    for size in (0, 1, 16_383, 16_384, 65_536, 300_000):
        assert good(await get(answer(b"x" * size))).wire == size
