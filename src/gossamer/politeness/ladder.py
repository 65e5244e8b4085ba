"""Decides which rung fetches a page. The decision is learned from the results of visits, separately for each
host and for each class of its paths (the host's ladder). The fleet shares what it has learned. The functions
are pure.

A visit begins at the cheapest rung that is known to work (`start_rung`). After a block the visit climbs
(`climb`), but after an error it does not. `after` updates the ladder with the result. A rung that works is
kept, but lower rungs are probed from time to time. Rungs that are much cheaper than the current one are
probed together. If the rung directly below is expensive, it is probed more rarely. After a rate limit, or a
block that may be one, the host first rests (`rest_seconds`). A single visit that needs a higher rung is weak
evidence. Two such visits in a row are stronger evidence. So is one such visit in a class of paths that never
got a page at the lower rung.
"""

from __future__ import annotations

import msgspec

RUNGS = ("plain", "impersonated", "browser", "unlocker")
COSTS = (1.0, 1.3, 20.0, 40.0)
"""The cost of a request on each rung, relative to a plain request."""
CHEAP_FACTOR = 8
"""A rung is cheap compared with a higher rung if its cost is at most 1/CHEAP_FACTOR of that rung's cost.
Cheap rungs are probed together. If a probe fails, the other cheap rungs are tried before the higher rung."""
PROBE_SHARE, MIN_PROBE_SHARE = 0.05, 0.01
"""How much may be spent on probes of lower rungs, as a share of the current rung's cost. PROBE_SHARE applies
at first, MIN_PROBE_SHARE after many failed probes."""
EXPENSIVE_PROBE_EVERY = 4
"""If the rung directly below is expensive and there are cheap rungs too, only every 4th probe tries the
expensive one."""
PROVEN_PAGES = 20
"""After this many pages in a row at a rung, the count of failed probes of lower rungs (`Learned.misses`) is
reset to 0."""
MAX_COUNTED_PAGES = 3
"""Maximum number of pages that are counted at the lowest rung. Counting more pages would add no information,
but each count would have to be stored."""
PATIENCE = {"rate-limit": 2, "denied": 1}
"""How many blocks in a row cause the host to rest before a visit climbs, for each kind of block. A refusal
(`denied`) has an entry because, shortly after a successful page, it may mean a rate limit."""
FIRST_REST_S, REST_FACTOR = 5.0, 3
"""FIRST_REST_S: the length of the first rest in seconds. REST_FACTOR: the factor by which each further rest
is longer."""
MAX_VAIN_CLIMBS = 3
"""`Learned.lost` counts the visits that had no success at any rung. Once it reaches MAX_VAIN_CLIMBS, a
blocked visit climbs only if the count is 4, 8, 16 or a multiple of `MAX_CLIMB_INTERVAL`."""
MAX_CLIMB_INTERVAL = 32
MAX_PATH_CLASSES = 16
"""Maximum number of path classes that are distinguished. Results of other paths are counted only for the
host."""


class Learned(msgspec.Struct, frozen=True, array_like=True):
    """What was learned about the rungs for a host, or for one class of its paths. All counts are numbers of
    visits."""

    rung: int = 0
    """The index in RUNGS of the rung at which a visit begins."""
    good: int = 0
    """Number of visits in a row that fetched a page at this rung."""
    needed: int = 0
    """Number of visits in a row that had to climb from this rung."""
    misses: int = 0
    """Number of failed probes of lower rungs since this count was last reset (see PROVEN_PAGES)."""
    slowed: int = 0
    """How many times in a row the host rested without effect."""
    lost: int = 0
    """Number of visits without success at any rung since the last visit that succeeded by climbing."""


class Ladder(msgspec.Struct, frozen=True):
    """Everything that was learned about the rungs for a host. `host`: the results of all its visits.
    `classes`: the results of the visits to each class of paths. `why`: the block that caused the last
    climb."""

    host: Learned = Learned()
    classes: dict[str, Learned] = {}
    fixed: str = ""
    """The rung that an operator fixed."""
    why: str = ""

    @classmethod
    def of(cls, text: str) -> Ladder:
        """Decodes the text that the frontier stores ('' for an unknown host). If another version encoded the
        text differently, the host is learned again.

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
        """Returns the rungs at which visits of the host begin, over all classes of paths."""
        return (
            {self.fixed} if self.fixed else {RUNGS[one.rung] for one in (self.host, *self.classes.values())}
        )

    def known(self, path: str) -> Learned:
        """Returns what was learned for the class of a path, or for the whole host if nothing was learned for
        the class."""
        return self.classes.get(path_class(path), self.host)


def path_class(path: str) -> str:
    """Returns the class of a path: its first folder, or '' for a path at the root.

    >>> path_class("/shop/shoes/1?x=/2"), path_class("/about"), path_class("/")
    ('shop', '', '')
    """
    first, slash, _ = path.partition("?")[0].lstrip("/").partition("/")
    return first[:40] if slash else ""


def start_rung(known: Learned, rungs: tuple[str, ...]) -> tuple[str, bool]:
    """Returns the rung of `rungs` (the allowed ones) at which a visit begins, and whether this is a probe of
    a lower rung.

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
    """Returns the rungs that the next probe tries, the lowest first. These are either the cheap rungs, or
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
    """Returns the rung at which the same visit continues after a block of this kind at `rung`. Returns None
    if there is no higher rung, or if climbing is not worth it.

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
    returned a page. If no rung returned one, `got` is the next higher rung if the visit had no time left to
    try it, and None otherwise. `why`: the reason of the last block. `rested`: whether the host rests because
    of the block. Must not be called after errors, because errors show nothing about rungs."""
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
    """Returns the index in `rungs` of the lowest rung that is not lower than `rung`. If all rungs are lower,
    returns the index of the highest."""
    return next((n for n, name in enumerate(rungs) if RUNGS.index(name) >= rung), len(rungs) - 1)


def _cost(rung: str) -> float:
    return COSTS[RUNGS.index(rung)]


def _cheap(rung: str, beside: str) -> bool:
    return _cost(rung) * CHEAP_FACTOR <= _cost(beside)
