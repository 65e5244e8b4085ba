"""Finds scripts that send every visitor of a page to another URL.

Only statements that certainly run count: statements outside of functions and conditions, and statements in
functions that the script calls at once, after a time, or when the page has loaded. The target must be a literal.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

MAX_SCRIPT_CHARS: Final = 50_000
"""The rest of a longer script is ignored."""
_TOKEN: Final = re.compile(
    r"//[^\n]*|/\*(?:.*?\*/|.*)|\"(?:\\.|[^\"\\\n])*\"?|'(?:\\.|[^'\\\n])*'?|`(?:\\.|[^`\\])*`?|=>|\w+|\$|\n|[^\s\w]",
    re.DOTALL,
)
_REGEX: Final = re.compile(r"/(?:\\.|\[(?:\\.|[^\]\\\n])*\]?|[^/\\\n\[])+/?\w*")
_BEFORE_REGEX: Final = frozenset("(,=:[!&|?{};\n") | {"", "return", "=>"}
_WINDOWS: Final = frozenset(("window", "document", "self", "top", "parent", "globalThis", "this"))
_STARTS: Final = _WINDOWS | {"location", "setTimeout"}
_DEFERRED: Final = frozenset(("setTimeout", "ready", "requestAnimationFrame", "$", "jQuery"))
"""Functions that call the function that they are given, after a time or when the page has loaded."""
_LOADED: Final = frozenset(("load", "domcontentloaded", "pageshow"))
_CONDITIONS: Final = frozenset(("if", "for", "while", "switch", "with", "catch"))


def script_redirect(source: str) -> str:
    """Returns the URL to which a script sends every visitor, as written in the script, or ''.

    >>> script_redirect("location.replace('/new')"), script_redirect("function go() { location = '/new' }")
    ('/new', '')
    """
    if "location" not in source:
        return ""
    tokens = _tokens(source[:MAX_SCRIPT_CHARS].removeprefix("<!--"))
    runs = [True]  # for each open bracket: whether statements in it certainly run
    opened: list[int] = []
    closed: dict[int, int] = {}
    for at, one in enumerate(tokens):
        if one in "([{":
            runs.append(runs[-1] and _runs(tokens, at, closed))
            opened.append(at)
        elif one in ")]}" and opened:
            runs.pop()
            closed[at] = opened.pop()
        elif one in _STARTS and runs[-1] and _begins(tokens, at, closed):
            found = _target(tokens, at)
            if one == "setTimeout" and tokens[at + 1 : at + 2] == ["("]:
                found = script_redirect(_text(tokens, at + 2))
            if found:
                return found
    return ""


def _tokens(source: str) -> list[str]:
    """Returns the tokens of a script without comments. A line break counts as a token."""
    found: list[str] = []
    place = 0
    while match := _TOKEN.search(source, place):
        place = match.end()
        if match[0].startswith(("//", "/*")):
            continue
        literal = None
        if match[0] == "/" and (found[-1] if found else "") in _BEFORE_REGEX:
            literal = _REGEX.match(source, match.start())
        if literal is not None:
            place = literal.end()
        found.append(match[0])
    return found


def _before(tokens: Sequence[str], at: int) -> int:
    """Returns the index of the token before another token, without line breaks. Returns -1 at the beginning."""
    at -= 1
    while at >= 0 and tokens[at] == "\n":
        at -= 1
    return at


def _word(tokens: Sequence[str], at: int) -> str:
    return tokens[at] if at >= 0 else ""


def _runs(tokens: Sequence[str], at: int, closed: dict[int, int]) -> bool:
    """Returns whether statements in a bracket run whenever the statement around the bracket runs."""
    if tokens[at] == "[":
        return False
    if tokens[at] == "(":
        return True
    before = _before(tokens, at)
    if _word(tokens, before) == "=>":
        start = _before(tokens, before)
        start = closed.get(start, start)
    elif _word(tokens, before) == ")":
        start = _before(tokens, closed.get(before, 0))
        if _word(tokens, start) != "function":
            start = _before(tokens, start)
        if _word(tokens, start) != "function":
            return False
    else:
        return _word(tokens, before) == "try"
    start = _before(tokens, start) if _word(tokens, _before(tokens, start)) == "async" else start
    return _is_called(tokens, _before(tokens, start))


def _is_called(tokens: Sequence[str], before: int) -> bool:
    """Returns whether a function is called at once or when the page has loaded. `before`: the index of the
    token before the function."""
    word, owner = _word(tokens, before), _word(tokens, _before(tokens, before))
    if word == "(":
        return owner in _DEFERRED or not owner or owner in "(;{}!=,"
    if word == ",":
        return owner.strip("\"'`").lower() in _LOADED
    return word == "!" or (word == "=" and owner == "onload")


def _begins(tokens: Sequence[str], at: int, closed: dict[int, int]) -> bool:
    """Returns whether a token begins a statement that is subject to no condition."""
    before = _before(tokens, at)
    word = _word(tokens, before)
    if word == "=>":
        start = _before(tokens, before)
        return _is_called(tokens, _before(tokens, closed.get(start, start)))
    if word in ("", ";", "{", "}"):
        return True
    if before == at - 1 or not (word in (")", "]") or word[-1].isalnum() or word[-1] in "\"'`"):
        return False
    owner = _word(tokens, _before(tokens, closed.get(before, 0))) if word == ")" else word
    return owner not in _CONDITIONS and owner not in ("else", "do", "return", "case", "typeof", "var", "let")


def _target(tokens: Sequence[str], at: int) -> str:
    """Returns the literal that a statement assigns to the location, or ''."""
    while _word(tokens, at) in _WINDOWS and tokens[at + 1 : at + 2] == ["."]:
        at += 2
    if at >= len(tokens) or tokens[at] != "location":
        return ""
    rest = [one for one in tokens[at + 1 : at + 12] if one != "\n"]
    for form in (["="], [".", "href", "="], [".", "replace", "("], [".", "assign", "("]):
        if rest[: len(form)] == form and rest[len(form) + 1 : len(form) + 2] != ["+"]:
            return _text(rest, len(form))
    return ""


def _text(tokens: Sequence[str], at: int) -> str:
    """Returns the value of a literal text, or ''."""
    literal = _word(tokens, at) if at < len(tokens) else ""
    if len(literal) < 2 or literal[0] not in "\"'`" or "${" in literal:
        return ""
    return re.sub(r"\\(.)", r"\1", literal[1:].removesuffix(literal[0]))
