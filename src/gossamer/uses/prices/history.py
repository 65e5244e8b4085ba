"""The price history: a SQLite file, or PostgreSQL (`postgresql://...`). The module `schema` describes the
tables.

A run calls the methods of History in this order:

    with History("prices.db") as history:
        history.list_targets(targets)
        history.begin_run()
        events = history.record(observations)       # any number of times
        for _ in range(CONFIRMING_ROUNDS):
            if not (held := history.held()):
                break
            events += history.record(...)           # second visits of held values, with confirming=True
        events += history.end_run()

Each event is returned once: by `record` if its shop is certainly healthy, otherwise by `end_run`.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import TracebackType
from typing import Any, NamedTuple, Self

import msgspec

from gossamer.uses.prices import changes, failing, offer_rows, shop_health
from gossamer.uses.prices.changes import Offer
from gossamer.uses.prices.database import Database, amount
from gossamer.uses.prices.model import Event, EventKind, Observation, PriceTarget
from gossamer.uses.prices.recorder import (
    Batch,
    ShopState,
    read_shops,
    release_held,
    release_ready,
    write_shops,
)
from gossamer.uses.prices.shop_health import SecondVisits

CONFIRMING_ROUNDS = 24
"""Maximum number of rounds of second visits in a run. A single round of second visits confirms or rejects
most changes."""
_TARGET = ("key", "url", "shop", "product", "variant", "name", "tags", "currency", "minimum", "rules")
_LISTED = ", ".join(_TARGET)


class Held(NamedTuple):
    """A held value that needs another visit."""

    target: str
    variant: str
    shop: str
    url: str
    field: str
    """The name of the field: `price`, `regular_price`, `availability`, `seller`, `page` or `variant`. The
    name is `visit` if the last visit of the target failed."""
    before: str | None
    after: str
    reason: str
    """The reason why the value is held: `changed`, `zero`, `placeholder`, `ten-times`, `baseline`,
    `currency`, `name`, `redesigned`, `alternates`, `gone`, `moved` or `back`. If `field` is `visit`, `reason` contains the
    `OfferState` of the failed visit."""
    since: float
    seen: int
    """The number of visits that have shown the held value."""
    needed: int


class History:
    """Reads and writes a price history. Several processes may write to the history at the same time. Only one
    thread at a time may use a connection. `url`: a path or `postgresql://...`. `clock`: returns the current
    time in seconds since the epoch, which is stored in records that have no time of their own. Raises
    ConfigError if the database cannot be opened.
    """

    def __init__(self, url: str, clock: Callable[[], float] | None = None) -> None:
        self.url = url
        self.database = Database(url)
        self._clock = clock or time.time

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Closes the connection."""
        self.database.close()

    def list_targets(self, targets: Iterable[PriceTarget]) -> None:
        """Stores the list of targets of a run. Targets that are missing from the list are no longer listed,
        but their history is kept."""
        rows = [
            (
                *(one.key, one.url, one.shop, one.product, one.variant, one.name),
                *(_json(one.tags), one.currency, one.minimum, _json(one.rules)),
            )
            for one in targets
        ]
        changed = ", ".join(f"{name} = excluded.{name}" for name in _TARGET[1:])
        with self.database.transaction():
            self.database.execute("UPDATE price_targets SET listed = 0")
            self.database.many(
                f"INSERT INTO price_targets ({_LISTED}) VALUES ({', '.join('?' * len(_TARGET))}) "
                f"ON CONFLICT (key) DO UPDATE SET {changed}, listed = 1",
                rows,
            )

    def targets(self) -> list[PriceTarget]:
        """Returns the listed targets."""
        rows = self.database.rows(f"SELECT {_LISTED} FROM price_targets WHERE listed = 1 ORDER BY key")
        return [
            PriceTarget(
                **dict(zip(_TARGET[:6], row[:6], strict=True)),
                tags=tuple(msgspec.json.decode(row[6])),
                currency=row[7],
                minimum=amount(row[8]),
                rules=tuple(msgspec.json.decode(row[9])),
            )
            for row in rows
        ]

    def begin_run(self, *, resume: bool = False) -> int:
        """Begins a run, and returns its number. `resume`: whether to continue the last run if it has not
        ended."""
        with self.database.transaction():
            run, _, is_open = self._run()
            if not (resume and is_open):
                run += 1
                self._set_run(run, self._clock(), True)
        return run

    def run_started(self) -> float:
        """Returns the start time of the last run, in seconds since the epoch. Returns 0.0 if there was no
        run."""
        return self._run()[1]

    def record(self, observations: Sequence[Observation]) -> list[Event]:
        """Records visits in one transaction, and returns the confirmed events. All observations of one visit
        must be passed in one call, because a variant without an observation counts as missing from the page.
        Recording an observation again has no effect."""
        if not observations:
            return []
        with self.database.transaction():
            return Batch(self.database, self._run()[0], observations).record()

    def held(self) -> list[Held]:
        """Returns the held values that need another visit in this run. The list also contains an entry for
        each target whose first visit failed with a possibly temporary error. If many values of a shop
        changed, only a sample is visited again. Broken shops are left out."""
        shops = read_shops(self.database)
        everywhere = shop_health.second_visits(one.health for one in shops.values())
        found: list[Held] = []
        sampled: dict[str, int] = defaultdict(int)
        for offer in offer_rows.read_offers(self.database, "WHERE held IS NOT NULL ORDER BY id"):
            health = shops[offer.shop].health
            if shop_health.judge(health).state != "ok":
                continue
            agrees = shop_health.sample_agrees(health)
            for field, held in offer.held.items():
                doubtful = shop_health.doubtful_visits(health, everywhere, field)
                if (
                    held.reason == "missing"
                    or changes.waits(held)
                    or changes.is_ready(offer, field, doubtful)
                ):
                    continue
                if held.reason == "changed" and not doubtful:
                    sampled[offer.shop] += 1
                    if agrees or sampled[offer.shop] > shop_health.SAMPLE_PAGES:
                        continue
                needed = changes.visits_needed(offer, field, doubtful)
                found.append(
                    Held(
                        *(offer.target, offer.variant, offer.shop, offer.url, field),
                        *(changes.known_field(offer, field), held.value, held.reason),
                        *(held.since, held.seen, needed),
                    )
                )
        for one, url in failing.list_unclear(self.database, self._run()[0]):
            if one.shop not in shops or shop_health.judge(shops[one.shop].health).state == "ok":
                found.append(
                    Held(one.target, "", one.shop, url, "visit", None, one.state, one.state, one.since, 1, 2)
                )
        return found

    def end_run(self) -> list[Event]:
        """Ends the run, and returns the events. Judges each shop that the run visited. Confirmed changes of
        healthy shops are reported, and changes in broken shops are dropped. If a shop broke or recovered, the
        method returns one event for the shop."""
        events: list[Event] = []
        with self.database.transaction():
            run, started, is_open = self._run()
            if not is_open:
                return []
            offers: dict[str, list[Offer]] = defaultdict(list)
            for offer in offer_rows.read_offers(self.database, "WHERE held IS NOT NULL ORDER BY id"):
                offers[offer.shop].append(offer)
            known = read_shops(self.database).values()
            everywhere = shop_health.second_visits(one.health for one in known)
            for shop in known:
                if shop.health.run == run:
                    events += self._end_shop(shop, offers[shop.shop], started, everywhere)
            offer_rows.write_events(self.database, events, run)
            self._set_run(run, started, False)
        return events

    def _end_shop(
        self, shop: ShopState, offers: list[Offer], started: float, everywhere: Mapping[str, SecondVisits]
    ) -> list[Event]:
        health, events = shop.health, []
        verdict = shop_health.judge(health)
        if (
            verdict.state == "ok"
            and health.known < shop_health.MIN_PAGES
            and health.known < _listed_pages(self.database, shop.shop)
        ):
            verdict = shop_health.ShopVerdict(shop.state)  # too few pages to say that the shop is back
        if verdict.state != shop.state:
            now = self._clock()
            events.append(
                Event(
                    kind=shop_health.EVENTS[verdict.state],
                    time=now,
                    shop=shop.shop,
                    before=shop.state,
                    after=verdict.state,
                    detail=verdict.detail,
                )
            )
            shop = shop._replace(state=verdict.state, since=now)
        if verdict.state == "ok":
            events += release_ready(self.database, offers, health, started, everywhere)
        else:
            for offer in offers:
                offer.held = {
                    field: held
                    for field, held in offer.held.items()
                    if held.since < started or (verdict.state == "redesigned" and field == "price")
                }
                if (
                    verdict.state == "redesigned"
                    and (held := offer.held.get("price"))
                    and held.since >= started
                ):
                    held.reason = changes.REDESIGNED
            offer_rows.write_offers(self.database, offers)
        shop_health.end(health, verdict)
        write_shops(self.database, [shop])
        return events

    def accept(self, shop: str) -> int:
        """Turns all held values of a shop into known values without events, for example after a redesign.
        Returns the number of values."""
        count = 0
        with self.database.transaction():
            offers = offer_rows.read_offers(self.database, "WHERE shop = ? AND held IS NOT NULL", [shop])
            points = []
            for offer in offers:
                count += len(offer.held)
                points.append(release_held(self.database, offer, list(offer.held))[1])
            offer_rows.write_offers(self.database, offers)
            offer_rows.write_points(self.database, points)
            for state in read_shops(self.database, [shop]).values():
                write_shops(self.database, [state._replace(state="ok", since=self._clock())])
        return count

    def last(self, target: str, variant: str = "") -> Offer | None:
        """Returns the confirmed values of an offer. Returns None if no visit has found the offer."""
        found = offer_rows.read_offers(self.database, "WHERE target = ? AND variant = ?", [target, variant])
        return found[0] if found else None

    def offers(self, *, target: str = "", shop: str = "", product: str = "") -> list[Offer]:
        """Returns the offers of a target, a shop or a product, or all offers."""
        if product:
            where, value = "WHERE target IN (SELECT key FROM price_targets WHERE product = ?)", product
        else:
            where, value = (
                ("WHERE target = ?", target) if target else ("WHERE shop = ?" if shop else "", shop)
            )
        return offer_rows.read_offers(
            self.database, f"{where} ORDER BY target, variant", [value] if value else []
        )

    def events(
        self, *, after: float = 0.0, before: float = float("inf"), target: str = "", run: int | None = None
    ) -> list[Event]:
        """Returns events of a period, oldest first. The period includes `after` but not `before`. The time of
        an event is the time at which its change was first seen. `run`: only events that this run
        confirmed."""
        where, values = "time >= ? AND time < ?", [after, min(before, 1e18)]
        for column, value in (("target", target or None), ("run", run)):
            if value is not None:
                where += f" AND {column} = ?"
                values.append(value)  # type: ignore[arg-type]
        rows = self.database.rows(
            "SELECT kind, time, target, variant, shop, before, after, currency, detail FROM price_events "
            f"WHERE {where} ORDER BY time, id",
            values,
        )
        return [Event(**{**dict(zip(_EVENT, row, strict=True)), "kind": EventKind(row[0])}) for row in rows]

    def shops(self) -> list[ShopState]:
        """Returns the shops with their health, in the order of their names."""
        return [shop for _, shop in sorted(read_shops(self.database).items())]

    def query(self, sql: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """Runs a query on SQLite or PostgreSQL, with `?` for each value. `database.amount` converts amounts
        in the result."""
        return self.database.rows(sql, values)

    def _run(self) -> tuple[int, float, bool]:
        rows = self.database.rows("SELECT value FROM price_meta WHERE name = 'run'")
        if not rows:
            return 0, 0.0, False
        run, started, is_open = msgspec.json.decode(rows[0][0], type=tuple[int, float, bool])
        return run, started, is_open

    def _set_run(self, run: int, started: float, is_open: bool) -> None:
        self.database.execute(
            "INSERT INTO price_meta (name, value) VALUES ('run', ?) ON CONFLICT (name) DO UPDATE "
            "SET value = excluded.value",
            [_json((run, started, is_open))],
        )


_EVENT = ("kind", "time", "target", "variant", "shop", "before", "after", "currency", "detail")


def _listed_pages(database: Database, shop: str) -> int:
    """Returns the number of listed pages of a shop."""
    query = "SELECT count(DISTINCT url) FROM price_targets WHERE listed = 1 AND shop = ?"
    return int(database.rows(query, [shop])[0][0])


def _json(value: Any) -> str:
    return msgspec.json.encode(value).decode()
