# ruff: noqa: F811 - pytest takes fixtures by their names
"""A secret that was passed to a command must not appear in the command's output or in the files that it
leaves behind."""

from __future__ import annotations

import base64
import json
import signal
from pathlib import Path

import pytest

from cli.command_line import begin, gossamer, wait_for
from cli.conftest import room, web  # noqa: F401 - fixtures

CANARY = "Can/ARY+4711x"
QUOTED = "Can%2FARY%2B4711x"
FORMS = (CANARY, QUOTED, base64.b64encode(f"joe:{CANARY}".encode()).decode().rstrip("="))
HELD = ("appendonlydir", ".aof", ".rdb")
"""Files of the store in the data folder. The store's files contain secrets that a resumed crawl needs, and
only the owner can read the folder."""
SEEDS = (*HELD, "crawl.json", "known.jsonl", "out.csv")
"""Files that contain URLs with their real parameters: the crawl's targets, the known pages, and the rows."""


SITE = """
from gossamer import Site
site = Site("shop", seeds=["%s/"], args={"token": ""}, follow=True)
@site.page()
def page(page):
    yield {"path": page.url}
"""


def _with(room: Path, web: str, way: str) -> list[str]:
    """Return the arguments of a crawl that receives a secret in the given way."""
    host = web.removeprefix("http://")
    (room / "shop.py").write_text(SITE % web)
    return {
        "seed": [f"http://joe:{QUOTED}@{host}/"],
        "parameter": [f"{web}/?api_key={QUOTED}"],
        "authorization": [f"{web}/", "-H", f"Authorization: Bearer {CANARY}"],
        "cookie": [f"{web}/", "-H", f"Cookie: sid={CANARY}"],
        "header": [f"{web}/", "-H", f"X-Api-Key: {CANARY}"],
        "argument": ["shop.py", "-a", f"token={CANARY}"],
    }[way]


WAYS = ("seed", "parameter", "authorization", "cookie", "header", "argument")


def _nowhere(room: Path, *texts: str, apart: tuple[str, ...] = HELD) -> None:
    for text in texts:
        for form in FORMS:
            assert form not in text
    for path in room.rglob("*"):
        if path.is_file() and not any(part in str(path) for part in apart):
            raw = path.read_bytes()
            for form in FORMS:
                assert form.encode() not in raw, path


@pytest.mark.parametrize("way", WAYS)
def test_a_crawl_that_is_stopped_and_looked_at(room: Path, web: str, way: str) -> None:
    words = [*_with(room, web, way), "--name", "c", "--delay", "0.3"]
    process = begin(room, "crawl", *words, "-o", "out.csv", "--json")
    wait_for(process, room / ("out.item.csv" if way == "argument" else "out.csv"), 2)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=30)
    assert process.returncode == 11
    assert "Continue with: gossamer crawl" in err
    assert "replace *** with the secret" in err
    rest = [err, out]
    for verb in (
        ["resume", "c"],
        ["status", "c"],
        ["status", "c", "--json"],
        ["attempts", "c"],
        ["explain", f"{web}/1"],
        ["stop", "c"],
        ["config", "show"],
        ["dead", "list", "c"],
    ):
        rest += gossamer(room, *verb)[1:]
    _nowhere(room, *rest, apart=SEEDS if way == "parameter" else HELD)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    ("fault", "code"),
    [
        (["--store", f"redis://joe:{QUOTED}@127.0.0.1:1/0"], 8),
        (["-o", f"postgresql://joe:{QUOTED}@127.0.0.1:1/x?table=t"], 20),
        (["-o", "/dev/null/x.jsonl"], 4),
        (["--depth", f"x{CANARY}"], 2),
        (["-s", f"nothing={CANARY}"], 2),
        (["--proxies", "no.txt"], 4),
    ],
    ids=("store", "output", "folder", "usage", "setting", "proxies"),
)
def test_a_crawl_that_fails(room: Path, web: str, way: str, fault: list[str], code: int) -> None:
    found, out, err = gossamer(room, "crawl", *_with(room, web, way), *fault, "--json", "--time-limit", "3s")
    assert found in (code, 2, 4, 8, 20), err
    if fault[0] not in ("--depth", "-s"):  # an invalid argument is not registered as a secret
        _nowhere(room, out, err, apart=SEEDS if way == "parameter" else HELD)
    summary = json.loads(out)
    assert summary["state"] in ("failed", "stopped")
    assert summary["reason"]


def test_a_site_whose_error_text_has_the_secret(room: Path, web: str) -> None:
    (room / "shop.py").write_text(
        f"import sys\nfrom gossamer import Site\nsite = Site('shop', seeds=['{web}/'], args={{'token': ''}})\n@site.page()\ndef p(page):\n"
        "    print('token is', site.args['token'], file=sys.stderr)\n    raise RuntimeError('bad: ' + site.args['token'])\n"
    )
    _, out, err = gossamer(
        room, "crawl", "shop.py", "-a", f"token={CANARY}", "-o", "out.jsonl", "--name", "c"
    )
    assert "RuntimeError: bad: ***" in err, err
    more = gossamer(room, "dead", "list", "c", "--json")
    _nowhere(room, out, err, *more[1:])


def test_a_command_with_stars_is_refused(room: Path, web: str) -> None:
    for words in (
        [f"{web}/", "-H", "Authorization: ***"],
        [f"http://***:***@{web.removeprefix('http://')}/"],
        [f"{web}/?api_key=***"],
    ):
        code, _, err = gossamer(room, "crawl", *words)
        assert code == 2
        assert "write the secret itself" in err


@pytest.mark.parametrize(
    "verb",
    [
        ["status"],
        ["pause", "c"],
        ["resume", "c"],
        ["dead", "list"],
        ["host", "show", "h.example"],
        ["workers", "list"],
        ["schedule", "list"],
        ["rate"],
    ],
    ids=" ".join,
)
def test_every_json_says_why_it_failed(room: Path, verb: list[str]) -> None:
    code, out, err = gossamer(room, *verb, "--store", f"redis://joe:{QUOTED}@127.0.0.1:1/0", "--json")
    assert code in (2, 4, 8), err
    found = json.loads(out)
    assert found["state"] == "failed"
    assert found["exit_code"] == code
    _nowhere(room, out, err)
