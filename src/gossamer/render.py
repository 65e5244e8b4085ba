"""How a page is rendered: what is waited for, what is loaded besides scripts and styles. Only a browser asks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

Said = Mapping[str, Any] | str | None
"""As a site file has it."""
HEAVY = ("images", "fonts", "media")


class Render(NamedTuple):
    """`wait`: load, idle, or a CSS selector; `scroll`: to the end, as far as it grows; `load`: which of HEAVY are fetched, too."""

    wait: str = "load"
    scroll: bool = False
    load: tuple[str, ...] = ()


USUAL = Render()


def read(value: Said) -> Render:
    """As a site file has it: `"idle"`, or `{"wait": ".price", "scroll": True, "load": ["images"]}`. Raises ValueError.

    >>> read({"scroll": True}), read(".price").wait
    (Render(wait='load', scroll=True, load=()), '.price')
    """
    given = {"wait": value} if isinstance(value, str) else dict(value or {})
    if unknown := set(given) - set(Render._fields):
        raise ValueError(f"there is no {unknown.pop()!r}; it knows {', '.join(Render._fields)}")
    wait, scroll, load = ({**USUAL._asdict(), **given}[name] for name in Render._fields)
    load = (load,) if isinstance(load, str) else tuple(load)
    if not isinstance(wait, str) or not wait.strip() or not wait.isprintable():
        raise ValueError("wait is load, idle or a CSS selector")
    if not isinstance(scroll, bool):
        raise ValueError("scroll is True or False")
    if strange := [one for one in load if one not in HEAVY]:
        raise ValueError(f"load has some of {', '.join(HEAVY)}, not {strange[0]!r}")
    return Render(wait.strip(), scroll, load)
