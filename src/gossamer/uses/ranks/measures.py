"""Computes ranking metrics: position bands, visibility, share of voice, and the similarity of two result
lists."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path

from gossamer.errors import UsageError
from gossamer.parsing.ranks import Result
from gossamer.uses.ranks.domains import DomainMatch, host_of
from gossamer.uses.ranks.model import PAGE_RESULTS

BANDS = ((1, 3), (4, 10), (11, 20), (21, 50), (51, 100))
"""The position bands that rank trackers commonly use."""
BELOW, UNCHECKED = "not in results", "not checked"
CURVE_FILE = Path(__file__).with_name("ctr_curve.txt")
RBO_P = 0.9
"""The persistence parameter of rank-biased overlap. With a persistence of 0.9, the first ten results have 86
% of the weight."""
Curve = Mapping[int, float]
"""A click curve, which maps positions in the search results to shares of clicks, from 0 to 1. A position that
is missing in the click curve gets no clicks."""


def band_of(position: int | None) -> str:
    """Returns the band that contains a position, such as `4-10`.

    >>> band_of(1), band_of(20), band_of(120), band_of(None)
    ('1-3', '11-20', '101+', 'not in results')
    """
    if position is None:
        return BELOW
    for low, high in BANDS:
        if position <= high:
            return f"{low}-{high}"
    return f"{BANDS[-1][1] + 1}+"


def count_bands(positions: Iterable[int | None]) -> dict[str, int]:
    """Returns the number of positions in each band, from the best band to the worst. The first five bands are
    always included, even with a count of 0."""
    counts = Counter(map(band_of, positions))
    names = [f"{low}-{high}" for low, high in BANDS]
    return {
        name: counts[name]
        for name in (*names, f"{BANDS[-1][1] + 1}+", BELOW)
        if counts[name] or name in names
    }


@cache
def default_curve() -> Curve:
    """Returns the default click curve from the file `ctr_curve.txt`."""
    return read_curve(str(CURVE_FILE))


def curve_source() -> str:
    """Returns the source of the default click curve, as named in `ctr_curve.txt`."""
    line = next(one for one in CURVE_FILE.read_text("utf-8").splitlines() if one.startswith("# Source: "))
    return line.removeprefix("# Source: ")


def read_curve(path: str | None) -> Curve:
    """Reads a click curve from a file. Each line contains a position and a percentage, such as `1 28.5`.
    Returns the default curve if `path` is None. Raises UsageError."""
    if path is None:
        return default_curve()
    try:
        lines = Path(path).read_text("utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"--ctr {path}: {error}") from None
    return _curve_of([line for line in lines if line.strip() and line[0] not in "#["], path)


def _curve_of(lines: Iterable[str], name: str) -> Curve:
    curve = {}
    for line in lines:
        try:
            position, percent = re.split(r"[\s,;]+", line.strip())
            curve[int(position)] = float(percent) / 100
        except ValueError:
            raise UsageError(f"{name}: {line!r} is not a position and a percentage, such as 1 28.5") from None
    return curve


def weights(volumes: Mapping[str, int | None]) -> dict[str, float]:
    """Returns the weight of each search, which equals the search volume. A search with an unknown volume gets
    the mean of the known volumes, or 1 if all volumes are unknown.

    >>> weights({"a": 300, "b": None, "c": 100})
    {'a': 300.0, 'b': 200.0, 'c': 100.0}
    """
    known = [volume for volume in volumes.values() if volume is not None]
    mean = sum(known) / len(known) if known else 1.0
    return {name: mean if volume is None else float(volume) for name, volume in volumes.items()}


def clicks(positions: Mapping[str, int | None], weight: Mapping[str, float], curve: Curve) -> float:
    """Returns the weighted clicks over all searches. The clicks of a search are its weight, multiplied by the
    share of clicks at its position. If the weights are search volumes, the result is the expected number of
    clicks per month."""
    return sum(curve.get(place or 0, 0.0) * weight.get(name, 1.0) for name, place in positions.items())


def visibility(positions: Mapping[str, int | None], weight: Mapping[str, float], curve: Curve) -> float:
    """Returns the expected clicks as a share of the possible clicks, from 0 to 1. The possible clicks are the
    clicks at position 1 in all searches. Unchecked searches are missing in `positions`, and have no effect.

    >>> round(visibility({"a": 1, "b": None}, {"a": 3.0, "b": 1.0}, {1: 0.3}), 2)
    0.75
    """
    most = sum(weight.get(name, 1.0) for name in positions) * curve.get(1, 0.0)
    return clicks(positions, weight, curve) / most if most else 0.0


def share_of_voice(
    results: Mapping[str, Sequence[tuple[int, str]]],
    weight: Mapping[str, float],
    curve: Curve,
    domains: Iterable[str] = (),
) -> dict[str, float]:
    """Returns each host's share of the clicks on all organic results, in descending order. `results`: the
    position and the URL of each organic result, keyed by search id. `domains`: the followed domains. All
    pages of a followed domain are counted together under the name of the domain."""
    matches = [(domain, DomainMatch(domain)) for domain in domains]
    shares: Counter[str] = Counter()
    for name, found in results.items():
        for position, url in found:
            owner = next((domain for domain, match in matches if match.owns(url)), None) or host_of(url)[0]
            shares[owner] += curve.get(position, 0.0) * weight.get(name, 1.0)  # type: ignore[assignment]
    total = sum(shares.values())
    return {name: share / total for name, share in shares.most_common()} if total else {}


def ranked_urls(first_page: int, results: Iterable[Result]) -> list[tuple[int, str]]:
    """Returns the position and the URL of each organic result of a page."""
    return [
        ((first_page - 1) * PAGE_RESULTS + one.rank, one.url)
        for one in results
        if one.type == "organic" and one.rank is not None
    ]


def jaccard(one: Sequence[str], other: Sequence[str]) -> float:
    """Returns the Jaccard index of two lists, from 0 to 1. The Jaccard index ignores the order of the
    entries.

    >>> jaccard(["a", "b", "c"], ["c", "b", "d"])
    0.5
    """
    both, either = set(one) & set(other), set(one) | set(other)
    return len(both) / len(either) if either else 1.0


def rank_biased_overlap(one: Sequence[str], other: Sequence[str], p: float = RBO_P) -> float:
    """Returns the extrapolated rank-biased overlap of two lists, from 0 to 1 (Webber, Moffat and Zobel 2010,
    RBO_ext for lists of equal length). Differences near the top have more weight. If one list is longer, its
    extra entries are ignored.

    >>> rank_biased_overlap(["a", "b"], ["a", "b"]), round(rank_biased_overlap(["a", "b"], ["b", "a"]), 2)
    (1.0, 0.9)
    """
    depth = min(len(one), len(other))
    if not depth:
        return 1.0 if len(one) == len(other) else 0.0
    seen, also, shared, total = set[str](), set[str](), 0, 0.0
    for place in range(1, depth + 1):
        left, right = one[place - 1], other[place - 1]
        shared += (left in also) + (right in seen) + (left == right)
        seen.add(left)
        also.add(right)
        total += shared / place * p**place
    return min(1.0, shared / depth * p**depth + (1 - p) / p * total)
