"""Tests of interrupted `reparse` runs: the next run continues the interrupted run, or starts from scratch
if the arguments or the pages have changed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from app.reparse.test_reparse import COUNT, SITE, place, stored  # noqa: F401 - the fixture
from gossamer.app.reparse import processes, runner
from gossamer.model.page import Exchange
from gossamer.sinks.object_files import Objects
from gossamer.sites import load_all


def test_a_run_that_ended_while_it_wrote_goes_on_with_its_outputs_and_with_the_same_arguments_alone(
    place: Path,  # noqa: F811
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    Path("shop.py").write_text(SITE.replace('.test/"])', '.test/"], args={"of": "a"})'))
    owners, real = list[str](), runner.open_output

    def opened(*words: Any, **given: Any) -> Any:
        owners.append(given["owner"])
        return real(*words, **given)

    def ended(self: runner.ReparseRun, sink: Any, rows: Any) -> None:
        raise KeyboardInterrupt

    def again(**arguments: str) -> runner.ReparseResult:
        outputs = [("made.jsonl", False)]
        return runner.ReparseRun(
            place / "run", [place / "pages.warc.gz"], load_all(["shop.py"], arguments), outputs=outputs
        ).work()

    monkeypatch.setattr(runner, "open_output", opened)
    for of in ("a", "b"):
        with monkeypatch.context() as patch:
            patch.setattr(runner.ReparseRun, "_hand", ended)
            with pytest.raises(KeyboardInterrupt):
                again(of="a")
        again(of=of)
        assert (owners[-1] == owners[-2]) is (of == "a")


def test_a_run_that_begins_anew_and_ends_at_once_leaves_nothing_to_go_on_from(
    place: Path,  # noqa: F811
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(processes, "BATCH_PAGES", 5)
    monkeypatch.setattr(runner, "SAVE_INTERVAL_S", 0.0)
    sites, archive = load_all(["shop.py"]), [place / "pages.warc.gz"]

    def ended(*_: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(runner.ReparseRun, "_write", ended)
        with pytest.raises(KeyboardInterrupt):
            runner.ReparseRun(place / "run", archive, sites).work()
        patch.setattr(runner.ReparseRun, "_take", ended)
        with pytest.raises(KeyboardInterrupt):
            runner.ReparseRun(place / "run", archive, sites, fresh=True).work()
    told = runner.ReparseRun(place / "run", archive, sites).work()
    assert told.items == len((place / "run" / "items.jsonl").read_bytes().splitlines()) == COUNT - 1


def test_newer_answers_to_the_same_addresses_begin_a_run_anew(
    place: Path,  # noqa: F811
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    sites = load_all(["shop.py"])
    with monkeypatch.context() as patch:
        patch.setattr(runner.ReparseRun, "_write", lambda self: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            runner.ReparseRun(place / "run", [place / "plain"], sites).work()
    newer = stored(1)
    newer.data.at += 1e6
    was = newer.data.exchange
    newer.data.exchange = Exchange(was.sent, was.head, was.body.replace(b"Thing 1", b"Thing one"))
    more = Objects(str(place / "plain"))
    more.close(more.append(more.prepare(), [newer]))
    told = runner.ReparseRun(place / "run", [place / "plain"], sites).work()
    assert "Thing one" in Path(told.items_file).read_text()
