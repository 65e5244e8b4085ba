"""Compares the results of a search with the results of earlier checks, and returns the differences as events.
All functions of this module are pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from gossamer.uses.ranks.checks import OWNED_TYPES, SearchOutcome
from gossamer.uses.ranks.model import Position, RankEvent, RankEventKind


class Known(NamedTuple):
    """The results of earlier checks of a search. `positions`: the last position of each domain. `shown`: the
    result types on the most recent page 1, or None if no earlier check read page 1. `owned`: pairs (result
    type, domain), one for each type of result that a followed domain had on the most recent page 1."""

    positions: dict[str, Position]
    shown: frozenset[str] | None = None
    owned: frozenset[tuple[str, str]] = frozenset()
    failing: bool = False
    """Whether the last check of the search failed. Skipped checks are ignored."""


def changes(search: str, engine: str, time: float, before: Known, now: SearchOutcome) -> list[RankEvent]:
    """Returns the events of a check. A failed check creates the event `failing`, unless the previous check
    also failed. A failed check can also create events for changes on the pages that were read."""

    def event(
        kind: RankEventKind, domain: str = "", was: object = None, became: object = None, detail: str = ""
    ) -> RankEvent:
        texts = [None if one is None else str(one) for one in (was, became)]
        return RankEvent(
            kind=kind,
            time=time,
            engine=engine,
            search=search,
            domain=domain,
            before=texts[0],
            after=texts[1],
            detail=detail,
        )

    events: list[RankEvent] = []
    if now.state != "skipped" and (now.state == "failed") != before.failing:
        kind = RankEventKind.FAILING if now.state == "failed" else RankEventKind.CHECKED
        events.append(event(kind, detail=now.error))
    for domain, found in now.positions.items():
        was = before.positions.get(domain)
        if was is None:
            events.append(event(RankEventKind.FIRST, domain, None, found.position, found.url))
        elif was.position != found.position:
            kind = RankEventKind.RANK
            if was.position is None or found.position is None:
                kind = RankEventKind.ENTERED if was.position is None else RankEventKind.LOST
            events.append(event(kind, domain, was.position, found.position, found.url or was.url))
        if was is not None and was.url and found.url and was.url != found.url:
            events.append(event(RankEventKind.URL, domain, was.url, found.url, f"position {found.position}"))
    if now.first_page and before.shown is not None:
        events += _feature_events(event, before, now)
    return events


def _feature_events(
    event: Callable[..., RankEvent], before: Known, now: SearchOutcome
) -> Iterator[RankEvent]:
    shown = frozenset(now.shown) & OWNED_TYPES
    owned = frozenset(now.owned)
    kinds = (
        (RankEventKind.FEATURE_WON, owned - before.owned),
        (RankEventKind.FEATURE_LOST, before.owned - owned),
    )
    for kind, pairs in kinds:
        for name, domain in sorted(pairs):
            yield event(kind, domain, detail=name)
    was = (before.shown or frozenset()) & OWNED_TYPES
    for kind, names in (
        (RankEventKind.FEATURE_SHOWN, shown - was),
        (RankEventKind.FEATURE_HIDDEN, was - shown),
    ):
        for name in sorted(names):
            yield event(kind, detail=name)
