"""Tests of the circuit breaker, with counts at the server: an open breaker admits only probes, and the
crawl ends nevertheless."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

from e2e.runs import job, rows
from gossamer.app.runner import crawl
from gossamer.politeness.breaker import HostTrouble
from gossamer.worker.robots_gate import given_up


class Ill:
    """A server that derives the status of a response from the number of the request."""

    def __init__(self, status: Callable[[int], int]) -> None:
        self.status, self.asked = status, list[tuple[str, int]]()
        self.open = self.most = 0

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                path = (await reader.readuntil(b"\r\n\r\n")).split()[1].decode()
                status = 404 if path == "/robots.txt" else self.status(len(self.asked))
                if path != "/robots.txt":
                    self.asked.append((path, status))
                    self.open += 1
                    self.most = max(self.most, self.open)
                    await asyncio.sleep(0.005)
                    self.open -= 1
                body = b"<title>t</title>"
                head = (
                    f"HTTP/1.1 {status} x\r\nContent-Type: text/html\r\nContent-Length: {len(body)}\r\n\r\n"
                )
                writer.write(head.encode() + body)
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()


@asynccontextmanager
async def serving(ill: Ill) -> AsyncIterator[str]:
    server = await asyncio.start_server(ill.answer, "127.0.0.1", 0)
    try:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    finally:
        server.close()


async def test_a_dead_host_gets_its_probes_and_nothing_more(tmp_path: Path) -> None:
    ill = Ill(lambda n: 500)
    async with serving(ill) as origin:
        urls = [f"{origin}/{n}" for n in range(60)]
        summary = await crawl(job(urls, tmp_path, delay=(0.02, 0.02), retries=(0.3, 0.4)))
    assert summary.state == "finished"
    assert (summary.dead, sum(summary.errors.values())) == (60, 60)
    assert summary.errors.keys() == {"http-5xx", "given-up"}
    assert summary.adds_up()
    first = [path for path, _ in ill.asked[:10]]
    assert len(set(first)) == 10
    assert 13 <= len(ill.asked) <= 10 + 2 * 10 + 6, (
        "ten faults, the retries that were on their way, three probes or so"
    )
    found = rows(tmp_path / "out.jsonl")
    assert len({row["url"] for row in found}) == len(found) == 60
    assert {row["error"] for row in found} == {"http-5xx", "given-up"}


async def test_a_host_that_an_earlier_crawl_gave_up_is_asked_for_nothing(tmp_path: Path) -> None:
    ill = Ill(lambda n: 500)
    async with serving(ill) as origin:
        dying = job([f"{origin}/{n}" for n in range(30)], tmp_path, delay=(0.0, 0.0), retries=(0.3, 0.4))
        await crawl(dying)
        asked = len(ill.asked)
        later = job(
            [f"{origin}/{n}" for n in range(30)],
            tmp_path,
            name="next",
            output="next.jsonl",
            delay=(0.0, 0.0),
            retries=(),
        )
        summary = await crawl(later)
    assert (summary.dead, summary.errors, len(ill.asked)) == (30, {"given-up": 30}, asked)


def test_the_end_of_a_url_of_such_a_host_names_since_when_and_the_way_back() -> None:
    end = given_up("shop.example", HostTrouble(failing=3600, given_up="http-5xx"))
    assert "shop.example has failed since 20" in end.detail
    assert "(http-5xx)" in end.detail
    assert "gossamer host resume shop.example, then gossamer dead requeue" in end.detail


async def test_a_host_that_comes_back_loses_nothing(tmp_path: Path) -> None:
    ill = Ill(lambda n: 500 if n < 13 else 200)
    async with serving(ill) as origin:
        urls = [f"{origin}/{n}" for n in range(40)]
        summary = await crawl(job(urls, tmp_path, delay=(0.0, 0.0), per_host=8, retries=(0.5, 5.0, 5.0)))
    assert (summary.pages, summary.dead, summary.succeeded) == (40, 0, 40)
    assert summary.adds_up()


async def test_the_last_bad_pages_of_a_good_host_do_not_close_it(tmp_path: Path) -> None:
    """Fifteen pages that always fail are retried last. The breaker stays closed, and each page becomes a
    dead letter after its own retries."""
    ill = Ill(lambda n: 200)
    bad = {f"/{n}" for n in range(0, 60, 4)}

    async def by_path(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                path = (await reader.readuntil(b"\r\n\r\n")).split()[1].decode()
                status = 404 if path == "/robots.txt" else 500 if path in bad else 200
                ill.asked.append((path, status))
                writer.write(
                    b"HTTP/1.1 %d x\r\nContent-Type: text/html\r\nContent-Length: 1\r\n\r\nx" % status
                )
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    ill.answer = by_path  # type: ignore[method-assign] # by path, not by number
    async with serving(ill) as origin:
        urls = [f"{origin}/{n}" for n in range(60)]
        summary = await crawl(job(urls, tmp_path, delay=(0.0, 0.0), retries=(0.1, 0.2)))
    assert (summary.pages, summary.dead, summary.retried) == (45, 15, 30)
    assert len(ill.asked) == 1 + 45 + 15 * 3
