"""`gossamer schedule add NAME CRON COMMAND...`: the command line is checked when it is added, with the messages of
the command itself. A list that is no list of pages to crawl is refused with the right command."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from gossamer.cli.commands import run

LISTS = {
    "targets.csv": "url,key,currency\nhttps://shop.example/a,a,EUR\n",
    "targets.jsonl": '{"url": "https://shop.example/a", "currency": "EUR"}\n',
    "k.csv": "keyword,domain\nbees,shop.example\n",
    "words.txt": "bees\nhoney\n",
    "urls.csv": "id,url,title\n7,https://shop.example/a,A\n",
    "urls.txt": "# pages\nhttps://shop.example/a\n",
    "half.txt": "bees\nhttps://shop.example/a\n",
}


@pytest.fixture
def room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name, text in LISTS.items():
        (tmp_path / name).write_text(text)
    return tmp_path


def add(*words: str) -> int:
    return run(["schedule", "add", "n", "@daily", *words])


def listed(capfd: pytest.CaptureFixture[str]) -> dict[str, Any]:
    """Returns the row of the only schedule."""
    capfd.readouterr()
    assert run(["schedule", "list", "--json"]) == 0
    ((row,),) = [json.loads(line) for line in capfd.readouterr().out.splitlines()]
    return dict(row)


@pytest.mark.parametrize(
    "words",
    [
        "prices run targets.csv --within 5h -q",
        "prices alert",
        "prices report -o prices.html",
        "ranks run k.csv --provider serper --budget 500",
        "keywords https://shop.example/ --list words.txt --stem en",
        "keywords report -o keywords-{date}.html",
        "audit https://shop.example/ -o audit-{date}.html --fail-on new-error",
        "audit https://shop.example/ --if-older 24h -o mongodb://db/audits",
        "find bees -maps --count",
        "clean --older 30d --what logs,cache",
        "export shop rows.jsonl",
    ],
)
def test_a_command_is_kept_as_it_was_typed(room: Path, capfd: pytest.CaptureFixture[str], words: str) -> None:
    assert add("--tz", "Europe/Berlin", "--missed=skip", *words.split()) == 0
    row = listed(capfd)
    kept = row["command"].replace("'", "").replace("  ", " ")
    assert (kept, row["folder"], row["targets"]) == (f"gossamer {words}", str(room), [])
    assert (row["zone"], row["missed_policy"]) == ("Europe/Berlin", "skip")


@pytest.mark.parametrize(
    ("words", "code", "told"),
    [
        ("prices run nosuch.csv", 2, "nosuch.csv: there is no such file"),
        ("prices run targets.csv --wihtin 5h", 2, "no option --wihtin (did you mean --within?)"),
        ("prices run targets.csv --within soon", 2, "--within 'soon'"),
        ("prices run targets.csv --delay 9000 --within 1s", 3, "give --partly"),
        (
            "prices run targets.csv --selectors nosuch.csv",
            4,
            "the table of selectors nosuch.csv cannot be read",
        ),
        ("prices run targets.csv --proxies nosuch.txt", 4, "--proxies nosuch.txt: No such file"),
        ("prices run targets.csv -s nosuch=1", 2, "there is no setting 'nosuch'"),
        ("keywords https://shop.example/ --ladder plian", 2, "there is no rung 'plian'"),
        ("audit https://shop.example/ -s nosuch=1", 2, "there is no setting 'nosuch'"),
        ("prices run", 2, "no TARGETS given; see gossamer prices run --help"),
        ("prices rn targets.csv", 2, "no command 'rn' (did you mean run?); see gossamer prices --help"),
        ("ranks run nosuch.csv", 2, "nosuch.csv: there is no such file"),
        ("ranks run k.csv --provider serpr", 4, "did you mean serper"),
        ("ranks run k.csv --ladder browser --provider serper", 2, "--ladder and --proxies belong to --own"),
        ("keywords nosuch.warc.gz", 2, "nosuch.warc.gz: there is no such file"),
        ("keywords https://shop.example/ --list nosuch.txt", 2, "nosuch.txt"),
        ("keywords https://shop.example/ -o words.xyz", 2, "words.xyz"),
        ("audit https://shop.example/ --fail-on all", 2, "--fail-on 'all': write one of error"),
        ("audit", 2, "no URL given; see gossamer audit --help"),
        ("audit https://shop.example/ --archive nosuch", 2, "nosuch"),
        ("clean --what nothing", 2, "--what 'nothing': unknown part"),
        ("clean --older soon", 2, "--older 'soon'"),
        (
            "prices run targets.csv --tz Europe/Berlin",
            2,
            "--tz is an option of schedule add: write it before prices",
        ),
        ("--limit 5 prices run targets.csv", 2, "--limit is an option of a crawl"),
        ("-s delay=5 prices run targets.csv", 2, "-s is an option of a crawl"),
        ("--spread 1h prices run targets.csv", 2, "--spread is for crawls with several targets"),
        ("crawl https://shop.example/", 2, "without the word crawl"),
        ("status", 2, "a schedule cannot start gossamer status"),
        ("worker --lane http", 2, "a schedule cannot start gossamer worker"),
    ],
)
def test_a_wrong_command_is_refused_when_it_is_added(
    room: Path, capfd: pytest.CaptureFixture[str], words: str, code: int, told: str
) -> None:
    before = sorted(path.name for path in room.rglob("*"))
    assert add(*words.split()) == code
    assert told in capfd.readouterr().err.splitlines()[-1]
    assert sorted(path.name for path in room.rglob("*")) == before, "nothing is written"


@pytest.mark.parametrize(
    ("target", "told"),
    [
        (
            "targets.csv",
            "of price targets, not of pages to crawl: gossamer schedule add n @daily prices run targets.csv",
        ),
        ("targets.jsonl", "gossamer schedule add n @daily prices run targets.jsonl"),
        (
            "k.csv",
            "k.csv is a list of keywords, not of pages to crawl: gossamer schedule add n @daily ranks run k.csv",
        ),
        ("words.txt", "words.txt contains no URL; line 1: 'bees'"),
        ("prices.db", "prices.db contains no URL"),
    ],
)
def test_a_list_without_pages_to_crawl_is_refused(
    room: Path, capfd: pytest.CaptureFixture[str], target: str, told: str
) -> None:
    with sqlite3.connect(room / "prices.db") as base:
        base.execute("CREATE TABLE a (b)")
    base.close()
    assert add(target) == 2
    err = capfd.readouterr().err
    assert told in err
    assert err.count("\n") == 1


@pytest.mark.parametrize("target", ["urls.csv", "urls.txt", "half.txt", "https://shop.example/targets.csv"])
def test_a_list_of_pages_is_accepted(room: Path, capfd: pytest.CaptureFixture[str], target: str) -> None:
    assert add(target, "-o", "{run}.jsonl") == 0
    assert "command" not in listed(capfd)


def test_a_folder_with_the_name_of_a_command(room: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (room / "prices").mkdir()
    (room / "prices" / "shop.py").write_text(
        'from gossamer import Site\nsite = Site("shop", seeds=["https://shop.example/"])\n@site.page()\ndef page(page):\n    yield from ()\n'
    )
    assert add("./prices") == 0
    assert listed(capfd)["targets"] == [str(room / "prices")]


def test_a_command_in_the_foreground_and_its_history(room: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert add("prices", "plan", "targets.csv", "--delay", "5") == 0
    assert run(["schedule", "run", "n"]) == 0
    assert "shop.example" in capfd.readouterr().out
    assert add("prices", "plan", "targets.csv", "--delay", "5000", "--within", "1h") == 0
    assert run(["schedule", "run", "n"]) == 3
    capfd.readouterr()
    assert run(["schedule", "runs", "n", "--json"]) == 0
    last, first = [json.loads(line) for line in capfd.readouterr().out.splitlines()]
    assert (first["outcome"], first["exit_code"], first["meaning"]) == ("finished", 0, "done")
    assert (last["outcome"], last["exit_code"], last["meaning"]) == ("failed", 3, "the plan does not fit")
    assert run(["schedule", "runs", "n", "--limit", "1"]) == 0
    shown = capfd.readouterr()
    assert "failed 3" in shown.out
    assert "finished" not in shown.out
    assert run(["schedule", "list"]) == 0
    shown = capfd.readouterr()
    assert "failed 3" in shown.out
    assert "n: exit code 3 (the plan does not fit)" in shown.err


def test_each_exit_code_of_the_documentation_has_a_short_meaning() -> None:
    from gossamer.model.exit_codes import EXIT_CODES

    text = (Path(__file__).parents[2] / "docs" / "commands.md").read_text().partition("## Exit codes")[2]
    rows = [
        line.split("|")[1].strip() for line in text.partition("## ")[0].splitlines() if line.startswith("| ")
    ]
    assert [int(code) for code in rows if code.isdigit()] == list(EXIT_CODES)
