# ruff: noqa: F811 - pytest takes fixtures by their names
"""Canary tests: secrets are passed in every possible way, and must not appear in anything that a command
prints, logs or starts, whatever fails."""

from __future__ import annotations

import contextlib
import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import redis

from cli.command_line import Pages, begin, gossamer, wait_for
from cli.conftest import room, stop_store, web  # noqa: F401 - fixtures
from config.test_secrets_of_commands import CANARY, FORMS, HELD, QUOTED, _nowhere
from gossamer.cli.commands import app
from support import fork_server
from support.answers import answering
from support.fleet_workers import Fleet, Server, until

AWAY = f"redis://joe:{QUOTED}@127.0.0.1:1/0"
WORDS = {
    "crawl": "c",
    "n": "1",
    "what": "rate",
    "url": f"http://joe:{QUOTED}@127.0.0.1:1/?api_key={QUOTED}",
    "urls": f"http://joe:{QUOTED}@127.0.0.1:1/?api_key={QUOTED}",
    "host": "h.example",
    "name": "x",
    "delay": "1",
    "site": "s",
    "account": "a",
    "cron": "0 3 * * *",
    "targets": f"http://joe:{QUOTED}@127.0.0.1:1/",
    "file": "f.jsonl",
    "worker": "w",
    "rule": "GossamerStalled",
    "folder": "files",
    "sources": f"shop:http://joe:{QUOTED}@127.0.0.1:1/",
    "query": "slow maps",
    "keyword": "slow maps",
    "mine": "mine.example",
    "theirs": "theirs.example",
    "pages": "pages.warc.gz",
    "words": f"http://joe:{QUOTED}@127.0.0.1:1/",
    "number": "1",
    "webhook": "4f2a91c07d5e",
}


def leaves(group: Any, before: str = "") -> Iterator[tuple[str, Any]]:
    """Yield each command with its name."""
    for name in group.list_commands(None):
        command = group.get_command(None, name)
        if hasattr(command, "list_commands"):
            yield from leaves(command, f"{before}{name} ")
        else:
            yield f"{before}{name}", command


COMMANDS = dict(leaves(app))


def away_words(name: str) -> list[str]:
    """Return a command with the options that name a store and a broker which are away."""
    command = COMMANDS[name]
    options = {option for one in command.params for option in one.opts}
    words = name.split() + [
        WORDS[one.name] for one in command.params if one.param_type_name == "argument" and one.required
    ]
    words += [WORDS["targets"]] if "targets" in {one.name for one in command.params} else []
    words += ["--store", AWAY] if "--store" in options else []
    words += ["-s", f"broker=amqp://joe:{QUOTED}@127.0.0.1:1//"] if "--setting" in options else []
    words += ["--time-limit", "5s", "--retries", "0.1"] if "--time-limit" in options else []
    return words


@pytest.fixture(scope="module")
def begun(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, tuple[Path, Any]]]:
    """Start all commands at once, because most of them wait, and yield the folder and process of each."""
    rooms = {name: tmp_path_factory.mktemp("away") for name in COMMANDS}
    yield {name: (folder, begin(folder, *away_words(name))) for name, folder in rooms.items()}
    for folder in rooms.values():
        stop_store(folder)


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_every_command_with_a_store_and_a_broker_that_are_away(
    begun: dict[str, tuple[Path, Any]], name: str
) -> None:
    folder, process = begun[name]
    try:
        out, err = process.communicate("", timeout=12)
    except subprocess.TimeoutExpired:  # some commands wait for the broker
        process.send_signal(signal.SIGTERM)
        out, err = process.communicate(timeout=30)
    _nowhere(folder, out, err)


class Redirecting(Pages):
    """Serves pages as usual, except that the front page redirects to a URL that contains a token."""

    def do_GET(self) -> None:
        if self.path != "/":
            super().do_GET()
            return
        self.send_response(302)
        self.send_header("Location", f"/1?access_token={QUOTED}")
        self.send_header("Content-Length", "0")
        self.end_headers()


def test_a_redirect_to_a_url_with_a_token(room: Path) -> None:
    """The rows contain the real URL, because it is data. Apart from the crawl's own records, nothing else
    contains the URL."""
    with answering(Redirecting) as port:
        code, out, err = gossamer(
            room,
            "crawl",
            f"http://127.0.0.1:{port}/",
            "-o",
            "out.csv",
            "--name",
            "c",
            "--scope",
            "page",
            "--json",
        )
        assert code == 0, err
        assert QUOTED in (room / "out.csv").read_text()
        rest = [
            text
            for verb in (["attempts", "c"], ["status", "c"], ["doctor"])
            for text in gossamer(room, *verb)[1:]
        ]
    _nowhere(room, out, err, *rest, apart=(*HELD, "crawl.json", "known.jsonl", "out.csv"))


OUTPUTS = {
    "postgresql": "postgresql://joe:{}@127.0.0.1:1/x?table=t",
    "mongodb": "mongodb://joe:{}@127.0.0.1:1/x?serverSelectionTimeoutMS=200",
    "valkey": "valkey://joe:{}@127.0.0.1:1/0?list=x",
    "kafka": "kafka://joe:{}@127.0.0.1:1/topic",
    "webhook": "https+webhook://127.0.0.1:1/hook?secret={}",
    "cassandra": "cassandra://joe:{}@127.0.0.1:1/x",
    "s3": "s3://bucket/x?secret={}",
}


@pytest.mark.parametrize("store", OUTPUTS)
def test_an_output_that_is_away(room: Path, web: str, store: str) -> None:
    output = OUTPUTS[store].format(QUOTED)
    words = ["crawl", f"{web}/", "-o", output, "--name", "c", "--time-limit", "3s", "--limit", "3"]
    _, out, err = gossamer(room, *words)
    more = [
        text
        for verb in (["status", "c"], ["items", "c"], ["export", "c", "f.csv"])
        for text in gossamer(room, *verb)[1:]
    ]
    _nowhere(room, out, err, *more)


def test_proxies_with_passwords_that_are_away(room: Path, web: str) -> None:
    (room / "p.txt").write_text(f"http://joe:{QUOTED}@127.0.0.1:1\nsocks5://joe:{QUOTED}@127.0.0.1:1\n")
    words = ["--proxies", "p.txt", "--retries", "0.1", "--limit", "2", "--time-limit", "5s", "--name", "c"]
    _, out, err = gossamer(room, "crawl", f"{web}/", *words)
    verbs = (
        ["attempts", "c"],
        ["attempts", "c", "--by", "provider"],
        ["host", "show", "127.0.0.1"],
        ["doctor"],
    )
    more = [text for verb in verbs for text in gossamer(room, *verb)[1:]]
    (room / "p.txt").unlink()
    _nowhere(room, out, err, *more)


SITE = """
import logging
import sys
from gossamer import Site

site = Site("shop", seeds=["{url}/"], args={"token": ""}, follow=True)


def step(item):
    raise RuntimeError(f"step: {site.args['token']}")


@site.page(r"/1$")
def one(page):
    logging.getLogger("shop").warning("log: %s", site.args["token"])
    print("print:", site.args["token"])
    raise RuntimeError("page: " + site.args["token"])


@site.page()
def page(page):
    yield {"path": page.url}
"""


@pytest.mark.parametrize("fault", ["disk", "store", "term", "twice", "bug"])
def test_a_crawl_that_something_strikes(room: Path, web: str, fault: str) -> None:
    (room / "shop.py").write_text(SITE.replace("{url}", web))
    host = web.removeprefix("http://")
    words = ["crawl", "shop.py", f"http://joe:{QUOTED}@{host}/", "-a", f"token={CANARY}"]
    words += ["-H", f"Authorization: Bearer {CANARY}", "-o", "out.jsonl", "--name", "c", "--delay", "0.1"]
    words += ["--processes", "2"] if fault in ("term", "store") else []
    more: dict[str, Any] = {}
    if fault == "disk":
        more["preexec_fn"] = partial(resource.setrlimit, resource.RLIMIT_FSIZE, (3000, 3000))
    process = begin(room, *words, **more)
    if fault in ("store", "term", "twice"):
        wait_for(process, room / "out.jsonl", 2)
        assert_clean_processes(process.pid)
        if fault == "store":
            import json

            os.kill(json.loads((room / ".gossamer/store/run.json").read_text())["pid"], signal.SIGKILL)
        else:
            process.send_signal(signal.SIGTERM)
            if fault == "twice":
                process.send_signal(signal.SIGTERM)
    out, err = process.communicate(timeout=60)
    verbs = (
        ["status", "c"],
        ["dead", "list", "c", "--json"],
        ["attempts", "c", "--json"],
        ["explain", f"{web}/1"],
    )
    rest = [text for verb in verbs for text in gossamer(room, *verb)[1:]]
    if fault == "bug":
        assert "page: ***" in err
    _nowhere(room, out, err, *rest)


def assert_clean_processes(pid: int, environment: bool = True) -> None:
    """Assert that the arguments of all processes below `pid`, which `ps` displays, contain no secret. If
    `environment` is true, the environment variables of these processes are checked too."""
    below = [
        int(one)
        for one in subprocess.run(
            ["ps", "-o", "pid=", "--ppid", str(pid)], capture_output=True, text=True
        ).stdout.split()
    ]
    for one in below:
        for name in ("cmdline", "environ") if environment else ("cmdline",):
            with contextlib.suppress(OSError):
                shown = Path(f"/proc/{one}/{name}").read_bytes()
                for form in FORMS:
                    assert form.encode() not in shown, (one, name)
        assert_clean_processes(one, environment)


class Locked(Server):
    """A server that requires a password."""

    def answers(self) -> bool:
        with redis.Redis(self.host, self.port) as client:
            try:
                return bool(client.ping())
            except redis.AuthenticationError:
                return True
            except redis.RedisError:
                return False


OPERATOR = (
    ["status"],
    ["status", "c"],
    ["workers", "list"],
    ["doctor"],
    ["dead", "list"],
    ["schedule", "add", "s", "0 3 * * *", "shop.py", "-a", f"token={CANARY}"],
    ["schedule", "list"],
    ["schedule", "list", "--json"],
    ["explain", "http://127.0.0.1/1"],
    ["host", "show", "127.0.0.1"],
    ["rate"],
    ["sessions", "list"],
    ["config", "show"],
    ["attempts", "c"],
    ["clean", "--dry-run"],
)


def said_by(fleet: Fleet, *words: str) -> str:
    """Return the output of a command, whatever its exit code."""
    done = fork_server.run(
        [sys.executable, "-m", "gossamer", *words],
        env=fleet.env(),
        cwd=fleet.folder,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    return done.stdout + done.stderr


def test_the_logs_of_a_fleet(tmp_path: Path, web: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Workers, Celery and every operator command use a store and a broker with passwords, while the server
    disappears and returns."""
    work = tmp_path / "work"
    (work / "out").mkdir(parents=True)
    (work / "shop.py").write_text(SITE.replace("{url}", web))
    with Locked(tmp_path / "server", more=("--requirepass", CANARY)) as server:
        url = partial(f"valkey://:{QUOTED}@127.0.0.1:{server.port}/{{}}".format)
        with Fleet(work, url(0), [url(1)]) as fleet:
            env = fleet.env() | {"GOSSAMER_SESSION_KEY": "Z" * 43 + "=", "TOKEN": CANARY}
            monkeypatch.setattr(fleet, "env", lambda: env)
            fleet.worker("w")
            fleet.celery("plain")
            fleet.ready(1)
            words = [
                "shop.py",
                "-a",
                f"token={CANARY}",
                "-H",
                f"Authorization: Bearer {CANARY}",
                "-o",
                "out/",
            ]
            words += ["--name", "c", "--delay", "0.2", "--allow-private", "127.0.0.0/8"]
            said = [said_by(fleet, "submit", *words)]
            until("rows", lambda: len(fleet.rows()) > 1)
            server.kill()
            time.sleep(2)
            server.start()
            fleet.ended("c")
            said += [said_by(fleet, *words) for words in OPERATOR]
            for worker in fleet.workers:
                assert_clean_processes(worker.process.pid, environment=False)
                worker.stop()
                said.append(worker.said())
            assert any("***" in text for text in said)  # the secret in the schedule's arguments is masked
            _nowhere(work, *said)
