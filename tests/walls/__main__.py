"""Runs a web of walls as a process: `python -m walls FOLDER --seed N [--hosts 60]`.

The process writes three files into the folder: `ca.pem`, `web.json` (the port, names and addresses, the
unlocker's address, and the key's hash for Chromium), and `log.jsonl` with one line per request. It prints
`ready` on stdout when it listens, and exits when its stdin is closed.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import os
import ssl
import sys
import time
from functools import partial
from pathlib import Path
from typing import Any, TextIO
from urllib.parse import parse_qs, urlsplit

from walls import certs, server
from walls.plan import web
from walls.wall import PROVIDER, Client, Wall

API = "127.1.1.1"
PRICE = 1
"""The credits that the unlocker charges per page."""


async def sell(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, walls: dict[str, Wall]) -> None:
    """Serves the unlocker: `GET /get?u=URL` returns the page behind any wall, one request per connection."""
    try:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        asked = urlsplit(parse_qs(urlsplit(head.split(" ")[1]).query)["u"][0])
        status, headers, text = walls[asked.hostname or ""].answer(Client(PROVIDER), asked.path or "/", {})
        body = text.encode()
        more = f"Content-Type: {headers['content-type']}\r\nX-Target: {status}\r\nX-Credits: {PRICE}\r\n"
        told = f"HTTP/1.1 200 OK\r\n{more}Content-Length: {len(body)}\r\nConnection: close\r\n\r\n"
        writer.write(told.encode() + body)
        await writer.drain()
    except (OSError, asyncio.IncompleteReadError, KeyError):
        pass
    finally:
        writer.close()


def note(log: TextIO, line: dict[str, Any]) -> None:
    """Writes a line of the log and flushes it."""
    log.write(json.dumps(line) + "\n")
    log.flush()


async def serve(folder: Path, seed: int, hosts: int, pages: tuple[int, int], phase: float) -> None:
    """Serve until stdin is closed."""
    made = web(seed, hosts, pages, phase)
    certificate = certs.make(folder, [one.name for one in made])
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate.file, certificate.key)
    context.set_alpn_protocols(["h2", "http/1.1"])
    with (folder / "log.jsonl").open("w") as log:
        walls = {one.name: Wall(one, seed, partial(note, log)) for one in made}
        port, listeners = 0, []
        for one in made:
            took = partial(server.talk, context=context, wall=walls[one.name])
            listeners.append(await asyncio.start_server(took, one.address, port, backlog=512))
            port = listeners[-1].sockets[0].getsockname()[1]
        listeners.append(await asyncio.start_server(partial(sell, walls=walls), API, 0))
        api = listeners[-1].sockets[0].getsockname()[1]
        said = {
            "port": port,
            "names": {one.name: one.address for one in made},
            "unlocker": f"http://{API}:{api}/get?u={{url}}",
            "spki": certificate.spki,
            "began": time.time(),
        }
        (folder / "web.json").write_text(json.dumps(said))
        print("ready", flush=True)
        await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)


def main() -> None:
    """Parses the arguments and serves the web."""
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("folder", type=Path)
    options.add_argument("--seed", type=int, required=True)
    options.add_argument("--hosts", type=int, default=60)
    options.add_argument("--pages", type=int, nargs=2, default=(28, 40))
    options.add_argument("--phase", type=float, default=10.0)
    given = options.parse_args()
    with contextlib.suppress(OSError):
        os.nice(-15)  # high priority, so that arriving requests get accurate times
    asyncio.run(serve(given.folder, given.seed, given.hosts, tuple(given.pages), given.phase))


if __name__ == "__main__":
    main()
