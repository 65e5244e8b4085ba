"""The client without an event loop against a real server, with a password, errors and a lost connection."""

from __future__ import annotations

from pathlib import Path

import pytest

from gossamer.store.address import parse
from gossamer.store.blocking_client import BlockingClient
from gossamer.store.server_errors import AuthenticationError, Lost, LostInTime, ResponseError
from support.processes import Process


def client(url: str, timeout: float = 10) -> BlockingClient:
    return BlockingClient(parse(url), timeout=timeout, connect_timeout=10)


def test_commands_pipelines_and_transactions(valkey_url: str) -> None:
    found = client(valkey_url)
    assert found.hset("h", mapping={"a": 1, "b": b"\x00" * 200_000}) == 2
    assert found.hgetall("h") == {b"a": b"1", b"b": b"\x00" * 200_000}
    with pytest.raises(ResponseError, match="WRONGTYPE"):
        found.lrange("h", 0, -1)
    assert found.pipeline(transaction=True).rpush("l", "x", "y").llen("l").execute() == [2, 2]
    with pytest.raises(ResponseError, match="WRONGTYPE"):
        found.pipeline(transaction=False).rpush("l", "z").rpush("h", "z").execute()
    with pytest.raises(ResponseError, match="unknown command"):  # the server runs nothing of this transaction
        found.pipeline(transaction=True).rpush("l", "z").no_such_command().execute()
    assert found.lrange("l", 0, -1) == [b"x", b"y", b"z"]
    assert found.delete("h", "l") == 2
    found.close()


def test_a_lost_connection_is_opened_again(valkey_url: str) -> None:
    found = client(valkey_url, timeout=0.3)
    other = client(valkey_url)
    number = found.client_id()
    other.client_kill("ID", number)
    with pytest.raises(Lost):
        found.ping()
    assert found.client_id() != number
    with pytest.raises(LostInTime, match=r"within 0\.3 s"):
        found.blpop("nothing", 5)
    assert found.ping()
    found.close()
    other.close()


def test_a_password_and_a_database(tmp_path: Path) -> None:
    server = Process(tmp_path, "--requirepass", "pa55w0rd").ready(password="pa55w0rd")
    found = client(f"redis://:pa55w0rd@127.0.0.1:{server.port}/3")
    assert found.set("key", "value")
    assert b"db=3" in found.client_info()
    found.close()
    with pytest.raises(AuthenticationError):
        client(f"redis://:wrong@127.0.0.1:{server.port}").ping()
    server.kill()
    with pytest.raises(Lost, match="Connection refused"):
        client(f"redis://127.0.0.1:{server.port}").ping()
