"""Decides which rung fetches a page. The decision depends on the results of earlier visits. The ladder of a
host stores these results, separately for the whole host and for each class of its paths. All workers of the
fleet share the ladders. The functions are pure.

A visit begins at the cheapest rung that is known to work (`start_rung`). After a block, the visit climbs to a
higher rung (`climb`). After an error, the visit does not try a higher rung. `after` updates the ladder with
the result. A rung that works is kept, but lower rungs are probed from time to time. Rungs that are much
cheaper than the current rung are probed together. If the rung directly below is expensive, that rung is
probed less often. After a rate limit, or after a block that may be a rate limit, the host first rests
(`rest_seconds`). The next visits begin at a higher rung after two visits in a row that needed the higher
rung. A single visit that needed the higher rung is enough if no visit has fetched a page at the lower rung
yet.
"""

from __future__ import annotations

import msgspec

RUNGS = ("plain", "impersonated", "browser", "unlocker")
COSTS = (1.0, 1.3, 20.0, 40.0)
"""The cost of a request on each rung, relative to a plain request."""
CHEAP_FACTOR = 8
"""A rung is cheap compared with a higher rung if its cost is at most 1/CHEAP_FACTOR of that rung's cost. A
probe begins at the lowest cheap rung. If the lowest cheap rung fails, the visit tries the other cheap rungs
before it returns to the higher rung."""
PROBE_SHARE, MIN_PROBE_SHARE = 0.05, 0.01
"""The budget for probes of lower rungs, as a share of the current rung's cost. The budget is PROBE_SHARE at
first, and falls to MIN_PROBE_SHARE as probes fail."""
EXPENSIVE_PROBE_EVERY = 4
"""The interval between probes of an expensive rung. If the rung directly below is expensive and some lower
rung is cheap, three of four probes try the cheap rungs and every fourth probe tries the expensive rung."""
PROVEN_PAGES = 20
"""After PROVEN_PAGES pages in a row at the same rung, the count of failed probes of lower rungs
(`Learned.misses`) is reset to 0."""
MAX_COUNTED_PAGES = 3
"""Maximum value of `Learned.good` at the lowest rung. Counting further would add no information, and would
cost a write to the store per visit."""
PATIENCE = {"rate-limit": 2, "denied": 1}
"""Some kinds of block cause the host to rest. PATIENCE maps each of these kinds to the maximum number of
rests in a row. After these rests, visits climb to a higher rung. The host also rests after a refusal
(`denied`), because a refusal after several successful pages may mean a rate limit."""
FIRST_REST_S, REST_FACTOR = 5.0, 3
"""FIRST_REST_S: the length of the first rest in seconds. REST_FACTOR: each further rest is this many times as
long as the previous rest."""
MAX_VAIN_CLIMBS = 3
"""If MAX_VAIN_CLIMBS visits failed at every rung (`Learned.lost`), blocked visits rarely climb to a higher
rung. From then on, a blocked visit tries a higher rung only if `Learned.lost` is 4, 8, 16 or a multiple of
`MAX_CLIMB_INTERVAL`."""
MAX_CLIMB_INTERVAL = 32
MAX_PATH_CLASSES = 16
"""Maximum number of path classes in a ladder. If the ladder does not contain the class of a path, visits to
the path count only in the results for the whole host."""


class Learned(msgspec.Struct, frozen=True, array_like=True):
    """The results of visits to a host, or to one class of its paths. All counts are numbers of visits."""

    rung: int = 0
    """The rung at which a visit begins unless the visit is a probe, as an index into RUNGS."""
    good: int = 0
    """Number of consecutive visits that fetched a page at the rung `rung`."""
    needed: int = 0
    """Number of consecutive visits that fetched a page only at a rung above `rung`."""
    misses: int = 0
    """Number of failed probes of lower rungs since `misses` was last reset (see PROVEN_PAGES)."""
    slowed: int = 0
    """Number of times in a row that the host rested without effect."""
    lost: int = 0
    """Number of visits that failed at every rung. `lost` is reset to 0 when a visit climbs to a higher rung
    and succeeds there."""


class Ladder(msgspec.Struct, frozen=True):
    """The results of visits to a host, from which the rung of the next visit is chosen. `host`: the results
    of all visits. `classes`: the results of visits to each class of paths. `why`: the block that caused the
    last climb."""

    host: Learned = Learned()
    classes: dict[str, Learned] = {}
    fixed: str = ""
    """The rung that an operator fixed for the host, or ''."""
    why: str = ""

    @classmethod
    def of(cls, text: str) -> Ladder:
        """Decodes the text that the frontier stores ('' for an unknown host). Returns an empty ladder if
        another version encoded the text differently. The worker then learns the rungs of the host again.

        >>> Ladder.of("").host.rung, Ladder.of('{"host": "plain"}').host.rung
        (0, 0)
        """
        try:
            return msgspec.json.decode(text, type=cls) if text else cls()
        except msgspec.MsgspecError:
            return cls()

    def text(self) -> str:
        """Encodes the ladder for the frontier."""
        return msgspec.json.encode(self).decode()

    def rungs(self) -> set[str]:
        """Returns the rungs at which visits to the host begin, as one set for all classes of paths."""
        return (
            {self.fixed} if self.fixed else {RUNGS[one.rung] for one in (self.host, *self.classes.values())}
        )

    def known(self, path: str) -> Learned:
        """Returns the results for the class of a path. If the ladder has no results for this class, returns
        the results for the whole host."""
        return self.classes.get(path_class(path), self.host)


def path_class(path: str) -> str:
    """Returns the class of a path: its first folder, or '' for a path at the root.

    >>> path_class("/shop/shoes/1?x=/2"), path_class("/about"), path_class("/")
    ('shop', '', '')
    """
    first, slash, _ = path.partition("?")[0].lstrip("/").partition("/")
    return first[:40] if slash else ""


def start_rung(known: Learned, rungs: tuple[str, ...]) -> tuple[str, bool]:
    """Returns the rung at which a visit begins, and whether the visit begins with a probe of a lower rung.
    `rungs`: the allowed rungs.

    >>> start_rung(Learned(rung=2, good=1), RUNGS), start_rung(Learned(rung=2, good=9), RUNGS)
    (('browser', False), ('plain', True))
    """
    place = _place(known.rung, rungs)
    if place and known.rung == RUNGS.index(rungs[place]) and known.good >= pages_between_probes(known, rungs):
        return _probed(known, rungs)[0], True
    return rungs[place], False


def pages_between_probes(known: Learned, rungs: tuple[str, ...]) -> int:
    """Returns the number of pages between two probes.

    >>> [pages_between_probes(Learned(rung=rung), RUNGS) for rung in (1, 2, 3)], pages_between_probes(Learned(rung=1, misses=3), RUNGS)
    ([16, 4, 4], 77)
    """
    here = _cost(rungs[_place(known.rung, rungs)])
    price = sum(map(_cost, _probed(known, rungs)))
    first, last = (max(4, round(price / (share * here) + 0.5)) for share in (PROBE_SHARE, MIN_PROBE_SHARE))
    return min(first << min(known.misses, 9), last)


def _probed(known: Learned, rungs: tuple[str, ...]) -> tuple[str, ...]:
    """Returns the rungs that the next probe tries, the lowest first. A probe tries either all cheap rungs or
    only the rung directly below."""
    place = _place(known.rung, rungs)
    below = rungs[:place]
    cheap = tuple(one for one in below if _cheap(one, rungs[place]))
    dear = len(cheap) < len(below) and (
        not cheap or known.misses % EXPENSIVE_PROBE_EVERY == EXPENSIVE_PROBE_EVERY - 1
    )
    return below[-1:] if dear else cheap


def rest_seconds(known: Learned, rung: str, block: str, tried: int) -> float:
    """Returns the seconds that the host rests before this URL is requested again at the same rung. 0 means no
    rest. `tried`: how many times the URL was retried before.

    >>> rest_seconds(Learned(), "plain", "rate-limit", 0), rest_seconds(Learned(), "plain", "denied", 0)
    (5.0, 0.0)
    """
    patience = PATIENCE.get(block, 0)
    if RUNGS.index(rung) < known.rung or max(known.slowed, tried) >= patience:
        return 0.0
    if block == "denied" and (known.good < MAX_COUNTED_PAGES or known.lost >= MAX_VAIN_CLIMBS):
        return 0.0
    return float(FIRST_REST_S * REST_FACTOR**known.slowed)


def climb(known: Learned, rungs: tuple[str, ...], rung: str, block: str) -> str | None:
    """Returns the rung at which a blocked visit continues. `rung`: the rung at which the visit was blocked.
    `block`: the kind of block. Returns None if the visit can use no higher rung, or if too many earlier
    climbs failed (MAX_VAIN_CLIMBS).

    >>> climb(Learned(), RUNGS, "plain", "challenge"), climb(Learned(rung=3), RUNGS, "impersonated", "denied")
    ('impersonated', 'unlocker')
    >>> climb(Learned(), RUNGS, "impersonated", "captcha")
    'unlocker'
    """
    above = rungs[rungs.index(rung) + 1 :]
    if _vain(known.lost):
        return None
    if block == "rendering":
        return "browser" if "browser" in above else None
    if block == "captcha" and "unlocker" in above:
        above = tuple(one for one in above if one != "browser")
    if RUNGS.index(rung) < known.rung:  # after a probe
        above = tuple(
            one for one in above if RUNGS.index(one) >= known.rung or _cheap(one, RUNGS[known.rung])
        )
    return above[0] if above else None


def after(
    ladder: Ladder, path: str, began: str, got: str | None, why: str = "", *, rested: bool = False
) -> Ladder:
    """Returns the ladder updated with the result of a visit that began at rung `began`. `got`: the rung that
    returned a page, or None if no rung returned a page. If the visit had no time left to try the next higher
    rung, `got` is this higher rung, although the rung returned no page. `why`: the reason for the last block.
    `rested`: whether the block causes the host to rest. Must not be called after an error, because an error
    shows nothing about the rungs."""
    name = path_class(path)
    learn = {"began": RUNGS.index(began), "got": None if got is None else RUNGS.index(got), "rested": rested}
    classes = ladder.classes
    if name in classes or len(classes) < MAX_PATH_CLASSES:
        classes = {**classes, name: _after(ladder.known(path), **learn)}  # type: ignore[arg-type]
    return msgspec.structs.replace(
        ladder,
        host=_after(ladder.host, **learn),  # type: ignore[arg-type]
        classes=classes,
        why=why[:120] or ladder.why,
    )


def _after(known: Learned, began: int, got: int | None, rested: bool) -> Learned:
    replace = msgspec.structs.replace
    probed = began < known.rung
    if rested:
        return replace(known, slowed=known.slowed + 1)
    if got is None:
        return replace(
            known, good=0 if probed else known.good, misses=known.misses + probed, lost=known.lost + 1
        )
    lost = known.lost if got <= began else 0
    if got == known.rung:
        good = 1 if probed else known.good + 1 if got else min(known.good + 1, MAX_COUNTED_PAGES)
        misses = known.misses + 1 if probed else known.misses if good < PROVEN_PAGES else 0
        return replace(known, good=good, needed=0, misses=misses, slowed=0, lost=lost)
    if got < known.rung:
        return replace(known, rung=got, good=1, needed=0, slowed=0, lost=lost)
    needed = known.needed + 1
    if needed < 2 and known.good:
        return replace(known, needed=needed, slowed=0, lost=lost)
    misses = known.misses + 1 if known.good or known.misses else 0
    return replace(known, rung=got, good=1, needed=0, misses=misses, slowed=0, lost=lost)


def _vain(lost: int) -> bool:
    return lost >= MAX_VAIN_CLIMBS and bool(lost % MAX_CLIMB_INTERVAL) and bool(lost & (lost - 1))


def _place(rung: int, rungs: tuple[str, ...]) -> int:
    """Returns the index in `rungs` of the lowest rung at or above `rung`. If all of `rungs` are below `rung`,
    returns the last index of `rungs`."""
    return next((n for n, name in enumerate(rungs) if RUNGS.index(name) >= rung), len(rungs) - 1)


def _cost(rung: str) -> float:
    return COSTS[RUNGS.index(rung)]


def _cheap(rung: str, beside: str) -> bool:
    return _cost(rung) * CHEAP_FACTOR <= _cost(beside)
