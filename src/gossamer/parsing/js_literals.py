"""Reads JavaScript literals: objects, lists, strings and numbers. Expressions are not run: an expression that
is not a literal becomes None."""

from __future__ import annotations

import base64
import binascii
import json
import re
from typing import Any, Final
from urllib.parse import unquote

MAX_DEPTH: Final = 100
"""Maximum nesting depth of objects and lists. Values that are nested more deeply are dropped."""
MAX_STRING_CHARS: Final = 4_000_000
"""Maximum length in characters of a string to which `+` appends another string."""
_BLANK: Final = re.compile(r"(?>(?:\s++|//[^\r\n]*+|/\*(?>(?:[^*]++|\*(?!/))*)(?:\*/|$)|<!--)*)")
_STRING: Final = re.compile(
    r""" "((?>(?:[^"\\\r\n]++|\\.)*))" | '((?>(?:[^'\\\r\n]++|\\.)*))' | `((?>(?:[^`\\]++|\\.)*))` """,
    re.DOTALL | re.VERBOSE,
)
_ESCAPE: Final = re.compile(
    r"\\(?:u([0-9a-fA-F]{4})|u\{([0-9a-fA-F]{1,6})\}|x([0-9a-fA-F]{2})|(\r\n|.))", re.DOTALL
)
_ESCAPES: Final = {
    "n": "\n",
    "t": "\t",
    "r": "\r",
    "b": "\b",
    "f": "\f",
    "v": "\v",
    "0": "\0",
    "\n": "",
    "\r": "",
    "\r\n": "",
}
_NUMBER: Final = re.compile(
    r"0[xX][0-9a-fA-F]{1,30}|(?:\d[\d_]{0,99}(?:\.\d{0,99})?|\.\d{1,99})(?:[eE][-+]?\d{1,3})?"
)
_NAME: Final = re.compile(r"[^\W\d][\w$]*+|\$[\w$]*+")
_WORDS: Final = {"true": True, "false": False, "null": None, "undefined": None, "NaN": None, "Infinity": None}
_CONSTRUCTOR: Final = re.compile(r"new\s+(?:Date|Map|Set|Array|String|Number|URL)\s*+(?=\()")
_CALL: Final = re.compile(
    r"(JSON\s*\.\s*parse|decodeURIComponent|unescape|atob|Object\.freeze|Object\.seal|String|Number)\s*+(?=\()"
)
_FUNCTION: Final = re.compile(
    r"\(?\s*+(?:async\s+)?function\b[\s\w$*]*+\(([\w$\s,]*+)\)\s*+\{(?:\s*+return)?|\(\s*+\(([\w$\s,]*+)\)\s*+=>\s*+(?=[({])"
)
_RUNS: Final = re.compile(r"(?:async\b|function\b|class\b|\([^()]*+\)\s*+=>|[\w$]++\s*+=>)")
_SKIP: Final = re.compile(r"""(?>(?:[^"'`/()\[\]{},;\r\n\\]++|\\.)+)""", re.DOTALL)
_REGEX: Final = re.compile(r"/(?>(?:[^/\\\[\r\n]|\\.|\[(?>(?:[^\]\\\r\n]|\\.)*)\])+)/[a-z]*+")
_JSON: Final = re.compile(r"""\[|\{\s*+["}]""")
"""Matches the beginning of JSON."""
MAX_JSON_TRIES: Final = 8
"""Limit on the work for failed attempts to parse JSON. All failed attempts to parse JSON in the same text may
scan about MAX_JSON_TRIES times the length of the text in total."""
_DECODER: Final = json.JSONDecoder(strict=False)


class LiteralReader:
    """Reads values in a JavaScript text. `names`: maps the names of the function parameters in scope to their
    values."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.names: dict[str, Any] = {}
        self._tries = MAX_JSON_TRIES * len(text) + 1_000_000

    def blank(self, at: int) -> int:
        """Returns the position after whitespace and comments."""
        found = _BLANK.match(self.text, at)
        return found.end() if found else at

    def value(self, at: int, depth: int = 0) -> tuple[Any, int]:
        """Returns the value of the expression at a position, and the position where the expression ends. The
        expression ends at the end of a line, or before one of `, ; ) ] }`. Never raises."""
        value, at = self._one(at, depth)
        while True:
            after = self.blank(at)
            sign = self.text[after : after + 2]
            if sign in ("||", "??") and depth < MAX_DEPTH:
                other, at = self._one(after + 2, depth + 1)
                value = value or other
            elif sign[:1] == "+" and sign != "++" and isinstance(value, str):
                other, at = self._one(after + 1, depth + 1)
                value = value + other if isinstance(other, str) and len(value) < MAX_STRING_CHARS else None
            else:
                break
        # At the end of the text, `sign` is empty. An empty string is `in` every string.
        if sign[:1] in ",;)]}" or (after > at and "\n" in self.text[at:after]):
            return value, after if sign[:1] in ",;)]}" else at
        end = self.skip(at)
        return None, end

    def skip(self, at: int) -> int:
        """Returns the position where an expression ends, without reading the expression. The end is a comma,
        a semicolon, or the closing bracket of the surrounding value."""
        text, closing, size = self.text, list[str](), len(self.text)
        while at < size:
            if found := _SKIP.match(text, at):
                at = found.end()
                continue
            char = text[at]
            if char in "\"'`":
                found = _STRING.match(text, at)
            elif char == "/":
                found = (
                    _BLANK.match(text, at) if text[at + 1 : at + 2] in ("/", "*") else _REGEX.match(text, at)
                )
            elif char in "([{":
                closing.append(")]}"["([{".index(char)])
            elif char in ")]}":
                if not closing:
                    return at
                closing.pop()
            elif not closing and char in ",;":
                return at
            at = max(at + 1, found.end() if found else 0)
        return size

    def _one(self, at: int, depth: int) -> tuple[Any, int]:
        """Reads one operand, without the operators after it."""
        at = self.blank(at)
        text, char = self.text, self.text[at : at + 1]
        if char in ("{", "[") and depth < MAX_DEPTH:
            return self._object(at, depth) if char == "{" else self._list(at, depth)
        if char in ('"', "'", "`") and (found := _STRING.match(text, at)):
            return _unescaped(found[1] or found[2] or found[3] or ""), found.end()
        if found := _NUMBER.match(text, at):
            return _number(found[0]), found.end() + (text[found.end() : found.end() + 1] == "n")
        if char in ("-", "+", "!") and depth < MAX_DEPTH:
            value, end = self._one(at + 1, depth + 1)
            if char == "!":
                return (not value if isinstance(value, int) else None), end
            return (-value if char == "-" and isinstance(value, int | float) else value), end
        if char == "(" and depth < MAX_DEPTH and not _RUNS.match(text, at):
            return self._called(at, depth)
        return self._named(at, depth)

    def _called(self, at: int, depth: int) -> tuple[Any, int]:
        """Reads an expression in parentheses. The parentheses contain either a value, or a function that is
        called at once with values for its parameters."""
        if found := _FUNCTION.match(self.text, at):
            return self._run(found, depth)
        value, end = self.value(at + 1, depth + 1)
        while self.text[end : end + 1] == ",":  # the last of several expressions is the value
            value, end = self.value(end + 1, depth + 1)
        return value, end + (self.text[end : end + 1] == ")")

    def _run(self, found: re.Match[str], depth: int) -> tuple[Any, int]:
        """Reads the value that an immediately called function returns."""
        body = self.text.find("{", found.end() - 1 if found[2] is None else found.end())
        end = self.skip(found.end())
        while self.text[end : end + 1] in (";", ",", "}"):
            end = self.skip(end + 1)
        if self.text[end : end + 1] == ")" and self.text[(after := self.blank(end + 1)) : after + 1] == "(":
            end = self.blank(end + 1)
        else:  # in (function(){...}(...)) the call is inside the parentheses and was skipped
            opener = self.text.rfind("}(", found.end(), end)
            end = opener + 1 if opener >= 0 else end
        given: list[Any] = []
        if self.text[end : end + 1] == "(":
            given, end = self._list(end, depth + 1, ")")
        names = [name.strip() for name in (found[1] or found[2] or "").split(",")]
        before, self.names = self.names, {**self.names, **dict(zip(names, given, strict=False))}
        value = self.value(body, depth + 1)[0] if body >= 0 and depth < MAX_DEPTH else None
        self.names = before
        end = self.blank(end)
        return value, end + (self.text[end : end + 1] == ")")

    def _named(self, at: int, depth: int) -> tuple[Any, int]:
        """Reads the value of a name, or of a call that only converts its argument, such as `JSON.parse`."""
        if (found := _CALL.match(self.text, at) or _CONSTRUCTOR.match(self.text, at)) and depth < MAX_DEPTH:
            given, end = self._list(found.end(), depth + 1, ")")
            call = found[1] if found.re is _CALL else ""
            return _changed(call, given[0] if given else None), end
        if self.text.startswith("void ", at):
            return None, self._one(at + 5, min(depth + 1, MAX_DEPTH))[1]
        found = None if _RUNS.match(self.text, at) else _NAME.match(self.text, at)
        if not found:
            return None, at if self.text[at : at + 1] in ",;)]}" else self.skip(at)
        value, at = _WORDS.get(found[0], self.names.get(found[0])), found.end()
        while (after := self.blank(at)) < len(self.text) and self.text[after] in ".[(":
            value = None
            step = _NAME.match(self.text, after + 1) if self.text[after] == "." else None
            end = step.end() if step else self.skip(after + 1)
            while not step and self.text[end : end + 1] in (",", ";"):
                end = self.skip(end + 1)
            at = end if step else end + 1
        return value, at

    def _list(self, at: int, depth: int, closing: str = "]") -> tuple[list[Any], int]:
        if closing == "]" and (quick := self._json(at)):
            return quick
        found: list[Any] = []
        at = self.blank(at + 1)
        while at < len(self.text) and self.text[at] not in ")]}":
            if self.text[at] == ",":
                found.append(None)
                at = self.blank(at + 1)
                continue
            spread = self.text.startswith("...", at)
            value, end = self.value(at + 3 * spread, depth + 1)
            found += (value if isinstance(value, list) else []) if spread else [value]
            at = self.blank(end + 1 if self.text[end : end + 1] in (",", ";") else max(end, at + (end == at)))
        return found, at + 1

    def _object(self, at: int, depth: int) -> tuple[dict[str, Any], int]:
        if quick := self._json(at):
            return quick
        found: dict[str, Any] = {}
        at = self.blank(at + 1)
        while at < len(self.text) and self.text[at] not in ")]}":
            key, after = self._key(at)
            if self.text[after : after + 1] == ":":
                value, end = self.value(after + 1, depth + 1)
                if key is not None and self.blank(after + 1) < len(self.text):
                    found[key] = value
            else:
                end = self.skip(after)
                if self.text.startswith("...", at):
                    other = self.value(at + 3, depth + 1)[0]
                    found.update(other if isinstance(other, dict) else {})
                elif key is not None:
                    found[key] = self.names.get(key)
            at = self.blank(end + 1 if self.text[end : end + 1] in (",", ";") else max(end, at + (end == at)))
        return found, at + 1

    def _key(self, at: int) -> tuple[str | None, int]:
        found = _STRING.match(self.text, at) or _NAME.match(self.text, at) or _NUMBER.match(self.text, at)
        if not found:
            end = self.skip(at + 1) + 1 if self.text[at] == "[" else at
            return None, self.blank(end)
        key = _unescaped(found[1] or found[2] or found[3] or "") if found.re is _STRING else found[0]
        return key, self.blank(found.end())

    def _json(self, at: int) -> tuple[Any, int] | None:
        """Reads a whole JSON value in one step. Returns None if the value is not valid JSON. The time of a
        failed attempt grows with the length of the text before the error, because the decoder counts the
        lines up to the error."""
        if self._tries < 0 or not _JSON.match(self.text, at):
            return None
        try:
            return _DECODER.raw_decode(self.text, at)
        except json.JSONDecodeError as error:
            self._tries -= error.pos
        except (ValueError, RecursionError):
            self._tries -= len(self.text)
        return None


def _unescaped(text: str) -> str:
    return _ESCAPE.sub(_character, text) if "\\" in text else text


def _character(found: re.Match[str]) -> str:
    code = found[1] or found[2] or found[3]
    if code:
        return chr(min(int(code, 16), 0x10FFFF))
    return _ESCAPES.get(found[4], found[4])


def _number(text: str) -> int | float:
    if text[:2] in ("0x", "0X"):
        return int(text, 16)
    text = text.replace("_", "")
    value = float(text)
    if text.isdecimal():
        return int(text)
    return int(value) if value.is_integer() and abs(value) < 1e15 and "." not in text else value


def _changed(call: str, value: Any) -> Any:
    """Returns the result of a built-in function such as `JSON.parse` or `atob` for a string, or None if the
    string cannot be decoded. Values other than strings are returned unchanged."""
    if not isinstance(value, str):
        return value
    try:
        if call.startswith("JSON"):
            return json.loads(value, strict=False)
        if call == "atob":
            return base64.b64decode(value + "==").decode("utf-8", "replace")
    except (ValueError, RecursionError, binascii.Error):
        return None
    return unquote(value) if call in ("decodeURIComponent", "unescape") else value
