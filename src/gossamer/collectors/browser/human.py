"""Plans what a person does on a page: pauses, moves of the mouse and turns of its wheel. The functions have no
side effects. The tabs perform the gestures (`Tab.perform`, `GeckoTab.perform`)."""

from __future__ import annotations

import random
from typing import NamedTuple

LOOK_S = 6.0
"""The maximum number of seconds for which a person looks at a page before its steps."""
WHEEL_PX = 100
"""The pixels by which one notch of a mouse wheel scrolls."""
MAX_MOVES, MAX_SCREENS = 3, 5
"""The maximum numbers of mouse movements and of screens that are scrolled while a person looks at a page."""


class Gesture(NamedTuple):
    """One action of a person. `kind`: `move` (the mouse moves to `x`, `y` in the window), `wheel` (the wheel
    scrolls down by `y` pixels), `down` and `up` (the mouse button at `x`, `y`), `text` (the characters in `key`
    are typed), `key` (the key with the name `key` is pressed, such as `Enter` or `Control+A`) or `pause`.
    `seconds`: how long the gesture takes."""

    kind: str
    x: float = 0.0
    y: float = 0.0
    seconds: float = 0.0
    key: str = ""


def look_around(width: float, height: float, below: float, seconds: float) -> list[Gesture]:
    """Returns what a person does who looks at a page in a window of this size. The person moves the mouse a few
    times, and scrolls through the first screens with pauses for reading. `below`: the pixels of the page below
    the window. The gestures take at most `seconds`.

    >>> found = look_around(1280, 720, 3000, 60.0)
    >>> sorted({one.kind for one in found}), look_around(1280, 720, 3000, 0.0)
    (['move', 'pause', 'wheel'], [])
    """
    at = _point(width, height)
    plan = [Gesture("pause", seconds=random.uniform(0.2, 0.6))]
    for _ in range(random.randint(2, MAX_MOVES)):
        to = _point(width, height)
        plan += [Gesture("move", *point, random.uniform(0.005, 0.02)) for point in mouse_path(at, to)]
        plan.append(Gesture("pause", seconds=random.uniform(0.1, 0.4)))
        at = to
    for _ in range(MAX_SCREENS):
        if below <= 0:
            break
        screen = min(below, height * random.uniform(0.5, 0.9))
        plan += wheel_down(screen)
        plan.append(Gesture("pause", seconds=random.uniform(0.2, 0.7)))
        below -= screen
    found: list[Gesture] = []
    for gesture in plan:
        seconds -= gesture.seconds
        if seconds < 0:
            break
        found.append(gesture)
    return found


def wheel_down(distance: float) -> list[Gesture]:
    """Returns the turns of a mouse wheel that scroll by `distance` pixels. A long distance is scrolled with
    20 larger turns.

    >>> sum(one.y for one in wheel_down(250)), len(wheel_down(100_000))
    (250.0, 20)
    """
    turns = max(1, min(20, round(distance / WHEEL_PX)))
    return [Gesture("wheel", 0.0, distance / turns, random.uniform(0.02, 0.06)) for _ in range(turns)]


def mouse_path(start: tuple[float, float], end: tuple[float, float]) -> list[tuple[float, float]]:
    """Returns the points of a human mouse movement from one point to another.

    >>> way = mouse_path((0, 0), (300, 100))
    >>> len(way) >= 5, way[-1]
    (True, (300.0, 100.0))
    """
    (x, y), (to_x, to_y) = start, end
    far = ((to_x - x) ** 2 + (to_y - y) ** 2) ** 0.5
    n, bend = max(5, min(40, int(far / 15))), random.uniform(-0.15, 0.15)
    out = []
    for place in range(1, n + 1):
        t = place / n
        eased, off = t * t * (3 - 2 * t), bend * 4 * t * (1 - t)
        out.append((x + (to_x - x) * eased - (to_y - y) * off, y + (to_y - y) * eased + (to_x - x) * off))
    return out


def _point(width: float, height: float) -> tuple[float, float]:
    return width * random.uniform(0.2, 0.8), height * random.uniform(0.2, 0.8)
