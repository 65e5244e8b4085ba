"""Whole crawls of a site for members. The site records who logged in, how often, from which address and as
which user."""

from __future__ import annotations

import asyncio
import itertools
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from support import fork_server
from support.light_proxies import Light, lights
from support.processes import free_port
from worker.member_site import PASSWORD, Club, open_club

SRC = Path(__file__).parents[2] / "src"
KEY = "CANARY-key-of-jars"
USERS = ("ann", "bob", "cyd")


class Ran(NamedTuple):
    code: int
    summary: dict[str, Any]
    out: str
    err: str


def site(folder: Path, url: str, login: str = "", more: str = "", users: tuple[str, ...] = USERS[:1]) -> str:
    accounts = {user: {"user": user, "password": f"${{env:PASSWORD_{user.upper()}}}"} for user in users}
    login = login or f"Login('{url}login', accounts={accounts!r}, shows='a.out')"
    text = f"import re\nfrom gossamer import Login, Request, Site\nsite = Site('club', seeds=['{url}'], session={login}{more})\n"
    (folder / "club.py").write_text(text)
    return str(folder / "club.py")


def begin(folder: Path, target: str, *words: str, **env: str) -> fork_server.Popen:
    given = {name: value for name, value in os.environ.items() if not name.startswith("GOSSAMER_")}
    given |= {
        "PYTHONPATH": str(SRC),
        **{f"PASSWORD_{user.upper()}": PASSWORD + user for user in USERS},
        **env,
    }
    line = [
        "crawl",
        target,
        "--data",
        str(folder / "data"),
        "-o",
        str(folder / "out.jsonl"),
        "--name",
        "c",
        "--json",
        "--delay",
        "0",
        "--retries",
        "100ms,200ms",
        "--allow-private",
        "127.0.0.0/8",
        *words,
    ]
    return started(line, given, folder)


def started(words: list[str], env: dict[str, str], folder: Path) -> fork_server.Popen:
    """Start a command of gossamer."""
    line = [sys.executable, "-m", "gossamer", *words]
    return fork_server.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=env, cwd=folder)


async def ended(process: fork_server.Popen) -> tuple[bytes, bytes]:
    """Wait for the end of a command, and return what it printed. The servers of the test go on meanwhile."""
    return await asyncio.to_thread(process.communicate)


async def crawl(folder: Path, target: str, *words: str, **env: str) -> Ran:
    process = begin(folder, target, *words, **env)
    out, err = await ended(process)
    assert process.returncode is not None
    return Ran(process.returncode, json.loads(out) if out.strip() else {}, out.decode(), err.decode())


async def command(folder: Path, *words: str, **env: str) -> Ran:
    given = dict(os.environ) | {"PYTHONPATH": str(SRC)} | env
    process = started([*words, "--data", str(folder / "data")], given, folder)
    out, err = await ended(process)
    assert process.returncode is not None
    return Ran(
        process.returncode,
        {"out": json.loads(out) if "--json" in words else None},
        out.decode(),
        err.decode(),
    )


def attempts(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "data" / "c" / "attempts.jsonl").read_text().splitlines()]


def canaries(folder: Path) -> list[str]:
    files = [path for path in folder.rglob("*") if path.is_file()]
    assert any("aof" in path.name for path in files), "the store's log is one of them"
    return [str(path) for path in files if b"CANARY" in path.read_bytes()]


async def until(done: Callable[[], bool]) -> None:
    async with asyncio.timeout(60):
        while not done():  # noqa: ASYNC110 - another process is waited for
            await asyncio.sleep(0.01)


async def test_one_log_in_serves_the_fleet_and_the_next_run_and_no_secret_is_found_anywhere(
    tmp_path: Path,
) -> None:
    club = Club(turning=True, slow=0.3)
    async with open_club(club) as server:
        seal = ["--processes", "2", "-s", "session_key=${env:JARS}"]
        ran = await crawl(tmp_path, site(tmp_path, server.url()), *seal, JARS=KEY)
        assert ran.code == 0, ran.err
        assert (ran.summary["pages"], ran.summary["skipped"].get("filter"), ran.summary["dead"]) == (
            20,
            1,
            0,
        ), ran.summary
        assert (club.logins, club.locked, club.shown["ann"]) == ({"ann": 1}, set(), 21), (
            "and the page behind the form"
        )
        made = attempts(tmp_path)
        assert [one["outcome"] for one in made if one["url"].partition("?")[0].endswith("/login")] == [
            "login"
        ] * 2
        assert {one["session"] for one in made if "robots.txt" not in one["url"]} == {"ann"}
        (post,) = club.posts
        assert (post.headers["origin"] + "/login", post.line.split()[1]) == (
            post.headers["referer"],
            "/login?step=2",
        )
        ran = await crawl(tmp_path, site(tmp_path, server.url()), "--fresh", *seal, JARS=KEY)
        assert (ran.code, ran.summary["pages"], club.logins) == (0, 20, {"ann": 1}), ran.err
        assert canaries(tmp_path) == []
        assert "CANARY" not in ran.out + ran.err
        wrong = await crawl(
            tmp_path, site(tmp_path, server.url()), "--fresh", *seal, JARS="quite-another-key"
        )
        assert (wrong.code, club.logins) == (4, {"ann": 1})
        assert "was encrypted with another session_key" in wrong.err
        shown = await command(tmp_path, "sessions", "list", "--json")
        (one,) = shown.summary["out"]
        assert (one["site"], one["account"], one["state"], one["sealed"]) == (
            "club",
            "ann",
            "logged in",
            True,
        )
        assert (await command(tmp_path, "sessions", "forget", "club", "ann")).code == 0
        club.left.clear()
        ran = await crawl(tmp_path, site(tmp_path, server.url()), "--fresh", *seal, JARS="another")
        assert (ran.code, ran.summary["pages"], club.logins) == (0, 20, {"ann": 2}), ran.err


async def test_a_kill_and_a_resume_need_no_new_log_in(tmp_path: Path) -> None:
    club = Club(pages=40)
    async with open_club(club) as server:
        target = site(tmp_path, server.url())
        process = begin(tmp_path, target, "--delay", "0.02")
        await until(lambda: club.shown["ann"] >= 8)
        process.send_signal(signal.SIGKILL)
        await ended(process)
        before = [moment for moment, _ in club.asked]
        assert min(b - a for a, b in itertools.pairwise(before[1:])) > 0.015, "log-ins keep the delay, too"
        ran = await crawl(tmp_path, target)
        assert (ran.code, ran.summary["pages"], ran.summary["dead"]) == (0, 40, 0), ran.err
        assert (club.logins, club.locked) == ({"ann": 1}, set())


async def test_a_log_in_that_is_over_is_made_once_more(tmp_path: Path) -> None:
    club = Club(life=6)
    async with open_club(club) as server:
        ran = await crawl(
            tmp_path, site(tmp_path, server.url()), "--processes", "2", "--delay", "0.02", "--per-host", "3"
        )
        assert (ran.code, ran.summary["pages"], ran.summary["dead"]) == (0, 20, 0), ran.err
        assert club.shown["ann"] == 20 + club.logins["ann"]
        assert 4 <= club.logins["ann"] <= 5
        assert club.locked == set()


@pytest.mark.parametrize("at_once", [2, 8])
async def test_cookies_that_change_with_each_answer_need_no_new_log_in(tmp_path: Path, at_once: int) -> None:
    club = Club(turning=True, pages=60)
    async with open_club(club) as server:
        ran = await crawl(
            tmp_path, site(tmp_path, server.url()), "--processes", "2", "--per-host", str(at_once)
        )
        assert (ran.code, ran.summary["pages"], ran.summary["dead"]) == (0, 60, 0), ran
        assert (club.logins, club.locked) == ({"ann": 1}, set())
        assert ("gets one request at a time" in ran.err) >= (at_once > 2)


async def test_who_is_logged_in_has_one_proxy_until_that_is_out(tmp_path: Path) -> None:
    club = Club(pages=60)
    proxies = [Light(f"127.0.9.{n}", free_port()) for n in range(1, 5)]
    (tmp_path / "proxies.txt").write_text("\n".join(f"{one.address}:{one.port}" for one in proxies))
    async with open_club(club) as server, lights(*proxies):
        target, words = (
            site(tmp_path, server.url()),
            ["--proxies", str(tmp_path / "proxies.txt"), "--delay", "0.02"],
        )
        process = begin(tmp_path, target, *words, "--processes", "2", "-s", "timeout=3")
        await until(lambda: club.shown["ann"] >= 10)
        (first,) = {address for address, _ in club.seen["ann"]}
        club.left.clear()  # ends the log-in, because the club would otherwise lock a user that logs in twice
        for one in proxies:
            if one.address == first:
                await one.stop()
        out, err = await ended(process)
        assert (process.returncode, json.loads(out)["pages"], json.loads(out)["dead"]) == (0, 60, 0), err
        assert (club.logins, len(club.seen["ann"])) == ({"ann": 2}, 2)
        ids = [one["proxy"].partition(":")[0] for one in attempts(tmp_path) if one["session"] == "ann"]
        assert len({first, *ids}) == 2, "and never a third"


async def test_what_nobody_is_shown_is_an_error_and_no_loop(tmp_path: Path) -> None:
    club = Club(pages=30, forbidden=tuple(f"/p/{n}" for n in range(10, 30)))
    async with open_club(club) as server:
        ran = await crawl(tmp_path, site(tmp_path, server.url()), "--retries", "none")
        assert (ran.code, ran.summary["pages"], ran.summary["errors"]) == (0, 10, {"login": 20}), ran
        assert club.logins["ann"] <= 4
        told = await command(tmp_path, "explain", server.url("/p/12"), "--json")
        assert told.summary["out"]["why"].startswith("login: logged out as ann: it redirects to")
        gates = {gate["gate"]: gate for gate in told.summary["out"]["gates"]}
        assert gates["session"]["rule"].startswith("club as ann: logged in ")
        out = (await command(tmp_path, "explain", server.url("/logout"), "--json")).summary["out"]
        assert [gate["verdict"] for gate in out["gates"] if gate["gate"] == "session"] == ["filter"]
        (held,) = (await command(tmp_path, "host", "show", server.url(), "--json")).summary["out"]["sessions"]
        assert (held["account"], held["state"], held["sealed"]) == ("ann", "logged in", False)
        found = (await command(tmp_path, "doctor", "--json")).summary["out"]
        levels = {one["what"]: one for one in found if one["what"].startswith("session")}
        assert (levels["session key"]["level"], levels["session"]["level"]) == ("warn", "ok")
        assert "stored without encryption" in levels["session key"]["found"]


async def test_accounts_take_turns_each_through_its_own_browser(tmp_path: Path) -> None:
    club = Club(pages=30)
    async with open_club(club) as server:
        more = ", ladder='impersonated'"
        target = site(tmp_path, server.url(), more=more, users=USERS)
        ran = await crawl(tmp_path, target, "--processes", "2", "--per-host", "4")
        assert (ran.code, ran.summary["pages"]) == (0, 30), ran.err
        assert club.logins == dict.fromkeys(USERS, 1)
        assert min(club.shown[user] for user in USERS) >= 7
        assert [len(whose) for whose in club.seen.values()] == [1, 1, 1]
        assert all("Mozilla" in agent for whose in club.seen.values() for _, agent in whose)


STEPS = """
def steps(account):
    page = yield '{url}login'
    page = yield page.form('form[method=post]').fill(user=account['user'], password=account['password'])
    assert page.css('a.out'), account['password']
    return {{'X-Token': 'CANARY-' + account['user']}}
site = Site('club', seeds=['{url}'], session=Login(steps, {{'user': 'ann', 'password': '${{env:PASSWORD_ANN}}'}}))
"""


async def test_a_function_logs_in_and_what_it_raises_tells_no_secret(tmp_path: Path) -> None:
    club = Club(pages=5)
    async with open_club(club) as server:
        (tmp_path / "club.py").write_text(
            "from gossamer import Login, Site\n" + STEPS.format(url=server.url())
        )
        club.locked.add("ann")
        ran = await crawl(tmp_path, "club.py")
        assert ran.code == 4, ran
        (line,) = [one for one in ran.err.splitlines() if "session:" in one]
        assert "log-in as main: club.py:6 in steps: AssertionError: ***" in line
        club.locked.clear()
        assert (await command(tmp_path, "sessions", "forget", "club")).code == 0
        ran = await crawl(tmp_path, "club.py")
        assert (ran.code, ran.summary["pages"]) == (0, 5), ran.err
        assert {one.headers.get("x-token") for one in server.asked if " /p/" in one.line} == {"CANARY-ann"}
        assert "CANARY" not in ran.err


BAD = [
    (
        "Login('{url}login', {{'user': 'ann', 'password': '${{env:NOBODY}}'}})",
        "account main: the environment has no NOBODY",
    ),
    ("Login('{url}login', {{'user': 'ann', 'password': 'x'}})", "do not write a secret into the file"),
    (
        "Login('{url}login', {{'usr': 'ann', 'password': '${{env:PASSWORD_ANN}}'}})",
        "has no field 'usr': it has csrf, user, password, go",
    ),
    (
        "Login('{url}login', {{'user': 'ann', 'password': '${{env:PASSWORD_ANN}}'}}, form='#entry')",
        "there is no form '#entry'",
    ),
    (
        "Login('{url}login', {{'user': 'ann', 'password': '${{env:PASSWORD_BOB}}'}})",
        "log-in as main was refused: the form is there again",
    ),
    (
        "Login('{url}login', {{'user': 'ann'}}), ladder='unlocker'",
        "one of the rungs plain, impersonated and browser",
    ),
    ("'joe'", "it must be a Login"),
]


@pytest.mark.parametrize(("login", "said"), BAD)
async def test_what_cannot_work_ends_with_one_line_and_loses_nothing(
    tmp_path: Path, login: str, said: str
) -> None:
    club = Club(pages=5)
    async with open_club(club) as server:
        ran = await crawl(tmp_path, site(tmp_path, server.url(), login.format(url=server.url())))
        assert ran.code == 4, ran
        (line,) = [
            one for one in ran.err.splitlines() if one.startswith("gossamer: ") and "private" not in one
        ]
        assert said in line
        assert "CANARY" not in ran.err
        if "refused" in said:
            ran = await crawl(tmp_path, site(tmp_path, server.url(), login.format(url=server.url())))
            assert (ran.code, club.wrong) == (4, {"ann": 1}), "the same credentials are not tried twice"
            assert "wait 60 min" in ran.err
            right = login.replace("BOB", "ANN").format(url=server.url())
            ran = await crawl(tmp_path, site(tmp_path, server.url(), right))
            assert (ran.code, ran.summary["pages"]) == (0, 5), ran.err


async def test_robots_and_the_end_of_a_session_are_minded(tmp_path: Path) -> None:
    club = Club(pages=5, robots="User-agent: *\nDisallow: /login")
    async with open_club(club) as server:
        ran = await crawl(tmp_path, site(tmp_path, server.url()))
        assert (ran.code, club.logins) == (4, {}), ran
        assert "must not be fetched: robots" in ran.err
        ran = await crawl(tmp_path, site(tmp_path, server.url(), more=", robots=False"), "--fresh")
        assert (ran.code, ran.summary["pages"]) == (0, 5), ran.err
        assert not [target for _, target in club.asked if target == "/logout"]
