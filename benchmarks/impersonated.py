"""Compares the CPU time per page of the rungs `plain` and `impersonated`.

python benchmarks/impersonated.py [--pages 2000] [--runs 3]

The TLS server speaks HTTP/2 and runs in a separate process. Connections are kept.
"""

from __future__ import annotations

import argparse
import asyncio
import multiprocessing
import ssl
import statistics
import sys
import tempfile
import time
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

sys.path[:0] = [str(Path(__file__).parents[1] / "src"), str(Path(__file__).parents[1] / "tests")]

BODY = b"<title>page</title>" + b"<p>some text of a page, and a <a href='/x'>link</a></p>" * 140
AT_ONCE = 16


async def _serving(says: Connection, cert: str, key: str) -> None:
    from collectors.impersonated.recording_server import Recorder

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(cert, key)
    context.set_alpn_protocols(["h2", "http/1.1"])
    async with Recorder(context, body=BODY) as server:
        says.send(server.port)
        await asyncio.Event().wait()


def serve(says: Connection, cert: str, key: str) -> None:
    """Runs the server, as the entry point of the server's process."""
    asyncio.run(_serving(says, cert, key))


async def here(_host: str, _port: int) -> list[str]:
    """Resolves every name to this machine."""
    return ["127.0.0.1"]


async def cost(kind: str, port: int, pages: int, hosts: int) -> float:
    """Returns the CPU microseconds of this process per page.

    The requests go to `hosts` names in turn, and each name has its own connections.
    """
    from gossamer.collectors.http.collector import HttpCollector
    from gossamer.collectors.impersonated import ImpersonatedCollector
    from gossamer.egress.resolver import Resolver
    from gossamer.identity.plain_identity import PlainIdentity
    from gossamer.identity.sessions import Sessions
    from gossamer.model.page import Page
    from gossamer.model.request import Request

    resolver = Resolver(["127.0.0.0/8"], lookup=here)
    identity: Any = PlainIdentity({}, {}, [], str)
    collector: Any = HttpCollector(resolver, user_agent="bench/1", verify=False)
    if kind != "plain":
        collector, identity = (
            ImpersonatedCollector(resolver, verify=False),
            Sessions(lambda _: (kind,), "seed", 3600, str),
        )
    urls = iter([f"https://h{n % hosts}.test:{port}/{n}" for n in range(pages)])

    async def take() -> None:
        for url in urls:
            lent = identity.lend(request := Request(url))
            page = await collector.collect(request, *lent)
            assert isinstance(page, Page), page
            assert page.body == BODY

    first = time.process_time()
    await asyncio.gather(*(take() for _ in range(AT_ONCE)))
    used = time.process_time() - first
    await collector.close()
    return used / pages * 1e6


def main() -> None:
    """Prints the medians."""
    words = argparse.ArgumentParser()
    words.add_argument("--pages", type=int, default=2000)
    words.add_argument("--runs", type=int, default=3)
    given = words.parse_args()
    from web import Plan, certs

    with tempfile.TemporaryDirectory() as folder:
        _, cert, key = certs.make(Plan("tls", hosts=1, pages=1, tls="ok"), Path(folder))
        ours, theirs = multiprocessing.Pipe()
        server = multiprocessing.Process(target=serve, args=(theirs, str(cert), str(key)), daemon=True)
        server.start()
        port = ours.recv()
        for hosts in (4, given.pages // 4):
            took: dict[str, list[float]] = {}
            for _ in range(given.runs):
                for kind in ("plain", "chrome", "firefox", "any"):
                    took.setdefault(kind, []).append(asyncio.run(cost(kind, port, given.pages, hosts)))
            shown = ", ".join(f"{kind} {statistics.median(values):.0f}" for kind, values in took.items())
            print(f"{given.pages} pages of {hosts} hosts, CPU us a page: {shown}", flush=True)
        server.terminate()
        server.join()


if __name__ == "__main__":
    main()
