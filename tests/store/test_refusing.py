"""Stores that answer but refuse requests: Sentinels with a password of their own, and a server that is out of
memory."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from gossamer.cli.doctor import of_server
from gossamer.errors import StoreError
from gossamer.store.address import parse
from gossamer.store.discovery import _why
from gossamer.store.server_errors import Lost
from gossamer.store.store import connect
from store.test_reaching import SECRET, refused, use
from support.processes import Process
from support.sentinel import Watched, watched


@pytest.fixture
def service() -> Iterator[Watched]:
    with watched(password=SECRET, sentinels=1) as one:
        yield one


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Process]:
    server = Process(tmp_path)
    yield server.ready()
    server.kill()


async def test_a_refusal_says_whether_it_is_the_sentinel_s_or_the_server_s(service: Watched) -> None:
    sentinel = service.sentinels[0]
    with sentinel.client() as client:
        client.execute_command("ACL", "SETUSER", "default", "resetpass", ">w4tchw0rd")
    for given in ("", "?sentinel_password=wr0ng"):
        said = await refused(service.url + given)
        assert f"the Sentinel 127.0.0.1:{sentinel.port} refused its user/password" in said
        assert "sentinel_password are for the Sentinels" in said
    right = f"{service.url}?sentinel_password=w4tchw0rd"
    await use(right)
    said = await refused(right.replace(SECRET, "wr0ngw0rd"))
    assert "user/password refused" in said
    assert "the Sentinel" not in said


async def test_a_store_that_is_full_is_read_and_doctor_says_so(server: Process) -> None:
    url = f"redis://127.0.0.1:{server.port}"
    with server.client() as client:
        client.config_set("maxmemory", "1mb")
        assert "is out of memory: raise its maxmemory" in await refused(url), "an empty one"
        client.config_set("maxmemory", "0")
        await use(url)
        used = int(client.info("memory")["used_memory"])
        for most, level in ((used // 2, "bad"), (int(used * 1.05), "warn"), (used * 2, "ok"), (0, "ok")):
            client.config_set("maxmemory", most)
            found = {one.what: one.level for one in of_server(client.info(), "server", url, 0, 0, 0)}
            assert found["store memory"] == level
        client.config_set("maxmemory", used // 2)
    await use(url)
    store = connect(url)
    with pytest.raises(StoreError, match="out of memory"):
        await store.guard(store.client.set("gossamer:x", "y"))
    await store.close()


def test_a_place_that_cannot_be_reached_is_told_with_its_reason() -> None:
    error = Lost("Error 111 connecting to h:1. Connection refused.")
    assert _why(error, parse("redis://h")) == "h:1 cannot be reached: Connection refused"
    error = Lost("Error 111 connecting to h:1. Connect call failed ('h', 1).")
    assert _why(error, parse("redis://h")) == "h:1 cannot be reached"
