"""Matches regular expressions against text from the web in bounded time. Users and sites provide the
expressions.

The syntax and the semantics are those of Python's `re`, whose parser reads each pattern. However, `re`
matches by backtracking. On a hostile text, a pattern such as `(a+)+$` may run for years. Patterns are
therefore matched by three engines:

- `re`, for patterns that provably take linear time, and for texts so short that `re` provably takes few
  steps.
- `re2`, for all other patterns that RE2 can express. RE2 takes linear time on every text.
- `regex`, for patterns with look-around or back-references, and for texts on which RE2 and `re` would give
  different results. The run time of `regex` is limited to `TIMEOUT_S`.

`re2` and `regex` are imported only when a pattern needs them.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from importlib import import_module
from typing import Any, Final, NamedTuple, Protocol

TIMEOUT_S: Final = 0.05
"""Maximum processor time in seconds for one search with a pattern in a text."""
_LEAST_TIMEOUT_S: Final = 0.0005
"""Minimum time limit in seconds for a pattern that has timed out repeatedly."""
_RECOVERY_SHARE: Final = 0.05
"""Each timeout of a pattern reduces the pattern's time limit. Later, the time limit grows back to
`TIMEOUT_S`. Every second, the time limit grows by this number of seconds."""
_ALL_MATCHES_S: Final = 0.1
"""Maximum processor time in seconds that RE2 may take to find all matches in a text."""
_MAX_STEPS: Final = 20_000
"""Maximum number of backtracking steps that one search with the module `re` may take. The module `re` takes
less than a millisecond for 20,000 steps."""
_MAX_WIDTH, _MAX_WAYS, _LONG_RUN = 256, 64, 64
_OTHER: Final = 1 << 128
"""The bit that represents all non-ASCII characters in a character set. In a character set, bits 0 to 127
represent the ASCII characters."""
_ALL: Final = (1 << 129) - 1
_NEWLINE: Final = 1 << 10
_SPACES: Final = r"\t-\r\x1c-\x20\x{85}\x{a0}\p{Z}"
_SPACES_REGEX: Final = r"\t-\r\x1c-\x20\x85\xa0\p{Z}"
_CLASSES: Final = {"DIGIT": r"\p{Nd}", "WORD": r"\p{L}\p{N}_", "SPACE": _SPACES}
_ASCII_CLASSES: Final = {"DIGIT": "0-9", "WORD": "0-9A-Za-z_", "SPACE": r"\t-\r\x20"}


class PatternTimeout(ValueError):
    """Raised when a pattern takes too long on a text."""


class Searcher(Protocol):
    """The interface of a compiled pattern that the filters need. `re.Pattern` also implements this
    interface."""

    @property
    def pattern(self) -> str:
        """The pattern as it was written."""

    def search(self, string: str, /) -> Any:
        """Returns a true value if the pattern is found. May raise PatternTimeout, except if the pattern is a
        `re.Pattern`."""


class Pattern:
    """A compiled pattern for which `re` may need more than linear time."""

    __slots__ = ("_debt", "_engines", "_since", "_tree", "on_timeout", "pattern", "plain", "short")

    def __init__(self, plain: re.Pattern[str], tree: Any, short: int) -> None:
        """`tree` is the pattern as parsed by `re`, or None. Texts of at most `short` characters are matched
        by `re`."""
        self.plain, self.short, self._tree = plain, short, tree
        self.pattern = plain.pattern
        self.on_timeout: Callable[[str], None] | None = None
        """A function that is called with a message when the pattern takes too long for the first time."""
        self._engines: _Engines | None = None
        self._debt, self._since = 0.0, 0.0

    def __repr__(self) -> str:
        return f"patterns.compile({self.pattern!r})"

    def __reduce__(self) -> tuple[Any, ...]:
        return compile_, (self.plain,)

    @property
    def flags(self) -> int:
        """The flags with which `re` compiled the pattern."""
        return self.plain.flags

    @property
    def is_timed(self) -> bool:
        """Whether the pattern runs with a time limit, because RE2 cannot express the pattern."""
        return self._made().search is None

    def search(self, text: str) -> bool:
        """Returns whether the pattern is found in the text. Raises PatternTimeout."""
        if len(text) <= self.short:
            return self.plain.search(text) is not None
        made = self._made()
        if made.search is not None and made.is_equal_to_re(text):
            return bool(made.search(text.encode()))
        return bool(self._timed(lambda allowed: made.timed().search(text, timeout=allowed) is not None, text))

    def matches(self, text: str) -> list[list[str]]:
        """Returns a list of texts for each match: the groups of the match, or the whole match if the pattern
        has no groups. Raises PatternTimeout."""
        if len(text) <= self.short:
            return list(map(_groups, self.plain.finditer(text)))
        made = self._made()
        if made.spans is not None and made.is_equal_to_re(text):
            return self._all(made.spans, text.encode())
        found: list[list[str]] = self._timed(
            lambda allowed: list(map(_groups, made.timed().finditer(text, timeout=allowed))), text
        )
        return found

    def _all(self, spans: Callable[[bytes, int], list[tuple[int, int]]], data: bytes) -> list[list[str]]:
        found, place, end = [], 0, time.thread_time() + _ALL_MATCHES_S
        while (hit := spans(data, place))[0][0] >= 0:
            found.append([data[first:last].decode() if first >= 0 else "" for first, last in hit[1:] or hit])
            place = hit[0][1]
            if time.thread_time() > end:
                raise self._over(_ALL_MATCHES_S, len(data))
        return found

    def _timed(self, look: Callable[[float], Any], text: str) -> Any:
        now = time.monotonic()
        self._debt = max(0.0, self._debt - (now - self._since) * _RECOVERY_SHARE)
        self._since = now
        allowed = max(_LEAST_TIMEOUT_S, TIMEOUT_S - self._debt)
        try:
            return look(allowed)
        except TimeoutError:
            self._debt += allowed
            raise self._over(TIMEOUT_S, len(text)) from None

    def _over(self, limit: float, length: int) -> PatternTimeout:
        line = (
            f"the pattern {self.pattern!r} took more than {limit * 1000:.0f} ms on a text of "
            f"{length} characters"
        )
        if self.on_timeout is not None:
            tell, self.on_timeout = self.on_timeout, None
            tell(line)
        return PatternTimeout(line)

    def _made(self) -> _Engines:
        if self._engines is None:
            self._engines = _Engines(self.plain, self._tree)
        return self._engines


class _Engines:
    """The RE2 and `regex` matchers of one pattern. Each matcher is compiled at its first use."""

    def __init__(self, plain: re.Pattern[str], tree: Any) -> None:
        self._plain, self._tree, self._regex = plain, tree, None
        self.search: Callable[[bytes], bool] | None = None
        self.spans: Callable[[bytes, int], list[tuple[int, int]]] | None = None
        writer = _Writer(plain.flags)
        try:
            text = writer.sequence(tree, plain.flags).encode()
            # If a repeated part may be empty, RE2 returns different groups than `re`. After an empty match,
            # RE2 continues at another position.
            spans = tree.getwidth()[0] > 0 and not writer.repeats_empty
            self._open(text, spans)
        except (_Inexpressible, UnicodeEncodeError):
            pass
        self._any_text, self._ends = not writer.ascii_only, writer.ends

    def _open(self, text: bytes, spans: bool) -> None:
        import re2

        options = re2.Options()
        options.log_errors, options.never_capture = False, True
        native = re2._re2.RE2  # the wrappers of the module take ten times as long per call
        anchor = native.Anchor.UNANCHORED
        made = native(text, options)
        if not made.ok():
            return
        match = made.Match
        self.search = lambda data: match(anchor, data, 0, len(data))[0][0] >= 0
        if spans:
            options.never_capture = False
            every = native(text, options).Match
            self.spans = lambda data, place: every(anchor, data, place, len(data))

    def is_equal_to_re(self, text: str) -> bool:
        """Returns whether RE2 and `re` are certain to find the same matches in the text."""
        if self._ends and text[-1:] == "\n":  # in `re`, `$` also matches before a trailing newline
            return False
        if text.isascii():
            return True
        if not self._any_text:
            return False
        try:
            text.encode()
        except UnicodeEncodeError:
            return False
        return True

    def timed(self) -> Any:
        """Compiles the pattern with the library `regex`, and returns the result."""
        if self._regex is None:
            import regex

            try:
                text = _Writer(self._plain.flags, regex=True).sequence(self._tree, self._plain.flags)
                self._regex = regex.compile(text, regex.VERSION0)
            except (_Inexpressible, regex.error):  # a construct that only newer versions of Python support
                # the other flags have different values in `regex`
                flags = self._plain.flags & (re.IGNORECASE | re.MULTILINE | re.DOTALL | re.VERBOSE)
                self._regex = regex.compile(self._plain.pattern, flags | regex.VERSION0)
        return self._regex


@lru_cache(512)
def compile_(pattern: str | re.Pattern[str]) -> re.Pattern[str] | Pattern:
    r"""Compiles a pattern for the engine that suits it. Raises re.error, OverflowError or RecursionError for
    an invalid pattern.

    >>> type(compile_(r"/product/\d+$")).__module__, type(compile_(r"(a+)+$")).__module__
    ('re', 'gossamer.url.patterns')
    """
    plain = re.compile(pattern)
    text: Any = plain.pattern
    if isinstance(text, bytes):
        raise re.error("it is bytes: write it as text")
    try:
        tree = import_module("re._parser").parse(text, plain.flags & ~re.DEBUG)
        short = _short(tree, plain.flags)
    except Exception:  # noqa: BLE001 - `re` took it, so it is a construct unknown here
        tree, short = None, 0
    return plain if short is None else Pattern(plain, tree, short)


def matches(pattern: str | re.Pattern[str], text: str) -> Iterator[list[str]]:
    """Yields the groups of each match, or the whole match if the pattern has no groups. Raises
    PatternTimeout."""
    made = compile_(pattern)
    return map(_groups, made.finditer(text)) if isinstance(made, re.Pattern) else iter(made.matches(text))


def found(pattern: Searcher, text: str, on_timeout: bool) -> bool:
    """Returns whether the pattern is found in the text, or `on_timeout` if the pattern takes too long."""
    try:
        return bool(pattern.search(text))
    except PatternTimeout:
        return on_timeout


def watch(patterns: Iterable[Searcher], tell: Callable[[str], None]) -> None:
    """Sets a function that is called with a message when one of the patterns takes too long for the first
    time."""
    for one in patterns:
        if isinstance(one, Pattern):
            one.on_timeout = tell


def timed(patterns: Iterable[Searcher]) -> list[Pattern]:
    """Returns the patterns that run with a time limit."""
    return [one for one in patterns if isinstance(one, Pattern) and one.is_timed]


def _groups(match: Any) -> list[str]:
    groups = match.groups()
    return [group or "" for group in groups] if groups else [match[0]]


class _Inexpressible(Exception):
    """Raised for a construct that the target engine lacks."""


class _Complex(Exception):
    """Raised if the number of steps that `re` takes for a pattern has no known bound."""


class _Piece(NamedTuple):
    """A part of a pattern that matches between `least` and `most` characters. `first`: the set of characters
    with which a match may begin. `run`: whether the part may match more than `_LONG_RUN` characters of the
    set. `is_end`: whether the part is an anchor for the end of the text."""

    first: int
    least: int
    most: int
    run: bool = False
    is_end: bool = False


def _short(tree: Any, flags: int) -> int | None:
    """Returns the maximum length of a text on which `re` is guaranteed to take at most `_MAX_STEPS` steps.
    Returns None if `re` takes linear time on all texts."""
    ways = [1]
    try:
        pieces = _pieces(tree, flags, ways)
    except _Complex:
        return 0
    if sum(piece.most for piece in pieces if not piece.run) > _MAX_WIDTH or ways[0] > _MAX_WAYS:
        return 0
    clashes, plain_runs, runs = 0, False, 0
    for number, piece in enumerate(pieces):
        # a run at the end of a pattern always matches, so it needs no backtracking
        if piece.run and (then := _first(pieces[number + 1 :])) is not None:
            runs |= piece.first
            clashes += bool(piece.first & then)
            plain_runs = plain_runs or not piece.first & then
    starts = _first(pieces)
    restarts = not _is_anchored(tree, flags) and (starts is None or bool(starts & runs))
    degree = clashes + plain_runs + (restarts and bool(runs))
    return None if degree < 2 else int((_MAX_STEPS / ways[0]) ** (1 / degree))


def _first(pieces: list[_Piece]) -> int | None:
    """Returns the set of characters with which a sequence of pieces may begin. Returns None if all pieces may
    be empty, so that the sequence matches anywhere."""
    found = 0
    for piece in pieces:
        found |= piece.first
        if piece.least or piece.is_end:
            return found
    return None


def _is_anchored(tree: Any, flags: int) -> bool:
    op, av = tree[0] if len(tree) else (None, None)
    if str(op) != "AT":
        return False
    return str(av) == "AT_BEGINNING_STRING" or (str(av) == "AT_BEGINNING" and not flags & re.MULTILINE)


def _pieces(tree: Any, flags: int, ways: list[int]) -> list[_Piece]:
    """Splits a parsed pattern into pieces, in order. `ways`: a list with a single element, a number. The
    function multiplies this number by the number of different ways in which the pieces can match a text. Long
    repetitions are not counted. Raises _Complex."""
    found: list[_Piece] = []
    for op, av in tree:
        name = str(op)
        if name in ("LITERAL", "NOT_LITERAL", "ANY", "IN"):
            found.append(_Piece(_set(name, av, flags), 1, 1))
        elif name == "AT":
            if str(av) in ("AT_END", "AT_END_STRING"):
                found.append(_Piece(_NEWLINE, 0, 0, is_end=True))
        elif name == "SUBPATTERN":
            found += _pieces(av[3], (flags | av[1]) & ~av[2], ways)
        elif name == "BRANCH":
            found.append(_either([_pieces(one, flags, ways) for one in av[1]], ways))
        elif name in ("MAX_REPEAT", "MIN_REPEAT"):
            least, most, body = int(av[0]), int(av[1]), _pieces(av[2], flags, ways)
            if len(body) == 1 and body[0][1:] == (1, 1, False, False):
                ways[0] *= 1 if most > _LONG_RUN else most - least + 1
                found.append(_Piece(body[0].first, least, most, most > _LONG_RUN))
            elif most == 1:
                found.append(_either([body, []] if least == 0 else [body], ways))
            else:
                raise _Complex
        else:
            raise _Complex
    return found


def _either(choices: list[list[_Piece]], ways: list[int]) -> _Piece:
    if any(piece.run or piece.is_end for one in choices for piece in one):
        raise _Complex
    ways[0] *= len(choices)
    first = 0
    for one in choices:
        known = _first(one)
        first |= _union(one) if known is None else known
    return _Piece(
        first,
        min(sum(p.least for p in one) for one in choices),
        max(sum(p.most for p in one) for one in choices),
    )


def _union(pieces: list[_Piece]) -> int:
    found = 0
    for piece in pieces:
        found |= piece.first
    return found


def _set(name: str, av: Any, flags: int) -> int:
    """Returns a bit mask of the characters that one item of a pattern matches. Raises _Complex."""
    if name == "ANY":
        return _ALL if flags & re.DOTALL else _ALL & ~_NEWLINE
    if name in ("LITERAL", "NOT_LITERAL"):
        found = _span(av, av, flags)
        return (
            found
            if name == "LITERAL"
            else (_ALL & ~found) | (_OTHER if av > 127 or flags & re.IGNORECASE else 0)
        )
    found, negated = 0, False
    for op, value in av:
        kind = str(op)
        if kind == "NEGATE":
            negated = True
        elif kind in ("LITERAL", "RANGE"):
            first, last = value if kind == "RANGE" else (value, value)
            found |= _span(first, last, flags)
        elif kind == "CATEGORY":
            found |= _category(str(value))
        else:
            raise _Complex
    return (_ALL & ~found) | _OTHER if negated else found


def _span(low: int, high: int, flags: int) -> int:
    found = _OTHER if high > 127 else 0
    for code in range(low, min(high, 127) + 1):
        found |= 1 << code
        if flags & re.IGNORECASE and (char := chr(code)).isalpha():
            found |= 1 << ord(char.swapcase())
            found |= _OTHER if char in "iksIKS" else 0
    # the non-ASCII letters that equal i, k or s when case is ignored
    if flags & re.IGNORECASE and high > 127:
        found |= _span(105, 105, 0) | _span(107, 107, 0) | _span(115, 115, 0)
        found |= _span(73, 73, 0) | _span(75, 75, 0) | _span(83, 83, 0)
    return found


@lru_cache(16)
def _category(name: str) -> int:
    kind = re.compile({"DIGIT": r"\d", "SPACE": r"\s", "WORD": r"\w"}[name.rpartition("_")[2]])
    found = sum(1 << code for code in range(128) if kind.match(chr(code)))
    return (_ALL & ~found) if "_NOT_" in name else found | _OTHER


class _Writer:
    """Writes a parsed pattern in the syntax of RE2 or of `regex`."""

    def __init__(self, flags: int, *, regex: bool = False) -> None:
        self.regex, self._spaces = regex, _SPACES_REGEX if regex else _SPACES
        self.ascii_only = bool(flags & re.ASCII)
        """If `ascii_only` is true, the results of RE2 and of `re` are guaranteed to be equal only for ASCII
        texts."""
        self.ends = self.repeats_empty = False
        """`ends` is true if the pattern contains `$`. `repeats_empty` is true if the pattern repeats a part
        that may be empty."""

    def sequence(self, tree: Any, flags: int) -> str:
        """Writes a sequence of items. Raises _Inexpressible."""
        if tree is None:
            raise _Inexpressible
        return "".join(self.item(str(op), av, flags) for op, av in tree)

    def item(self, name: str, av: Any, flags: int) -> str:
        """Writes one item. Raises _Inexpressible."""
        if name in ("LITERAL", "NOT_LITERAL", "IN", "ANY"):
            return self._chars(name, av, flags)
        if name == "AT":
            return self._at(str(av), flags)
        if name == "SUBPATTERN":
            group, more, less, body = av
            inner = self.sequence(body, (flags | more) & ~less)
            return f"({inner})" if group is not None else f"(?:{inner})"
        if name == "BRANCH":
            return f"(?:{'|'.join(self.sequence(one, flags) for one in av[1])})"
        if name in ("MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT"):
            return self._repeat(name, av, flags)
        if self.regex:
            return self._special(name, av, flags)
        raise _Inexpressible

    def _repeat(self, name: str, av: Any, flags: int) -> str:
        least, most, body = int(av[0]), av[1], av[2]
        if name == "POSSESSIVE_REPEAT" and not self.regex:
            raise _Inexpressible
        self.repeats_empty = self.repeats_empty or body.getwidth()[0] == 0
        endless = str(most) == "MAXREPEAT"
        if not self.regex and max(least, 0 if endless else int(most)) > 1000:
            raise _Inexpressible
        times = {(0, True): "*", (1, True): "+"}.get(
            (least, endless)
        ) or f"{{{least},{'' if endless else int(most)}}}"
        sign = {"MAX_REPEAT": "", "MIN_REPEAT": "?", "POSSESSIVE_REPEAT": "+"}[name]
        return f"(?:{self.sequence(body, flags)}){times}{sign}"

    def _at(self, name: str, flags: int) -> str:
        if name in ("AT_BEGINNING", "AT_BEGINNING_STRING"):
            return "(?m:^)" if name == "AT_BEGINNING" and flags & re.MULTILINE else r"\A"
        if name == "AT_END_STRING":
            return r"\Z" if self.regex else r"\z"
        if name == "AT_END":
            if flags & re.MULTILINE:
                return "(?m:$)"
            self.ends = True
            return r"(?=\n?\Z)" if self.regex else r"\z"
        if name not in ("AT_BOUNDARY", "AT_NON_BOUNDARY"):
            raise _Inexpressible
        if not self.regex:
            self.ascii_only = True
            if name == "AT_NON_BOUNDARY":  # for an empty text, `\B` depends on the Python version
                raise _Inexpressible
            return r"\b"
        word = f"[{_ASCII_CLASSES['WORD'] if flags & re.ASCII else _CLASSES['WORD']}]"
        word = self._as_written(word)
        edge = f"(?:(?<={word})(?!{word})|(?<!{word})(?={word}))"
        return edge if name == "AT_BOUNDARY" else f"(?!{edge})(?s:(?=.)|(?<=.))"

    def _special(self, name: str, av: Any, flags: int) -> str:
        if name in ("ASSERT", "ASSERT_NOT"):
            sign = ("<" if av[0] < 0 else "") + ("=" if name == "ASSERT" else "!")
            return f"(?{sign}{self.sequence(av[1], flags)})"
        if name == "ATOMIC_GROUP":
            return f"(?>{self.sequence(av, flags)})"
        if name == "GROUPREF":
            return f"(?i:\\g<{av}>)" if flags & re.IGNORECASE else f"(?:\\g<{av}>)"
        if name == "GROUPREF_EXISTS":
            other = self.sequence(av[2], flags) if av[2] is not None else ""
            return f"(?({av[0]}){self.sequence(av[1], flags)}|{other})"
        if name == "FAILURE":
            return "(?!)"
        raise _Inexpressible

    def _chars(self, name: str, av: Any, flags: int) -> str:
        if flags & re.IGNORECASE:
            self.ascii_only = True
        if name == "ANY":
            return "(?s:.)" if flags & re.DOTALL else r"[^\n]"
        if name in ("LITERAL", "NOT_LITERAL"):
            text = f"[{'^' if name == 'NOT_LITERAL' else ''}{self._char(av, flags)}]"
        elif self.regex:
            text = self._set(av, flags)
        else:
            text = f"[{''.join(self._member(str(op), value, flags) for op, value in av)}]"
        return f"(?i:{text})" if flags & re.IGNORECASE else text

    def _set(self, members: Any, flags: int) -> str:
        """Writes a character set for `regex`. If the set contains a negated category, such as all non-digits,
        the result is an alternation, and the negated category is one of its branches."""
        plain, choices, negated = "", [], False
        for op, value in members:
            if str(op) == "NEGATE":
                negated = True
            elif str(op) == "CATEGORY" and "_NOT_" in str(value):
                choices.append(self._as_written(f"[^{self._category(str(value), flags)}]"))
            elif str(op) == "CATEGORY" and self.regex and flags & re.ASCII:
                choices.append(self._as_written(f"[{self._category(str(value), flags)}]"))
            else:
                plain += self._member(str(op), value, flags)
        if not choices:
            return f"[{'^' if negated else ''}{plain}]"
        either = "|".join([f"[{plain}]", *choices] if plain else choices)
        return f"(?:(?!{either})(?s:.))" if negated else f"(?:{either})"

    def _as_written(self, members: str) -> str:
        """Makes a character set case-sensitive. In `re`, a category is always case-sensitive: the Kelvin sign
        is not an ASCII letter, although its lower-case form is k."""
        return f"(?-i:{members})" if self.regex else members

    def _category(self, name: str, flags: int) -> str:
        kind = name.rpartition("_")[2]
        return (_ASCII_CLASSES if flags & re.ASCII else {**_CLASSES, "SPACE": self._spaces})[kind]

    def _member(self, name: str, value: Any, flags: int) -> str:
        if name == "NEGATE":
            return "^"
        if name == "LITERAL":
            return self._char(value, flags)
        if name == "RANGE":
            return f"{self._char(value[0], flags)}-{self._char(value[1], flags)}"
        if name != "CATEGORY":
            raise _Inexpressible
        if "_NOT_" in str(value):
            return self._all_but(str(value).rpartition("_")[2], flags)
        return self._category(str(value), flags)

    def _all_but(self, kind: str, flags: int) -> str:
        """Returns the content of a character set that matches all characters except those of a category."""
        if flags & re.ASCII:
            members = {"DIGIT": r"\x00-/:-\x{10ffff}", "SPACE": r"\x00-\x08\x0e-\x1f!-\x{10ffff}"}
            return members.get(kind) or r"\x00-/:-@\[-\^`{-\x{10ffff}"
        self.ascii_only = self.ascii_only or kind != "DIGIT"
        members = {"DIGIT": r"\P{Nd}", "SPACE": r"\x00-\x08\x0e-\x1b!-\x7f", "WORD": r"\x00-/:-@\[-\^`{-\x7f"}
        return members[kind]

    def _char(self, code: int, flags: int) -> str:
        if code > 127 and flags & re.IGNORECASE and not self.regex:
            raise _Inexpressible
        if 0xD800 <= code < 0xE000:
            raise _Inexpressible
        if 48 <= code < 58 or 65 <= code < 91 or 97 <= code < 123:
            return chr(code)
        if not self.regex:
            return f"\\x{{{code:x}}}"
        return f"\\x{code:02x}" if code < 256 else f"\\U{code:08x}"
