"""Records visits. The module reads the known values of the visited targets, compares these values with the
visits, and writes the differences. Each `Batch` is recorded in one transaction.

A visit is ignored if it is not newer than the last visit of the same target. Recording the same observations
again is therefore harmless.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple
from urllib.parse import urlsplit

import msgspec

from gossamer.uses.prices import changes, failing, listed_prices, offer_rows, shop_health
from gossamer.uses.prices.changes import Offer
from gossamer.uses.prices.database import Database, amount
from gossamer.uses.prices.failing import Failing
from gossamer.uses.prices.model import Event, Observation, OfferState
from gossamer.uses.prices.shop_health import SecondVisits, ShopHealth

MEDIAN_POINTS = 100
"""The median of an offer is computed from at most this number of its newest confirmed prices."""
_HEALTH = msgspec.json.Decoder(ShopHealth)
_LIGHT = "UPDATE price_offers SET last_seen = ?, last_checked = ?, missed = ?, body_hash = ? WHERE id = ?"
_UNSTABLE = ("last_seen", "last_checked", "missed", "body_hash")


class ShopState(NamedTuple):
    """The state and the health of a shop. `state`: see `shop_health.ShopVerdict`."""

    shop: str
    state: str
    since: float
    health: ShopHealth


class _Watched(NamedTuple):
    shop: str
    url: str
    currency: str


def read_shops(database: Database, shops: Iterable[str] | None = None) -> dict[str, ShopState]:
    """Returns shops by name. `shops`: the names of the shops. Default: all."""
    columns = "SELECT shop, state, since, health FROM price_shops"
    rows = (
        database.rows(columns)
        if shops is None
        else database.rows_in(f"{columns} WHERE shop IN (?)", shops, 50)
    )
    return {row[0]: ShopState(row[0], row[1], row[2], _HEALTH.decode(row[3])) for row in rows}


def write_shops(database: Database, shops: Iterable[ShopState]) -> None:
    """Writes shops."""
    database.many(
        "INSERT INTO price_shops (shop, state, since, health) VALUES (?, ?, ?, ?) ON CONFLICT (shop) DO UPDATE "
        "SET state = excluded.state, since = excluded.since, health = excluded.health",
        [(one.shop, one.state, one.since, msgspec.json.encode(one.health).decode()) for one in shops],
    )


def release_held(database: Database, offer: Offer, fields: Sequence[str]) -> tuple[list[Event], list[object]]:
    """Turns held values of an offer into its known values. Returns the events, and the point to append."""
    before = msgspec.structs.replace(offer)
    events = changes.release(offer, fields)
    if offer.price is not None and before.price != offer.price:
        rows = database.rows(
            "SELECT price FROM price_points WHERE offer = ? AND currency = ? AND price IS NOT NULL "
            "ORDER BY time DESC LIMIT ?",
            [offer.id, offer.currency, MEDIAN_POINTS],
        )
        prices = [price for (value,) in rows if (price := amount(value)) is not None]
        offer.median = changes.median([*prices, offer.price])
    return events, offer_rows.point_of(offer, before)


class Batch:
    """Records several visits together. `run`: the number of the run."""

    def __init__(self, database: Database, run: int, observations: Sequence[Observation]) -> None:
        self._database, self._run = database, run
        self._visits: dict[tuple[float, str], list[Observation]] = defaultdict(list)
        for seen in sorted(observations, key=lambda seen: seen.time):
            self._visits[seen.time, seen.target].append(seen)
        self._targets = list({target: None for _, target in self._visits})
        self._watched: dict[str, _Watched] = {}
        self._offers: dict[str, dict[str, Offer]] = defaultdict(dict)
        self._stored: dict[int, list[object]] = {}
        self._failing: dict[str, Failing] = {}
        self._failed: dict[str, Failing] = {}
        self._mended: set[str] = set()
        self._shops: dict[str, ShopState] = {}
        self._listed: dict[str, listed_prices.Listed] = {}
        self._points: list[list[object]] = []
        self._events: list[Event] = []
        self._touched: dict[int, Offer] = {}

    def record(self) -> list[Event]:
        """Records the visits. Returns the confirmed events."""
        self._read()
        for (time, target), visit in self._visits.items():
            if time > self._last_time(target):
                self._visit(
                    target, [listed_prices.supported(seen, self._listed.get(target)) for seen in visit]
                )
        self._release()
        self._write()
        return self._events

    def _read(self) -> None:
        database = self._database
        for key, shop, url, currency in database.rows_in(
            "SELECT key, shop, url, currency FROM price_targets WHERE key IN (?)", self._targets
        ):
            self._watched[key] = _Watched(shop, url, currency)
        for visit in self._visits.values():
            target, url = visit[0].target, visit[0].url
            if target not in self._watched:
                self._watched[target] = _Watched(urlsplit(url).hostname or "", url, "")
        for offer in offer_rows.read_offers_of(database, self._targets):
            self._offers[offer.target][offer.variant] = offer
            self._stored[offer.id] = offer_rows.row_of(offer)
        listed_prices.write_listed(database, (seen for visit in self._visits.values() for seen in visit))
        self._listed = listed_prices.read_listed(database, self._targets)
        self._failing = failing.read_failing(database, self._targets)
        shops = {self._watched[target].shop for target in self._targets}
        known = read_shops(database, shops)
        for shop in shops:
            state = known.get(shop) or ShopState(shop, "ok", 0.0, ShopHealth())
            self._shops[shop] = state._replace(health=shop_health.begin(state.health, self._run))

    def _last_time(self, target: str) -> float:
        times = [offer.last_checked for offer in self._offers[target].values()]
        if found := self._failed.get(target) or self._failing.get(target):
            times.append(found.last)
        return max(times, default=float("-inf"))

    def _visit(self, target: str, visit: list[Observation]) -> None:
        shop = self._watched[target].shop
        self._count_failure(target, shop, visit)
        offers = self._offers[target]
        known = [offer for offer in offers.values() if offer.since and not offer.gone]
        if known and not visit[0].confirming:
            self._count_health(self._shops[shop].health, visit, known)
        shown: set[str] = set()
        for seen in visit:
            if seen.state in changes.FOUND or (seen.state == OfferState.MOVED and seen.price is not None):
                shown.add(seen.variant)
                self._found(target, seen)
            elif seen.state == OfferState.UNDECIDED:
                offer = self._offer(target, seen)
                offer.candidates = msgspec.json.encode(seen.candidates).decode()
            elif seen.state in (OfferState.GONE, OfferState.MOVED) and known:
                changes.compare(min(known, key=lambda offer: offer.variant), seen)
        for offer in offers.values():
            offer.last_checked = visit[0].time
            self._touched[offer.id] = offer
            if shown and offer.variant not in shown and not visit[0].confirming and offer.since:
                changes.miss(offer, visit[0])

    def _count_failure(self, target: str, shop: str, visit: list[Observation]) -> None:
        failed = [seen for seen in visit if failing.fails(seen)]
        if failed and len(failed) == len(visit):
            known = self._failed.get(target) or self._failing.get(target)
            self._failed[target] = failing.after_visit(known, failed[0], shop, self._run)
            self._mended.discard(target)
        elif target in self._failing or target in self._failed:
            self._mended.add(target)
            self._failed.pop(target, None)
            self._failing.pop(target, None)

    def _count_health(self, health: ShopHealth, visit: list[Observation], known: list[Offer]) -> None:
        health.known += 1
        if shop_health.is_lost(visit, len(known)):
            health.lost += 1
            cause = str(visit[0].state)
            health.causes[cause] = health.causes.get(cause, 0) + 1
            if visit[0].state == OfferState.MOVED:
                host = urlsplit(visit[0].url).hostname or ""
                health.hosts[host] = health.hosts.get(host, 0) + 1
            return
        seen = visit[0]
        offer = self._offers[seen.target].get(seen.variant)
        if offer is None or not offer.source or not seen.source:
            return
        agrees = seen.price == offer.price or bool(seen.second_source)
        health.changed += not agrees
        if seen.source != offer.source or (offer.place and seen.place and seen.place != offer.place):
            health.new_source += 1
            health.new_source_agrees += agrees

    def _offer(self, target: str, seen: Observation) -> Offer:
        offer = self._offers[target].get(seen.variant)
        if offer is None:
            offer = Offer(target=target, variant=seen.variant, id=offer_rows.offer_id(target, seen.variant))
            self._offers[target][seen.variant] = offer
        return offer

    def _found(self, target: str, seen: Observation) -> None:
        watched = self._watched[target]
        offer = self._offer(target, seen)
        offer.shop = watched.shop
        if offer.state != OfferState.MOVED:
            offer.url = watched.url or seen.url
        health = self._shops[watched.shop].health
        if not offer.since and not (offer.held and changes.suspicion(offer, seen, watched.currency)):
            offer.held.clear()
            if event := changes.first_sight(offer, seen, watched.currency):
                self._events.append(event)
                self._points.append(offer_rows.point_of(offer, Offer(target=target)))
        else:
            result = changes.compare(offer, seen, watched.currency)
            shop_health.count_second_visit(health, result.agreed, result.contradicted)
            if result.new_amount:
                shop_health.count_amount(health, result.new_amount)
            changes.take_details(offer, seen)
        offer.last_seen, offer.missed, offer.candidates = seen.time, 0, None

    def _release(self) -> None:
        """Turns confirmed held values into known values, but only in shops that are certainly healthy."""
        held = [offer for offer in self._touched.values() if offer.held]
        well = {shop for shop in {offer.shop for offer in held} if self._is_well(shop)}
        held = [offer for offer in held if offer.shop in well]
        if not held:
            return
        states = read_shops(self._database) | self._shops
        everywhere = shop_health.second_visits(one.health for one in states.values())
        for offer in held:
            ready = ready_fields(offer, self._shops[offer.shop].health, everywhere)
            if ready:
                events, point = release_held(self._database, offer, ready)
                self._events += events
                self._points.append(point)

    def _is_well(self, shop: str) -> bool:
        """Whether the visits so far are enough to call a shop healthy."""
        state = self._shops[shop]
        if state.state != "ok":
            return False
        pages = self._database.rows("SELECT count(*) FROM price_targets WHERE shop = ?", [shop])
        return shop_health.may_release(state.health, int(pages[0][0]))

    def _write(self) -> None:
        whole, light = [], []
        stable = [n for n, name in enumerate(Offer.__struct_fields__) if name not in _UNSTABLE]
        for offer in self._touched.values():
            stored, row = self._stored.get(offer.id), offer_rows.row_of(offer)
            if stored and all(stored[n] == row[n] for n in stable):
                light.append((offer.last_seen, offer.last_checked, offer.missed, offer.body_hash, offer.id))
            else:
                whole.append(row)
        database = self._database
        offer_rows.write_rows(database, whole)
        database.many(_LIGHT, light)
        offer_rows.write_points(database, self._points)
        offer_rows.write_events(database, self._events, self._run)
        failing.write_failing(database, self._failed.values(), self._mended)
        write_shops(database, self._shops.values())


def ready_fields(offer: Offer, health: ShopHealth, everywhere: Mapping[str, SecondVisits]) -> list[str]:
    """Returns the fields whose held value is confirmed, in the order in which held values become known
    values. A held value is confirmed if enough visits have shown the value. `health`: the health of the
    offer's shop. `everywhere`: the second visits of all shops."""
    return [
        field
        for field in changes.FIELDS
        if field in offer.held
        and changes.is_ready(offer, field, shop_health.doubtful_visits(health, everywhere, field))
    ]


def release_ready(
    database: Database,
    offers: Sequence[Offer],
    health: ShopHealth,
    started: float,
    everywhere: Mapping[str, SecondVisits],
) -> list[Event]:
    """Turns the confirmed held values of a healthy shop into known values at the end of a run, and returns
    the events. `started`: the start time of the run. `everywhere`: the second visits of all shops."""
    events: list[Event] = []
    points: list[list[object]] = []
    released: list[Offer] = []
    trusted = shop_health.sample_agrees(health)
    for offer in offers:
        ready = ready_fields(offer, health, everywhere)
        if trusted:
            new = [f for f, one in offer.held.items() if one.reason == "changed" and one.since >= started]
            ready = [field for field in changes.FIELDS if field in {*ready, *new}]
        if ready:
            found, point = release_held(database, offer, ready)
            events += found
            points.append(point)
            released.append(offer)
    offer_rows.write_offers(database, released)
    offer_rows.write_points(database, points)
    return events
