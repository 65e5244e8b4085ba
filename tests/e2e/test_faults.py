"""Injects faults of all kinds into crawls. No page may be missing or duplicate, no fault may be silent,
and no process may be left behind. benchmarks/faults.py injects two hundred faults."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from e2e import faults
from e2e.faulted_crawl import line_of, trial
from e2e.output_oracle import FOREIGN, judge
from gossamer import url as urls
from web import preset

GROUPS = {
    "killed": ("kill_all", "kill_written", "kill_store", "kill_torn", "kill_settled"),
    "stopped": ("store_stands", "door_stands", "second_door", "ctrl_c"),
    "moved": ("moved", "moved_data", "copied", "restored_both"),
    "store": ("aof_torn", "run_json_junk", "attempts_junk", "locks_gone"),
    "output": ("output_torn", "output_gone", "output_of_others", "row_removed"),
}


@pytest.mark.skipif(sys.platform != "linux", reason="processes are found by /proc")
@pytest.mark.parametrize("group", GROUPS)
def test_nothing_is_lost_twice_or_silent(tmp_path: Path, group: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(faults, "pauses", faults.SHORT)
    dealt = [(number, kind, faults.FAULTS[kind]) for number, kind in enumerate(GROUPS[group])]
    said: list[str] = []
    struck = trial(
        tmp_path, 1 + list(GROUPS).index(group), dealt, len(dealt), pages=50, disk=False, say=said.append
    )
    assert [line_of(strike) for strike in struck if strike.wrong()] == [], "\n".join(said)
    assert [strike.kind for strike in struck] == list(GROUPS[group])


def test_the_oracle_sees_what_is_missing_twice_foreign_and_broken(tmp_path: Path) -> None:
    plan = preset("tiny", pages=5, port=80)
    pages = sorted(plan.must_fetch(sitemaps=False))
    rows = [json.dumps({"requested_url": page, "status": 200, "error": None}) for page in pages]
    refused = json.dumps({"requested_url": pages[3], "status": None, "error": "connect"})
    out = tmp_path / "out.jsonl"
    out.write_text("\n".join([*rows, FOREIGN, ""]))
    assert judge(tmp_path, ["jsonl"], plan).exact()
    out.write_text("\n".join([rows[0], rows[0], rows[1], '{"torn', refused, ""]))
    verdict = judge(tmp_path, ["jsonl"], plan)
    assert verdict.lost() == {str(urls.canonical(page)) for page in (pages[2], pages[3], pages[4])}
    assert verdict.twice() == {str(urls.canonical(pages[0])): 1}
    assert verdict.broken == ["jsonl: line 4 is broken"]
    assert not verdict.exact()
    assert "csv cannot be read" in judge(tmp_path, ["csv"], plan).broken[0]
