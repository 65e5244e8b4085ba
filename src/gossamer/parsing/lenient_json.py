"""Reads JSON as it occurs on pages: with comments, stray commas, unescaped quotes, several values in a row,
and missing ends."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterator
from typing import Any, Final

MAX_CHARS: Final = 8_000_000
"""Maximum number of characters of a text that are read."""
MAX_DEPTH: Final = 100
"""Maximum nesting depth of objects and lists. Values that are nested more deeply are dropped."""
_ENTITIES: Final = re.compile(r"[\s{\[]*+&(?:quot|#34|#x22);")
_BLANK: Final = re.compile(r"[\s\ufeff;]++|//[^\r\n]*+|<!\[CDATA\[|\]\]>|<script\b[^>]*+>")
_ENDS: Final = re.compile(
    r'\s*+(?:[:}\]]|$|//|/\*|]]>|-->|(?:,\s*+)+(?:["{\[}\]/\-0-9]|$|true|false|null|[A-Za-z_$]\w{0,40}\s*+:(?!//)))'
)
_NEWLINE: Final = re.compile(r'[^\S\r\n]*+[\r\n]\s*+"')
_WORD: Final = re.compile(r"""[^\s,:{}\[\]"]++""")
_LONE: Final = re.compile(r"\\u[dD][89a-fA-F]|[\ud800-\udfff]")
_ESCAPE: Final = re.compile(r"\\(?:u([0-9a-fA-F]{4})|(.))", re.DOTALL)
_ESCAPES: Final = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f"}
_WORDS: Final[dict[str, Any]] = {
    "true": True,
    "false": False,
    "null": None,
    "undefined": None,
    "None": None,
    "NaN": None,
}
_TYPESET: Final = {ord(quote): '"' for quote in "“”„‟″"}
"""Typographic quotation marks, which some editors write instead of straight quotation marks."""
_NUMBER: Final = re.compile(r"[-+]?(?:[0-9]{1,15}(?:\.[0-9]{0,30})?|\.[0-9]{1,30})")
_QUOTED: Final = re.compile(
    r"'((?>(?:[^'\\]|\\.|'(?!\s*+[:,}\]]))*))'(?=\s*+[:,}\]])|`((?>(?:[^`\\]|\\.)*))`", re.DOTALL
)
"""Matches a JavaScript string in single quotes or backquotes. A single quote ends a string in single quotes
only if the next character may follow a string."""


def json_values(text: str) -> list[Any]:
    """Returns the JSON values in a text, in order. Invalid values are read as far as possible. Never raises.

    >>> json_values('{"a": [1, 2,], /* why */ "b": "c"} {"d": 5')
    [{'a': [1, 2], 'b': 'c'}, {'d': 5}]
    """
    text = text[:MAX_CHARS]
    if _ENTITIES.match(text):
        text = html.unescape(text)
    if '"' not in text and "“" in text:
        text = text.translate(_TYPESET)
    try:
        found = [json.loads(text, strict=False)] if _shallow(text) else _built(text)
    except (ValueError, RecursionError):
        found = _built(text) or (_built(text.replace("<!--", "", 1)) if "<!--" in text else [])
    return _paired(found) if _LONE.search(text) else found


def _shallow(text: str) -> bool:
    """Whether the nesting depth of brackets in a text is certainly at most `MAX_DEPTH`."""
    return text.count("{") + text.count("[") <= MAX_DEPTH or _depth(text) <= MAX_DEPTH


def _depth(text: str) -> int:
    """Returns the nesting depth of brackets. Brackets within strings count, too."""
    depth = deepest = 0
    for mark in re.findall(r"[{}\[\]]", text):
        depth += 1 if mark in "{[" else -1
        deepest = max(deepest, depth)
    return deepest


def _paired(found: list[Any]) -> list[Any]:
    """Returns the values with unpaired surrogates replaced, because no encoding can represent unpaired
    surrogates."""
    text = (
        json.dumps(found, ensure_ascii=False)
        .encode("utf-16-le", "surrogatepass")
        .decode("utf-16-le", "replace")
    )
    clean: list[Any] = json.loads(text)
    return clean


def _built(text: str) -> list[Any]:
    """Builds JSON values from the brackets, commas and scalars of a text, even if their order is invalid."""
    top: list[Any] = []
    open_: list[tuple[Any, list[str]]] = []  # open containers, each with the key of its next value

    def put(value: Any) -> None:
        if not open_:
            if isinstance(value, dict | list):
                top.append(value)
            return
        into, key = open_[-1]
        if isinstance(into, list):
            into.append(value)
        elif key:
            into[key.pop()] = value
        elif isinstance(value, str):
            key.append(value)

    for mark, value in _marks(text):
        if mark in ("{", "["):
            new: Any = {} if mark == "{" else []
            if len(open_) < MAX_DEPTH:
                put(new)
            open_.append((new, []))
        elif mark in ("}", "]"):
            kind = dict if mark == "}" else list
            if any(isinstance(into, kind) for into, _ in open_[-3:]):
                while not isinstance(open_.pop()[0], kind):
                    pass
        elif mark == ",":
            if open_:
                open_[-1][1].clear()
        else:
            put(value)
    return top


def _marks(text: str) -> Iterator[tuple[str, Any]]:
    """Yields the brackets, commas and scalars of a text, in order. A bracket or comma is yielded as the pair
    (character, None), and a scalar as the pair ('', value). Skips whitespace, colons and comments."""
    at, end, unclosed = 0, len(text), set[str]()
    while at < end:
        char = text[at]
        if char in "{}[],":
            yield char, None
            at += 1
        elif found := _BLANK.match(text, at):
            at = found.end()
        elif text.startswith(("/*", "<!--"), at):
            opener, closer = ("/*", "*/") if char == "/" else ("<!--", "-->")
            close = -1 if closer in unclosed else text.find(closer, at)
            if close < 0:
                unclosed.add(closer)  # so `closer` is not searched again
            at = at + len(opener) if close < 0 else close + len(closer)
        elif char == '"':
            close = _closing(text, at + 1)
            yield "", _ESCAPE.sub(_unescaped, text[at + 1 : close])
            at = close + 1
        elif char in "'`" and (found := _QUOTED.match(text, at)):
            yield "", _ESCAPE.sub(_unescaped, found[1] or found[2] or "")
            at = found.end()
        elif found := _WORD.match(text, at):
            yield "", _scalar(found[0])
            at = found.end()
        else:
            at += 1


def _closing(text: str, at: int) -> int:
    """Returns the position of the quote that ends a string. A quote ends the string only if the next
    character may follow a string."""
    while (at := text.find('"', at)) >= 0:
        slashes = at - len(text[max(0, at - 50) : at].rstrip("\\")) - max(0, at - 50)
        if slashes % 2 == 0 and (_ENDS.match(text, at + 1) or _NEWLINE.match(text, at + 1)):
            return at
        at += 1
    return len(text)


def _unescaped(found: re.Match[str]) -> str:
    if found[1]:
        return chr(int(found[1], 16))
    return _ESCAPES.get(found[2], found[2])


def _scalar(word: str) -> Any:
    if word in _WORDS:
        return _WORDS[word]
    if not _NUMBER.fullmatch(word):
        return word.strip("'")
    return float(word) if "." in word else int(word)
