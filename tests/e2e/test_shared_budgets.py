"""Tests of `--polite-by`: hosts at one address share one budget. The requests are measured in a single
server process, so that a delay of this process affects all of them equally."""

from __future__ import annotations

import asyncio
import socket
import sys
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from e2e.runs import job, stalls
from gossamer.app.runner import crawl
from support import fork_server
from web.judge import Stall

SERVER = """
import asyncio, sys, time
from web.server import lag_of

async def answer(reader, writer):
    host = "%s:%d" % writer.get_extra_info("sockname")[:2]
    try:
        while True:
            head = await reader.readuntil(b"\\r\\n\\r\\n")
            lag = lag_of(writer.get_extra_info("socket")) / 1e9
            at, path = time.monotonic() - lag, head.split()[1].decode()
            await asyncio.sleep(0.01)
            status = "404 Not Found" if path == "/robots.txt" else "200 OK"
            body = b"<title>t</title>" + b"".join(b'<a href="/%d">x</a>' % n for n in range(3)) * (path == "/")
            writer.write(b"HTTP/1.1 %s\\r\\nContent-Type: text/html\\r\\nContent-Length: %d\\r\\n\\r\\n" % (status.encode(), len(body)) + body)
            print(at, time.monotonic(), host, path, flush=True)
    except (asyncio.IncompleteReadError, ConnectionError):
        writer.close()

async def main():
    for where in sys.argv[1:]:
        address, port = where.split(":")
        await asyncio.start_server(answer, address, int(port))
    print("ready", flush=True)
    await asyncio.Event().wait()

asyncio.run(main())
"""


class Seen(NamedTuple):
    start: float
    end: float
    host: str
    path: str


def free(address: str) -> str:
    with socket.create_server((address, 0)) as sock:
        return f"{address}:{sock.getsockname()[1]}"


@contextmanager
def serving(hosts: list[str], log: Path) -> Iterator[None]:
    with log.open("w") as out:
        process = fork_server.Popen(
            [sys.executable, "-c", SERVER, *hosts],
            stdout=out,
            env={"PYTHONPATH": str(Path(__file__).parents[1])},
        )
    try:
        while "ready" not in log.read_text():
            assert process.poll() is None
            time.sleep(0.05)
        yield
    finally:
        process.kill()
        process.wait()


def seen(log: Path) -> list[Seen]:
    rows = [line.split() for line in log.read_text().splitlines()[1:]]
    return sorted(Seen(float(start), float(end), host, path) for start, end, host, path in rows)


def by_address(hits: list[Seen]) -> dict[str, list[Seen]]:
    found: dict[str, list[Seen]] = defaultdict(list)
    for hit in hits:
        found[hit.host.partition(":")[0]].append(hit)
    return found


def too_close(hits: list[Seen], least: float, held: Sequence[Stall] = ()) -> list[str]:
    """Return the requests that follow the previous request by less than `least` seconds, unless a stall
    delayed the previous request by at least the missing time."""
    return [
        b.path
        for a, b in pairwise(hits)
        if (missing := least - (b.start - a.start)) > 0
        and not any(
            s.end - s.begin >= missing * 1e9
            and s.begin <= (a.start + 0.05) * 1e9
            and s.end >= (a.start - 0.05) * 1e9
            for s in held
        )
    ]


async def test_twenty_hosts_at_three_addresses(tmp_path: Path) -> None:
    """On a busy machine, a delayed request may arrive shortly before the next one. The test therefore
    fails only if all three attempts are wrong."""
    for turn in range(3):
        (tmp_path / str(turn)).mkdir()
        if not (close := await twenty_hosts(tmp_path / str(turn))):
            return
    assert close == []


async def twenty_hosts(tmp_path: Path) -> list[str]:
    hosts = [free(f"127.0.0.{2 + n % 3}") for n in range(20)]
    log = tmp_path / "log"
    with serving(hosts, log):
        ports = tuple(int(host.partition(":")[2]) for host in hosts)
        one = job(
            [f"http://{host}/" for host in hosts],
            tmp_path,
            processes=2,
            delay=(0.12, 0.12),
            polite_by="ip",
            allow_port=ports,
            concurrency=32,
        )
        summary = await crawl(one)
    hits = seen(log)
    assert len({(hit.host, hit.path) for hit in hits}) == len(hits) == 20 * 5, (
        "each page once, each robots.txt once"
    )
    addresses = by_address(hits)
    assert len(addresses) == 3
    assert summary.adds_up()
    assert (summary.pages, summary.retried, summary.dead) == (80, 0, 0), "a turn refused is not an attempt"
    close: list[str] = []
    for mine in addresses.values():
        close += too_close(mine, 0.1)
        close += [f"not one at a time: {b.path}" for a, b in pairwise(mine) if b.start < a.end - 0.02]
    return close


async def test_two_crawls_share_an_address(tmp_path: Path, shared_store: str) -> None:
    hosts = [free("127.0.0.2") for _ in range(6)]
    log = tmp_path / "log"
    with serving(hosts, log):
        ports = tuple(int(host.partition(":")[2]) for host in hosts)
        jobs = [
            job(
                [f"http://{host}/" for host in hosts],
                tmp_path,
                store=shared_store,
                name=name,
                output=f"{name}.jsonl",
                data=str(tmp_path / name),
                delay=(0.06, 0.06),
                per_host=2,
                polite_by="ip",
                allow_port=ports,
            )
            for name in ("a", "b")
        ]
        async with stalls() as held:
            one, two = await asyncio.gather(*(crawl(each) for each in jobs))
    hits = seen(log)
    assert one.pages == two.pages == 24
    assert too_close(hits, 0.04, held) == []
