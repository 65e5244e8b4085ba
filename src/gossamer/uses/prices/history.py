"""The price history: a SQLite file by default, or PostgreSQL (`postgresql://...`). INTERFACE DRAFT.

A run calls, in this order:

    history = History("prices.db")            # or postgresql://...
    history.list_targets(targets)             # the list of this run; writes price_targets
    history.begin_run()
    events = history.record(observations)     # any number of times; all observations of one visit in one call
    for _ in range(CONFIRMING_ROUNDS):        # 8
        held = history.held()                 # what must be visited again
        if not held: break
        events += history.record(visit_again(held, confirming=True))
    events += history.end_run()               # the rest, and one event for each shop that broke
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from decimal import Decimal
from typing import NamedTuple

from gossamer.uses.prices.model import Event, Observation, Target


class Held(NamedTuple):
    """A change that a second visit must confirm."""

    target: str
    variant: str
    url: str
    shop: str
    field: str
    """`price`, `regular_price`, `availability`, `seller` or `page`."""
    before: str | None
    after: str | None
    reason: str
    """Why: `changed`, `zero`, `placeholder`, `ten-times`, `currency`, `alternates`, `gone` or `moved`."""
    since: float


class Offer(NamedTuple):
    """The last confirmed values of a target or of one of its variants (the row of `price_offers`)."""

    target: str
    variant: str
    shop: str
    url: str
    state: str
    price: Decimal | None
    regular_price: Decimal | None
    currency: str | None
    # ... all columns of price_offers under their names


class History:
    """The price history. Several processes may write at once."""

    def __init__(self, url: str, clock: Callable[[], float] | None = None) -> None: ...
    def list_targets(self, targets: Iterable[Target]) -> None: ...
    def begin_run(self) -> int:
        """Begins a run. Returns its number."""

    def record(self, observations: Sequence[Observation]) -> list[Event]:
        """Records visits in one transaction. Returns the confirmed events. Idempotent."""

    def held(self) -> list[Held]:
        """The changes that a second visit in this run must confirm, one row a field."""

    def end_run(self) -> list[Event]:
        """Judges every shop and releases or drops what waited for that."""

    def last(self, target: str, variant: str = "") -> Offer | None: ...
    def offers(self, *, shop: str = "", product: str = "") -> list[Offer]: ...
    def query(self, sql: str, values: Sequence[object] = ()) -> list[tuple[object, ...]]:
        """Runs a SELECT with `?` as placeholder, on both databases."""
