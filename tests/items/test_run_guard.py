"""A run that is not like the last good runs ends with exit code 31, and nothing is concluded from it until a
person accepts it. The rules are tested in tests/model/test_run_guard.py."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from gossamer.app.accept import accept
from gossamer.app.job import Job
from gossamer.app.outcome import error_of
from gossamer.app.runner import crawl
from gossamer.cli.crawl import print_end
from gossamer.config.settings import Settings
from gossamer.errors import UnlikeGoodRuns, UsageError
from gossamer.model.summary import Summary
from items.test_absence import FULL, SITE, Day, Shop, command, job, live, serving, without

FEW = without(*(f"{n:02}" for n in range(8, 30)))
"""Fewer products than a run may lose in the first week."""


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[Shop]:
    with serving() as made:
        made.day = Day(FULL)
        (tmp_path / "shop.py").write_text(SITE.format(url=made.url))
        yield made


def changed(one: Job, **settings: object) -> Job:
    one.settings = msgspec.structs.replace(one.settings, **settings)
    return one


async def night(one: Job, nights: int = 1) -> tuple[int, Summary]:
    for _ in range(nights):
        end = await crawl(one)
    return print_end(end, False, one, {"quiet": True, "json": False, "refresh": False}), end


async def test_nothing_is_concluded_from_an_unlike_run_until_it_is_accepted(
    tmp_path: Path, shop: Shop, capsys: pytest.CaptureFixture[str]
) -> None:
    output = tmp_path / "out.sqlite"
    one = job(tmp_path, str(output))
    assert (await night(one, 3))[0] == 0
    with pytest.raises(UsageError, match="needs no decision"):
        await accept(one.settings, "c")
    shop.day = Day(FEW)
    for _ in range(2):  # a bad night is no good run for the next one
        capsys.readouterr()
        code, end = await night(one)
        said = capsys.readouterr().err
        assert (code, end.gone, len(live(output))) == (31, 0, 30)
        assert (
            "not like the last 3 good runs: shop: 8 pages of template product were read, 30 usually" in said
        )
        assert f"for example {shop.url}/p/" in said
        assert said.count("\n") == 1
        assert "gossamer accept c" in said
    error = error_of(one, end)
    assert isinstance(error, UnlikeGoodRuns)
    assert error.exit_code == 31
    await accept(one.settings, "c")
    with pytest.raises(UsageError, match="needs no decision"):
        await accept(one.settings, "c")
    assert (await night(one))[0] == 0  # the accepted run is one of the good ones


async def test_accepting_marks_what_is_gone_and_stores_what_was_held(tmp_path: Path, shop: Shop) -> None:
    output = tmp_path / "out.sqlite"
    (tmp_path / "shop.py").write_text(SITE.format(url=shop.url).replace("complete=True", "complete=1.0"))
    one = job(tmp_path, str(output))
    await night(one, 3)
    shop.day = Day(FEW)
    assert (await night(one))[0] == 31
    code, out, err = await asyncio.to_thread(command, tmp_path, "accept", "c", "--data", "data")
    assert (code, out) == (0, "")
    assert "0 new, 0 changed, 22 gone" in err
    assert len(live(output)) == 8


async def test_a_lost_field_is_told_with_its_template_and_a_page(
    tmp_path: Path, shop: Shop, capsys: pytest.CaptureFixture[str]
) -> None:
    one = job(tmp_path, str(tmp_path / "out.jsonl"))
    await night(one, 3)
    shop.day = Day(FULL, products="redesign")
    assert (await night(one))[0] == 31
    said = capsys.readouterr().err
    assert "shop: field product.price in 0% of 30 items, 100% usually, template product, " in said
    assert f"for example {shop.url}/p/" in said


async def test_runs_that_are_not_comparable_are_not_compared(tmp_path: Path, shop: Shop) -> None:
    output = str(tmp_path / "out.jsonl")
    await night(job(tmp_path, output), 3)
    shop.day = Day(FEW)
    assert (await night(changed(job(tmp_path, output), limit=500)))[0] == 0
    assert (await night(changed(job(tmp_path, output), guard="off")))[0] == 0
    assert (await night(changed(job(tmp_path, output), host_pages=1000)))[0] == 0
    path = tmp_path / "shop.py"
    path.write_text(f"{path.read_text()}# another version\n")
    assert (await night(job(tmp_path, output)))[0] == 0


async def test_a_list_of_urls_is_compared_too(tmp_path: Path, shop: Shop) -> None:
    one = job(tmp_path, str(tmp_path / "out.jsonl"))
    one.targets = [f"{shop.url}/"]
    await night(one, 3)
    shop.day = Day(FULL, listing="403")
    code, end = await night(one)
    assert (code, end.reason) == (31, "not like the last 3 good runs: no page was read, 31 usually")
    await accept(one.settings, "c")
    assert (await night(one))[0] == 0


def test_accepting_a_crawl_that_does_not_exist_makes_no_folder(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="there is no crawl"):
        asyncio.run(accept(Settings(data=str(tmp_path / "data")), "nobody"))
    assert list(tmp_path.iterdir()) == []
