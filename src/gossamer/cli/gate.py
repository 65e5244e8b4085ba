"""`--fail-on EXPR`: a closed little grammar over the summary's numbers; nothing is evaluated as code.

    expression = term ("or" term)*;  term = comparison ("and" comparison)*
    comparison = name ("<" | "<=" | ">" | ">=" | "==" | "!=") number, or "(" expression ")"

Names are the numbers of the summary, `success` (share of fetched URLs that ended as 2xx or 304; 0 when none was),
`skipped` and `errors` (all reasons together), and `skipped.robots`, `errors.dns` and the like.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable

from gossamer.errors import UsageError
from gossamer.summary import Summary
from gossamer.units import nearest
from gossamer.verdict import ERRORS, SKIPS

NUMBERS = (
    "success", "found", "pages", "redirected", "items", "succeeded", "failed", "retried", "dead", "pending", "bytes",
    "pages_per_second", "hosts", "elapsed", "skipped", "errors",
)  # fmt: skip
NAMES = (*NUMBERS, *(f"skipped.{word}" for word in SKIPS), *(f"errors.{word}" for word in ERRORS))
_COMPARE: dict[str, Callable[[float, float], bool]] = {
    "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge, "==": operator.eq, "!=": operator.ne,
}  # fmt: skip
_WORD = re.compile(r"\s*(?:(?P<number>\d+(?:\.\d+)?%?)|(?P<name>[a-z_]+(?:\.[a-z0-9-]+)?)|(?P<mark>[<>=!]=|[<>()]))")
DEEPEST = 20

Test = Callable[[Summary], bool]


def parse(text: str) -> Test:
    """The expression as a test of a summary; true means that the gate is not met. Raises UsageError.

    >>> parse("dead>0 or success<95%")  # doctest: +ELLIPSIS
    <function ...>
    """
    words = _words(text)
    test, rest = _either(text, words, 0, 0)
    if rest != len(words):
        raise _wrong(text, f"{words[rest]!r} is one too many")
    return test


def value(summary: Summary, name: str) -> float:
    """The number that a name stands for."""
    group, _, reason = name.partition(".")
    if reason:
        return float(getattr(summary, group).get(reason, 0))
    if name == "success":
        ended = summary.pages + summary.failed + summary.dead
        return summary.succeeded / ended if ended else 0.0
    found = getattr(summary, name)
    return float(sum(found.values()) if isinstance(found, dict) else found)


def _words(text: str) -> list[str]:
    words, at = [], 0
    text = text.rstrip()
    while at < len(text):
        found = _WORD.match(text, at)
        if not found:
            raise _wrong(text, f"{text[at:].split()[0]!r} is not understood")
        words.append(found[0].strip())
        at = found.end()
    return words


def _either(text: str, words: list[str], at: int, depth: int) -> tuple[Test, int]:
    tests, at = _joined(text, words, at, depth, "or", _both)
    return (lambda summary: any(test(summary) for test in tests)), at


def _both(text: str, words: list[str], at: int, depth: int) -> tuple[Test, int]:
    tests, at = _joined(text, words, at, depth, "and", _one)
    return (lambda summary: all(test(summary) for test in tests)), at


def _joined(
    text: str, words: list[str], at: int, depth: int, by: str, part: Callable[..., tuple[Test, int]]
) -> tuple[list[Test], int]:
    test, at = part(text, words, at, depth)
    tests = [test]
    while at < len(words) and words[at] == by:
        test, at = part(text, words, at + 1, depth)
        tests.append(test)
    return tests, at


def _one(text: str, words: list[str], at: int, depth: int) -> tuple[Test, int]:
    if words[at : at + 1] == ["("] and depth < DEEPEST:
        test, at = _either(text, words, at + 1, depth + 1)
        if words[at : at + 1] != [")"]:
            raise _wrong(text, "a ) is missing")
        return test, at + 1
    if len(words) < at + 3:
        raise _wrong(text, "it ends too soon")
    name, mark, number = words[at : at + 3]
    if name not in NAMES:
        raise _wrong(text, f"there is no number {name!r}{nearest(name, NAMES)}")
    if mark not in _COMPARE:
        raise _wrong(text, f"after {name} comes one of {' '.join(_COMPARE)}")
    if not number[0].isdigit():
        raise _wrong(text, f"{number!r} is no number")
    bound = float(number.rstrip("%")) / (100 if number.endswith("%") else 1)
    return (lambda summary: _COMPARE[mark](value(summary, name), bound)), at + 3


def _wrong(text: str, why: str) -> UsageError:
    return UsageError(f"--fail-on {text!r}: {why}; write it as success<0.95 or dead>0")
