"""Tests of whole crawls on the unlocker rung, run as commands: credits, exit codes, kills, and secrets
that must appear nowhere."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import sys
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from collectors.unlocker.provider_servers import KEY, Stub, Target, problem
from gossamer.app import job_payload
from gossamer.app.job import Job
from gossamer.app.seeding import prepare
from gossamer.collectors.unlocker.providers import worker_unlocker
from gossamer.config.settings import GivenSetting, load, plain_settings
from gossamer.identity.encryption import Encryption
from support.byte_servers import Asked, Server, answer, serving

SRC = Path(__file__).parents[3] / "src"
PAGES = 12
PASSWORD = "CANARY-password"


def shop(url: str) -> Target:
    """Return a page of a small site whose front page links to all other pages."""
    links = "".join(f'<a href="/{n}">x</a>' for n in range(1, PAGES)) if url.endswith("/") else ""
    return Target(body=f"<title>{url}</title>{links}".encode())


class Ran(NamedTuple):
    code: int
    summary: dict[str, Any]
    out: str
    err: str


@contextlib.asynccontextmanager
async def site() -> AsyncIterator[Server]:
    """Run the target's own server, which the crawl may contact only for robots.txt."""

    async def reply(asked: Asked, writer: asyncio.StreamWriter) -> None:
        writer.write(answer(b"", 404 if "robots.txt" in asked.line else 500))

    async with serving(reply) as server:
        yield server
        assert not [line for line in server.lines if "robots.txt" not in line]


async def begin(
    folder: Path, seed: str, api: str, *words: str, key: str | None = KEY
) -> asyncio.subprocess.Process:
    env = {name: value for name, value in os.environ.items() if not name.startswith("GOSSAMER_")}
    env |= {"PYTHONPATH": str(SRC)} | ({} if key is None else {"UNLOCK": key})
    line = [
        "crawl",
        seed,
        "--ladder",
        "unlocker",
        "--data",
        str(folder / "data"),
        "-o",
        str(folder / "out.jsonl"),
        "--name",
        "c",
        "--json",
        "--delay",
        "0",
        "--per-host",
        "3",
        "--retries",
        "100ms,100ms,100ms",
        "--allow-private",
        "127.0.0.0/8",
        "-s",
        f"unlocker={api}",
        "-s",
        "unlocker_key=${env:UNLOCK}",
        *words,
    ]
    return await asyncio.create_subprocess_exec(
        sys.executable, "-m", "gossamer", *line, stdout=-1, stderr=-1, env=env, cwd=folder
    )


async def ended(process: asyncio.subprocess.Process) -> Ran:
    out, err = await process.communicate()
    code = process.returncode
    assert code is not None
    summary = json.loads(out) if out.strip() else {}
    return Ran(code, summary, out.decode(), err.decode())


async def crawl(folder: Path, seed: str, api: str, *words: str, key: str | None = KEY) -> Ran:
    return await ended(await begin(folder, seed, api, *words, key=key))


def attempts(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "data" / "c" / "attempts.jsonl").read_text().splitlines()]


def canaries(folder: Path) -> list[str]:
    """Return the files that contain a secret. The files of the store are searched too."""
    marks = [b"CANARY", KEY.encode()]
    files = [path for path in folder.rglob("*") if path.is_file()]
    assert any("aof" in path.name for path in files), "the store's log is one of them"
    return [str(path) for path in files if any(mark in path.read_bytes() for mark in marks)]


async def test_a_crawl_runs_on_it_and_no_secret_is_found_anywhere(tmp_path: Path) -> None:
    errors = [
        problem(422, {"code": "RESP001", "detail": f"with {KEY}"}),
        problem(429, {"code": "AUTH006", "detail": KEY}, "Retry-After: 1"),
        problem(404, {"code": "RESP007", "detail": KEY}),
        b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nx",
    ]
    stub = Stub("zenrows", shop)
    async with site() as target, serving(stub) as api:
        stub.errors = [answer(shop("/").body, 200, f"X-Key: {KEY}", "X-Request-Cost: 1"), *errors]
        seed = target.url("/").replace("http://", f"http://joe:{PASSWORD}@")
        ran = await crawl(
            tmp_path,
            seed,
            f"zenrows?endpoint={api.url('/v1/')}&timeout=2s",
            "--processes",
            "2",
            "-H",
            f"X-Api-Key: {PASSWORD}",
        )
    assert ran.code == 0, ran.err
    assert (ran.summary["pages"], ran.summary["dead"], ran.summary["state"]) == (PAGES - 1, 1, "finished"), (
        ran.summary
    )
    assert stub.calls[0].headers["authorization"].startswith("Basic "), "what people gave goes to the target"
    assert stub.calls[0].key == KEY
    made = [one for one in attempts(tmp_path) if "robots.txt" not in one["url"]]
    assert {(one["rung"], one["collector"]) for one in made} == {("unlocker", "zenrows")}
    assert sum(one["credits"] or 0 for one in made) == PAGES - 1 + 1, "the broken answer may be billed"
    assert {one["rung"] for one in attempts(tmp_path) if "robots.txt" in one["url"]} == {"plain"}
    assert {one["outcome"] for one in made} >= {"done", "retry", "later", "dead"}
    assert "CANARY" not in ran.out + ran.err
    assert canaries(tmp_path) == []


async def test_blocks_climb_to_it_and_without_credits_they_wait(tmp_path: Path) -> None:
    stub = Stub("zenrows", shop)

    async def wall(asked: Asked, writer: asyncio.StreamWriter) -> None:
        page = b"<title>Just a moment...</title><script src='/cdn-cgi/challenge-platform/x'></script>"
        writer.write(
            answer(b"", 404) if "robots" in asked.line else answer(page, 403, "cf-mitigated: challenge")
        )

    async with serving(wall) as target, serving(stub) as api:
        where = f"zenrows?endpoint={api.url('/v1/')}"
        ran = await crawl(tmp_path, target.url("/"), where, "--ladder", "plain,unlocker", "-s", "credits=4")
    assert (ran.code, len(stub.calls), ran.summary["pages"]) == (0, 4, 4), ran
    assert (ran.summary["state"], ran.summary["pending"]) == ("finished", 0), "every crawl ends"
    lost = ran.summary["dead"] + ran.summary["skipped"].get("budget", 0)
    assert lost == PAGES - 4
    rungs = [(one["rung"], one["outcome"]) for one in attempts(tmp_path)]
    assert rungs.count(("unlocker", "done")) == 4
    assert ("plain", "climbed") in rungs


async def test_a_site_says_what_its_pages_need(tmp_path: Path) -> None:
    stub = Stub("zenrows", shop)
    async with site() as target, serving(stub) as api:
        where = f"zenrows?endpoint={api.url('/v1/')}&country=us"
        (tmp_path / "shop.py").write_text(
            "from gossamer import Site\n"
            f"site = Site('shop', seeds=['{target.url('/')}'], ladder='unlocker', unlocker='render=true&wait_for=.price')\n"
        )
        ran = await crawl(tmp_path, str(tmp_path / "shop.py"), where, "--ladder", "plain", "--limit", "2")
        assert (ran.code, ran.summary["pages"]) == (0, 2), ran.err
        wanted = {"js_render": "true", "wait_for": ".price", "proxy_country": "us"}
        assert all(call.given.items() >= wanted.items() for call in stub.calls)
        (tmp_path / "shop.py").write_text(
            "from gossamer import Site\n"
            f"site = Site('shop', seeds=['{target.url('/')}'], ladder='unlocker', unlocker='endpoint=http://evil.example/')\n"
        )
        ran = await crawl(tmp_path, str(tmp_path / "shop.py"), where, "--fresh")
        assert (ran.code, len(stub.calls)) == (4, 2)
        assert "endpoint= cannot be set for a site" in ran.err


@pytest.mark.parametrize(
    ("reply", "code"), [(problem(401, f"bad key {KEY}"), 4), (problem(403, f"no API credits: {KEY}"), 9)]
)
async def test_an_account_that_is_no_good_ends_the_crawl_in_one_line(
    tmp_path: Path, reply: bytes, code: int
) -> None:
    stub = Stub("scraperapi", shop, reply)
    async with site() as target, serving(stub) as api:
        ran = await crawl(tmp_path, target.url("/"), f"scraperapi?endpoint={api.url('/')}")
        assert (ran.code, len(stub.calls)) == (code, 1)
        (line,) = [line for line in ran.err.splitlines() if "scraperapi" in line]
        assert "***" in line
        assert KEY not in ran.err + ran.out
        assert canaries(tmp_path) == []


async def test_credits_are_a_limit_and_a_larger_one_goes_on(tmp_path: Path) -> None:
    stub = Stub("scrapfly", shop)
    async with site() as target, serving(stub) as api:
        where = f"scrapfly?endpoint={api.url('/scrape')}"
        ran = await crawl(tmp_path, target.url("/"), where, "-s", "credits=7")
        assert (ran.code, ran.summary["state"], ran.summary["pages"], len(stub.calls)) == (
            0,
            "limited",
            7,
            7,
        ), ran
        assert ran.summary["pending"] == PAGES - 7
        assert "credits" in ran.summary["reason"]
        ran = await crawl(tmp_path, target.url("/"), where, "-s", "credits=100", "--processes", "2")
        assert (ran.code, ran.summary["state"], ran.summary["pages"], len(stub.calls)) == (
            0,
            "finished",
            PAGES,
            PAGES,
        )


async def test_a_kill_in_the_middle_of_calls_never_passes_the_credits(tmp_path: Path) -> None:
    stub = Stub("zenrows", shop, slow=0.2)
    async with site() as target, serving(stub) as api:
        where = f"zenrows?endpoint={api.url('/v1/')}&at_once=20&timeout=1s"
        process = await begin(tmp_path, target.url("/"), where, "-s", "credits=8")
        await until(lambda: len(stub.calls) >= 4)
        process.kill()
        await process.wait()
        process._transport.close()  # type: ignore[attr-defined] # its pipes
        ran = await crawl(tmp_path, target.url("/"), where, "-s", "credits=8")
        assert (ran.code, ran.summary["state"]) == (0, "limited"), ran
        assert 5 <= len(stub.calls) <= 8, "each call costs one"


async def until(done: Callable[[], bool]) -> None:
    async with asyncio.timeout(60):
        while not done():  # noqa: ASYNC110 - another process is waited for
            await asyncio.sleep(0.01)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["-s", "unlocker=zenrow"], "did you mean zenrows?"),
        (["-s", "unlocker=brightdata"], "zone="),
        (["-s", f"unlocker_key={KEY}"], "do not write a secret here"),
        (["-s", "unlocker_key=${env:NOWHERE}"], "no NOWHERE"),
        (["-s", "unlocker=https://x.example/?u={url}&k=${env:UNLOCK}"], "do not write the key here"),
    ],
)
async def test_bad_settings_end_with_one_line(tmp_path: Path, words: list[str], said: str) -> None:
    ran = await crawl(tmp_path, "http://127.0.0.1:9/", "zyte", *words)
    assert (ran.code, json.loads(ran.out)["state"]) == (4, "failed")
    (line,) = [line for line in ran.err.splitlines() if "private addresses" not in line]
    assert said in line
    assert KEY not in ran.err


def test_where_a_key_is_does_not_travel_and_no_key_is_shown(tmp_path: Path) -> None:
    env = {"GOSSAMER_UNLOCKER_KEY": KEY, "GOSSAMER_UNLOCKER": "zenrows?render=true"}
    settings = load(
        [GivenSetting("-s", "data", str(tmp_path)), GivenSetting("-s", "credits_daily", "50")],
        folder=tmp_path,
        environ=env,
    )
    assert settings.unlocker_key == "${env:GOSSAMER_UNLOCKER_KEY}"
    assert KEY not in repr(plain_settings(settings))
    setup, _ = prepare(Job(targets=["http://e.example/"], settings=settings))
    kept = job_payload.pack_setup(setup, Encryption(None, 1))
    assert b"UNLOCKER_KEY" not in kept
    mine = load(
        folder=tmp_path,
        environ={
            "GOSSAMER_UNLOCKER": "zenrows?at_once=9",
            "GOSSAMER_UNLOCKER_KEY": "x",
            "GOSSAMER_CREDITS_DAILY": "20",
        },
    )
    theirs = job_payload.unpack_setup(
        kept, mine, "redis://s", "seg", lambda: Encryption(None, 1)
    ).job.settings
    assert (theirs.unlocker, theirs.unlocker_key) == (
        "zenrows?at_once=9&render=true",
        "${env:GOSSAMER_UNLOCKER_KEY}",
    )
    assert theirs.credits_daily == 20
    assert worker_unlocker("zenrows", "https://evil.example/?u={url}&k={key}") == "zenrows"
    assert worker_unlocker(None, "zenrows") is None
