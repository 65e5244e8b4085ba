"""Observations and runs for the price tests."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any

from gossamer.uses.prices.history import History
from gossamer.uses.prices.model import Event, Observation, OfferState, PriceTarget

DAY_S = 86_400.0
Page = dict[str, Any]


def target(key: str = "a", **values: Any) -> PriceTarget:
    return PriceTarget(**{"key": key, "url": f"https://shop.example/{key}", "shop": "shop.example"} | values)


def seen(key: str = "a", time: float = 1.0, price: str | None = "99.90", **values: Any) -> Observation:
    """Returns a visit that finds a price in EUR, in stock."""
    usual: Page = {
        "state": OfferState.PRICED if price else OfferState.NO_PRICE,
        "url": f"https://shop.example/{key}",
        "price": Decimal(price) if price else None,
        "currency": "EUR",
        "availability": "InStock",
        "source": "json-ld",
    }
    return Observation(**{"target": key, "time": time} | usual | values)


def failed(
    key: str = "a", time: float = 1.0, state: OfferState = OfferState.EMPTY, **values: Any
) -> Observation:
    return Observation(
        **{"target": key, "time": time, "state": state, "url": f"https://shop.example/{key}"} | values
    )


Visit = Callable[[str, float, bool], Sequence[Observation]]


def run(history: History, clock: Any, keys: Sequence[str], visit: Visit, rounds: int = 20) -> list[Event]:
    """Makes the run of a day: one visit to each target, then second visits, as `gossamer prices run` does it.
    `visit` gets the key, the time, and whether it is a second visit."""
    clock.now += DAY_S
    history.begin_run()
    events = history.record([one for key in keys for one in visit(key, _tick(clock), False)])
    for _ in range(rounds):
        if not (wanted := sorted({held.target for held in history.held()})):
            break
        events += history.record([one for key in wanted for one in visit(key, _tick(clock), True)])
    return events + history.end_run()


def _tick(clock: Any) -> float:
    clock.now += 1.0
    return float(clock.now)
