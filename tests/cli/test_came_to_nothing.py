# ruff: noqa: F811 - pytest takes fixtures by their names
"""If a known cause leaves a crawl without results, the exit code is 5, and the last line names the cause."""

from __future__ import annotations

from pathlib import Path

import pytest

from cli.command_line import gossamer
from cli.conftest import room, web  # noqa: F401 - fixtures

SITE = """
from gossamer import Item, Site

site = Site("s", hosts=["{host}"], seeds=lambda args: "{web}/" + args["page"], args={{"page": "1"}})


class Thing(Item):
    number: int


@site.page()
def page(page):
    yield None
    {code}
"""


def put(room: Path, web: str, code: str) -> None:
    (room / "s.py").write_text(SITE.format(web=web, host=web.removeprefix("http://"), code=code))


def test_robots_txt_allows_nothing(room: Path, web: str) -> None:
    code, _, err = gossamer(room, "crawl", f"{web}/secret/", "--scope", "page")
    assert code == 5, err
    assert "robots.txt does not allow the URL" in err.splitlines()[-1]


@pytest.mark.parametrize(
    ("code", "why"),
    [
        ("raise ValueError('x')", "the site file cannot parse the page"),
        ("yield Thing(number='many')", "all 1 items were rejected"),
    ],
)
def test_the_site_file_gives_nothing(room: Path, web: str, code: str, why: str) -> None:
    put(room, web, code)
    found, _, err = gossamer(room, "crawl", "s.py")
    assert found == 5, err
    assert why in err.splitlines()[-1]


def test_seeds_follow_from_arguments_and_none_is_nothing(room: Path, web: str) -> None:
    put(room, web, "yield {'url': page.url}")
    code, out, err = gossamer(room, "crawl", "s.py", "-a", "page=7", "-o", "-", "--delay", ".1")
    assert code == 0, err
    assert f'"url":"{web}/7"' in out
    put(room, web, "yield {}")
    (room / "s.py").write_text((room / "s.py").read_text().replace('args["page"]', 'args["pag"]'))
    code, _, err = gossamer(room, "crawl", "s.py")
    assert code == 4
    assert "seeds(args): KeyError" in err


@pytest.mark.parametrize("words", [["-h"], ["help"], ["help", "crawl"], ["crawl", "-h"], ["dead", "-h"]])
def test_help_is_where_people_look_for_it(room: Path, words: list[str]) -> None:
    code, out, _ = gossamer(room, *words)
    assert code == 0
    assert out.startswith("Usage: gossamer")
