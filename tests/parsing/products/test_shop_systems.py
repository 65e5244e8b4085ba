"""Product pages without structured data, as the themes of many shop systems write them."""

from __future__ import annotations

from pathlib import Path

import pytest

from gossamer.parsing.html import parse
from gossamer.parsing.products.pages import ProductPage

FILE = Path(__file__).with_name("shop_systems.txt")
PAGES = [part.split("\n", 3) for part in FILE.read_text("utf-8").split("\n== ")[1:]]


@pytest.mark.parametrize(("name", "url", "expected", "html"), PAGES, ids=[page[0] for page in PAGES])
def test_the_pages_of_shop_systems(name: str, url: str, expected: str, html: str) -> None:
    page = ProductPage(parse(html.encode(), "text/html; charset=utf-8", url))
    best = page.decision.price
    price = f"{best.amount.normalize():f}" if best else "-"
    wanted, currency, availability = expected.split()
    found = (price, (best and best.currency) or "-", page.record["availability"] or "-")
    from decimal import Decimal

    assert found == ("-" if wanted == "-" else f"{Decimal(wanted).normalize():f}", currency, availability)
