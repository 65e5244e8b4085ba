"""The ladder: by which rung a page is got. Learned per host and class of paths, shared by the fleet, decided by pure functions.

A visit begins at the cheapest rung that is known to work (`start`); a block climbs (`climb`), an error does not; what came of it is
learned (`after`). Who works stays, but now and then the rung below is probed: so often that probes cost a twentieth of what the rung
itself costs, and half as often after each probe that failed. A rate limit first slows down: it climbs when that did not help.
One URL that needs a higher rung says little; two visits in a row, or a class of paths that never had a page at the lower one, do.
"""

from __future__ import annotations

import msgspec

RUNGS = ("plain", "impersonated", "browser", "unlocker")
COSTS = (1.0, 1.3, 20.0, 40.0)
"""What a request costs on each rung, in plain requests."""
SHARE = 0.05
"""Of a rung's cost that may go into probes of the rung below."""
RARELY = 7
"""Times that the pages between probes are doubled at most."""
PROVEN = 20
"""Pages in a row after which a rung is as good as new: probes that failed are forgotten."""
SURE = 3
"""Pages that are counted at the lowest rung: more teach nothing, and need not be written down."""
PATIENCE = 2
"""Rate limits in a row that are answered by waiting alone."""
LOST = 3
"""Visits in a row that no rung could serve, after which only every `AGAIN`th climbs."""
AGAIN = 8
CLASSES = 16
"""Classes of paths that are told apart; the others go by the host."""


class Learned(msgspec.Struct, frozen=True, array_like=True):
    """What is known of a host or of one class of its paths. Counts are of visits."""

    rung: int = 0
    """Place in RUNGS where a visit begins."""
    good: int = 0
    """Pages in a row that came at this rung."""
    needed: int = 0
    """Visits in a row that had to climb from it."""
    misses: int = 0
    """Probes of the rung below that failed, since it was proven."""
    slowed: int = 0
    """Rate limits in a row."""
    lost: int = 0
    """Visits in a row that no rung could serve."""


class Ladder(msgspec.Struct, frozen=True):
    """All that is learned of a host; `why`: the block that made it climb last."""

    host: Learned = Learned()
    classes: dict[str, Learned] = {}
    fixed: str = ""
    """The rung that an operator fixed."""
    why: str = ""

    @classmethod
    def of(cls, text: str) -> Ladder:
        """As the frontier keeps it ('' for a host of which nothing is known). What another version wrote otherwise is learned anew.

        >>> Ladder.of("").host.rung, Ladder.of('{"host": "plain"}').host.rung
        (0, 0)
        """
        try:
            return msgspec.json.decode(text, type=cls) if text else cls()
        except msgspec.MsgspecError:
            return cls()

    def text(self) -> str:
        """For the frontier."""
        return msgspec.json.encode(self).decode()

    def known(self, path: str) -> Learned:
        """What holds for a path: its class, or else its host."""
        return self.classes.get(kind(path), self.host)


def kind(path: str) -> str:
    """The class of a path: its first folder, '' at the root.

    >>> kind("/shop/shoes/1?x=/2"), kind("/about"), kind("/")
    ('shop', '', '')
    """
    first, slash, _ = path.partition("?")[0].lstrip("/").partition("/")
    return first[:40] if slash else ""


def start(known: Learned, rungs: tuple[str, ...]) -> tuple[str, bool]:
    """Where a visit begins on the rungs that are allowed, and whether that is a probe of the rung below.

    >>> start(Learned(rung=2, good=1), RUNGS), start(Learned(rung=2, good=9), RUNGS), start(Learned(rung=1), ("plain", "browser"))
    (('browser', False), ('impersonated', True), ('browser', False))
    """
    place = _place(known.rung, rungs)
    if place and known.rung == RUNGS.index(rungs[place]) and known.good >= between(known, rungs):
        return rungs[place - 1], True
    return rungs[place], False


def between(known: Learned, rungs: tuple[str, ...]) -> int:
    """Pages between two probes of the rung below.

    >>> [between(Learned(rung=rung), RUNGS) for rung in (1, 2, 3)], between(Learned(rung=1, misses=3), RUNGS)
    ([16, 5, 10], 128)
    """
    place = _place(known.rung, rungs)
    here, below = COSTS[RUNGS.index(rungs[place])], COSTS[RUNGS.index(rungs[max(0, place - 1)])]
    return max(5, round(below / (SHARE * here) + 0.5)) << min(known.misses, RARELY)


def climb(known: Learned, rungs: tuple[str, ...], rung: str, block: str) -> str | None:
    """The rung after a block of this kind at `rung`, within the same visit; None: wait, and begin again another time.

    >>> climb(Learned(), RUNGS, "plain", "challenge"), climb(Learned(), RUNGS, "plain", "rate-limit")
    ('impersonated', None)
    """
    place = rungs.index(rung)
    if block == "rate-limit" and known.slowed < PATIENCE and RUNGS.index(rung) >= known.rung:
        return None
    if known.lost >= LOST and known.lost % AGAIN:
        return None
    if block == "rendering":
        return "browser" if "browser" in rungs[place + 1 :] else None
    return rungs[place + 1] if place + 1 < len(rungs) else None


def after(ladder: Ladder, path: str, began: str, got: str | None, block: str = "", why: str = "") -> Ladder:
    """What is known after a visit that began at rung `began`: `got` is the rung that gave a page, None when none did and the last
    block was of kind `block`; `why` tells of the block. Errors teach nothing: do not call it for them."""
    name = kind(path)
    learn = {"began": RUNGS.index(began), "got": None if got is None else RUNGS.index(got), "block": block}
    classes = ladder.classes
    if name in classes or len(classes) < CLASSES:
        classes = {**classes, name: _after(ladder.known(path), **learn)}  # type: ignore[arg-type]
    return msgspec.structs.replace(
        ladder, host=_after(ladder.host, **learn), classes=classes, why=why[:120] or ladder.why  # type: ignore[arg-type]
    )  # fmt: skip


def _after(known: Learned, began: int, got: int | None, block: str) -> Learned:
    replace = msgspec.structs.replace
    probed = began < known.rung
    if got is None:
        slowed = known.slowed + 1 if block == "rate-limit" else known.slowed
        if block == "rate-limit" and known.slowed < PATIENCE:
            return replace(known, slowed=slowed, good=0, misses=known.misses + probed)
        return replace(known, slowed=slowed, good=0, misses=known.misses + probed, lost=known.lost + 1)
    if got == known.rung:
        good = 1 if probed else known.good + 1 if got else min(known.good + 1, SURE)
        misses = known.misses + 1 if probed else known.misses if good < PROVEN else 0
        return replace(known, good=good, needed=0, misses=misses, slowed=0, lost=0)
    if got < known.rung:
        return replace(known, rung=got, good=1, needed=0, slowed=0, lost=0)
    needed = known.needed + 1
    if needed < 2 and known.good:
        return replace(known, needed=needed, lost=0)
    return replace(known, rung=got, good=1, needed=0, misses=known.misses + 1, slowed=0, lost=0)


def _place(rung: int, rungs: tuple[str, ...]) -> int:
    """The place in `rungs` of the cheapest that is no lower than `rung`; of the highest when all are lower."""
    return next((n for n, name in enumerate(rungs) if RUNGS.index(name) >= rung), len(rungs) - 1)
