"""Matches between the offers of a history, on both databases."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from gossamer.uses.prices import offer_rows, series
from gossamer.uses.prices.changes import Offer
from gossamer.uses.prices.history import History
from gossamer.uses.prices.match_offers import decide, list_open, match_offers, reopen
from gossamer.uses.prices.model import PriceTarget
from gossamer.uses.prices.product_groups import Groups
from gossamer.uses.prices.report import list_products
from gossamer.uses.prices.target_filter import TargetFilter

PENS, KETTLE = "4006381333931", "036000291452"
CAMERA = "Sony Cyber-shot DSC-W170 digital camera silver"


def fill(history: History, *offers: dict[str, Any], **products: str) -> None:
    """Writes offers. The key `a1` belongs to shop `a`. `products` are product ids by key."""
    history.list_targets(
        [
            PriceTarget(
                key=one["key"],
                url=f"https://{one['key'][0]}.example/{one['key']}",
                shop=f"{one['key'][0]}.example",
                product=products.get(one["key"], ""),
            )
            for one in offers
        ]
    )
    rows = []
    for number, one in enumerate(offers):
        offer = Offer(
            id=offer_rows.offer_id(one["key"], ""), target=one["key"], shop=f"{one['key'][0]}.example"
        )
        offer.price, offer.currency, offer.state = Decimal(20 + number), "EUR", "priced"
        for name, value in one.items():
            if name != "key":
                setattr(offer, name, value)
        rows.append(offer)
    with history.database.transaction():
        offer_rows.write_offers(history.database, rows)


def offer(key: str, name: str, **values: str) -> dict[str, Any]:
    return {"key": key, "name": name, **values}


def stored(history: History, decision: str = "same") -> list[tuple[str, str, str]]:
    return [
        tuple(row)
        for row in history.database.rows(
            "SELECT one, other, reason FROM price_matches WHERE decision = ? ORDER BY one, other", [decision]
        )
    ]


def test_equal_identifiers_match_automatically(history: History) -> None:
    fill(
        history,
        offer("a1", "Pens", gtin=PENS),
        offer("b1", "Stifte", gtin=f"0{PENS}"),
        offer("c1", "Stylos", gtin=PENS),
        offer("a2", "Camera", brand="Sony", mpn="DSC-W170"),
        offer("b2", "Kamera", brand="SONY", mpn="dscw170"),
        offer("c2", "Weight", gtin="2012345678900"),
        offer("d2", "Weighed", gtin="2012345678900"),
    )
    found = match_offers(history, 1.0)
    assert stored(history) == [("a1", "b1", "gtin"), ("a1", "c1", "gtin"), ("a2", "b2", "mpn")]
    assert (found.offers, found.gtin, found.mpn, found.decided) == (7, 2, 1, 0)
    assert match_offers(history, 2.0) == found


def test_targets_of_one_shop_never_match(history: History) -> None:
    fill(history, offer("a1", "Pens", gtin=PENS), offer("a2", "Pens", gtin=PENS))
    assert match_offers(history, 1.0).gtin == 0
    assert list_open(history) == []


def test_a_contradiction_goes_to_a_person(history: History) -> None:
    fill(
        history,
        offer("a1", "Tea 100 g", gtin=PENS),
        offer("b1", "Tea 100g", gtin=PENS),
        offer("c1", "Tea 250 g", gtin=PENS),
    )
    match_offers(history, 1.0)
    assert stored(history) == [("a1", "b1", "gtin")]
    (pair,) = list_open(history)
    assert (pair.one, pair.other, pair.reason, pair.conflict) == ("a1", "c1", "gtin", "quantity")


def test_nothing_joins_two_quantities(history: History) -> None:
    fill(
        history,
        offer("a1", "Tea 100 g", gtin=PENS),
        offer("b1", "Tea", gtin=PENS),
        offer("c1", "Tea 250 g", gtin=PENS),
    )
    match_offers(history, 1.0)
    assert stored(history) == []
    assert {(pair.one, pair.other) for pair in list_open(history)} == {("a1", "b1"), ("b1", "c1")}


def test_an_identifier_used_twice_in_a_shop_is_doubtful(history: History) -> None:
    fill(
        history,
        offer("a1", "Pens red", gtin=PENS),
        offer("a2", "Pens blue", gtin=PENS),
        offer("b1", "Pens red", gtin=PENS),
        offer("c1", "Pens", gtin=PENS),
    )
    match_offers(history, 1.0)
    assert stored(history) == [("b1", "c1", "gtin")]
    assert {(pair.one, pair.other) for pair in list_open(history)} == {("a1", "b1"), ("a2", "b1")}


def test_an_identifier_of_a_whole_shop_means_nothing(history: History) -> None:
    same = [offer(f"a{number}", f"Thing {number}", gtin=PENS) for number in range(400)]
    fill(history, *same, offer("b1", "Pens", gtin=PENS), offer("c1", "Stifte", gtin=PENS))
    match_offers(history, 1.0)
    assert stored(history) == [("b1", "c1", "gtin")]
    assert list_open(history) == []


def test_model_numbers_do_not_join_two_gtins(history: History) -> None:
    fill(
        history,
        offer("a1", "Camera", brand="Sony", mpn="W170", gtin=PENS),
        offer("b1", "Camera", brand="Sony", mpn="W170"),
        offer("c1", "Camera", brand="Sony", mpn="W170", gtin=KETTLE),
    )
    match_offers(history, 1.0)
    assert stored(history) == []


@pytest.fixture
def cameras(history: History) -> History:
    fill(
        history,
        offer("a1", CAMERA),
        offer("b1", "Sony silver cybershot camera dscw170"),
        offer("c1", "Bosch GSB 13 RE impact drill"),
        offer("b2", "Garden hose 20 m green"),
    )
    match_offers(history, 1.0)
    return history


def test_similar_names_wait_for_a_person(cameras: History) -> None:
    (pair,) = list_open(cameras)
    assert (pair.one, pair.other, pair.reason, pair.conflict) == ("a1", "b1", "score", "")
    assert pair.score > 0.5
    assert pair.names[0] == CAMERA
    assert pair.shops == ("a.example", "b.example")
    assert stored(cameras) == []


@pytest.mark.parametrize("decision", ["same", "different", "later"])
def test_a_decision_stays_and_is_never_asked_again(cameras: History, decision: str) -> None:
    decide(cameras, [("b1", "a1", decision)], 2.0)
    found = match_offers(cameras, 3.0)
    assert list_open(cameras) == []
    assert stored(cameras, decision) == [("a1", "b1", "review")]
    assert (found.decided, found.open) == (1, 0)
    assert len(list_open(cameras, later=True)) == (decision == "later")


def test_different_outranks_an_equal_gtin(history: History) -> None:
    fill(history, offer("a1", "Pens", gtin=PENS), offer("b1", "Pens", gtin=PENS))
    decide(history, [("a1", "b1", "different")], 1.0)
    match_offers(history, 2.0)
    assert stored(history) == []
    assert list_open(history) == []


def test_a_decision_is_taken_back(cameras: History) -> None:
    (pair,) = list_open(cameras)
    decide(cameras, [(pair.one, pair.other, "different")], 2.0)
    reopen(cameras, pair)
    assert list_open(cameras) == [pair]


def test_an_unknown_decision_is_refused(cameras: History) -> None:
    with pytest.raises(ValueError, match="perhaps"):
        decide(cameras, [("a1", "b1", "perhaps")], 2.0)
    assert len(list_open(cameras)) == 1


def test_a_match_is_gone_when_the_identifier_is(history: History) -> None:
    fill(history, offer("a1", "Pens", gtin=PENS), offer("b1", "Stifte", gtin=PENS))
    match_offers(history, 1.0)
    fill(history, offer("a1", "Pens", gtin=PENS), offer("b1", "Stifte"))
    match_offers(history, 2.0)
    assert stored(history) == []


def test_the_market_joins_matched_targets(history: History) -> None:
    offers = [
        offer("a1", "Pens", gtin=PENS),
        offer("b1", "Stifte", gtin=PENS),
        offer("c1", "Stylos"),
        offer("d1", "Lapices"),
        offer("a2", "Hose"),
    ]
    fill(history, *offers, b1="pens", c1="pens")
    assert [one.target for one in series.read_market(history.database, "pens")] == ["b1", "c1"]
    match_offers(history, 1.0)
    decide(history, [("c1", "d1", "same")], 2.0)
    for name in ("pens", "a1", "d1"):
        found = series.read_market(history.database, name)
        assert [(one.target, one.rank) for one in found] == [("a1", 1), ("b1", 2), ("c1", 3), ("d1", 4)]
    assert [one.target for one in series.read_market(history.database, "a2")] == ["a2"]
    assert series.read_market(history.database, "nothing") == []
    assert list_products(history) == ["pens"]
    assert list_products(history, chosen=TargetFilter(shop="d.example")) == ["pens"]
    assert list_products(history, chosen=TargetFilter(shop="e.example")) == []


def test_a_matched_product_without_an_id_has_the_name_of_a_target(history: History) -> None:
    fill(history, offer("a1", "Pens", gtin=PENS), offer("b1", "Stifte", gtin=PENS))
    assert list_products(history) == []
    match_offers(history, 1.0)
    assert list_products(history) == ["a1"]


def test_groups_are_merged() -> None:
    groups = Groups()
    for one, other in (("b", "c"), ("d", "e"), ("c", "d"), ("a", "b")):
        groups.join(one, other)
    assert {groups.find(key) for key in "abcde"} == {"a"}
    assert groups.find("f") == "f"
