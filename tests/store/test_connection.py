"""The client of the store's servers, compared with redis-py on a real server."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
import redis
from redis.crc import key_slot

from gossamer.store.address import parse
from gossamer.store.blocking_call import call_socket
from gossamer.store.commands import Commands
from gossamer.store.connection import MAX_CONNECTIONS, RUN, Dialling, ServerClient
from gossamer.store.server_errors import (
    AuthenticationError,
    BusyLoadingError,
    Lost,
    LostInTime,
    MovedError,
    NoScriptError,
    ReadOnlyError,
    ResponseError,
    server_error,
)
from gossamer.store.servers import cluster_slot
from support.processes import Process


def client_of(url: str, timeout: float = 5.0, *, reads_run_id: bool = False) -> ServerClient:
    address = parse(url)
    return ServerClient(Dialling(address.places[0], address, timeout, 3.0, reads_run_id=reads_run_id))


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Yields the URL of a server that only these tests use."""
    one = Process(tmp_path_factory.mktemp("server")).ready()
    yield f"redis://127.0.0.1:{one.port}"
    one.kill()


@pytest.fixture
async def client(server: str) -> AsyncIterator[ServerClient]:
    made = client_of(server)
    await made.flushall()
    yield made
    await made.pool.close()


async def test_replies_are_those_of_redis_py(client: ServerClient, server: str) -> None:
    """Both clients write and read a key in the same way."""
    assert await client.set("text", "1", px=60_000) is True
    assert await client.set("text", "2", nx=True) is None
    await client.hset("hash", mapping={"a": 1, "b": "x"})
    await client.hset("hash", "c", b"\0\xff")
    await client.zadd("scores", {"low": 1, "high": 2.5})
    await client.sadd("set", "m")
    await client.xadd("stream", {"k": "v"}, maxlen=10, approximate=False)
    await client.rpush("list", "a", "b", "c")
    with redis.Redis.from_url(server, protocol=2) as other:
        assert await client.get("text") == other.get("text")
        assert await client.hgetall("hash") == other.hgetall("hash")
        assert await client.hmget("hash", ["a", "z"]) == other.hmget("hash", ["a", "z"])
        assert await client.hscan("hash", 0) == other.hscan("hash", 0)
        assert await client.zrange("scores", 0, -1) == other.zrange("scores", 0, -1)
        asked = await client.zrangebyscore("scores", "-inf", 9, 0, 1, withscores=True)
        assert asked == other.zrangebyscore("scores", "-inf", 9, 0, 1, withscores=True)
        assert await client.zscore("scores", "high") == other.zscore("scores", "high")
        assert await client.smembers("set") == other.smembers("set")
        assert await client.xrange("stream") == other.xrange("stream")
        assert await client.xrevrange("stream", count=1) == other.xrevrange("stream", count=1)
        assert await client.lrange("list", 0, 1) == other.lrange("list", 0, 1)
        assert await client.rpop("list", 2) == [b"c", b"b"]
        assert await client.hincrbyfloat("hash", "a", 0.5) == 1.5
        assert await client.expire("set", 60) is other.expire("set", 60) is True
        assert (await client.time())[0] == pytest.approx(other.time()[0], abs=2)
        assert (await client.info("server"))["run_id"] == other.info("server")["run_id"]
        assert set(await client.info()) >= set(other.info()) - {"db0", "modules"}
        assert {key async for key in client.scan_iter("s*")} == set(other.scan_iter("s*"))


async def test_a_pipeline_returns_errors_in_their_places(client: ServerClient) -> None:
    pipe = client.pipeline(transaction=False)
    pipe.set("a", 1)
    pipe.lpush("a", 2)
    pipe.execute_command("EVALSHA", "0" * 40, 0)
    done = await pipe.execute(raise_on_error=False)
    assert done[0] is True
    assert isinstance(done[1], ResponseError)
    assert isinstance(done[2], NoScriptError)
    assert await pipe.execute() == []
    pipe.lpush("a", 2)
    with pytest.raises(ResponseError, match="WRONGTYPE"):
        await pipe.execute()


async def test_a_transaction_runs_whole_or_not_at_all(client: ServerClient) -> None:
    pipe = client.pipeline()
    pipe.set("a", 1)
    pipe.hgetall("b")
    assert await pipe.execute() == [True, {}]
    pipe.set("a", 2)
    pipe.execute_command("NOSUCHCOMMAND")
    with pytest.raises(ResponseError, match="unknown command"):
        await pipe.execute()
    assert await client.get("a") == b"1"


async def test_a_call_that_is_cancelled_does_not_leave_its_reply_to_the_next(client: ServerClient) -> None:
    await client.set("a", "right")
    waiting = asyncio.create_task(client.execute_command("BLPOP", "empty", 0))
    while not (await client.info("clients"))["blocked_clients"]:  # noqa: ASYNC110 - the server has no event
        await asyncio.sleep(0)
    waiting.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await waiting
    assert [await client.get("a") for _ in range(3)] == [b"right"] * 3


async def test_a_silent_server_is_given_up_and_a_busy_one_is_not(server: str) -> None:
    client = client_of(server, 2.0)
    with pytest.raises(LostInTime, match="Timeout reading"):
        await client.execute_command("BLPOP", "empty", 0)
    pipe = client.pipeline(transaction=False)
    for _ in range(3):  # each reply is in time, but their sum exceeds the timeout
        pipe.execute_command("BLPOP", "empty", 0.8)
    assert await pipe.execute() == [None] * 3
    await client.pool.close()


async def test_calls_beyond_the_most_connections_wait_for_one(client: ServerClient) -> None:
    await client.set("a", "x" * 100_000)
    got = await asyncio.gather(*(client.get("a") for _ in range(3 * MAX_CONNECTIONS)))
    assert {len(one) for one in got} == {100_000}
    assert (await client.info("clients"))["connected_clients"] <= MAX_CONNECTIONS


async def test_a_connection_that_was_closed_is_made_again(client: ServerClient, server: str) -> None:
    await client.ping()
    with redis.Redis.from_url(server) as other:
        other.client_kill_filter(_type="normal", skipme=True)
    (connection,) = client.pool._idle
    while connection.is_open:  # noqa: ASYNC110 - the connection has no event
        await asyncio.sleep(0)
    assert await client.ping() is True


class ClosedTransport:
    """A transport of uvloop whose socket is closed already, although `is_closing` still returns False."""

    def is_closing(self) -> bool:
        return False

    def write(self, data: bytes) -> None:
        raise RuntimeError("unable to perform operation on <UnixTransport>; the handler is closed")

    def abort(self) -> None:
        """Does nothing, because the socket is closed."""

    close = abort


async def test_a_socket_that_uvloop_has_closed_is_a_lost_connection(client: ServerClient) -> None:
    await client.ping()
    (connection,) = client.pool._idle
    real, connection._transport = connection._transport, ClosedTransport()  # type: ignore[assignment]
    with pytest.raises(Lost, match="Connection closed by server"):
        await client.ping()
    assert real is not None
    real.abort()
    assert await client.ping() is True


async def test_a_server_that_ends_is_lost(tmp_path: Path) -> None:
    server = Process(tmp_path).ready()
    client = client_of(f"redis://127.0.0.1:{server.port}", reads_run_id=True)
    run = (await client.info("server"))["run_id"]
    assert await client.execute_command("ECHO", RUN) == run.encode()
    server.kill()
    with pytest.raises(Lost):
        await client.ping()
    with pytest.raises(Lost, match=r"Error 111 connecting to 127.0.0.1:\d+"):
        await client.ping()
    await client.pool.close()


async def test_passwords_and_databases(tmp_path: Path) -> None:
    server = Process(tmp_path, "--requirepass", "s3cret").ready(password="s3cret")
    with pytest.raises(AuthenticationError, match="Authentication required"):
        await client_of(f"redis://127.0.0.1:{server.port}").ping()
    with pytest.raises(AuthenticationError, match="invalid username-password"):
        await client_of(f"redis://:wrong@127.0.0.1:{server.port}").ping()
    one, two = (client_of(f"redis://:s3cret@127.0.0.1:{server.port}/{db}") for db in (0, 3))
    await two.set("a", 1)
    assert (await one.exists("a"), await two.exists("a")) == (0, 1)
    await one.pool.close()
    await two.pool.close()
    server.kill()


def test_one_command_without_asyncio(valkey_url: str, tmp_path: Path) -> None:
    path = valkey_url.removeprefix("unix://")
    assert call_socket(path, 5.0, "PING") is True
    assert call_socket(path, 5.0, "CONFIG GET", "port") == {"port": "0"}
    assert call_socket(path, 5.0, "GET", "nothing") is None
    with pytest.raises(ResponseError, match="unknown command"):
        call_socket(path, 5.0, "NOSUCHCOMMAND")
    with pytest.raises(Lost):
        call_socket(str(tmp_path / "none"), 5.0, "PING")


def test_the_code_of_an_error_decides_its_class() -> None:
    moved = server_error("MOVED 3999 127.0.0.1:6381")
    assert isinstance(moved, MovedError)
    assert (moved.slot_id, moved.host, moved.port) == (3999, "127.0.0.1", 6381)
    assert isinstance(server_error("LOADING Valkey is loading the dataset in memory"), BusyLoadingError)
    assert isinstance(server_error("READONLY You can't write against a read only replica."), ReadOnlyError)
    assert str(server_error("ERR syntax error")) == "syntax error"
    assert str(server_error("UNBLOCKED client unblocked")) == "UNBLOCKED client unblocked"
    assert type(server_error("ERR max number of clients reached")) is Lost


@pytest.mark.parametrize("key", ["a", "{b:01f}c:q", "x{y}z{w}", "{}a", "a{}b", "{", "}{", "ä{ö}"])
def test_a_key_has_the_slot_that_redis_py_finds(key: str) -> None:
    assert cluster_slot(key) == key_slot(key.encode())


def test_a_method_is_a_command() -> None:
    class Told(Commands):
        def execute_command(self, *args: object, **options: object) -> object:
            return args

    assert Told().hget("k", "f") == ("HGET", "k", "f")
    assert Told().config_set("appendfsync", "always") == ("CONFIG SET", "appendfsync", "always")
    with pytest.raises(TypeError):
        Told().hget("k", field="f")
