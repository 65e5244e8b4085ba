"""Tests of `gossamer prices alert`, `rules`, `failing` and `shops` on a small history."""

from __future__ import annotations

import json
import subprocess
import sys
from decimal import Decimal
from pathlib import Path

import pytest

from gossamer.uses.prices.history import History
from gossamer.uses.prices.model import Observation, OfferState, PriceTarget
from support import fork_server
from support.web_receiver import receiving

KEYS = ["a", "b", "c", "d"]


def called(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return fork_server.run(
        [sys.executable, "-m", "gossamer", "prices", *words],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )


def visit(history: History, time: float, **states: OfferState) -> None:
    """Record a run. Every target has a price, except the targets for which a state is given."""
    history.begin_run()
    history.record(
        [
            Observation(
                target=key,
                time=time,
                state=states.get(key, OfferState.PRICED),
                url="https://new.example/" if key in states else f"https://shop.example/{key}",
                price=None if key in states else Decimal("99.90"),
                currency="EUR",
            )
            for key in KEYS
        ]
    )
    history.end_run()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with a history of two runs, in which one target moved to a new URL."""
    with History(str(tmp_path / "prices.db")) as history:
        history.list_targets(
            [
                PriceTarget(key=key, url=f"https://shop.example/{key}", shop="shop.example", tags=("t",))
                for key in KEYS
            ]
        )
        visit(history, 1.0)
        visit(history, 2.0, b=OfferState.MOVED)
    (tmp_path / "rules.toml").write_text(
        '[rules.cheap]\nwhen = "below 100"\n[rules.none]\nwhen = "gone"\ntag = "x"\n'
    )
    return tmp_path


def test_alert_sends_alerts_and_events_once(folder: Path) -> None:
    with receiving() as hook:
        words = ["alert", "-s", f"alerts={hook.url}", "-o", "changes.jsonl", "--json"]
        first, second = called(folder, *words), called(folder, *words)
    assert (first.returncode, second.returncode) == (0, 0), first.stderr
    told = json.loads(first.stdout)
    assert (len(told["alerts"]), told["sent"], told["events_sent"]) == (4, 4, 4)
    assert json.loads(second.stdout)["sent"] == 0
    assert "rule none can never fire: no target has the tag x; the targets have: t" in first.stderr
    assert len(hook.calls) == 1
    assert len((folder / "changes.jsonl").read_text().splitlines()) == 4


def test_a_receiver_that_refuses_is_exit_code_9(folder: Path) -> None:
    with receiving([503]) as hook:
        found = called(folder, "alert", "-s", f"alerts={hook.url}")
    assert found.returncode == 9
    assert "answers 503; its alerts are sent next time" in found.stderr
    assert "4 new alerts, 0 sent" in found.stdout


def test_rules_are_checked(folder: Path) -> None:
    found = called(folder, "rules", "--json")
    rows = json.loads(found.stdout)
    assert [(row["rule"], row["targets"]) for row in rows] == [("cheap", "4"), ("none", "0")]
    assert rows[1]["can never fire"].startswith("no target has the tag x")
    (folder / "bad.toml").write_text('[rules.a]\nwhen = "under 5"\n')
    bad = called(folder, "rules", "bad.toml")
    assert bad.returncode == 4
    assert "bad.toml, line 2, column 9: rule a: 'under' is not understood" in bad.stderr


def test_failing_targets_as_table_and_list(folder: Path) -> None:
    assert "https://new.example/" in called(folder, "failing").stdout
    lines = called(folder, "failing", "--csv", "--state", "moved").stdout.splitlines()
    assert lines[1].startswith(
        "b,https://new.example/,https://shop.example/b,shop.example,moved,1970-01-01T00:00:02Z"
    )
    assert called(folder, "failing", "--runs", "2").stdout.count("\n") == 1
    assert called(folder, "failing", "--state", "odd").returncode == 2


def test_shops_and_accepting(folder: Path) -> None:
    assert "shop.example  ok" in called(folder, "shops").stdout
    assert (
        "shop.example: 1 held value taken over" in called(folder, "shops", "--accept", "shop.example").stdout
    )
    assert called(folder, "shops", "--accept", "other").returncode == 2


def test_no_history_says_what_to_do(tmp_path: Path) -> None:
    found = called(tmp_path, "failing")
    assert found.returncode == 2
    assert "gossamer prices run TARGETS" in found.stderr


def test_wrong_rules_of_targets_are_told_before_a_run(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("url,key,rules\nhttps://a.example/,k,bellow 3\n")
    done = called(tmp_path, "plan", "t.csv")
    assert done.returncode == 0
    assert "target k, rule 'bellow 3', column 1" in done.stderr
    assert "1 page of 1 host" in done.stdout


def test_a_missing_file_of_rules_is_told(tmp_path: Path) -> None:
    done = called(tmp_path, "rules")
    assert done.returncode == 4
    assert "rules.toml: there is no such file" in done.stderr
