"""A logged-in fleet: two workers share one log-in, and one worker is killed. Only the environments of the
workers contain the secrets."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from support.fleet_workers import Fleet, Server, until
from worker.member_site import PASSWORD, Club, open_club


@contextmanager
def apart(club: Club) -> Iterator[str]:
    """Serves the club in a thread of its own. Yields its URL."""
    loop, ready, place = asyncio.new_event_loop(), threading.Event(), list[str]()
    done = asyncio.Event()

    async def serve() -> None:
        async with open_club(club) as server:
            place.append(server.url())
            ready.set()
            await done.wait()

    thread = threading.Thread(target=loop.run_until_complete, args=(serve(),))
    thread.start()
    ready.wait()
    try:
        yield place[0]
    finally:
        loop.call_soon_threadsafe(done.set)
        thread.join()
        loop.close()


def test_two_workers_one_log_in_and_a_kill(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    club = Club(pages=60, slow=0.5)
    with Server(tmp_path / "server") as server, apart(club) as url:
        with Fleet(tmp_path, server.url(0), [server.url(1)]) as fleet:
            (tmp_path / "club.py").write_text(
                "from gossamer import Login, Site\n"
                f"site = Site('club', seeds=['{url}'], session=Login('{url}login',"
                " {'user': 'ann', 'password': '${env:PASSWORD_ANN}'}, shows='a.out'))\n"
            )
            blind = fleet.worker("blind")
            monkeypatch.setenv("PASSWORD_ANN", f"{PASSWORD}ann")
            monkeypatch.setenv("JARS", "CANARY-key")
            workers = [fleet.worker(name, "-s", "session_key=${env:JARS}") for name in ("w1", "w2")]
            fleet.ready(3)
            monkeypatch.delenv("PASSWORD_ANN")
            monkeypatch.delenv("JARS")
            name = fleet.submit("club.py", output="out/", delay="0.05")
            until("pages are shown", lambda: club.shown["ann"] >= 10)
            workers[0].kill()
            ended = fleet.ended(name)
            assert (ended["pages"], ended["dead"], club.logins, club.locked) == (60, 0, {"ann": 1}, set())
            assert "the environment has no PASSWORD_ANN" in blind.said()
        files = [path for path in tmp_path.rglob("*") if path.is_file()]
        assert [str(path) for path in files if b"CANARY" in path.read_bytes()] == []
