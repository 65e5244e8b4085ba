"""A page that lacks what its site must have is a failed visit: it is retried, and then becomes a dead letter."""

from __future__ import annotations

from pathlib import Path

import pytest

from e2e.runs import job
from e2e.test_breakers import Ill, serving
from gossamer.app.runner import crawl

SITE = """
from gossamer import Site

site = Site("shop", seeds=[{seeds}], must_have=["title", "{wanted}"])


@site.page("")
def read(page):
    yield {{"title": page.css("title::text").get()}}
"""


@pytest.mark.parametrize(("wanted", "found"), [("p.price", {"missing": 2}), ("title", {})])
async def test_a_page_without_what_its_site_must_have_is_retried_and_then_dead(
    tmp_path: Path, wanted: str, found: dict[str, int]
) -> None:
    site, ill = tmp_path / "shop.py", Ill(lambda n: 200)
    async with serving(ill) as origin:
        seeds = ", ".join(f'"{origin}/{n}"' for n in range(2))
        site.write_text(SITE.format(seeds=seeds, wanted=wanted))
        summary = await crawl(job([str(site)], tmp_path, delay=(0.0, 0.0), retries=(0.1,)))
    assert summary.errors == found
    dead = sum(found.values())
    assert (summary.dead, summary.items, summary.retried) == (dead, 2 - dead, dead)
    assert len(ill.asked) == 2 + dead
    assert summary.adds_up()
