"""Trains and measures the matching of products across shops (`gossamer.uses.prices.matching`).

    python benchmarks/price_matching.py PAIRS [--train]

PAIRS is a gzipped file of JSON lines with the fields `set`, `part` (`train` or `valid`), `left`, `right` and
`same`. The reference file has pairs of seven public sets: Abt-Buy, Walmart-Amazon, Amazon-Google, and the
computers, cameras, watches and shoes of WDC.

`--train` needs scikit-learn. The program then trains boosted trees on `train`, chooses the threshold by
5-fold cross-validation on `train`, and writes `src/gossamer/uses/prices/product_matching.json`. Without
`--train`, only gossamer is needed.

The table shows precision, recall and F1 of the scores on `valid`. The floor is the overlap of words weighted
by rarity, with the best threshold on `train`. The weights of the words come from the names of the whole set,
without labels. The next lines show the automatic matches and the vetoes, and how many of them are wrong. The
last line is the result of `gossamer prices match` on the products of `valid`, as offers of two shops for each
set.
"""

from __future__ import annotations

import argparse
import datetime
import gzip
import json
import re
import tempfile
import time
from collections import defaultdict
from collections.abc import Sequence
from decimal import Decimal
from typing import Any, NamedTuple

from gossamer.uses.prices.changes import Offer
from gossamer.uses.prices.history import History
from gossamer.uses.prices.match_offers import match_offers
from gossamer.uses.prices.matching import (
    FEATURES,
    MODEL,
    Product,
    Vocabulary,
    certain_match,
    conflict,
    features,
    load_model,
    prepare,
)
from gossamer.uses.prices.model import PriceTarget
from gossamer.uses.prices.offer_rows import offer_id, write_offers

_LANGUAGE = re.compile(r'"@[a-z]{2}(?:-[A-Za-z]{2,4})?(?=\s|$)|"|\bNull\b')


class Pair(NamedTuple):
    """A labelled pair with its features."""

    group: str
    part: str
    left: Product
    right: Product
    same: bool
    values: list[float]


def product_of(record: dict[str, str]) -> Product:
    """Returns the product of a record of any of the sets."""
    price = re.sub(r"[^\d.]", "", record.get("price") or "")
    return Product(
        name=_LANGUAGE.sub(" ", record.get("title") or record.get("name") or ""),
        brand=record.get("brand") or record.get("manufacturer") or "",
        mpn=record.get("modelno") or "",
        price=float(price) if re.fullmatch(r"\d+(\.\d+)?", price) else None,
    )


def read_pairs(path: str) -> list[Pair]:
    """Reads the pairs, and computes their features."""
    by_set: dict[str, list[tuple[str, Product, Product, bool]]] = defaultdict(list)
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            one = json.loads(line)
            by_set[one["set"]].append(
                (one["part"], product_of(one["left"]), product_of(one["right"]), one["same"])
            )
    pairs = []
    for group, rows in sorted(by_set.items()):
        vocabulary = Vocabulary({side.name for row in rows for side in row[1:3]})
        pairs += [
            Pair(
                group,
                part,
                left,
                right,
                same,
                features(prepare(left, vocabulary), prepare(right, vocabulary)),
            )
            for part, left, right, same in rows
        ]
    return pairs


def f1_of(scores: Sequence[float], labels: Sequence[bool], threshold: float) -> tuple[float, float, float]:
    """Returns precision, recall and F1."""
    hits = sum(label and score >= threshold for score, label in zip(scores, labels, strict=True))
    found = sum(score >= threshold for score in scores)
    precision, recall = hits / found if found else 0.0, hits / (sum(labels) or 1)
    return precision, recall, 2 * precision * recall / (precision + recall) if hits else 0.0


def best_threshold(groups: dict[str, tuple[list[float], list[bool]]]) -> float:
    """Returns the threshold with the best mean F1 over all sets."""
    return max(
        (step / 50 for step in range(1, 50)),
        key=lambda limit: sum(f1_of(scores, labels, limit)[2] for scores, labels in groups.values()),
    )


def train(pairs: Sequence[Pair]) -> None:
    """Trains the trees, and writes them to the model file."""
    import numpy as np
    from sklearn.ensemble import GradientBoostingClassifier
    from sklearn.model_selection import StratifiedKFold, cross_val_predict

    used = [pair for pair in pairs if pair.part == "train"]
    data = np.array([pair.values for pair in used])
    labels = np.array([pair.same for pair in used])
    trees = GradientBoostingClassifier(
        n_estimators=TREES,
        max_depth=DEPTH,
        learning_rate=RATE,
        subsample=0.5,
        max_features=0.5,
        min_samples_leaf=20,
        random_state=1,
    )
    folds = StratifiedKFold(5, shuffle=True, random_state=1)
    guessed = cross_val_predict(trees, data, labels, cv=folds, method="predict_proba")[:, 1]
    groups: dict[str, tuple[list[float], list[bool]]] = defaultdict(lambda: ([], []))
    for pair, score in zip(used, guessed, strict=True):
        groups[pair.group][0].append(float(score))
        groups[pair.group][1].append(pair.same)
    threshold = best_threshold(groups)
    mean = sum(f1_of(*group, threshold)[2] for group in groups.values()) / len(groups)
    print(f"cross-validation on train: mean F1 {mean:.3f} at {threshold:.2f}")
    trees.fit(data, labels)
    share = labels.mean()
    stored = {
        "about": "Boosted trees that score whether two products are the same (gossamer.uses.prices.matching)",
        "source": "benchmarks/price_matching.py --train, on the train parts of Abt-Buy, Walmart-Amazon, Amazon-Google "
        "and WDC computers, cameras, watches, shoes",
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "features": FEATURES,
        "threshold": threshold,
        "base": round(float(np.log(share / (1 - share))), 5),
        "trees": None,
    }
    text = json.dumps(stored, indent=1)
    lines = ",\n".join(json.dumps(nodes_of(one[0].tree_), separators=(",", ":")) for one in trees.estimators_)
    MODEL.write_text(text.replace("null", f"[\n{lines}\n]") + "\n", encoding="utf-8")


def nodes_of(tree: Any) -> list[list[float]]:
    """Returns the nodes of a tree of scikit-learn."""
    nodes: list[list[float]] = []
    for at in range(tree.node_count):
        if tree.children_left[at] < 0:
            nodes.append([round(RATE * float(tree.value[at].ravel()[0]), 4)])
        else:
            nodes.append(
                [
                    int(tree.feature[at]),
                    round(float(tree.threshold[at]), 4),
                    int(tree.children_left[at]),
                    int(tree.children_right[at]),
                ]
            )
    return nodes


TREES, DEPTH, RATE = 250, 5, 0.06


def show(pairs: Sequence[Pair]) -> None:
    """Prints the table."""
    model = load_model()
    train_groups: dict[str, tuple[list[float], list[bool]]] = defaultdict(lambda: ([], []))
    valid: dict[str, list[Pair]] = defaultdict(list)
    for pair in pairs:
        if pair.part == "train":
            train_groups[pair.group][0].append(pair.values[0])
            train_groups[pair.group][1].append(pair.same)
        else:
            valid[pair.group].append(pair)
    print(
        f"{'set (valid)':<16}{'pairs':>7}{'same':>6}{'floor F1':>10}{'precision':>11}{'recall':>8}{'F1':>7}"
    )
    means = [0.0, 0.0]
    for group, rows in sorted(valid.items()):
        labels = [pair.same for pair in rows]
        floor = f1_of([pair.values[0] for pair in rows], labels, best_threshold({group: train_groups[group]}))
        found = f1_of([model.probability(pair.values) for pair in rows], labels, model.threshold)
        means = [means[0] + floor[2] / len(valid), means[1] + found[2] / len(valid)]
        print(
            f"{group:<16}{len(rows):>7}{sum(labels):>6}{floor[2]:>10.3f}{found[0]:>11.3f}{found[1]:>8.3f}{found[2]:>7.3f}"
        )
    print(f"{'mean':<16}{'':>13}{means[0]:>10.3f}{'':>19}{means[1]:>7.3f}   threshold {model.threshold:.2f}")
    for part in ("train", "valid"):
        rows = [pair for pair in pairs if pair.part == part]
        automatic = [pair for pair in rows if certain_match(pair.left, pair.right)]
        wrong = [pair for pair in automatic if not pair.same]
        print(
            f"automatic ({part}): {len(automatic):,} of {sum(p.same for p in rows):,} same pairs, {len(wrong):,} wrong"
        )
        for pair in wrong[:10]:
            print("   wrong:", pair.left, pair.right)
        for reason in ("mpn", "quantity"):
            vetoed = [pair for pair in rows if conflict(pair.left, pair.right) == reason]
            print(
                f"  veto by {reason}: {len(vetoed):,} pairs, of which {sum(p.same for p in vetoed):,} are labelled same"
            )


def show_queue(pairs: Sequence[Pair]) -> None:
    """Matches the products of `valid` in a price history with two shops for each set.

    Prints how many of the same pairs were matched or proposed.
    """
    targets, offers, wanted = {}, {}, set()
    for pair in pairs:
        if pair.part != "valid":
            continue
        keys = []
        for shop, product in (("left", pair.left), ("right", pair.right)):
            key = f"{shop}-{pair.group}-{offer_id(repr(product), shop)}"
            targets[key] = PriceTarget(
                key=key, url=f"https://{shop}.example/{key}", shop=f"{pair.group}-{shop}"
            )
            offers[key] = Offer(
                id=offer_id(key, ""), target=key, shop=shop, name=product.name, brand=product.brand or None
            )
            offers[key].mpn, offers[key].price = product.mpn or None, Decimal(str(product.price or 0)) or None
            keys.append(key)
        if pair.same:
            wanted.add((keys[0], keys[1]))
    with tempfile.TemporaryDirectory() as folder, History(f"{folder}/prices.db") as history:
        history.list_targets(targets.values())
        with history.database.transaction():
            write_offers(history.database, list(offers.values()))
        start = time.process_time()
        done = match_offers(history, time.time())
        seconds = time.process_time() - start
        found = history.database.rows("SELECT one, other, decision FROM price_matches")
    joined = wanted & {(one, other) for one, other, decision in found if decision == "same"}
    proposed = wanted & {(one, other) for one, other, decision in found if decision == "open"}
    print(
        f"match: {done.offers:,} offers in {seconds:.1f} CPU seconds: {done.mpn:,} pairs automatic, {done.open:,} to review; "
        f"of {len(wanted):,} pairs labelled same, {len(joined):,} automatic and {len(proposed):,} to review"
    )


def main() -> None:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("pairs")
    options.add_argument("--train", action="store_true")
    given = options.parse_args()
    start = time.process_time()
    pairs = read_pairs(given.pairs)
    print(f"{len(pairs):,} pairs, features in {time.process_time() - start:.1f} CPU seconds")
    if given.train:
        train(pairs)
    show(pairs)
    show_queue(pairs)


if __name__ == "__main__":
    main()
