"""Serves a web until stdin is closed: `python -m web --plan small --port 0`. Prints one JSON line on stdout
when the web is ready."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import dataclasses
import gc
import json
import os
import signal
import tempfile
from pathlib import Path
from typing import IO

from web import certs, server
from web.control import Control
from web.hosts import warm
from web.plan import Plan, load
from web.presets import PRESETS, preset
from web.record import Record

NUMBERS = ("port", "hosts", "pages", "size", "seed")


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m web", description=__doc__)
    parser.add_argument(
        "--plan", default="small", help=f"a JSON file, JSON itself, or one of {', '.join(PRESETS)}"
    )
    for name in NUMBERS:
        parser.add_argument(f"--{name}", type=int)
    parser.add_argument("--folder", help="serve this directory as the only host")
    parser.add_argument("--control", type=int, default=0, help="port of the control server on 127.0.0.1")
    parser.add_argument("--log", help="append each finished request to this file")
    parser.add_argument("--stay", action="store_true", help="do not end when stdin does")
    return parser.parse_args()


def planned(args: argparse.Namespace) -> Plan:
    """Returns the plan that the arguments describe."""
    text = args.plan
    plan = preset(text) if text in PRESETS else load(text if text.startswith("{") else Path(text).read_text())
    changes = {name: value for name in (*NUMBERS, "folder") if (value := getattr(args, name)) is not None}
    return dataclasses.replace(plan, **changes)


def context(plan: Plan, folder: Path) -> tuple[object, str]:
    """Returns the TLS context of a plan and the file of its CA."""
    import ssl

    ca, cert, key = certs.make(plan, folder)
    made = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    made.load_cert_chain(cert, key)
    return made, str(ca)


async def main(args: argparse.Namespace, folder: Path, file: IO[str] | None) -> None:
    loop, over = asyncio.get_running_loop(), asyncio.Event()
    plan = planned(args)
    record = Record(file)
    tls, ca = context(plan, folder) if plan.tls else (None, "")
    plan, hosts, _servers = await server.start(plan, record, tls)
    control = Control(plan, hosts, record)
    listening = await loop.create_server(lambda: control.connection(), f"{plan.first}.0.0.1", args.control)
    if plan.warm:
        warm(hosts)
    gc.freeze()
    # a large log is not garbage, so the collector should not traverse it again and again
    gc.set_threshold(100_000, 50, 1_000)
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, over.set)
    if not args.stay:
        loop.add_reader(0, lambda: None if os.read(0, 1024) else over.set())
    ready = {
        "port": plan.port,
        "control": listening.sockets[0].getsockname()[1],
        "ca": ca,
        "seeds": plan.seeds()[:50],
    }
    print(json.dumps(ready), flush=True)
    while not over.is_set():
        if file:
            file.flush()
        try:
            await asyncio.wait_for(over.wait(), 0.1 if file else None)
        except TimeoutError:
            continue


def run() -> None:
    args = arguments()
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="web-")))
        file = stack.enter_context(open(args.log, "a", encoding="utf-8")) if args.log else None
        work = main(args, folder, file)
        try:
            import uvloop
        except ImportError:
            asyncio.run(work)
        else:
            uvloop.run(work)


if __name__ == "__main__":
    run()
