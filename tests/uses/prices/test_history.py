"""The price history on SQLite and PostgreSQL: changes that one visit holds back, and changes that a second
visit confirms."""

from __future__ import annotations

import sqlite3
import threading
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from gossamer.errors import ConfigError, DiskFull
from gossamer.parsing.products import PriceCandidate
from gossamer.uses.prices.history import History
from gossamer.uses.prices.model import Event, EventKind, Observation, OfferState, PriceTarget
from uses.prices.visits import failed, run, seen, target

KEYS = [f"k{number:02}" for number in range(30)]


def usual(key: str, time: float, confirming: bool) -> list[Observation]:
    return [seen(key, time, confirming=confirming)]


def begin(history: History, clock: Any, keys: list[str] = KEYS) -> None:
    """Makes a first run without problems."""
    history.list_targets([target(key) for key in keys])
    run(history, clock, keys, usual)


def changed(history: History, clock: Any, key: str = "k03", **values: Any) -> list[Event]:
    """Returns the events of a run in which one target shows other values."""

    def visit(one: str, time: float, confirming: bool) -> list[Observation]:
        return [seen(one, time, confirming=confirming, **(values if one == key else {}))]

    return run(history, clock, KEYS, visit)


def kinds(events: list[Event]) -> list[EventKind]:
    return [event.kind for event in events]


def test_first_visit_is_known_and_reported_once(history: History, clock: Any) -> None:
    history.list_targets([target(key) for key in KEYS])
    events = run(history, clock, KEYS, usual)
    assert kinds(events) == [EventKind.FIRST] * 30
    assert run(history, clock, KEYS, usual) == []
    offer = history.last("k03")
    assert offer is not None
    assert (offer.price, offer.currency, offer.since < offer.last_seen) == (Decimal("99.90"), "EUR", True)


@pytest.mark.parametrize(
    ("values", "kind", "before", "after"),
    [
        ({"price": "89.90"}, EventKind.PRICE, "99.90", "89.90"),
        ({"regular_price": Decimal(120)}, EventKind.REGULAR_PRICE, None, "120"),
        ({"availability": "OutOfStock"}, EventKind.AVAILABILITY, "InStock", "OutOfStock"),
        ({"currency": "USD"}, EventKind.CURRENCY, "99.90 EUR", "99.90 USD"),
        ({"price": "9999"}, EventKind.PRICE, "99.90", "9999"),
        ({"price": "0.10"}, EventKind.PRICE, "99.90", "0.10"),
    ],
)
def test_a_change_is_an_event_after_a_second_visit(
    history: History, clock: Any, values: dict[str, Any], kind: EventKind, before: str, after: str
) -> None:
    begin(history, clock)
    run(history, clock, KEYS, usual)
    history.begin_run()
    clock.now += 1
    assert history.record([seen("k03", clock.now, **values)]) == []
    (held,) = history.held()
    assert (held.target, held.after) == ("k03", known_after(values))
    assert history.last("k03").price == Decimal("99.90")  # type: ignore[union-attr]
    events = changed(history, clock, **values)
    assert [(e.kind, e.before, e.after, e.target) for e in events] == [(kind, before, after, "k03")]
    assert changed(history, clock, **values) == []


def known_after(values: dict[str, Any]) -> str:
    if "price" in values or "currency" in values:
        amount = values.get("price", "99.90")
        return f"{values.get('currency', 'EUR')} {amount}"
    return str(next(iter(values.values())))


def test_a_seller_known_before_is_compared(history: History, clock: Any) -> None:
    history.list_targets([target(key) for key in KEYS])
    run(history, clock, KEYS, lambda key, time, again: [seen(key, time, seller="A", confirming=again)])
    events = run(
        history,
        clock,
        KEYS,
        lambda key, time, again: [seen(key, time, seller="AB"[key == "k03"], confirming=again)],
    )
    assert [(e.kind, e.before, e.after) for e in events] == [(EventKind.SELLER, "A", "B")]


def test_a_glitch_of_one_visit_is_nothing(history: History, clock: Any) -> None:
    begin(history, clock)

    def visit(key: str, time: float, confirming: bool) -> list[Observation]:
        return [seen(key, time, "0" if key == "k03" and not confirming else "99.90", confirming=confirming)]

    assert run(history, clock, KEYS, visit) == []
    assert history.held() == []


def test_the_next_run_confirms_too(history: History, clock: Any) -> None:
    begin(history, clock)

    def once(key: str, time: float, confirming: bool) -> list[Observation]:
        return [seen(key, time, "89.90" if key == "k03" else "99.90")]

    for _ in range(12):  # the shop is new, so many visits must agree
        events = run(history, clock, KEYS, once, rounds=0)
        if events:
            break
    assert kinds(events) == [EventKind.PRICE]


def test_a_shop_that_kept_its_word_needs_two_visits(history: History, clock: Any) -> None:
    begin(history, clock)
    price = {key: Decimal("99.90") for key in KEYS}

    def visit(key: str, time: float, confirming: bool) -> list[Observation]:
        return [seen(key, time, str(price[key]), confirming=confirming)]

    for key in KEYS[:10]:
        price[key] += 1
    run(history, clock, KEYS, visit)
    for key in KEYS[10:20]:
        price[key] += 1
    run(history, clock, KEYS, visit)
    history.begin_run()
    price["k25"] += 5
    clock.now += 1
    history.record([seen("k25", clock.now, str(price["k25"]))])
    assert [held.needed for held in history.held()] == [2]


def test_failed_visits_keep_the_last_price(history: History, clock: Any) -> None:
    begin(history, clock)
    states = [OfferState.EMPTY, OfferState.BLOCKED, OfferState.FAILED, OfferState.UNDECIDED]

    def visit(key: str, time: float, confirming: bool) -> list[Observation]:
        if key in KEYS[:4]:
            return [failed(key, time, states[KEYS.index(key)], confirming=confirming)]
        return [seen(key, time, confirming=confirming)]

    assert run(history, clock, KEYS, visit) == []
    assert {offer.price for offer in history.offers()} == {Decimal("99.90")}


def test_undecided_keeps_the_candidates_and_no_price(history: History, clock: Any) -> None:
    history.list_targets([target()])
    some = (PriceCandidate(Decimal("1")), PriceCandidate(Decimal("2")))
    run(
        history, clock, ["a"], lambda key, time, _: [failed(key, time, OfferState.UNDECIDED, candidates=some)]
    )
    offer = history.last("a")
    assert offer is not None
    assert offer.price is None
    assert offer.candidates is not None
    assert offer.candidates.count("amount") == 2


def test_a_suspect_first_price_is_held(history: History, clock: Any) -> None:
    history.list_targets([target(currency="EUR")])
    history.begin_run()
    assert history.record([seen("a", 1.0, "12", currency="USD")]) == []
    (held,) = history.held()
    assert (held.reason, held.before, held.after) == ("currency", None, "USD 12")
    assert history.record([seen("a", 2.0, "15")]) != []
    assert history.last("a").price == Decimal(15)  # type: ignore[union-attr]


def test_a_wrong_first_price_is_replaced_without_an_event(history: History, clock: Any) -> None:
    history.list_targets([target(key) for key in KEYS])
    run(history, clock, KEYS, lambda key, time, _: [seen(key, time, "9.99" if key == "k03" else "99.90")])
    assert run(history, clock, KEYS, usual) == []
    assert history.last("k03").price == Decimal("99.90")  # type: ignore[union-attr]


def test_the_same_observations_again_change_nothing(history: History, clock: Any) -> None:
    begin(history, clock)
    history.begin_run()
    batch = [seen(key, clock.now + 1, "89.90") for key in KEYS[:3]]
    for _ in range(15):
        assert history.record(batch) == []
    assert {held.seen for held in history.held()} == {1}
    assert history.query("SELECT count(*) FROM price_points") == [(30,)]


def test_variants_vanish_after_three_checks_and_come_back(history: History, clock: Any) -> None:
    history.list_targets([target(key) for key in KEYS])

    def visit(key: str, time: float, confirming: bool) -> list[Observation]:
        names = ["red", "green", "blue"]
        return [
            seen(key, time, variant=one, confirming=confirming) for one in names if (key, one) not in absent
        ]

    absent: set[tuple[str, str]] = set()
    run(history, clock, KEYS, visit)
    absent = {("k03", "blue")}
    assert run(history, clock, KEYS, visit) == []
    assert run(history, clock, KEYS, visit) == []
    events = run(history, clock, KEYS, visit)
    assert [(e.kind, e.target, e.variant) for e in events] == [(EventKind.VARIANT_GONE, "k03", "blue")]
    assert run(history, clock, KEYS, visit) == []
    absent = set()
    events = run(history, clock, KEYS, visit)
    assert [(e.kind, e.target, e.variant) for e in events] == [(EventKind.VARIANT_BACK, "k03", "blue")]


def test_gone_moved_and_back(history: History, clock: Any) -> None:
    begin(history, clock)
    state: dict[str, OfferState] = {"k03": OfferState.GONE, "k04": OfferState.MOVED}

    def visit(key: str, time: float, confirming: bool) -> list[Observation]:
        if key in state:
            return [failed(key, time, state[key], url="https://new.example/", confirming=confirming)]
        return [seen(key, time, confirming=confirming)]

    events = run(history, clock, KEYS, visit)
    assert sorted((e.kind, e.target, e.after) for e in events) == [
        (EventKind.GONE, "k03", "gone"),
        (EventKind.MOVED, "k04", "https://new.example/"),
    ]
    assert run(history, clock, KEYS, visit) == []
    del state["k03"]
    assert [(e.kind, e.target) for e in run(history, clock, KEYS, visit)] == [(EventKind.BACK, "k03")]


@pytest.mark.parametrize(
    ("state", "kind"),
    [
        (OfferState.EMPTY, EventKind.SHOP_AWAY),
        (OfferState.BLOCKED, EventKind.SHOP_AWAY),
        (OfferState.NO_PRICE, EventKind.SHOP_REDESIGNED),
        (OfferState.GONE, EventKind.SHOP_REDESIGNED),
        (OfferState.MOVED, EventKind.MOVED),
    ],
)
def test_a_shop_that_breaks_is_one_event(
    history: History, clock: Any, state: OfferState, kind: EventKind
) -> None:
    begin(history, clock)

    def broken(key: str, time: float, confirming: bool) -> list[Observation]:
        if key < "k25":
            return [failed(key, time, state, confirming=confirming)]
        return [seen(key, time, "1.23", confirming=confirming)]

    (event,) = run(history, clock, KEYS, broken)
    assert (event.kind, event.target, event.shop) == (kind, "", "shop.example")
    assert "25 of 30" in event.detail
    assert run(history, clock, KEYS, broken) == []
    assert kinds(run(history, clock, KEYS, usual)) == [EventKind.SHOP_BACK]
    assert kinds(changed(history, clock, price="89.90")) == [EventKind.PRICE]


def test_prices_from_another_place_of_the_page_are_a_redesign(history: History, clock: Any) -> None:
    begin(history, clock)

    def redesigned(key: str, time: float, confirming: bool) -> list[Observation]:
        return [seen(key, time, f"{20 + KEYS.index(key)}.50", source="class", confirming=confirming)]

    assert kinds(run(history, clock, KEYS, redesigned)) == [EventKind.SHOP_REDESIGNED]
    assert run(history, clock, KEYS, redesigned) == []
    assert {offer.price for offer in history.offers()} == {Decimal("99.90")}


def test_a_new_source_that_agrees_is_no_redesign(history: History, clock: Any) -> None:
    begin(history, clock)
    run(history, clock, KEYS, lambda key, time, _: [seen(key, time, source="class")])
    assert {offer.source for offer in history.offers()} == {"class"}
    assert [shop.state for shop in history.shops()] == ["ok"]


def test_accepting_a_redesigned_shop_makes_its_values_known(history: History, clock: Any) -> None:
    begin(history, clock)
    history.begin_run()
    history.record([seen(key, clock.now + 1, "55", source="class") for key in KEYS])
    assert history.accept("shop.example") == 30
    history.end_run()
    assert {offer.price for offer in history.offers()} == {Decimal(55)}


def test_a_run_that_did_not_end_is_resumed(history: History) -> None:
    first = history.begin_run()
    assert history.begin_run(resume=True) == first
    history.end_run()
    assert history.begin_run(resume=True) == first + 1


def test_targets_are_read_as_they_were_listed(history: History) -> None:
    one = target("a", tags=("x", "y"), rules=("below 5",), minimum=Decimal("9.50"), product="p")
    history.list_targets([one, target("b")])
    history.list_targets([one])
    assert history.targets() == [one]


def test_several_writers_at_once(url: str, clock: Any) -> None:
    keys = [f"p{number}" for number in range(200)]
    with History(url, clock) as history:
        history.list_targets([target(key) for key in keys])
        history.begin_run()

    def write(some: list[str]) -> None:
        with History(url, clock) as mine:
            for key in some:
                mine.record([seen(key, 5.0)])

    threads = [threading.Thread(target=write, args=[keys[start::4]]) for start in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with History(url, clock) as history:
        assert history.query("SELECT count(*) FROM price_points") == [(200,)]
        assert history.query("SELECT count(*) FROM price_events") == [(200,)]


def test_a_database_of_a_later_version_is_refused(tmp_path: Path) -> None:
    path = str(tmp_path / "prices.db")
    History(path).close()
    with sqlite3.connect(path) as base:
        base.execute("UPDATE price_meta SET value = '99' WHERE name = 'version'")
    with pytest.raises(ConfigError, match="upgrade gossamer"):
        History(path)


def test_a_file_that_is_no_database_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "prices.db"
    path.write_text("key,url\n" * 1000)
    with pytest.raises(ConfigError, match=r"prices\.db cannot be used"):
        History(str(path))


def test_a_full_disk_is_told(tmp_path: Path) -> None:
    with History(str(tmp_path / "prices.db")) as history:
        # with this limit, SQLite raises the same error as on a full disk
        history.query("PRAGMA max_page_count = 1")
        with pytest.raises(DiskFull, match="free space"):
            history.list_targets(
                PriceTarget(key=str(n), url=f"https://a.example/{n}", name="x" * 500) for n in range(2000)
            )
