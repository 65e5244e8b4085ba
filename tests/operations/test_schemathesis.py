"""Schemathesis sends thousands of requests that the OpenAPI document permits or forbids. No answer may contradict the
document, and no request may meet a bug."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec

from cli.command_line import gossamer
from gossamer.operations.openapi import document
from operations.service_process import served_folder
from operations.stored_uses import fill_folder
from support.repetitions import ALL

PROGRAM = "import sys; from schemathesis.cli import schemathesis; schemathesis()"
NOT_CALLED = (
    *("crawl_start", "scrape", "site_map", "schedule_run"),
    *("price_run", "rank_run", "keyword_run", "audit_run"),
    "events",
)
"""All but the last would send requests to made-up hosts, and the last never ends."""

CONFIG = """
[checks.positive_data_acceptance]
expected-statuses = ["2xx", "401", "403", "404", "409", "412", "422", "5xx"]
[checks.negative_data_rejection]
expected-statuses = ["400", "401", "403", "404", "405", "409", "412", "413", "415", "422", "428", "431"]
"""
"""A made-up entity tag is refused (412), and some crawls have nothing to accept (422)."""


def fitted(found: Any) -> bytes:
    """Returns the document without cursors and comparisons, because made-up ones are refused whatever their
    form: they belong to no list, and name fields that no row has. A schedule starts one thing, so it gets targets alone, and with a valid host, because no
    pattern describes the names of hosts."""
    for path in found["paths"].values():
        for operation in path.values():
            given = operation.get("parameters", [])
            operation["parameters"] = [one for one in given if one["name"] not in ("cursor", "where")]
    schedule = found["paths"]["/v1/schedules"]["post"]["requestBody"]["content"]["application/json"]["schema"]
    schedule["required"] = [*schedule["required"], "targets"]
    path = {"type": "string", "pattern": "^https?://books[.]example/[a-z0-9/]{0,40}$"}
    schedule["properties"]["targets"] |= {"minItems": 1, "items": path}
    for use in ("prices", "ranks", "keywords", "audit"):
        del schedule["properties"][use]
    return msgspec.json.encode(found)


def test_no_answer_contradicts_the_document(tmp_path: Path, web: str) -> None:
    code, token, err = gossamer(tmp_path, "tokens", "add", "--scope", "admin")
    assert code == 0, err
    head = f"Bearer {token.strip()}"
    fill_folder(tmp_path, web)
    with served_folder(tmp_path, "--token-file", "tokens.jsonl") as server:
        given = {"targets": [f"{web}/"], "name": "books", "wait": 60, "text": True}
        assert server.ask("POST", "/v1/crawls", given, Authorization=head).status == 202
        (tmp_path / "openapi.json").write_bytes(fitted(document()))
        (tmp_path / "schemathesis.toml").write_text(CONFIG)
        phases = "examples,coverage,fuzzing,stateful" if ALL else "examples,stateful"
        words = [
            "run",
            "openapi.json",
            "--url",
            server.url,
            "-H",
            f"Authorization: {head}",
            "--checks",
            "all",
            "--exclude-checks",
            "ignored_auth",  # test_access.py tests it, and after 20 wrong tokens the answer is 429
        ]
        words += [
            "--phases",
            phases,
            "--mode",
            "all",
            "--max-examples",
            "50" if ALL else "3",
            "--workers",
            "1",
        ]
        words += ["--seed", "1", "--no-color"]
        for name in NOT_CALLED:
            words += ["--exclude-operation-id", name]
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM, *words],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=1800 if ALL else 280,
        )
        print(done.stdout[-3000:])
        assert done.returncode == 0, done.stdout[-60000:] + done.stderr[-2000:]
        assert "a bug" not in server.said
