"""Rules of docs/architecture.md that a single file can break: sizes, names and forbidden calls."""

from __future__ import annotations

import ast
import itertools
import re

from house.tree import ROOT, SRC, Source, kept_files, package, parse, sources

FUNCTION, CLASS = 60, 20
"""The maximum number of lines per function and of methods per class that need no reason. Files have no limit,
because the subject determines their size."""

# Functions and classes that may be larger: "path" or "path::name" -> (own limit, reason).
LARGER: dict[str, tuple[int, str]] = {
    "src/gossamer/observability/prometheus_files.py::fleet_dashboard": (
        130,
        "the panels of a dashboard, in their order",
    ),
    "src/gossamer/cli/doctor.py::doctor": (64, "the options of one command, a line each"),
    "src/gossamer/cli/serve.py::serve": (65, "the options of one command, a line each"),
    "src/gossamer/collectors/http/collector.py::__init__": (
        72,
        "what a connection needs, a line for each argument",
    ),
    "src/gossamer/app/collector_setup.py::__init__": (64, "what collectors need, each kept under its name"),
    "src/gossamer/store/store.py::Store": (22, "the questions and answers of one store, a few lines each"),
    "src/gossamer/model/site.py::__init__": (
        101,
        "the arguments of Site, a line each, are its documentation",
    ),
    "tests/e2e/item_files/test_files.py::test_what_is_refused_is_told_and_no_item_is_lost": (
        67,
        "one crawl, looked at from all sides",
    ),
    "tests/fleet/test_malformed.py::test_on_valkey": (62, "one queue with each kind of malformed message"),
    "tests/worker/worker_parts.py::__init__": (100, "a worker's parts, each replaceable by a test's own"),
    "tests/walls/crawl.py::crawl": (62, "one crawl, told step by step"),
    "src/gossamer/store/embedded.py::Embedded": (
        29,
        "one server's life: found, started, adopted, ended, under one lock",
    ),
    "src/gossamer/worker/reader.py::Reader": (25, "the kinds of pages, each with the method that reads it"),
    "src/gossamer/frontier/frontier_client.py::Frontier": (
        37,
        "one method per verb: the class is the list of them",
    ),
    "src/gossamer/parsing/page_view.py::PageView": (
        34,
        "what a site function sees; eighteen of them are properties of a line or two",
    ),
}

NO_SUBJECT = {
    "util",
    "utils",
    "helper",
    "helpers",
    "manager",
    "base",
    "common",
    "misc",
    "core",
    "handler",
    "handlers",
}
FORBIDDEN_CALLS = {"eval", "exec", "compile", "__import__"}
FORBIDDEN_IMPORTS = {"pickle", "cPickle", "dill", "cloudpickle", "marshal", "shelve", "yaml"}


def sizes(source: Source) -> list[tuple[str, int, int]]:
    """Returns (name, size, usual limit) of each function and class of a file."""
    found = []
    for node in ast.walk(source.tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            found.append((f"{source.path}::{node.name}", (node.end_lineno or 0) - node.lineno + 1, FUNCTION))
        elif isinstance(node, ast.ClassDef):
            methods = sum(
                isinstance(part, ast.FunctionDef | ast.AsyncFunctionDef) and not signature(part)
                for part in node.body
            )
            found.append((f"{source.path}::{node.name}", methods, CLASS))
    return found


def signature(node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """Returns whether a method only declares an overload for the type checker (`@overload`)."""
    return any(isinstance(mark, ast.Name) and mark.id == "overload" for mark in node.decorator_list)


def too_large(source: Source) -> list[str]:
    """Returns the parts of a file that exceed their limit."""
    return [
        f"{name}: {n} > {usual}" for name, n, usual in sizes(source) if n > LARGER.get(name, (usual, ""))[0]
    ]


def test_small_functions_and_classes() -> None:
    assert [found for source in sources() for found in too_large(source)] == []


def test_size_rule_sees_what_is_too_large() -> None:
    long = "def f():\n" + "    x = 1\n" * 60
    wide = "class C:\n" + "".join(f"    def m{n}(self): ...\n" for n in range(21))
    assert too_large(parse("src/gossamer/a.py", long)) == ["src/gossamer/a.py::f: 61 > 60"]
    assert too_large(parse("src/gossamer/a.py", wide)) == ["src/gossamer/a.py::C: 21 > 20"]


def test_every_exception_is_still_needed() -> None:
    actual = {name: (n, usual) for source in sources() for name, n, usual in sizes(source)}
    for name, (bound, reason) in LARGER.items():
        n, usual = actual.get(name, (0, 0))
        assert usual < n <= bound, f"{name} needs no exception any more"
        assert reason


def test_each_class_name_once() -> None:
    where: dict[str, list[str]] = {}
    for source in package():
        for node in ast.walk(source.tree):
            if isinstance(node, ast.ClassDef):
                where.setdefault(node.name, []).append(f"{source.path}:{node.lineno}")
    assert [places for places in where.values() if len(places) > 1] == []


def test_no_possessive_group() -> None:
    # Python before 3.11.5 matches possessive groups that contain alternatives incorrectly (gh-106052). The
    # equivalent `(?>(?:...)*)` works.
    possessive = re.compile(r"\)(?:[*+?]|\{[0-9,]+\})\+")
    assert [source.path for source in package() if possessive.search(source.text)] == []


def test_no_room_without_a_subject() -> None:
    names = {part for source in sources() for part in source.path.removesuffix(".py").split("/")}
    assert not names & NO_SUBJECT


def dangers(source: Source) -> list[str]:
    """Returns the calls and imports that turn data into code."""
    found = []
    for node in ast.walk(source.tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in FORBIDDEN_CALLS:
            found.append(f"{source.path}:{node.lineno} {node.func.id}()")
        elif isinstance(node, ast.Import | ast.ImportFrom):
            roots = {
                (alias.name if isinstance(node, ast.Import) else node.module or "").split(".")[0]
                for alias in node.names
            }
            found += [f"{source.path}:{node.lineno} {name}" for name in sorted(roots & FORBIDDEN_IMPORTS)]
    return found


def test_data_never_becomes_code() -> None:
    assert [found for source in package() for found in dangers(source)] == []


def test_danger_rule_sees_dangers() -> None:
    text = "import pickle\nfrom yaml import load\neval('1')\nmodel.eval()\n"
    assert len(dangers(parse("src/gossamer/a.py", text))) == 3


def acts(source: Source) -> list[str]:
    """Returns the top-level statements of a module that have an effect on import."""
    body = [
        node
        for node in source.tree.body
        if not (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant))
    ]
    doing = (ast.Expr, ast.While, ast.With, ast.AsyncFor, ast.Delete, ast.Raise, ast.Assert)
    # the `cli` package builds its command tree with calls (`vars(crawl)[...] = ...`), which count as
    # definitions
    return [
        f"{source.path}:{node.lineno}"
        for node in body
        if isinstance(node, doing) and not (isinstance(node, ast.Expr) and "/cli/" in source.path)
    ]


def test_importing_does_nothing_but_define() -> None:
    assert [found for source in package() for found in acts(source)] == []


def test_every_file_says_what_it_is_for() -> None:
    assert [source.path for source in package() if not ast.get_docstring(source.tree)] == []


def test_import_rule_sees_acts() -> None:
    assert acts(parse("src/gossamer/a.py", '"""Doc."""\nimport x\nx.start()\n'))
    assert not acts(parse("src/gossamer/a.py", '"""Doc."""\nimport x\nA = x.make()\n'))


# Scripts that are prepended to the verbs that need them. They have no KEYS of their own.
LUA_SHARED = {
    "prelude",
    "breaker",
    "heap_of_host",
    "host_state",
    "ended_requests",
    "ready_heaps",
    "grant_leases",
    "failover",
    "host_order",
    "ready_ranks",
    "claim_order",
    "host_limits",
    "crawl_limits",
    "cold_spill",
    "filter_pages",
    "quotient_filter",
    "seen",
    "queue",
    "min_depth",
    "page_budget",
    "links",
}
LUA_WORDS = ("purpose:", "keys", "argv", "returns:", "promise:", "cost:")


def lua_faults(name: str, text: str) -> list[str]:
    """Returns the entries that are missing from the header of a script."""
    lines = text.splitlines()
    header = " ".join(itertools.takewhile(lambda line: line.startswith("--"), lines)).lower()
    wanted = ("--",) if name in LUA_SHARED else LUA_WORDS
    return [f"{name}.lua: no {word!r} in its header" for word in wanted if word not in header]


def test_each_verb_is_one_lua_file_that_says_what_it_promises() -> None:
    scripts = sorted((SRC / "frontier" / "lua").glob("*.lua"))
    assert [fault for script in scripts for fault in lua_faults(script.stem, script.read_text())] == []


def test_lua_rule_sees_faults() -> None:
    header = "-- Purpose: x\n-- KEYS[1]: x  ARGV: x\n-- Returns: x\n-- Promise: x  Cost: x\n"
    assert lua_faults("claim", header + "return 1\n") == []
    assert lua_faults("claim", header.replace("Promise", "")) == ["claim.lua: no 'promise:' in its header"]
    assert lua_faults("seen", "x = 1\n") == ["seen.lua: no '--' in its header"]


# folders of the development machines
MACHINE = re.compile(rb"(^|[^A-Za-z0-9_.])/(work|farm|root)/", re.MULTILINE)


def test_no_kept_file_names_a_place_of_the_machine_it_was_written_on() -> None:
    assert [name for name in kept_files() if MACHINE.search((ROOT / name).read_bytes())] == []


def test_no_kept_lock_file_names_an_address() -> None:
    locks = [name for name in kept_files() if re.search(r"lock\.json$|lock\.yaml$|\.lock$", name)]
    assert [name for name in locks if b"://" in (ROOT / name).read_bytes()] == []
