"""Finds pages whose elements are nested deeply."""

from __future__ import annotations

from typing import Final

from gossamer.parsing.encodings import decode

_VOID: Final = frozenset(
    ("area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr")
)
_ENDS: Final = frozenset(
    ("p", "li", "dt", "dd", "option", "optgroup", "tr", "td", "th", "thead", "tbody", "tfoot")
)
"""Elements whose end tag is often missing in a page. An element without an end tag ends at the next start tag
with the same name."""
_HOLD: Final = frozenset(("ul", "ol", "menu", "dl", "select", "table", "button", "object", "template"))
"""Elements that may contain elements of `_ENDS`. For example, a `li` that begins inside a `ul` does not end a
`li` that is open outside of the `ul`."""
MAX_DEPTH: Final = 400
"""Maximum nesting depth of elements. `is_deep` finds pages that may exceed the maximum depth."""


def is_deep(body: bytes, content_type: str | None) -> bool:
    """Returns whether a page might contain elements that are nested deeper than `MAX_DEPTH`. turbohtml 1.15
    keeps at most 512 elements open. If exactly 512 elements are open, a table can crash the process. The
    crash happens if the table is inside an element such as `<a>` that the parser opens twice. This check
    takes as long as parsing, so use it only for suspicious pages."""
    import turbohtml

    start, end = turbohtml.TokenType.START_TAG, turbohtml.TokenType.END_TAG
    inside: list[str] = []
    for token in turbohtml.tokenize(decode(body, content_type)):
        if token.type is start and token.tag not in _VOID:
            tag = token.tag or ""
            if tag in _ENDS:  # this start tag ends the previous element with the same name
                within = max((at for at, one in enumerate(inside) if one in _HOLD), default=-1)
                if tag in inside[within + 1 :]:
                    del inside[inside.index(tag, within + 1) :]
            inside.append(tag)
            if len(inside) > MAX_DEPTH:
                return True
        elif token.type is end and token.tag in inside:
            while inside.pop() != token.tag:
                pass
    return False
