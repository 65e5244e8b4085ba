"""A right that is taken away from the fleet's user, and given back."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator

import pytest
import redis

from fleet.conftest import SECRET
from gossamer.store.rights import RIGHTS
from support import fork_server
from support.fleet_workers import Fleet, Server, until
from web import Web, preset, serve


@pytest.fixture
def web() -> Iterator[Web]:
    with serve(preset("tiny", hosts=4, pages=40)) as web:
        yield web


def test_a_missing_right_is_named_and_leaves_no_host_dead(fleet: Fleet, server: Server, web: Web) -> None:
    with redis.Redis(port=server.port) as client:
        fleet.worker()
        name = fleet.submit(*web.plan.seeds(), output="out/", delay="0.2")
        until("pages", lambda: fleet.status(name)["pages"] > 5)
        poorer = RIGHTS.replace("~{attempts:* ", "")
        client.execute_command(f"ACL SETUSER gossamer resetkeys {poorer}")
        until("it is named", lambda: "ACL SETUSER gossamer ~{attempts:*" in fleet.workers[0].said())
        missing = "ACL SETUSER gossamer ~{attempts:* (docs/stores.md"
        assert missing in fleet.run("worker", "-n", "other", code=8)
        (found,) = (one for one in fleet_findings(fleet) if one["what"] == "store")
        assert (found["level"], missing in found["found"]) == ("bad", True)
        client.execute_command(f"ACL SETUSER gossamer {RIGHTS}")
        ended = fleet.ended(name)
        assert (ended["state"], ended["dead"]) == ("finished", 0)
        urls = [row["url"] for row in fleet.rows()]
        assert len(urls) == len(set(urls)) == ended["pages"]
        assert SECRET not in fleet.workers[0].said()


def fleet_findings(fleet: Fleet) -> list[dict[str, str]]:
    """Return what `doctor` finds, although it fails."""
    done = fork_server.run(
        [sys.executable, "-m", "gossamer", "doctor", "--json"],
        env=fleet.env(),
        cwd=fleet.folder,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 8
    found: list[dict[str, str]] = json.loads(done.stdout)
    return found
