"""Decides whether a shop is healthy, that is, whether its pages still show the same kind of values as before.

If a shop is redesigned, is in maintenance or blocks the crawler, hundreds of its pages seem to have changed.
For each shop, a run therefore counts the pages that have lost their values, and the new states of these
pages. While a shop is broken, its changes are dropped, and the run reports one event for the shop. Real
changes are found after the shop has recovered, because the known values are kept. The functions of this
module do no I/O.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

import msgspec

from gossamer.uses.prices.model import EventKind, Observation, OfferState

KEPT_SHARE = 0.6
"""A shop counts as broken if the share of intact pages is below KEPT_SHARE times the usual share of the shop.
A page is intact if it has not lost its values (`is_lost`)."""
MIN_PAGES = 3
"""The minimum number of known pages of a shop that a run must visit before lost values mean that the shop is broken. A
page that alone loses its values says nothing about its shop. A price from another place of the page is doubted in any
shop."""
EARLY_PAGES = 20
EARLY_SHARE = 0.3
"""Before the end of a run, the changes of a shop are reported only if the run has visited at least
EARLY_PAGES pages and at least this share of the shop's pages. At the end of the run, these two minimums do
not apply."""
AGREEING_SHARE = 0.8
"""If most prices of a shop come from a new source, at least this share of these prices must equal the old
prices. If fewer prices are equal, the shop counts as redesigned."""
SAME_AMOUNT_PAGES = 10
CHANGED_SHARE = 0.8
"""If more than this share of a shop's prices change in one run, the shop counts as redesigned, unless two sources of
each page state the new price."""
DOUBT_SHARE = 0.05
"""A shop counts as doubtful if more than this share of its second visits show the old value again. A shop
with too few second visits also counts as doubtful."""
DOUBTFUL_VISITS = 14
"""The number of visits that must show a new value in a doubtful shop, for example during an A/B test. If a
page shows one of two values at random, 14 consecutive visits show the same value in only 1 of 8,192 cases."""
NEW_SHOP_VISITS = 4
"""The number of visits that must show a new value in a new shop. A shop counts as new if few second visits
were made and no second visit contradicted a new value. If all shops together have too few second visits,
FIRST_SHOP_VISITS applies instead of NEW_SHOP_VISITS."""
FIRST_SHOP_VISITS = 6
"""This number applies instead of NEW_SHOP_VISITS as long as all shops together have too few second visits."""
FADING = 0.97
"""The factor by which the counts of second visits in earlier runs are multiplied at the beginning of each
run."""
WEIGHT = 0.2
"""The weight of the last run in the moving average of a shop's usual share of intact pages."""
SAMPLE_PAGES = 200
"""The number of pages in a sample of second visits to a shop. The sample contains only pages with changes
that are neither suspect nor doubtful. If the second visits of a sample confirm the changes, all other changes
of the shop count as confirmed."""
SAMPLE_SHARE = 0.99
MAX_AMOUNTS = 50
KINDS = {"price": "price", "regular_price": "price", "availability": "availability", "seller": "seller"}
"""Maps each field to its kind. Second visits are counted separately for each kind of field. Fields that are
missing in the mapping, such as `page`, never count as doubtful."""


class FieldVisits(msgspec.Struct, omit_defaults=True):
    """Counts of second visits for new values of a kind of field. Counts of earlier runs are reduced
    (FADING)."""

    agreed: int = 0
    contradicted: int = 0
    past_agreed: float = 0.0
    past_contradicted: float = 0.0


class ShopHealth(msgspec.Struct, omit_defaults=True):
    """The counts of one shop in one run, and the shop's usual share of intact pages."""

    run: int = 0
    known: int = 0
    """Number of visits in the run to pages with known values."""
    lost: int = 0
    """Number of visits in the run that found a page without its known values."""
    causes: dict[str, int] = {}
    """Maps each state to the number of pages that lost their values and now have that state."""
    hosts: dict[str, int] = {}
    """Maps each host to the number of the shop's pages that moved to the host."""
    new_source: int = 0
    """Number of priced pages whose price comes from another source or another place of the page than before."""
    new_source_agrees: int = 0
    """Number of these pages whose price equals the old price, or is stated by two sources of the page."""
    changed: int = 0
    """Number of priced pages with another price than before, which only one source of the page states."""
    amounts: dict[str, int] = {}
    """Maps each new price to the number of pages that show the price."""
    agreed: int = 0
    """Number of new values in this run that a second visit showed again."""
    contradicted: int = 0
    """Number of new values in this run that a later visit did not show again."""
    past_agreed: float = 0.0
    past_contradicted: float = 0.0
    fields: dict[str, FieldVisits] = {}
    """Maps each kind of field (`KINDS`) to the results of second visits for this kind. The results are
    counted separately for each kind, because a shop with alternating sellers may still have reliable stock
    data."""
    usual: float = 1.0
    """The usual share of intact pages of the shop, from 0 to 1."""


class ShopVerdict(NamedTuple):
    """The verdict on a shop. `state`: `ok`, `redesigned`, `away` or `moved`. `detail`: a description of the
    cause."""

    state: str
    detail: str = ""


EVENTS = {
    "redesigned": EventKind.SHOP_REDESIGNED,
    "away": EventKind.SHOP_AWAY,
    "moved": EventKind.MOVED,
    "ok": EventKind.SHOP_BACK,
}


def begin(health: ShopHealth, run: int) -> ShopHealth:
    """Returns the health at the beginning of a run. All counts begin at 0, except that the usual share and
    the reduced counts of second visits are kept."""
    if health.run == run:
        return health
    return ShopHealth(
        run=run,
        usual=health.usual,
        past_agreed=FADING * (health.past_agreed + health.agreed),
        past_contradicted=FADING * (health.past_contradicted + health.contradicted),
        fields={
            kind: FieldVisits(
                past_agreed=FADING * (one.past_agreed + one.agreed),
                past_contradicted=FADING * (one.past_contradicted + one.contradicted),
            )
            for kind, one in health.fields.items()
        },
    )


def is_lost(visit: list[Observation], known_offers: int) -> bool:
    """Whether a page has lost its values. A page has lost its values if a visit shows no values, or shows the
    values of less than half of the known variants. A product in stock always has a price, so a page that shows
    one without the other has lost it."""
    shown = sum(
        seen.state == OfferState.PRICED
        or (seen.state == OfferState.NO_PRICE and seen.availability not in (None, "", "InStock"))
        for seen in visit
    )
    return shown == 0 or 2 * shown < known_offers


def count_amount(health: ShopHealth, amount: str) -> None:
    """Counts a page that shows a new price."""
    if amount in health.amounts or len(health.amounts) < MAX_AMOUNTS:
        health.amounts[amount] = health.amounts.get(amount, 0) + 1


def count_second_visit(health: ShopHealth, agreed: Iterable[str], contradicted: Iterable[str]) -> None:
    """Counts second visits. `agreed`: the fields whose held value the visit showed again. `contradicted`: the
    fields whose held value the visit did not show."""
    for field in agreed:
        health.agreed += 1
        if kind := KINDS.get(field):
            health.fields.setdefault(kind, FieldVisits()).agreed += 1
    for field in contradicted:
        health.contradicted += 1
        if kind := KINDS.get(field):
            health.fields.setdefault(kind, FieldVisits()).contradicted += 1


class SecondVisits(NamedTuple):
    """Counts of second visits. `agreed` counts the visits that showed the new value again, and `contradicted`
    counts the other visits. The counts of earlier runs are reduced (see FADING)."""

    agreed: float = 0.0
    contradicted: float = 0.0

    @property
    def doubtful(self) -> bool:
        """Whether too many second visits showed the old value again. The value is also True if there are too
        few second visits to judge the shop."""
        visits = self.agreed + self.contradicted
        return self.contradicted + 1 > DOUBT_SHARE * (visits + 2)

    @property
    def is_contradicted(self) -> bool:
        """Whether `doubtful` is true, and at least one second visit contradicted a new value."""
        return self.doubtful and self.contradicted >= 0.5


def second_visits(shops: Iterable[ShopHealth]) -> dict[str, SecondVisits]:
    """Sums the counts of second visits over several shops. Returns the sums, keyed by the kind of field."""
    sums = {kind: [0.0, 0.0] for kind in KINDS.values()}
    for shop in shops:
        for kind, (agreed, contradicted) in sums.items():
            found = _visits(shop, kind)
            sums[kind] = [agreed + found.agreed, contradicted + found.contradicted]
    return {kind: SecondVisits(*found) for kind, found in sums.items()}


def _visits(health: ShopHealth, kind: str) -> SecondVisits:
    one = health.fields.get(kind)
    if one is None:
        return SecondVisits()
    return SecondVisits(one.agreed + one.past_agreed, one.contradicted + one.past_contradicted)


def doubtful_visits(health: ShopHealth, everywhere: Mapping[str, SecondVisits], field: str) -> int:
    """Returns the minimum number of visits that must show a new value of a field in a shop. Returns 0 for a
    trusted shop, because the usual number of visits is enough. For a new shop, the result depends on the
    second visits of all shops together. `everywhere`: the result of `second_visits` for all shops."""
    kind = KINDS.get(field)
    if kind is None or not (own := _visits(health, kind)).doubtful:
        return 0
    if own.is_contradicted or everywhere[kind].is_contradicted:
        return DOUBTFUL_VISITS
    return FIRST_SHOP_VISITS if everywhere[kind].doubtful else NEW_SHOP_VISITS


def may_release(health: ShopHealth, pages: int) -> bool:
    """Whether changes of the shop may be reported before the end of the run. `pages`: the number of targets
    of the shop."""
    return health.known >= max(EARLY_PAGES, EARLY_SHARE * pages) and judge(health).state == "ok"


def judge(health: ShopHealth) -> ShopVerdict:
    """Decides from the visits of the run so far whether a shop is healthy, and returns the verdict."""
    if health.known >= MIN_PAGES and 1 - health.lost / health.known < KEPT_SHARE * health.usual:
        return _broken(health)
    priced = health.known - health.lost
    if 2 * health.new_source > priced and health.new_source_agrees < AGREEING_SHARE * health.new_source:
        return ShopVerdict(
            "redesigned",
            f"{health.new_source} of {priced} prices come from another place of the page, and "
            f"{health.new_source - health.new_source_agrees} of them differ",
        )
    if health.changed >= SAME_AMOUNT_PAGES and health.changed > CHANGED_SHARE * priced:
        return ShopVerdict(
            "redesigned",
            f"{health.changed} of {priced} prices changed at once, and one source each states them",
        )
    amount, pages = max(health.amounts.items(), key=lambda one: one[1], default=("", 0))
    if pages >= SAME_AMOUNT_PAGES and 2 * pages > priced:
        return ShopVerdict(
            "redesigned", f"{pages} of {priced} pages suddenly show the same price, {amount.strip()}"
        )
    return ShopVerdict("ok")


def _broken(health: ShopHealth) -> ShopVerdict:
    cause, pages = max(health.causes.items(), key=lambda one: one[1])
    detail = f"{health.lost} of {health.known} pages lost their values: {pages} are {cause}"
    if cause == OfferState.MOVED:
        host = max(health.hosts.items(), key=lambda one: one[1], default=("", 0))[0]
        return ShopVerdict("moved", f"{detail}, most to {host}" if host else detail)
    layout = (OfferState.NO_PRICE, OfferState.UNDECIDED, OfferState.PRICED, OfferState.GONE)
    return ShopVerdict("redesigned" if cause in layout else "away", detail)


def end(health: ShopHealth, verdict: ShopVerdict) -> None:
    """Updates the shop's usual share of intact pages at the end of a run, if the shop is healthy."""
    if verdict.state == "ok" and health.known:
        health.usual += WEIGHT * (1 - health.lost / health.known - health.usual)


def sample_agrees(health: ShopHealth) -> bool:
    """Whether the sample of second visits is large and confirms the changes, so that all changes of the shop
    count as confirmed."""
    visits = health.agreed + health.contradicted
    return visits >= SAMPLE_PAGES and health.agreed >= SAMPLE_SHARE * visits
