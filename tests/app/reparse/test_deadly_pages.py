"""If a stored page kills the process that reads it, `reparse` leaves this page out and reads the rest."""

from __future__ import annotations

import json
import os
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import msgspec
import pytest

from app.reparse.test_reparse import COUNT, SITE, place, reparse, stored  # noqa: F401 - the fixture
from gossamer.app.reparse import processes as working
from gossamer.errors import GossamerError
from gossamer.sinks.object_files import Objects


@pytest.mark.parametrize("processes", ["1", "2"])
def test_a_page_that_ends_its_process_is_left_out_and_the_rest_is_read(
    place: Path,  # noqa: F811
    processes: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(working, "BATCH_PAGES", 10)
    whole = reparse(capsys, "--archive", "plain", "--site", "shop.py")
    before = place / "before.jsonl"
    before.write_bytes(Path(whole["items_file"]).read_bytes())
    log = place / "deaths"
    deadly = SITE.replace(
        'if "broken" in page.url:',
        f"if page.url.endswith(('/p/12', '/p/19', '/p/44')):\n        open({str(log)!r}, 'a').write(page.url + '\\n')\n"
        "        __import__('os').kill(__import__('os').getpid(), 11)\n    if 'broken' in page.url:",
    )
    Path("shop.py").write_text(deadly)
    words = ["--archive", "plain", "--site", "shop.py", "--old", str(before), "--processes", processes]
    for _ in range(2):  # the first run leaves nothing behind that changes the second run
        log.unlink(missing_ok=True)
        told = reparse(capsys, *words, "--fresh")
        assert (told["pages"], told["items"], told["failed"]) == (COUNT, COUNT - 4, 4)
        assert told["reasons"]["it killed 2 processes that read it"] == 3
        assert (told["difference"]["removed"], told["difference"]["same"]) == (3, COUNT - 4)
        assert sorted(log.read_text().split()) == [
            f"http://shop.test/p/{n}" for n in (12, 12, 19, 19, 44, 44)
        ]
        kept = [json.loads(file.read_text()) for file in Path(told["kept"]).glob("*.json")]
        why = {one["url"].rpartition("/")[2]: one["why"] for one in kept}
        assert why.pop("broken").startswith("shop: ")
        assert why == dict.fromkeys(["12", "19", "44"], "it killed 2 processes that read it")


def test_a_stored_page_too_deep_for_the_parser_ends_one_process_at_most(
    place: Path,  # noqa: F811
    capsys: pytest.CaptureFixture[str],
) -> None:
    """turbohtml 1.15 crashes on this page, and a newer version of turbohtml may not crash."""
    row = stored(1)
    body = b"<a>" + b"<div>" * 506 + b"<table><td></tr>x<div><a>"
    row.data.exchange = msgspec.structs.replace(row.data.exchange, body=body)
    sink = Objects("deep")
    sink.close(sink.append(sink.prepare(), [stored(n) for n in (2, 3)] + [row]))
    told = reparse(capsys, "--archive", "deep", "--site", "shop.py")
    assert (told["pages"], told["items"], told["failed"]) == (3, 2, 1)
    (why,) = told["reasons"]
    assert "more than 400 deep" in why or "shop.py:" in why


def test_what_kills_a_process_between_pages_blames_none(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def make(note: working.BatchPosition) -> Any:
        def read(keys: Any) -> working.ParsedBatch:
            if keys[0] == "hit" and not (tmp_path / "hit").exists():
                (tmp_path / "hit").touch()
                os.kill(os.getpid(), 9)
            if keys[0] == "always":
                os.kill(os.getpid(), 9)
            return working.ParsedBatch(pages=len(keys))

        return nullcontext(read)

    assert [one.pages for one in working.read_in_processes([["a", "b"], ["hit"], ["c"]], 2, make)] == [
        2,
        1,
        1,
    ]
    with pytest.raises(GossamerError, match="no page was the cause"):
        list(working.read_in_processes([["a"], ["always"]], 2, make))
