"""An unlocker that real workers of a fleet share. One worker is killed during its calls, the credits limit is
never exceeded, and no file contains the API key."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from collectors.unlocker.provider_servers import KEY, Stub, Target
from support.byte_servers import Asked, answer, serving
from support.fleet_workers import Fleet, Server, until

MOST = 30


class Paying(Fleet):
    """A fleet whose workers have an unlocker account."""

    unlocker = ""

    def env(self) -> dict[str, str]:
        own = {
            "GOSSAMER_UNLOCKER": self.unlocker,
            "GOSSAMER_UNLOCKER_KEY": KEY,
            "GOSSAMER_ALLOW_PRIVATE": "127.0.0.0/8",
        }
        return super().env() | own


def shop(url: str) -> Target:
    links = "".join(f'<a href="/{n}">x</a>' for n in range(100)) if url.endswith("/") else ""
    return Target(body=f"<title>{url}</title>{links}".encode())


def canaries(folder: Path) -> list[str]:
    """Returns the files that contain the API key. The search includes the files of the store."""
    files = [path for path in folder.rglob("*") if path.is_file()]
    assert any("aof" in path.name for path in files)
    return [str(path) for path in files if b"CANARY" in path.read_bytes()]


async def test_a_fleet_never_passes_the_credits_of_a_crawl(server: Server, tmp_path: Path) -> None:
    stub = Stub("zenrows", shop, slow=0.1)

    async def reply(asked: Asked, writer: asyncio.StreamWriter) -> None:
        writer.write(answer(b"", 404))

    def work(fleet: Paying, seed: str) -> dict[str, Any]:
        with fleet:
            victim = fleet.worker("w1", processes=2)
            fleet.worker("w2", processes=2)
            fleet.ready(2)
            name = fleet.run(
                "submit",
                seed,
                "--ladder",
                "unlocker",
                "-s",
                f"credits={MOST}",
                "-s",
                "unlocker=zenrows?render=false",
                "--delay",
                "0",
                "--per-host",
                "8",
                "--quiet",
                "-o",
                "out/",
            ).strip()
            until("calls", lambda: len(stub.calls) > 6)
            victim.kill()
            return fleet.ended(name)

    async with serving(reply) as target, serving(stub) as api:
        fleet = Paying(tmp_path, server.url(0), [server.url(1)])
        fleet.unlocker = f"zenrows?endpoint={api.url('/v1/')}&at_once=30&timeout=2s"
        summary = await asyncio.to_thread(work, fleet, target.url("/"))
    assert (summary["state"], "credits" in summary["reason"]) == ("limited", True)
    assert MOST - 10 < len(stub.calls) <= MOST
    assert canaries(tmp_path) == []
