"""Tests of a crawl's environment: signals, processes, and files that have the names of modules."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from cli.command_line import PAGES, SRC, begin, gossamer, wait_for


def test_a_terminal_that_closes(room: Path, web: str) -> None:
    process = begin(
        room, "crawl", f"{web}/", "-o", "out.jsonl", "--name", "c", "--delay", "1", preexec_fn=_hears_hup
    )
    wait_for(process, room / "out.jsonl", 1)
    process.send_signal(signal.SIGHUP)
    _, err = process.communicate(timeout=15)
    assert process.returncode == 11
    assert "Continue with" in err


def test_nohup(room: Path, web: str) -> None:
    process = begin(
        room, "crawl", f"{web}/", "-o", "out.jsonl", "--name", "c", "--delay", "0.1", preexec_fn=_deaf_to_hup
    )
    wait_for(process, room / "out.jsonl", 1)
    process.send_signal(signal.SIGHUP)
    process.communicate(timeout=60)
    assert process.returncode == 0
    assert (room / "out.jsonl").read_text().count("\n") == PAGES + 1


def _hears_hup() -> None:  # the tests themselves may run under nohup
    signal.signal(signal.SIGHUP, signal.SIG_DFL)


def _deaf_to_hup() -> None:
    signal.signal(signal.SIGHUP, signal.SIG_IGN)


def test_ctrl_c_twice_ends_a_site_function_that_does_not_end(room: Path, web: str) -> None:
    (room / "shop.py").write_text(
        f"from pathlib import Path\n\nfrom gossamer import Site\n\nsite = Site('shop', seeds=['{web}/'])\n\n\n"
        "@site.page()\ndef p(page):\n    Path('began.txt').write_text('x\\n')\n    while True:\n        pass\n"
    )
    process = begin(room, "crawl", "shop.py", "-o", "out.jsonl")
    wait_for(process, room / "began.txt", 1)
    process.send_signal(signal.SIGINT)
    time.sleep(0.2)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=15)
    assert process.returncode == 13
    assert "nothing is lost" in err


# long-running C code: the regular expression checks for signals, the sum never does
STUCK = ("re.search('(a|aa)+$', 'a' * 90 + '!')", "sum(itertools.repeat(0))")


@pytest.mark.parametrize(("processes", "call"), [(1, STUCK[0]), (1, STUCK[1]), (2, STUCK[1])])
def test_ctrl_c_twice_ends_a_c_function_that_keeps_the_interpreter(
    room: Path, web: str, processes: int, call: str
) -> None:
    (room / "shop.py").write_text(
        f"import itertools, os, re\nfrom gossamer import Site\nsite = Site('shop', seeds=['{web}/'])\n@site.page()\ndef p(page):\n"
        "    open('began.txt', 'w').write(f'{os.getpid()}\\n')\n"
        f"    {call}\n"
    )
    process = begin(room, "crawl", "shop.py", "-o", "out.jsonl", "--processes", str(processes))
    wait_for(process, room / "began.txt", 1)
    for _ in range(3):  # if a child process reads the page, the parent process handles the first signal
        process.send_signal(signal.SIGINT)
        time.sleep(0.2)
    process.communicate(timeout=15)
    assert process.returncode in ((13,) if call == STUCK[0] else (13, -signal.SIGINT))
    stuck = int((room / "began.txt").read_text())
    for _ in range(300):
        if not Path(f"/proc/{stuck}").exists():
            break
        time.sleep(0.1)
    else:
        os.kill(stuck, signal.SIGKILL)
        raise AssertionError("the process that reads the page outlives the crawl")
    (room / "shop.py").write_text(
        f"from gossamer import Site\nsite = Site('shop', seeds=['{web}/'])\n@site.page()\ndef p(page):\n    yield {{'a': 1}}\n"
    )
    assert gossamer(room, "crawl", "shop.py", "-o", "out.jsonl")[0] == 0
    assert (room / "out.jsonl").read_text().count("\n") >= 1


ENDLESS = ("while True:\n        pass", STUCK[0], "time.sleep(1e6)")


def endless(room: Path, web: str, call: str) -> None:
    """Write a site whose page function never ends on the start page."""
    (room / "shop.py").write_text(
        f"import re, time\nfrom gossamer import Site\nsite = Site('shop', seeds=['{web}/', '{web}/3'])\n"
        "@site.page('/3$')\ndef q(page):\n    yield {'a': 1}\n"
        "@site.page()\ndef p(page):\n    open('began.txt', 'w').write('x\\n')\n"
        f"    {call}\n"
    )


@pytest.mark.parametrize("call", ENDLESS)
def test_ctrl_c_once_ends_a_site_function_that_does_not_end(room: Path, web: str, call: str) -> None:
    endless(room, web, call)
    process = begin(room, "crawl", "shop.py", "-o", "out.jsonl", "--name", "c")
    wait_for(process, room / "began.txt", 1)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=10)
    assert process.returncode == 11, err
    assert re.search(r"\S+ in \w+ is still running; a second signal stops immediately", err)
    assert "Continue with" in err
    assert re.search(r"pending +[12]\b", gossamer(room, "status", "c")[1])


@pytest.mark.parametrize(("call", "processes"), [(ENDLESS[1], 1), (ENDLESS[2], 1), (ENDLESS[0], 2)])
def test_a_site_function_that_does_not_end_is_ended_and_the_crawl_goes_on(
    room: Path, web: str, call: str, processes: int
) -> None:
    endless(room, web, call)
    words = ("-s", "timeout=2s", "--retries", "0.1s", "--name", "c", "--processes", str(processes))
    code, _, err = gossamer(room, "crawl", "shop.py", "-o", "out.jsonl", *words)
    assert code == 0, err
    assert len(re.findall(rf"error shop {web}/: too-slow: shop.py:(?:9|10) in p was still", err)) == 2
    assert (room / "out.jsonl").read_text().count("\n") == 1
    assert "too-slow" in gossamer(room, "dead", "list", "c")[1]


def test_a_file_called_as_a_module_is_not_taken_for_it_in_other_processes(room: Path, web: str) -> None:
    for name in ("calendar.py", "html.py", "email.py"):
        (room / name).write_text("raise RuntimeError('not this one')\n")
    # the installed command does not have '' in sys.path
    code = "import sys; sys.path.remove(''); from gossamer.cli import main; main()"
    words = [
        sys.executable,
        "-c",
        code,
        "crawl",
        f"{web}/",
        "-o",
        "out.jsonl",
        "--delay",
        "0",
        "--processes",
        "2",
    ]
    done = subprocess.run(
        words, cwd=room, env=os.environ | {"PYTHONPATH": str(SRC)}, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    assert (room / "out.jsonl").read_text().count("\n") == PAGES + 1
