"""Pages whose class names or ids have all been replaced."""

from __future__ import annotations

import random
import re

import pytest

from gossamer.parsing.ranks import result_page
from parsing.ranks.ranks_pages import GOOGLE_ERAS, SITES, bing, bing_items, google, organics

PAGES = {("google", era): make() for era, make in GOOGLE_ERAS.items()} | {
    ("bing", "2026"): bing(bing_items())
}


def renamed(body: bytes, attribute: str, seed: int | None) -> bytes:
    """Replaces each class name or id of a page by a new one, or, with a `seed`, by another one of the
    page."""
    text = body.decode()
    values = re.compile(rf"(\s{attribute}=)([\"'])(.*?)\2")
    names = sorted({name for found in values.finditer(text) for name in found[3].split()})
    others = [f"x{number}" for number in range(len(names))]
    if seed is not None:
        others = names[:]
        random.Random(seed).shuffle(others)
    new = dict(zip(names, others, strict=True))
    return values.sub(
        lambda found: f'{found[1]}"{" ".join(new[one] for one in found[3].split())}"', text
    ).encode()


@pytest.mark.parametrize(("engine", "era"), PAGES)
@pytest.mark.parametrize("seed", [None, 1, 2])
def test_new_class_names_cost_no_result(engine: str, era: str, seed: int | None) -> None:
    page = result_page(renamed(PAGES[engine, era], "class", seed), engine)
    ranked = [one.url for one in page.results if one.rank]
    # without any known class, the heading alone identifies an old featured snippet
    assert ranked == list(SITES)


@pytest.mark.parametrize(("engine", "era"), PAGES)
@pytest.mark.parametrize("seed", [None, 1, 2, 3, 4, 5])
def test_new_ids_give_a_verdict_and_no_wrong_position(engine: str, era: str, seed: int | None) -> None:
    page = result_page(renamed(renamed(PAGES[engine, era], "class", seed), "id", seed), engine)
    ranked = [one.url for one in page.results if one.rank]
    if page.writes_positions:
        assert ranked == list(SITES)
    else:
        assert (page.verdict, ranked) == ("layout_unknown", [])


@pytest.mark.parametrize("name", [b"usJj9c", b"sld", b"oIk2Cb"])
def test_a_result_with_a_class_name_of_sitelinks_keeps_its_rank(name: bytes) -> None:
    whole = google(f"<div>{organics()}</div>")
    first, second, *rest = whole.split(b'"yuRUbf"')
    body = b'"yuRUbf"'.join([first, second + b'"yuRUbf ' + name + b'"' + rest[0], *rest[1:]])
    page = result_page(body, "google")
    assert [one.url for one in page.results if one.rank] == list(SITES)
