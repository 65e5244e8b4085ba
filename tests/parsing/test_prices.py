"""Prices as people write them."""

from __future__ import annotations

import gzip
import json
from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gossamer.parsing.prices import Price, price

DATA = Path(__file__).resolve().parents[3] / "shared" / "data" / "price-strings.jsonl.gz"
AMOUNTS = [
    ("22,90 €", "22.90", "EUR"), ("£1,299.00", "1299.00", "GBP"), ("1.299,00 €", "1299.00", "EUR"), ("$ 4,999", "4999", "USD"),
    ("1 299 kr", "1299", "SEK"), ("1\u202f299,50 €", "1299.50", "EUR"), ("CHF 1'299.50", "1299.50", "CHF"),
    ("R$ 1.299", "1299", "BRL"), ("US$12.5", "12.5", "USD"), ("¥12000", "12000", "JPY"), ("0,5 zł", "0.5", "PLN"),
    (".99 USD", "0.99", "USD"), ("35€ 99", "35.99", "EUR"), ("-5.00 €", "-5.00", "EUR"), ("€0.999", "0.999", "EUR"),
    ("1,299,000 RUB", "1299000", "RUB"), ("2 for £3.50", "3.50", "GBP"), ("Price: 12.00 (was 15.00)", "12.00", None),
    ("free", "0", None), ("gratis", "0", None), ("12", "12", None),
]  # fmt: skip


@pytest.mark.parametrize(("text", "amount", "iso"), AMOUNTS)
def test_amounts(text: str, amount: str, iso: str | None) -> None:
    found = price(text)
    assert found is not None
    assert (found.amount, found.iso) == (Decimal(amount), iso)


@pytest.mark.parametrize("text", ["", None, "sold out", "call us", "..", "-", ",", "\n"])
def test_no_price(text: str | None) -> None:
    assert price(text) is None


def test_hints() -> None:
    assert price("12.50", currency="EUR") == Price(Decimal("12.50"), "EUR", "EUR")
    assert price("$12.50", currency="CAD") == Price(Decimal("12.50"), "CAD", "CAD")  # a bare $ is many
    assert price("12,50 €", currency="price") == Price(Decimal("12.50"), "€", "EUR")
    assert price("1.299", decimal=".") == Price(Decimal("1.299"), None, None)
    assert price("1,299", decimal=",") == Price(Decimal("1.299"), None, None)
    assert price("€") == Price(None, "€", "EUR")


def test_the_suite() -> None:
    if not DATA.exists():
        pytest.skip("the shared data is not here")
    with gzip.open(DATA, "rt") as lines:
        rows = [json.loads(line) for line in lines]
    right = 0
    for row in rows:
        found = price(row["text"], row["hint"], row["decimal_separator"])
        right += (found.amount if found else None) == (None if row["amount"] is None else Decimal(row["amount"]))
    assert len(rows) == 589
    assert right >= 570


@settings(max_examples=300, deadline=None)
@given(st.text(alphabet="0123456789., '€$£-+eERMk\u00a0\u202f٬٫½Ⅷ٣", max_size=60))
def test_any_text_is_answered(text: str) -> None:
    found = price(text)
    assert found is None or found.amount is None or found.amount.is_finite()


@pytest.mark.parametrize(
    "text", ["1" * 100_000, "1." * 50_000, "1 " * 50_000, "-" * 100_000, "," * 100_000, "$ " * 50_000, " 1€" * 3_000]
)
def test_long_texts_take_no_longer_than_they_are(text: str) -> None:
    price(text)
