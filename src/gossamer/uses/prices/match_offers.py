"""Matches the offers of a price history across shops. Equal GTINs, and equal brands with equal model numbers,
match automatically. Pairs with similar names wait in `price_matches` until a person decides (`gossamer prices
review`). Each run computes the automatic matches and the open pairs again, and keeps the decisions of people.
"""

from __future__ import annotations

import itertools
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from decimal import Decimal
from typing import Any, NamedTuple

from gossamer.uses.prices import matching
from gossamer.uses.prices.database import Database, amount
from gossamer.uses.prices.history import History
from gossamer.uses.prices.matching import Prepared, Product, Vocabulary
from gossamer.uses.prices.product_groups import Groups, group_targets

MIN_SCORE = 0.1
"""The minimum score at which a pair of products is proposed to a person as a possible match."""
MAX_PER_TARGET = 3
"""Maximum number of pairs per target that one run proposes to a person."""
MAX_USES_IN_SHOP = 5
"""The maximum number of targets for which a shop may use the same identifier. If a shop uses an identifier
for more than MAX_USES_IN_SHOP targets, the identifier does not identify a product of the shop. If a shop uses
an identifier too often, the targets with the identifier are matched only by name."""
_RARE_WORDS = 3
_MAX_SHARED = 100
"""Words that are in the names of more than this number of targets are not used to find candidate pairs."""
_CANDIDATES = 5
_DECISIONS = ("same", "different", "later")


class MatchSummary(NamedTuple):
    """The result of `match_offers`."""

    offers: int
    gtin: int
    """Number of pairs that were matched by their GTIN."""
    mpn: int
    """Number of pairs that were matched by brand and model number."""
    open: int
    """Number of pairs that wait for the decision of a person."""
    decided: int
    """Number of pairs for which a person has made a decision."""


class OpenPair(NamedTuple):
    """A pair of targets that waits for a decision, with the data of both."""

    one: str
    other: str
    reason: str
    """The reason why a person must decide whether two products are the same. The reason `score` means that
    the products are similar. The reason `gtin` or `mpn` means that the products have the same GTIN or model
    number, but that other data make the match doubtful."""
    score: float
    conflict: str
    shops: tuple[str, str]
    names: tuple[str, str]
    urls: tuple[str, str]
    prices: tuple[Decimal | None, Decimal | None]
    currencies: tuple[str, str]


class _Offers(NamedTuple):
    """The main offers of all listed targets, with the data for matching them."""

    products: dict[str, Product]
    shops: dict[str, str]
    groups: Groups
    """Groups of targets that offer the same product. The groups follow from the product ids in the target
    list and from the decisions of people."""
    decided: set[tuple[str, str]]
    different: set[tuple[str, str]]


def match_offers(history: History, now: float, tell: Callable[[str], None] | None = None) -> MatchSummary:
    """Matches all offers of the listed targets. `tell`: called with messages about the progress."""
    database = history.database
    offers = _read(database)
    found: dict[tuple[str, str], str] = {}
    doubtful: dict[tuple[str, str], str] = {}
    for reason, key_of in (("gtin", _gtin_key), ("mpn", matching.normal_mpn)):
        by_key: dict[str, list[str]] = defaultdict(list)
        for target, product in offers.products.items():
            if key := key_of(product):
                by_key[key].append(target)
        for members in by_key.values():
            certain, unsure = _certain(sorted(members), offers)
            found |= {pair: reason for pair in certain if pair not in found}
            doubtful |= {pair: reason for pair in unsure if pair not in doubtful}
    for pair in found:
        offers.groups.join(*pair)
    if tell:
        tell(f"{len(offers.products):,} offers: {len(found):,} pairs have equal identifiers; comparing names")
    queue = _queue(offers, doubtful)
    rows: list[tuple[Any, ...]] = [(*pair, "same", reason, None, now) for pair, reason in found.items()]
    rows += [(*pair, "open", reason, score, now) for pair, (reason, score) in queue.items()]
    with database.transaction():
        database.execute("DELETE FROM price_matches WHERE reason <> 'review'")
        database.many(
            "INSERT INTO price_matches (one, other, decision, reason, score, time) VALUES (?, ?, ?, ?, ?, ?) "
            "ON CONFLICT (one, other) DO NOTHING",
            rows,
        )
        counts = {
            (decision, reason): count
            for decision, reason, count in database.rows(
                "SELECT decision, reason, count(*) FROM price_matches GROUP BY decision, reason"
            )
        }
    return MatchSummary(
        offers=len(offers.products),
        gtin=counts.get(("same", "gtin"), 0),
        mpn=counts.get(("same", "mpn"), 0),
        open=sum(count for (decision, _), count in counts.items() if decision == "open"),
        decided=sum(count for (_, reason), count in counts.items() if reason == "review"),
    )


def _gtin_key(product: Product) -> str:
    return matching.normal_gtin(product.gtin)


def _read(database: Database) -> _Offers:
    products, shops, ids = {}, {}, []
    rows = database.rows(
        "SELECT t.key, t.shop, t.product, coalesce(o.name, t.name), o.brand, o.mpn, o.gtin, o.price, o.currency FROM "
        "price_targets t JOIN price_offers o ON o.target = t.key AND o.variant = '' WHERE t.listed = 1 AND o.gone = 0 "
        "ORDER BY t.key"
    )
    for key, shop, product, name, brand, mpn, gtin, price, currency in rows:
        products[key] = Product(
            *(name or "", brand or "", mpn or "", gtin or ""),
            price=float(price) if price is not None else None,
            currency=currency or "",
        )
        shops[key] = shop
        ids.append((key, product))
    decided = database.rows("SELECT one, other, decision FROM price_matches WHERE reason = 'review'")
    return _Offers(
        products=products,
        shops=shops,
        groups=group_targets(ids, [row[:2] for row in decided if row[2] == "same"]),
        decided={(one, other) for one, other, _ in decided},
        different={(one, other) for one, other, decision in decided if decision == "different"},
    )


def _certain(members: Sequence[str], offers: _Offers) -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
    """Returns a list of matching pairs and a list of doubtful pairs. `members`: the targets with the same
    identifier, sorted.

    If a shop uses the identifier for two to MAX_USES_IN_SHOP targets, the targets of the shop are doubtful.
    If a shop uses the identifier for more than MAX_USES_IN_SHOP targets, the targets of the shop are ignored.
    If targets contradict one another, the targets with the most contradictions are doubtful. Of the targets
    that are neither doubtful nor ignored, the first target forms a matching pair with each of the others.
    """
    uses = Counter(offers.shops[key] for key in members)
    kept = [key for key in members if uses[offers.shops[key]] == 1]
    conflicts = {
        (one, other)
        for one, other in itertools.combinations(kept, 2)
        if (one, other) in offers.different or matching.conflict(offers.products[one], offers.products[other])
    }
    while counts := Counter(key for pair in conflicts if set(pair) <= set(kept) for key in pair):
        most = max(counts.values())
        kept = [key for key in kept if counts[key] < most]
    doubtful = [key for key in members if key not in kept and uses[offers.shops[key]] <= MAX_USES_IN_SHOP]
    near = kept[:1] or doubtful
    unsure = [
        (min(one, other), max(one, other))
        for one in doubtful
        for other in near
        if offers.shops[one] != offers.shops[other]
    ]
    return [(kept[0], key) for key in kept[1:]], sorted(set(unsure))


def _queue(offers: _Offers, doubtful: dict[tuple[str, str], str]) -> dict[tuple[str, str], tuple[str, float]]:
    """Returns the pairs that a person should decide, with their reasons and scores. At most one pair is
    proposed for any two groups of targets. No pair is proposed for two groups if a person has already decided
    on a pair with one target from each group."""
    groups = offers.groups
    seen = {_ordered(groups.find(one), groups.find(other)) for one, other in offers.decided}
    vocabulary = Vocabulary(product.name for product in offers.products.values())
    prepared = {key: matching.prepare(product, vocabulary) for key, product in offers.products.items()}
    scored = [
        (matching.score(prepared[one], prepared[other]), one, other, reason)
        for (one, other), reason in doubtful.items()
    ]
    for one, other in _candidates(prepared, offers):
        if not matching.conflict(offers.products[one], offers.products[other]):
            score = matching.score(prepared[one], prepared[other])
            if score >= MIN_SCORE:
                scored.append((score, one, other, "score"))
    queue: dict[tuple[str, str], tuple[str, float]] = {}
    uses: Counter[str] = Counter()
    for score, one, other, reason in sorted(scored, key=lambda row: (row[3] == "score", -row[0], row[1:3])):
        pair = _ordered(groups.find(one), groups.find(other))
        full = reason == "score" and max(uses[one], uses[other]) >= MAX_PER_TARGET
        if pair[0] == pair[1] or pair in seen or full:
            continue
        seen.add(pair)
        uses.update((one, other))
        queue[one, other] = reason, round(score, 4)
    return queue


def _candidates(prepared: dict[str, Prepared], offers: _Offers) -> Iterable[tuple[str, str]]:
    """Returns pairs of targets that may offer the same product. The targets of a pair are in different shops
    and groups, and their names share rare words."""
    holders: dict[str, list[str]] = defaultdict(list)
    for key, one in prepared.items():
        for word in one.weights.keys() | one.models:
            holders[word].append(key)
    pairs: set[tuple[str, str]] = set()
    for key, one in prepared.items():
        words = sorted(
            (word for word in one.weights.keys() | one.models if 1 < len(holders[word]) <= _MAX_SHARED),
            key=lambda word: (len(holders[word]), word),
        )
        near: dict[str, float] = defaultdict(float)
        for word in words[:_RARE_WORDS]:
            for other in holders[word]:
                if offers.shops[other] != offers.shops[key]:
                    near[other] += 1 / len(holders[word])
        best = sorted(near.items(), key=lambda item: (-item[1], item[0]))
        apart = (other for other, _ in best if offers.groups.find(other) != offers.groups.find(key))
        pairs.update(_ordered(key, other) for other in itertools.islice(apart, _CANDIDATES))
    return sorted(pairs)


def _ordered(one: str, other: str) -> tuple[str, str]:
    return (one, other) if one < other else (other, one)


def list_open(history: History, *, later: bool = False, limit: int = 1_000_000) -> list[OpenPair]:
    """Returns the pairs that wait for a decision. The pair with the highest score comes first. `later`: if
    true, the result contains only the pairs that a person has skipped."""
    database = history.database
    rows = database.rows(
        "SELECT one, other, reason, score FROM price_matches WHERE decision = ? ORDER BY score DESC, one, other LIMIT ?",
        ["later" if later else "open", limit],
    )
    facts: dict[str, tuple[Any, ...]] = {
        row[0]: row
        for row in database.rows_in(
            "SELECT t.key, t.shop, coalesce(o.name, t.name), t.url, o.brand, o.mpn, o.gtin, o.price, o.currency FROM "
            "price_targets t JOIN price_offers o ON o.target = t.key AND o.variant = '' WHERE t.key IN (?)",
            [key for row in rows for key in row[:2]],
        )
    }
    pairs = []
    for one, other, reason, score in rows:
        if one not in facts or other not in facts:
            continue
        left, right = facts[one], facts[other]
        products = [Product(row[2] or "", row[4] or "", row[5] or "", row[6] or "") for row in (left, right)]
        pairs.append(
            OpenPair(
                *(one, other, reason, score or 0.0, matching.conflict(*products)),
                shops=(left[1], right[1]),
                names=(left[2] or "", right[2] or ""),
                urls=(left[3], right[3]),
                prices=(amount(left[7]), amount(right[7])),
                currencies=(left[8] or "", right[8] or ""),
            )
        )
    return pairs


def decide(history: History, decisions: Iterable[tuple[str, str, str]], now: float) -> None:
    """Stores the decisions of a person. Each decision is a tuple (one, other, decision). The decision is
    `same`, `different` or `later`. Raises ValueError for any other decision."""
    rows = []
    for one, other, decision in decisions:
        if decision not in _DECISIONS:
            raise ValueError(f"{decision}: not one of {', '.join(_DECISIONS)}")
        rows.append((*_ordered(one, other), decision, now))
    with history.database.transaction():
        history.database.many(
            "INSERT INTO price_matches (one, other, decision, reason, time) VALUES (?, ?, ?, 'review', ?) "
            "ON CONFLICT (one, other) DO UPDATE SET decision = excluded.decision, reason = 'review', "
            "time = excluded.time",
            rows,
        )


def reopen(history: History, pair: OpenPair) -> None:
    """Reverts a decision, so that the pair waits for a decision again."""
    with history.database.transaction():
        history.database.execute(
            "UPDATE price_matches SET decision = 'open', reason = ? WHERE one = ? AND other = ?",
            [pair.reason if pair.reason != "review" else "score", pair.one, pair.other],
        )
