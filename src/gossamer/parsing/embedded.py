"""Extracts the data in a page's scripts, such as states, settings and data layers, under the names that the
scripts use."""

from __future__ import annotations

import html
import re
from typing import Any, Final

import turbohtml

from gossamer.model.media_types import Body
from gossamer.parsing.html import attribute_of, parse
from gossamer.parsing.js_literals import LiteralReader
from gossamer.parsing.lenient_json import json_values

MAX_SCRIPT_CHARS: Final = 8_000_000
"""Maximum number of characters of scripts that are read on one page."""
MAX_REREADS: Final = 4
"""Maximum number of times that a character of a script is read, averaged over the script. A character is read
again if the text that contains it turns out not to be a value. The limit keeps the time for a script
proportional to the length of the script."""
MAX_VALUES: Final = 1000
"""Maximum number of values that are kept for one page."""
_ROOTS: Final = r"(?:(?:window|self|globalThis|top|this)(?:\.|(?=\[)))"
_PLACE: Final = re.compile(
    rf"""(?P<skip>//[^\r\n]*+|/\*(?>(?:[^*]++|\*(?!/))*)(?:\*/|\Z)|"(?>(?:[^"\\\r\n]++|\\.)*)"(?!\])|'(?>(?:[^'\\\r\n]++|\\.)*)'(?!\])|`(?>(?:[^`\\]++|\\.)*)`|\\.)
    |(?<![\w$.\])"'])(?P<let>(?:var|let|const)\s++)?(?P<root>{_ROOTS})?(?P<name>[^\W\d][\w$]*+(?>(?:\.[^\W\d][\w$]*+)*)|\$[\w$]*+
       |\[["'][\w$.:/-]{{1,99}}["']\])
    \s*+(?:(?P<set>=)(?![=>])|(?P<push>(?<=\.push)\()|(?P<call>\((?=\s*+\{{\s*+["\w])))""",
    re.VERBOSE | re.DOTALL,
)
ATTRIBUTES: Final = (
    "data-page",
    "data-props",
    "data-state",
    "data-react-props",
    "data-initial-state",
    "data-config",
    "data-product",
    "data-json",
)
_OPENS: Final = re.compile(
    r"[\[{(]|JSON\s*+\.|Object\.(?:freeze|seal)\(|[\w$.\[\]\"']{1,80}+\s*+(?:\|\||\?\?)\s*+[\[{(]"
)
"""Matches the beginning of a value that may be an object or a list."""
_CODE: Final = frozenset(
    ("", "module", "text/javascript", "application/javascript", "text/ecmascript", "application/x-javascript")
)
_WORDS: Final = frozenset(
    ("if", "for", "while", "switch", "catch", "return", "function", "typeof", "with", "await", "new")
)


def embedded(body: Body, content_type: str | None = None) -> dict[str, Any]:
    """Returns the objects and lists in a page's scripts, by name. Accepts any bytes and never raises. No
    script is run.

    A value that is assigned to a variable gets the name of the variable (`window.__STATE__ = {...}` gives
    `__STATE__`). A value that is passed to a function gets the name of the function (`init({...})` gives
    `init`). The content of a JSON script gets the script's `id` as its name. The value of an attribute gets
    the name of the attribute (`data-page`). All values that a script pushes to the same variable are
    collected in one list. JSON scripts without an id are collected in a list under the name "". JSON-LD is
    left out because `structured` reads it.

    >>> embedded(b"<script>window.state = {cart: [1, 2,], on: !0, f() { run() }}; layer.push({a: 1})</script>")
    {'state': {'cart': [1, 2], 'on': True, 'f': None}, 'layer': [{'a': 1}]}
    """
    return of(parse(body, content_type, None).tree)


def of(tree: turbohtml.Document) -> dict[str, Any]:
    """Returns the objects and lists in the scripts of a parsed page, as `embedded` does."""
    found: dict[str, Any] = {}
    left = MAX_SCRIPT_CHARS
    for script in tree.select("script:not([src])"):
        text = script.text
        kind = attribute_of(script, "type").strip().lower().partition(";")[0]
        left -= len(text)
        if left < 0 or len(found) > MAX_VALUES:
            break
        if kind in _CODE:
            _read(text, found)
        elif "json" in kind and "ld+json" not in kind:
            _keep(found, attribute_of(script, "id"), json_values(text))
    for name in ATTRIBUTES:
        for element in tree.select(f"[{name}]")[:20]:
            text = attribute_of(element, name).strip()
            if text[:1] in ("{", "["):
                _keep(found, name, json_values(html.unescape(text)))
    return found


def _keep(found: dict[str, Any], name: str, read: list[Any]) -> None:
    for value in read:
        if value and isinstance(value, dict | list):
            if name:
                found.setdefault(name, value)
            else:
                found.setdefault("", []).append(value)


def _read(text: str, found: dict[str, Any]) -> None:
    """Adds to `found` the values that a script assigns, pushes or passes to a function."""
    reader, at, chain, left = LiteralReader(text), 0, list[str](), MAX_REREADS * len(text) + 1_000_000
    while left > 0 and len(found) <= MAX_VALUES and (place := _PLACE.search(text, at)):
        at = place.end()
        if place["skip"] is not None:
            continue
        name, sets = place["name"].strip("[]\"'"), place["set"] is not None
        start = reader.blank(at)
        if sets and not _OPENS.match(text, start):
            chain = [*chain[-9:], name] if _PLACE.match(text, start) else []  # a = b = {...}
            continue
        if (sets and text[place.start() - 1 : place.start()] == "(" and not place["root"]) or (
            not sets and name in _WORDS
        ):
            continue
        value, end = reader.value(at)
        left -= end - at
        if value and isinstance(value, dict | list):
            at = max(at, end)
            _put(found, place, [*chain, name] if sets else [name], value)
        chain = []


def _put(found: dict[str, Any], place: re.Match[str], names: list[str], value: Any) -> None:
    for name in names:
        if place["push"] is not None:
            into = found.setdefault(name.removesuffix(".push"), [])
            if isinstance(into, list):
                into.append(value)
        elif place["root"] or len(name) > 2:  # shorter names come from a minifier
            found[name] = value
