"""How a page is rendered: what is waited for and done, what is loaded, what is kept beside the document. Only
a browser asks."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from gossamer.model import browser_actions as stepping
from gossamer.model.browser_actions import Step
from gossamer.url.patterns import Searcher, compile_

Said = Mapping[str, Any] | str | None
"""As a site file has it."""
HEAVY = ("images", "fonts", "media")
SHOTS = ("page", "full")
ADS = (
    "doubleclick.net",
    "googlesyndication.com",
    "googleadservices.com",
    "googletagservices.com",
    "googletagmanager.com",
    "google-analytics.com",
    "adservice.google.com",
    "amazon-adsystem.com",
    "adnxs.com",
    "adsrvr.org",
    "criteo.com",
    "criteo.net",
    "taboola.com",
    "outbrain.com",
    "rubiconproject.com",
    "pubmatic.com",
    "openx.net",
    "casalemedia.com",
    "smartadserver.com",
    "moatads.com",
    "scorecardresearch.com",
    "quantserve.com",
    "hotjar.com",
    "segment.io",
    "fullstory.com",
    "bat.bing.com",
    "connect.facebook.net",
    "ads-twitter.com",
    "ads.linkedin.com",
    "analytics.tiktok.com",
    "mc.yandex.ru",
    "zedo.com",
)
"""What `ads` blocks: the hosts of large advertisers and counters, a list of our own."""
_HOST = re.compile(r"[a-z0-9_-]+(\.[a-z0-9_-]+)+")


class Render(NamedTuple):
    """`wait`: load, idle, or a CSS selector; `scroll`: to the end, as far as it grows; `load`: which of HEAVY
    are fetched, too; `until`: a JavaScript expression that must become true; `steps`: then done, like a
    person's hand where `human`; `block`: hosts nothing is loaded from, with all below them; `capture`:
    patterns of the URLs whose answers to scripts are kept; `screenshot`: of the `page` as a window shows it,
    in `full`, or of the element a selector finds; `console`: kept."""

    wait: str = "load"
    scroll: bool = False
    load: tuple[str, ...] = ()
    until: str = ""
    steps: tuple[Step, ...] = ()
    human: bool = False
    block: tuple[str, ...] = ()
    capture: tuple[Searcher, ...] = ()
    screenshot: str = ""
    console: bool = False


USUAL = Render()


def read(value: Said) -> Render:
    """As a site file has it: `"idle"`, or `{"wait": ".price", "scroll": True, "load": ["images"]}`. Raises
    ValueError.

    >>> read({"scroll": True}).scroll, read(".price").wait, read({"block": ["ads", "*.tracker.test"]}).block[-1]
    (True, '.price', 'tracker.test')
    """
    given = {"wait": value} if isinstance(value, str) else dict(value or {})
    if unknown := set(given) - set(Render._fields):
        raise ValueError(f"there is no {unknown.pop()!r}; it knows {', '.join(Render._fields)}")
    return Render(**{name: _READERS[name](name, one) for name, one in given.items()})


def _flag(name: str, value: Any) -> bool:
    if not isinstance(value, bool):
        raise ValueError(f"{name} is True or False")
    return value


def _wait(_: str, value: Any) -> str:
    if not isinstance(value, str) or not value.strip() or not value.isprintable():
        raise ValueError("wait is load, idle or a CSS selector")
    return value.strip()


def _line(name: str, value: Any) -> str:
    if not isinstance(value, str) or not value.strip():
        raise ValueError(
            f"{name} is {'an expression' if name == 'until' else 'page, full or a CSS selector'}"
        )
    return value.strip()


def _load(_: str, value: Any) -> tuple[str, ...]:
    found = _several(value)
    if strange := [one for one in found if one not in HEAVY]:
        raise ValueError(f"load has some of {', '.join(HEAVY)}, not {strange[0]!r}")
    return found


def _block(_: str, value: Any) -> tuple[str, ...]:
    out: list[str] = []
    for one in _several(value):
        host = str(one).lower().removeprefix("*.")
        if one != "ads" and not _HOST.fullmatch(host):
            raise ValueError(f"block has `ads` and hosts such as ads.example.com, not {one!r}")
        out += ADS if one == "ads" else (host,)
    return tuple(dict.fromkeys(out))


def _capture(_: str, value: Any) -> tuple[Searcher, ...]:
    if value is True:
        return (re.compile(""),)
    try:
        return tuple(compile_(one) for one in _several(value))
    except (re.error, TypeError) as error:
        raise ValueError(f"capture has patterns of URLs, or is True for all: {error}") from None


def _several(value: Any) -> tuple[Any, ...]:
    return (value,) if isinstance(value, str) else tuple(value)


_READERS: dict[str, Callable[[str, Any], Any]] = {
    "wait": _wait,
    "scroll": _flag,
    "load": _load,
    "until": _line,
    "steps": lambda _, value: stepping.read(value),
    "human": _flag,
    "block": _block,
    "capture": _capture,
    "screenshot": _line,
    "console": _flag,
}
