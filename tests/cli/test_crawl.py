"""Tests of the command line in real processes: exit codes, messages and signals, on a small local web."""

from __future__ import annotations

import json
import signal
from pathlib import Path
from typing import Any

import pytest

from cli.command_line import PAGES, begin, gossamer, wait_for


def adds_up(summary: dict[str, Any]) -> bool:
    parts = sum(summary[name] for name in ("pages", "redirected", "failed", "dead", "pending"))
    return bool(summary["found"] == parts + sum(summary["skipped"].values()))


@pytest.mark.parametrize("name", ["../../evil", "..", "a/b", "a\nb", ".hidden", "x" * 400, "a" * 81, "é"])
def test_a_name_that_is_no_folder_s_makes_no_folder(room: Path, name: str) -> None:
    data = room / "deep" / "deeper" / "data"
    code, _, err = gossamer(room, "crawl", "http://127.0.0.1:9/", "--name", name, "--data", str(data))
    assert code == 2
    assert "use letters, digits" in err
    assert not [
        path
        for path in room.rglob("*")
        if path.name in ("evil", "lock", "b", ".hidden") or len(path.name) > 80
    ]


def test_a_crawl_and_what_can_be_asked_of_it(room: Path, web: str) -> None:
    words = ("crawl", f"{web}/", "--delay", "0", "-o", "out.jsonl", "--name", "c")
    code, out, err = gossamer(room, *words, "--json", "--quiet")
    assert (code, err) == (0, "")
    summary = json.loads(out)
    assert adds_up(summary)
    assert (summary["state"], summary["pages"], summary["skipped"]["robots"]) == ("finished", PAGES + 1, 1)
    rows = [json.loads(line) for line in (room / "out.jsonl").read_text().splitlines()]
    assert len({row["url"] for row in rows}) == len(rows) == PAGES + 1
    code, _, err = gossamer(room, *words)
    assert code == 0
    assert "c is finished already" in err
    assert (room / "out.jsonl").read_text().count("\n") == PAGES + 1
    assert "line 2: Disallow: /secret/" in gossamer(room, "explain", f"{web}/secret/")[1]
    told = json.loads(gossamer(room, "explain", f"{web}/3?utm_source=x", "--json")[1])
    assert told["now"] == "done"
    assert "duplicate" in {gate["verdict"] for gate in told["gates"]}
    told = json.loads(gossamer(room, "explain", "https://other.example/", "--json")[1])
    assert (told["now"], told["attempts"]) == ("skipped (scope)", [])
    assert summary["skipped"]["nofollow"] == PAGES + 1
    told = json.loads(gossamer(room, "explain", f"{web}/nf", "--from", f"{web}/", "--json")[1])
    assert (told["now"], told["why"]) == ("skipped (nofollow)", f"link: has nofollow on {web}/")
    code, _, err = gossamer(room, *words, "--depth", "3")
    assert code == 4
    assert "depth: it was 50, now it is 3" in err


def test_rows_go_to_stdout_when_it_is_a_pipe_and_the_summary_to_stderr(room: Path, web: str) -> None:
    code, out, err = gossamer(room, "crawl", f"{web}/", "--delay", "0", "--limit", "3")
    assert code == 0
    assert [json.loads(line)["status"] for line in out.splitlines()] == [200] * 3
    summary = json.loads(err.splitlines()[-1])
    assert (summary["state"], summary["pages"]) == ("limited", 3)
    assert adds_up(summary)


def test_json_has_the_summary_of_a_crawl_that_failed_too(room: Path, web: str) -> None:
    (room / "dead.txt").write_text("http://127.0.0.1:9/\n")
    code, out, err = gossamer(
        room, "crawl", f"{web}/", "--proxies", "dead.txt", "--allow-private", "127.0.0.0/8", "--json"
    )
    assert code == 21
    summary = json.loads(out)
    assert adds_up(summary)
    assert (summary["state"], summary["pages"], summary["pending"]) == ("stopped", 0, 1)
    assert summary["reason"] in err


def test_the_quality_gate(room: Path, web: str) -> None:
    code, _, err = gossamer(
        room,
        "crawl",
        f"{web}/0",
        f"{web}/none",
        "--scope",
        "page",
        "--delay",
        "0",
        "--fail-on",
        "success<0.95",
        "-o",
        "o.csv",
    )
    assert code == 30
    assert "success<0.95" in err


def test_a_host_that_does_not_resolve(room: Path) -> None:
    code, out, err = gossamer(room, "crawl", "http://nobody.invalid/", "--retries", "none")
    assert code == 9
    assert "check the host's name" in err
    row = json.loads(out)
    assert (row["status"], row["error"]) == (None, "dns")


def test_a_list_with_bad_lines(room: Path, web: str) -> None:
    (room / "urls.txt").write_text(f"# pages\n{web}/1\nhttp://[::1\n\n{web}/2\n" + '{"url": 7}\n')
    code, out, err = gossamer(room, "crawl", "urls.txt", "--scope", "page", "--delay", "0", "--name", "c")
    assert code == 0
    assert len(out.splitlines()) == 2
    assert "urls.txt line 3" in err
    assert "urls.txt line 6" in err
    assert len((room / ".gossamer" / "c" / "rejected.jsonl").read_text().splitlines()) == 2
    assert gossamer(room, "crawl", "-", text="nonsense\n\x00\n")[0] == 2


def test_ctrl_c_once_and_the_same_command_again(room: Path, web: str) -> None:
    words = ("crawl", f"{web}/", "-o", "out.jsonl", "--name", "c")
    process = begin(room, *words, "--delay", "1")
    wait_for(process, room / "out.jsonl", 2)
    code, _, err = gossamer(room, *words)
    assert code == 4
    assert f"process {process.pid}" in err
    assert json.loads(gossamer(room, "status", "c", "--json")[1])["state"] == "running"
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=15)
    assert process.returncode == 11
    assert f"Continue with: gossamer crawl {web}/ -o out.jsonl --name c" in err
    summary = json.loads(gossamer(room, "status", "c", "--json")[1])
    assert summary["state"] == "stopped"
    assert adds_up(summary)
    assert gossamer(room, *words, "--delay", "0")[0] == 0
    urls = [json.loads(line)["url"] for line in (room / "out.jsonl").read_text().splitlines()]
    assert len(set(urls)) == len(urls) == PAGES + 1


def test_ctrl_c_twice(room: Path, web: str) -> None:
    process = begin(room, "crawl", f"{web}/", "-o", "out.jsonl", "--name", "c", "--delay", "1")
    wait_for(process, room / "out.jsonl", 1)
    process.send_signal(signal.SIGINT)
    process.send_signal(signal.SIGTERM)
    _, err = process.communicate(timeout=15)
    # the first signal may have stopped the crawl before the second arrived
    assert process.returncode in (11, 13)
    assert "nothing is lost" in err
    assert gossamer(room, "crawl", f"{web}/", "-o", "out.jsonl", "--name", "c", "--delay", "0")[0] == 0
    urls = [json.loads(line)["url"] for line in (room / "out.jsonl").read_text().splitlines()]
    assert len(set(urls)) == len(urls) == PAGES + 1


def test_a_reader_that_has_seen_enough(room: Path, web: str) -> None:
    process = begin(room, "crawl", f"{web}/", "--delay", "0.1")
    assert process.stdout is not None
    assert process.stderr is not None
    assert process.stdin is not None
    process.stdin.close()
    process.stdout.readline()
    process.stdout.close()
    err = process.stderr.read()
    process.stderr.close()
    process.wait(timeout=20)
    assert process.returncode == 11
    assert "Traceback" not in err
    assert "bug" not in err


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        (["crawl"], 2, "no TARGET"),
        (["crwal", "x"], 2, "did you mean crawl?"),
        (["crawl", "http://x.example/", "--limi", "3"], 2, "did you mean --limit?"),
        (["crawl", "http://x.example/", "--limit", "many"], 2, "whole number"),
        (["crawl", "http://x.example/", "--ladder", "staircase"], 2, "no rung 'staircase'"),
        (["crawl", "http://x.example/", "--proxies", "p.txt"], 4, "--proxies p.txt: No such file"),
        (["crawl", "http://x.example/", "-s", "dealy=3"], 2, "did you mean delay?"),
        (["crawl", "http://x.example/", "-s", "delay"], 2, "-s setting=value"),
        (["crawl", "http://x.example/", "--fail-on", "sucess<1"], 2, "did you mean success?"),
        (["crawl", "http://x.example/", "-o", "out.jsnl"], 2, "jsonl"),
        (["crawl", "http://x.example/", "--fresh", "--resume"], 2, "exclude one another"),
        (["crawl", "http://x.example/", "-H", "bad"], 2, "Name: value"),
        (["crawl", "nowhere.txt"], 2, "nowhere.txt"),
        (["crawl", "nowhere.py"], 2, "nowhere.py: no such file or folder"),
        (["check", "nowhere.py"], 2, "nowhere.py: no such file or folder"),
        (["check", ".", "--pages", "nowhere"], 2, "nowhere: no such file or folder"),
        (["status", "-s", "dealy=3"], 2, "did you mean delay?"),
        (["crawl", "bytes.txt"], 2, "bytes.txt line 1: is not UTF-8 text; write one URL per line"),
        (["crawl", "empty.txt"], 2, "contain no seeds: give one URL per line"),
        (["crawl", "folder"], 4, "no site file in it"),
        (["crawl", "site.py"], 4, "site.py:2: ModuleNotFoundError"),
        (["crawl", "http://x.example/", "-o", "missing/out.jsonl"], 2, "create it first"),
        (["crawl", "http://x.example/", "-o", "/proc/out.jsonl"], 20, "cannot write /proc/out.jsonl"),
        (["crawl", "ftp://x.example/"], 2, "not an http(s) URL"),
        (["crawl", "http://x.example/", "--store", "redis://127.0.0.1:1"], 8, "does not answer"),
        (["crawl", "http://x.example/", "--data", "file/below"], 4, "--data"),
        (["reprase", "http://x.example/"], 2, "no command 'reprase'"),
        (["host", "rang", "x"], 2, "no command 'rang'"),
    ],
)
def test_bad_input_gets_one_clear_line(
    tmp_path: Path, words: list[str], code: int, says: str, capsys: Any, monkeypatch: Any
) -> None:
    from gossamer.cli.commands import run

    monkeypatch.chdir(tmp_path)
    for name, raw in {
        "file": b"",
        "empty.txt": b"",
        "bytes.txt": b"\xff\xfe",
        "site.py": b"\nimport no_such",
    }.items():
        (tmp_path / name).write_bytes(raw)
    (tmp_path / "folder").mkdir()
    assert run(words) == code
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("gossamer: ")
    assert err.count("\n") == 1
    assert says in err


def test_a_bug_is_one_line_and_a_file(tmp_path: Path, capsys: Any, monkeypatch: Any) -> None:
    from gossamer.cli import commands

    monkeypatch.chdir(tmp_path)
    (tmp_path / ".gossamer").mkdir()
    assert commands.report_bug(KeyError("http://joe:secret@x.example/")) == 1
    err = capsys.readouterr().err
    assert err.count("\n") == 1
    assert "secret" not in err
    assert len(list((tmp_path / ".gossamer").glob("gossamer-error-*.txt"))) == 1
