"""Steps: what is done on a page in a browser, in order, as somebody who visits it would. Values; who drives a
browser carries them out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

ACTS = ("click", "hover", "fill", "type", "press", "wait", "until", "pause", "scroll")
MOST = 50
"""Steps of a page."""
LONGEST = 60.0
"""Seconds of a pause."""
_TEXTS = ("fill", "type")


class Step(NamedTuple):
    """`act`: a word of ACTS; `what`: a CSS selector; of `press` a key (`Enter`), of `until` a JavaScript
    expression, of `pause` seconds; `text`: what is filled in or typed. `wait` for `idle`: as a page does."""

    act: str
    what: str = ""
    text: str = ""

    def __repr__(self) -> str:
        """Without the text, which may be a password."""
        return f"<step {self.act} {self.what}>"


def read(values: Any) -> tuple[Step, ...]:
    """As people write them. Raises ValueError that says which and why.

    >>> read([{"fill": "#user", "with": "joe"}, {"click": "button"}, {"pause": 0.5}, "scroll"])
    (<step fill #user>, <step click button>, <step pause 0.5>, <step scroll >)
    """
    if isinstance(values, str | Mapping) or not isinstance(values, Iterable):
        raise ValueError('steps are a list, such as [{"fill": "#q", "with": "tea"}, {"press": "Enter"}]')
    found = tuple(_step(one) for one in values)
    if len(found) > MOST:
        raise ValueError(f"there are more than {MOST} steps")
    return found


def _step(value: Any) -> Step:
    if isinstance(value, Step):
        return value
    given = {value: True} if isinstance(value, str) else dict(value)
    text = given.pop("with", None)
    if len(given) != 1 or (act := next(iter(given))) not in ACTS:
        raise ValueError(
            f"a step is one of {', '.join(ACTS)}, with what it is done to, not {sorted(map(str, given))}"
        )
    what = given[act]
    if (text is None) == (act in _TEXTS) or not isinstance(text, str | None):
        raise ValueError(f'{act} has {"a" if act in _TEXTS else "no"} text in "with"')
    if act == "scroll":
        if what is not True:
            raise ValueError("scroll is to the end: write True")
        return Step(act)
    if act == "pause":
        if isinstance(what, bool) or not isinstance(what, int | float) or not 0 <= what <= LONGEST:
            raise ValueError(f"pause has seconds, at most {LONGEST:g}")
        return Step(act, f"{what:g}")
    if not isinstance(what, str) or not what.strip():
        raise ValueError(
            f"{act} has {'an expression' if act == 'until' else 'a key' if act == 'press' else 'a selector'}"
        )
    return Step(act, what.strip(), text or "")
