"""The control server: `/__control/log`, `/stats` and `/reset`, on a port of its own, so that these requests
do not appear in the log."""

from __future__ import annotations

import asyncio
import json
import resource
import time
from typing import Any

from web import wire
from web.hosts import Host
from web.plan import Plan
from web.record import Record


class Control:
    """Answers queries about the record. One object serves all connections."""

    def __init__(self, plan: Plan, hosts: dict[str, Host], record: Record) -> None:
        self.plan, self.hosts, self.record = plan, hosts, record

    def connection(self) -> asyncio.Protocol:
        return _Connection(self)

    def answer(self, path: str) -> bytes:
        if path == "/__control/log":
            return wire.answer(
                200, "".join(self.record.lines()).encode(), (("Content-Type", "application/jsonl"),)
            )
        if path == "/__control/reset":
            self.record.reset()
            for host in self.hosts.values():
                host.tries.clear()
        elif path != "/__control/stats":
            return wire.answer(404, b"log, reset or stats")
        return wire.answer(200, json.dumps(self.stats()).encode(), (("Content-Type", "application/json"),))

    def stats(self) -> dict[str, float]:
        """Returns requests and bytes since the reset, and CPU seconds and peak RSS (MiB) of the process since
        its start."""
        done = self.record.done
        return {
            "requests": len(done),
            "open": len(self.record.open),
            "sent": sum(hit.sent for hit in done),
            "cpu": time.process_time(),
            "rss": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
            "lag": max((hit.lag for hit in done), default=0) / 1e9,
        }


class _Connection(asyncio.Protocol):
    def __init__(self, control: Control) -> None:
        self.control, self.buffer = control, b""

    def connection_made(self, transport: Any) -> None:
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        self.buffer += data
        if b"\r\n\r\n" in self.buffer:
            path = self.buffer.split(b" ", 2)[1].decode("latin-1")
            self.transport.write(self.control.answer(path))
            self.transport.close()
