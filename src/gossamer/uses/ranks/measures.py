"""Computes measures of positions: bands, visibility, share of voice and volatility. All functions are
pure."""

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
"""The bands of positions, as rank trackers show them."""
BELOW, UNCHECKED = "not in results", "not checked"
CURVE_FILE = Path(__file__).with_name("ctr_curve.txt")
RBO_P = 0.9
"""The persistence of rank-biased overlap. At .9, the first ten results have 86 % of the weight."""
Curve = Mapping[int, float]
"""The share of clicks by position, 0 to 1. A missing position has no clicks."""


def band_of(position: int | None) -> str:
    """Returns the band of a position, such as `4-10`.

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
    """Returns how many positions are in each band, in order. The first five bands are always included, with 0
    if they are empty."""
    counts = Counter(map(band_of, positions))
    names = [f"{low}-{high}" for low, high in BANDS]
    return {
        name: counts[name]
        for name in (*names, f"{BANDS[-1][1] + 1}+", BELOW)
        if counts[name] or name in names
    }


@cache
def default_curve() -> Curve:
    """Returns the curve of `ctr_curve.txt` beside this file."""
    return read_curve(str(CURVE_FILE))


def curve_source() -> str:
    """Returns the source of the default curve, which its file names."""
    line = next(one for one in CURVE_FILE.read_text("utf-8").splitlines() if one.startswith("# Source: "))
    return line.removeprefix("# Source: ")


def read_curve(path: str | None) -> Curve:
    """Reads a curve from a file with lines such as `1 28.5` (position and percent). If `path` is None,
    returns the default curve. Raises UsageError."""
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
    """Returns the weight of each search, which is its volume. If the volume is unknown, the weight is the
    mean volume, or 1 if all volumes are unknown.

    >>> weights({"a": 300, "b": None, "c": 100})
    {'a': 300.0, 'b': 200.0, 'c': 100.0}
    """
    known = [volume for volume in volumes.values() if volume is not None]
    mean = sum(known) / len(known) if known else 1.0
    return {name: mean if volume is None else float(volume) for name, volume in volumes.items()}


def clicks(positions: Mapping[str, int | None], weight: Mapping[str, float], curve: Curve) -> float:
    """Returns the sum, over all searches, of the curve's share times the weight. If the weights are volumes,
    this is the expected number of clicks."""
    return sum(curve.get(place or 0, 0.0) * weight.get(name, 1.0) for name, place in positions.items())


def visibility(positions: Mapping[str, int | None], weight: Mapping[str, float], curve: Curve) -> float:
    """Returns the share of the possible clicks, 0 to 1. All possible clicks would be reached by position 1 in
    every search. Searches that were not checked are not in `positions`, and are ignored.

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
    """Returns each host's share of the clicks on all organic results, the largest first. `results`: the
    position and URL of each result, by search. `domains`: the pages of such a domain are counted together,
    under the domain's name."""
    matches = [(domain, DomainMatch(domain)) for domain in domains]
    shares: Counter[str] = Counter()
    for name, found in results.items():
        for position, url in found:
            owner = next((domain for domain, match in matches if match.owns(url)), None) or host_of(url)[0]
            shares[owner] += curve.get(position, 0.0) * weight.get(name, 1.0)  # type: ignore[assignment]
    total = sum(shares.values())
    return {name: share / total for name, share in shares.most_common()} if total else {}


def ranked_urls(first_page: int, results: Iterable[Result]) -> list[tuple[int, str]]:
    """Returns the position and URL of each organic result of a page."""
    return [
        ((first_page - 1) * PAGE_RESULTS + one.rank, one.url)
        for one in results
        if one.type == "organic" and one.rank is not None
    ]


def jaccard(one: Sequence[str], other: Sequence[str]) -> float:
    """Returns the Jaccard index of two lists, 0 to 1, which does not depend on the order.

    >>> jaccard(["a", "b", "c"], ["c", "b", "d"])
    0.5
    """
    both, either = set(one) & set(other), set(one) | set(other)
    return len(both) / len(either) if either else 1.0


def rank_biased_overlap(one: Sequence[str], other: Sequence[str], p: float = RBO_P) -> float:
    """Returns the extrapolated rank-biased overlap of two lists, 0 to 1 (Webber, Moffat and Zobel 2010,
    RBO_ext for lists of equal length). Differences at the top have more weight. A longer list is cut.

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
