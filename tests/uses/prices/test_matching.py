"""Identifiers, vetoes and scores of pairs of products."""

from __future__ import annotations

import pytest

from gossamer.uses.prices import matching
from gossamer.uses.prices.matching import Product, certain_match, conflict, normal_gtin


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("4006381333931", "04006381333931"),
        ("04006381333931", "04006381333931"),
        ("400 638133-3931", "04006381333931"),
        ("gtin13:4006381333931", "04006381333931"),
        ("036000291452", "00036000291452"),
        ("96385074", "00000096385074"),
        ("4006381333932", ""),  # wrong check digit
        ("400638133393", ""),
        ("0000000000000", ""),
        ("2012345678900", ""),  # an in-store number with a price or weight
        ("0212345678904", ""),
        ("0412345678902", ""),
        ("9912345678908", ""),  # a coupon
        ("20123451", ""),  # an in-store GTIN-8
        ("90614141000415", ""),  # a variable weight
        ("5901234123457", ""),  # an example number from documentation
        ("", ""),
        ("abc", ""),
        ("٤٠٠٦٣٨١٣٣٣٩٣١", ""),
    ],
)
def test_a_gtin_is_checked_and_padded(text: str, expected: str) -> None:
    assert normal_gtin(text) == expected


def test_equal_gtins_match_whatever_the_length() -> None:
    one, other = Product("Pens", gtin="036000291452"), Product("Stifte", gtin="0036000291452")
    assert certain_match(one, other) == "gtin"
    assert certain_match(one, Product("Pens", gtin="4006381333931")) == ""


def test_model_numbers_match_only_with_the_brand() -> None:
    one = Product("Camera", brand="Sony", mpn="DSC-W170")
    assert certain_match(one, Product("Kamera", brand="SONY", mpn="dscw170")) == "mpn"
    assert certain_match(one, Product("Kamera", brand="Canon", mpn="DSC-W170")) == ""
    assert certain_match(one, Product("Kamera", mpn="DSC-W170")) == ""


@pytest.mark.parametrize("mpn", ["12", "NEW", "000000", "black"])
def test_numbers_that_identify_nothing_do_not_match(mpn: str) -> None:
    one = Product("Camera", brand="Sony", mpn=mpn)
    assert certain_match(one, one) == ""


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ("Tea 100 g", "Tea 0,1 kg", ""),
        ("Tea 100 g", "Tea 250g", "quantity"),
        ("Water 6 x 1,5 l", "Water 9 l", ""),
        ("Water 1.5l x 6", "Water 6x1.5l", ""),
        ("Water 6 x 1,5 l", "Water 1,5 l", "quantity"),
        ("Socks 3er Pack", "Socks", "quantity"),
        ("Socks, pack of 3", "Socks 3 pcs", ""),
        ("Phone 64 GB", "Phone 128GB", "quantity"),
        ("Phone", "Phone 128GB", ""),
    ],
)
def test_another_quantity_is_a_veto(one: str, other: str, expected: str) -> None:
    left, right = Product(one, gtin="4006381333931"), Product(other, gtin="4006381333931")
    assert conflict(left, right) == conflict(right, left) == expected
    assert certain_match(left, right) == ("" if expected else "gtin")


def test_another_model_number_is_a_veto() -> None:
    one, other = Product("Drill", mpn="GSB-13"), Product("Drill", mpn="GSR 12")
    assert conflict(one, other) == "mpn"
    assert conflict(one, Product("Drill", mpn="GSB 13 RE")) == ""


def test_the_score_prefers_the_same_product() -> None:
    names = [
        "Sony Cyber-shot DSC-W170 digital camera silver",
        "Sony silver cybershot camera dscw170",
        "Sony Cyber-shot DSC-W90 digital camera black",
        "Bosch GSB 13 RE impact drill",
    ]
    vocabulary = matching.Vocabulary(names)
    first, *others = [matching.prepare(Product(name), vocabulary) for name in names]
    same, sibling, unrelated = [matching.score(first, other) for other in others]
    assert same > 0.5 > sibling
    assert unrelated < 0.05
    assert matching.score(others[0], first) == same


def test_names_without_words_have_a_score() -> None:
    vocabulary = matching.Vocabulary([])
    empty = matching.prepare(Product(""), vocabulary)
    assert 0 <= matching.score(empty, matching.prepare(Product("½ ☃ 茶 500g", price=0.0), vocabulary)) <= 1
