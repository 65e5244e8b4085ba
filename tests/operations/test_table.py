"""The table of operations agrees with the command line, the client, and the committed OpenAPI document."""

from __future__ import annotations

import inspect
import json
import os
import re
import subprocess
import sys
import typing
from pathlib import Path

import msgspec
import pytest

from cli.test_json import leaves
from gossamer.client.async_service_client import AsyncClient
from gossamer.client.service_calls import returned
from gossamer.client.service_client import Client
from gossamer.client.service_stub import stub
from gossamer.model.verdict import ERRORS
from gossamer.operations import inputs
from gossamer.operations.openapi import document
from gossamer.operations.operation import Operation
from gossamer.operations.problems import PROBLEMS
from gossamer.operations.table import NOT_OFFERED, OPERATIONS

ROOT = Path(__file__).resolve().parents[2]
OF_CLIENT = {
    "wait": "waits with the operation of `status`",
    "wait_run": "waits with the operation of `run`",
    "events": "reads the stream of events",
    "export": "reads the streams of rows",
}


def test_each_command_has_an_operation_or_a_reason() -> None:
    commands = {name for name, _ in leaves()}
    offered = {one.command for one in OPERATIONS if one.command}
    assert commands == offered | NOT_OFFERED.keys()
    assert not offered & NOT_OFFERED.keys()


def methods(kind: type) -> dict[str, inspect.Signature]:
    found = inspect.getmembers(kind, inspect.isfunction)
    return {name: inspect.signature(call) for name, call in found if not name.startswith("_")}


def test_each_operation_has_a_method_of_the_client() -> None:
    offered = {one.method_of_client for one in OPERATIONS}
    assert methods(Client).keys() == offered | OF_CLIENT.keys()


def test_the_stub_is_current() -> None:
    kept = (ROOT / "src" / "gossamer" / "client" / "service_methods.pyi").read_text()
    assert kept == stub(), "write it with python -m gossamer.client.service_stub"


def test_the_async_client_has_the_same_methods() -> None:
    mine, other = methods(Client), methods(AsyncClient)
    assert mine.keys() == other.keys()
    for name in mine:
        assert [*mine[name].parameters.values()] == [*other[name].parameters.values()], name
    iterated = {one.method_of_client for one in OPERATIONS if returned(one)[0] in ("rows", "pages")}
    iterated.add("events")
    for name in other:
        is_right = inspect.isasyncgenfunction if name in iterated else inspect.iscoroutinefunction
        assert is_right(getattr(AsyncClient, name)), name


def test_a_wrong_argument_is_refused_before_a_request() -> None:
    client = Client("http://127.0.0.1:1")
    with pytest.raises(TypeError, match=r"status\(\): missing a required argument: 'crawl'"):
        client.status()  # type: ignore[call-arg]
    with pytest.raises(TypeError, match=r"pages\(\): got an unexpected keyword argument 'limit'"):
        client.pages("books", limit=1)  # type: ignore[call-arg]


ASYNC_CALLS = """
import gossamer
async def f(client: gossamer.AsyncClient) -> None:
    reveal_type(await client.status("books", wait=3))
    reveal_type(client.pages("books", where=["status=200"]))
    await client.status("books", wiat=3)
    await client.start("https://a.example/", limit="many")
    client.status(books=3)
"""


def test_a_type_checker_sees_the_signatures_of_the_async_client(tmp_path: Path) -> None:
    (tmp_path / "calls.py").write_text(ASYNC_CALLS)
    command = [sys.executable, "-m", "mypy", "--strict", "--no-error-summary", "calls.py"]
    env = {**os.environ, "MYPYPATH": str(ROOT / "src")}
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, env=env, check=False)
    said = done.stdout
    for line, text in (
        (4, "CrawlStatus"),
        (5, "AsyncIterator[dict[str, Any]]"),
        (6, "wiat"),
        (7, "int | None"),
        (8, "books"),
    ):
        assert re.search(rf"^calls.py:{line}: .*{re.escape(text)}", said, re.MULTILINE), said


def test_the_committed_document_is_current() -> None:
    """`python -m gossamer.operations.openapi > docs/openapi.json` writes it."""
    kept = json.loads((ROOT / "docs" / "openapi.json").read_text())
    assert kept == json.loads(msgspec.json.encode(document()))


def test_reasons_are_those_of_dead_letters() -> None:
    assert typing.get_args(inputs.Reason) == ERRORS


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda one: one.name)
def test_an_example_is_a_valid_input(operation: Operation) -> None:
    assert isinstance(msgspec.convert(operation.example, operation.input), operation.input)
    assert operation.about.endswith(".")
    assert operation.scope != "read" or not operation.changes


def test_each_problem_has_its_own_address() -> None:
    assert len({one.slug for one in PROBLEMS}) == len(PROBLEMS)


def test_the_command_crawl_imports_nothing_of_the_server() -> None:
    code = (
        "import sys; from gossamer.cli import commands; commands.run(['crawl', '--help']);"
        "import gossamer.cli.crawl, gossamer.cli.foreground_crawl, gossamer.app.runner, gossamer.app.submit;"
        "print([name for name in sys.modules if name.split('.')[0] in ('starlette', 'uvicorn', 'anyio')"
        " or name.startswith(('gossamer.web', 'gossamer.operations'))])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"
