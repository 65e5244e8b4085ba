"""Chooses the part of a page's text that best shows why the page matches a query, and marks the words of the
query in this part."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final, NamedTuple

from gossamer.uses.search.query import Term
from gossamer.uses.search.words import Word, fold_in_place, is_unspaced, words

SNIPPET_CHARS: Final = 220
"""The approximate length of a snippet in characters."""
MAX_SEARCHED_CHARS: Final = 300_000
"""The number of characters at the beginning of a page's text in which the words of a query are marked."""
MAX_WORD_CHARS: Final = 60
"""The number of characters on each side of a found word in which the word's boundaries are checked."""
Span = tuple[int, int]


class Snippet(NamedTuple):
    """A part of a text. `marks`: the spans of the words of the query in `text`."""

    text: str
    marks: list[Span]

    def marked(self, before: str, after: str) -> str:
        """Returns the text with `before` inserted before each mark and `after` inserted after each mark."""
        parts, at = [], 0
        for start, end in self.marks:
            parts += [self.text[at:start], before, self.text[start:end], after]
            at = end
        return "".join((*parts, self.text[at:]))


def mark(text: str, terms: Sequence[Term], column: str) -> Snippet:
    """Marks the words of a query in a text without shortening the text. `column`: the column of the index
    that contains the text."""
    flat = " ".join(text.split())
    return Snippet(flat, _matches(flat, terms, column))


def snippet(text: str, terms: Sequence[Term], column: str = "text") -> Snippet:
    """Returns the part of a text that contains the most words of the query, or the beginning of the text if
    the text contains none."""
    flat = " ".join(text[:MAX_SEARCHED_CHARS].split())
    spans = _matches(flat, terms, column)
    start = 0
    if spans:
        best = max(range(len(spans)), key=lambda at: _weight(spans, at))
        start = max(0, spans[best][0] - SNIPPET_CHARS // 4)
    start = _word_start(flat, start)
    end = _word_end(flat, start + SNIPPET_CHARS)
    before, after = ("… " if start else ""), (" …" if end < len(flat) else "")
    moved = len(before) - start
    marks = [(one + moved, other + moved) for one, other in spans if start <= one and other <= end]
    return Snippet(before + flat[start:end] + after, marks)


def _weight(spans: Sequence[Span], at: int) -> int:
    """`at`: the index of a span. Returns the number of marked characters in a snippet that begins near this
    span."""
    total, limit = 0, spans[at][0] + SNIPPET_CHARS * 3 // 4
    for start, end in spans[at : at + 50]:
        if end > limit:
            break
        total += end - start
    return total


def _matches(text: str, terms: Sequence[Term], column: str) -> list[Span]:
    """Returns the spans at which the words and phrases of a query occur in a text. Overlapping spans are
    joined."""
    wanted = [term for term in terms if term.column in (None, column)]
    if not wanted:
        return []
    folded = fold_in_place(text)
    spans = sorted(span for term in wanted for span in _quickly(text, folded, term))
    if not spans:
        found = list(words(text))
        spans = sorted(span for term in wanted for span in _of_term(found, term))
    joined: list[Span] = []
    for start, end in spans:
        if joined and start <= joined[-1][1]:
            joined[-1] = joined[-1][0], max(end, joined[-1][1])
        else:
            joined.append((start, end))
    return joined


def _quickly(text: str, folded: str, term: Term) -> list[Span]:
    """Returns the spans of a term in a text and its folded form. This function is 20 times faster than
    `_of_term`, but misses words whose length changes when they are folded, and words of scripts without
    spaces."""
    if any(map(is_unspaced, term.words)):
        return []
    pattern = r"(?<![^\W_])" + r"(?:[\W_]+?|(?=[+#]))".join(map(re.escape, term.words))
    found = (found.span() for found in re.finditer(pattern, folded))
    return [span for span in found if _is_cut(text, *span, term.is_prefix)]


def _is_cut(text: str, start: int, end: int, is_prefix: bool) -> bool:
    """Whether words begin at the start and end at the end of a span. The end of a prefix may be in a word."""
    left = max(start - MAX_WORD_CHARS, text.rfind(" ", 0, start) + 1)
    right = min(end + MAX_WORD_CHARS, text.find(" ", end) % (len(text) + 1))
    near = list(words(text[left:right]))
    return any(left + word.start == start for word in near) and (
        is_prefix or any(left + word.end == end for word in near)
    )


def _of_term(found: Sequence[Word], term: Term) -> list[Span]:
    count, first, last = len(term.words), term.words[0], term.words[-1]
    spans = []
    for at in range(len(found) - count + 1):
        if count > 1 and found[at].text != first:
            continue
        end = found[at + count - 1].text
        if not (end.startswith(last) if term.is_prefix else end == last):
            continue
        if count > 2 and any(found[at + n].text != term.words[n] for n in range(1, count - 1)):
            continue
        finish = found[at + count - 1].end
        if term.is_prefix and len(last) == 1 and len(end) == 2:
            finish -= 1  # the query contains one character, and the index contains pairs of characters
        spans.append((found[at].start, finish))
    return spans


def _word_start(text: str, at: int) -> int:
    if at <= 0:
        return 0
    space = text.rfind(" ", max(0, at - 30), at)
    return space + 1 if space >= 0 else at


def _word_end(text: str, at: int) -> int:
    if at >= len(text):
        return len(text)
    space = text.find(" ", at, at + 30)
    return space if space >= 0 else at
