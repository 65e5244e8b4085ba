"""Describes how a browser renders a page: the conditions for which it waits, the steps that it performs, the
types of resources that it loads, and the data that it captures besides the document. This module defines the
classes of a rendering, and parses the form in which site files write a rendering."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

from gossamer.url.patterns import Searcher, compile_

ACTS = {
    "click": "a selector",
    "hover": "a selector",
    "fill": "a selector",
    "type": "a selector",
    "select": "a selector",
    "press": "a key",
    "wait": "a selector, or idle",
    "wait_text": "a text",
    "wait_url": "a pattern of URLs",
    "wait_response": "a pattern of URLs",
    "until": "an expression",
    "pause": "a number of seconds",
    "scroll": "True",
}
"""The words of steps, with what each word has."""
MAX_STEPS = 50
"""The maximum number of steps on a page."""
MAX_PAUSE_S = 60.0
"""The maximum length of a pause in seconds."""
KEYS = (
    *(
        "Enter",
        "Tab",
        "Escape",
        "Backspace",
        "Delete",
        "Insert",
        "Space",
        "Home",
        "End",
        "PageUp",
        "PageDown",
    ),
    *("ArrowUp", "ArrowDown", "ArrowLeft", "ArrowRight", *(f"F{n}" for n in range(1, 13))),
)
"""The names of keys that `press` knows, besides single characters."""
MODIFIERS = ("Control", "Shift", "Alt", "Meta")
"""The keys that are held while another key is pressed, such as `Control+A`."""
_TEXTS = ("fill", "type", "select")
_IN_FRAMES = ("click", "hover", "fill", "type", "select", "wait", "wait_text")
MAX_SCROLL_STEPS, MAX_SCROLL_S = 5000, 3600


class Step(NamedTuple):
    """A step on a page. `act`: a word of ACTS. `what`: a CSS selector for most acts. For `press`, `what` is a
    key such as `Enter`. For `until`, `what` is a JavaScript expression. For `pause`, `what` is a number of
    seconds. For `wait`, `what` is a CSS selector or `idle`. For the other waits, `what` is a text, or a pattern
    of URLs. `text`: the text to fill in or type, or the option to select. `frame`: the selectors of the iframes
    that contain the element, the outermost first. `control`: the control of the element's form on which the step
    acts instead of the element itself, as in `steps.js`, or None."""

    act: str
    what: str = ""
    text: str = ""
    frame: tuple[str, ...] = ()
    control: Mapping[str, str] | None = None

    def words(self) -> str:
        """Returns the step as one line, without its text, which may be a password."""
        what = self.what if self.control is None else f"{self.what} {dict(self.control)}"
        inside = "".join(f" in the frame {one}" for one in reversed(self.frame))
        return f"{self.act} {what}".strip()[:160] + inside

    def __repr__(self) -> str:
        """Hides the text, which may be a password."""
        return f"<step {self.words()}>"


def read_actions(values: Any) -> tuple[Step, ...]:
    """Parses steps. Raises ValueError with the step and the reason.

    >>> read_actions([{"fill": "#user", "with": "joe"}, {"click": "button", "frame": "#consent"}, {"pause": 0.5}])
    (<step fill #user>, <step click button in the frame #consent>, <step pause 0.5>)
    """
    if isinstance(values, str | Mapping) or not isinstance(values, Iterable):
        raise ValueError('steps must be a list, such as [{"fill": "#q", "with": "tea"}, {"press": "Enter"}]')
    found = tuple(_step(one) for one in values)
    if len(found) > MAX_STEPS:
        raise ValueError(f"there are more than {MAX_STEPS} steps")
    return found


def _step(value: Any) -> Step:
    if isinstance(value, Step):
        return value
    given = {value: True} if isinstance(value, str) else dict(value)
    text, frame = given.pop("with", None), given.pop("frame", None)
    if len(given) != 1 or (act := next(iter(given))) not in ACTS:
        raise ValueError(
            f"a step is one of {', '.join(ACTS)}, with what it is done to, not {sorted(map(str, given))}"
        )
    what = given[act]
    if (text is None) == (act in _TEXTS) or not isinstance(text, str | None):
        raise ValueError(f'{act} has {"a" if act in _TEXTS else "no"} text in "with"')
    if frame is not None and (act not in _IN_FRAMES or what == "idle"):
        raise ValueError(f"{act} has no frame; steps with a frame are {', '.join(_IN_FRAMES)}")
    frames = () if frame is None else _several(frame)
    if not all(isinstance(one, str) and one.strip() for one in frames):
        raise ValueError(
            "frame must be the selector of an iframe, or a list of selectors from the outermost on"
        )
    return Step(act, _checked(act, what), text or "", tuple(one.strip() for one in frames))


def _checked(act: str, what: Any) -> str:
    """Returns what a step is done to, as text. Raises ValueError."""
    if act == "scroll":
        if what is not True:
            raise ValueError("scroll must be True, and scrolls to the end")
        return ""
    if act == "pause":
        if isinstance(what, bool) or not isinstance(what, int | float) or not 0 <= what <= MAX_PAUSE_S:
            raise ValueError(f"pause must be a number of seconds, at most {MAX_PAUSE_S:g}")
        return f"{what:g}"
    if not isinstance(what, str) or not what.strip():
        raise ValueError(f"{act} has {ACTS[act]}")
    if act == "press":
        *held, key = what.strip().split("+") if what.strip() != "+" else ["+"]
        if any(one not in MODIFIERS for one in held) or not (key in (*KEYS, *MODIFIERS) or len(key) == 1):
            raise ValueError(f"press has a character, or one of {', '.join(KEYS)}, not {what!r}")
    if act in ("wait_url", "wait_response"):
        try:
            compile_(what)
        except re.error as error:
            raise ValueError(f"{act} has a pattern of URLs, and {what!r} is none: {error}") from None
    return what.strip()


Said = Mapping[str, Any] | str | None
"""A rendering as written in a site file."""
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
"""Large advertising and analytics hosts, which the word `ads` in a rendering blocks."""
_HOST = re.compile(r"[a-z0-9_-]+(\.[a-z0-9_-]+)+")


class Scroll(NamedTuple):
    """How a page is scrolled to its end. `press`: a CSS selector of buttons that load more. `steps`: the maximum
    number of steps, each of most of a screen or one press. `seconds`: the maximum number of seconds."""

    press: str = ""
    steps: int = 200
    seconds: float = MAX_SCROLL_S


class Render(NamedTuple):
    """The settings with which a page is rendered. `wait`: load, idle, or a CSS selector. `scroll`: how the page
    is scrolled to its end, or None. `load`: the types of resources in HEAVY that are loaded in
    addition to the usual ones. `until`: a JavaScript expression that must become true. `steps`: the steps
    that are performed when the page is ready. `human`: whether the browser behaves as a person on each page,
    with pauses, moves of the mouse and turns of its wheel, and with human timing in the steps. `block`: hosts, including
    subdomains, from which nothing is loaded. `capture`: patterns of URLs. If a script of the page requests a
    URL that matches one of these patterns, the response is kept. `screenshot`: `page` for the visible part,
    `full` for the whole page, or the selector of an element. `console`: whether console messages are kept."""

    wait: str = "load"
    scroll: Scroll | None = None
    load: tuple[str, ...] = ()
    until: str = ""
    steps: tuple[Step, ...] = ()
    human: bool = False
    block: tuple[str, ...] = ()
    capture: tuple[Searcher, ...] = ()
    screenshot: str = ""
    console: bool = False


USUAL = Render()


def read_rendering(value: Said) -> Render:
    """Parses a rendering: `"idle"`, `"human"`, or `{"wait": ".price", "scroll": True, "load": ["images"]}`.
    Raises ValueError.

    >>> blocked = read_rendering({"block": ["ads", "*.tracker.test"]}).block[-1]
    >>> read_rendering({"scroll": {"press": ".more"}}).scroll, read_rendering(".price").wait, blocked
    (Scroll(press='.more', steps=200, seconds=3600), '.price', 'tracker.test')
    >>> read_rendering("human").human, read_rendering("human").wait
    (True, 'load')
    """
    word = {"human": True} if value == "human" else {"wait": value}
    given = word if isinstance(value, str) else dict(value or {})
    if unknown := set(given) - set(Render._fields):
        raise ValueError(f"unknown key {unknown.pop()!r}; the keys are {', '.join(Render._fields)}")
    return Render(**{name: _READERS[name](name, one) for name, one in given.items()})


def _flag(name: str, value: Any) -> bool:
    if not isinstance(value, bool):
        raise ValueError(f"{name} is True or False")
    return value


def _scroll(_: str, value: Any) -> Scroll | None:
    if isinstance(value, bool):
        return Scroll() if value else None
    if not isinstance(value, Mapping) or set(value) - set(Scroll._fields):
        keys = ", ".join(Scroll._fields)
        raise ValueError(f"scroll is True, False, or a mapping with the keys {keys}")
    press = value.get("press", "button")
    if not isinstance(press, str) or not press.strip():
        raise ValueError("scroll: press is a CSS selector")
    for name, most in (("steps", MAX_SCROLL_STEPS), ("seconds", MAX_SCROLL_S)):
        number = value.get(name, 1)
        kind = int if name == "steps" else int | float
        if isinstance(number, bool) or not isinstance(number, kind) or not 0 < number <= most:
            raise ValueError(f"scroll: {name} is a number above 0, at most {most}")
    return Scroll(**value)


def _wait(_: str, value: Any) -> str:
    if not isinstance(value, str) or not value.strip() or not value.isprintable():
        raise ValueError("wait must be load, idle or a CSS selector")
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
        raise ValueError(f"load may contain {', '.join(HEAVY)}, not {strange[0]!r}")
    return found


def _block(_: str, value: Any) -> tuple[str, ...]:
    out: list[str] = []
    for one in _several(value):
        host = str(one).lower().removeprefix("*.")
        if one != "ads" and not _HOST.fullmatch(host):
            raise ValueError(f"block may contain `ads` and hosts such as ads.example.com, not {one!r}")
        out += ADS if one == "ads" else (host,)
    return tuple(dict.fromkeys(out))


def _capture(_: str, value: Any) -> tuple[Searcher, ...]:
    if value is True:
        return (re.compile(""),)
    try:
        return tuple(compile_(one) for one in _several(value))
    except (re.error, TypeError) as error:
        raise ValueError(f"capture must be a list of URL patterns, or True for all: {error}") from None


def _several(value: Any) -> tuple[Any, ...]:
    return (value,) if isinstance(value, str) else tuple(value)


_READERS: dict[str, Callable[[str, Any], Any]] = {
    "wait": _wait,
    "scroll": _scroll,
    "load": _load,
    "until": _line,
    "steps": lambda _, value: read_actions(value),
    "human": _flag,
    "block": _block,
    "capture": _capture,
    "screenshot": _line,
    "console": _flag,
}
