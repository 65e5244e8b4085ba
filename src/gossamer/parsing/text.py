"""Extracts the article of a page as plain text or Markdown."""

from __future__ import annotations

from typing import Final, Literal

import turbohtml

from gossamer.config.optional_deps import install_command
from gossamer.model.media_types import Body, to_bytes
from gossamer.parsing.encodings import decode
from gossamer.parsing.html import parse
from gossamer.parsing.visible_text import may_grow

_MAX_BYTES: Final = 3_000_000
"""Maximum size in bytes of a page for which trafilatura is used."""
_MAX_TAGS: Final = 60_000
"""Maximum number of tags of a page for which trafilatura is used. The number is limited because trafilatura
takes 20 times as long as gossamer's own extractor."""
_MIN_SHARE: Final = 0.5
"""Minimum length of gossamer's text, as a share of the length of trafilatura's text. If gossamer's text is
shorter, trafilatura's text is returned."""

Quality = Literal["fast", "best"]


def main_text(
    body: Body, url: str | None = None, quality: Quality = "fast", content_type: str | None = None
) -> str:
    """Returns the text of a page's article without navigation, comments and captions, with an empty line
    between blocks. Accepts any bytes. `quality="fast"` uses turbohtml with gossamer's own filter (1 to 2 ms
    per page). `quality="best"` also runs trafilatura (extra `text`). If gossamer's text is less than half as
    long as trafilatura's text, returns trafilatura's text. The result is empty for a page without text.
    Raises RuntimeError if trafilatura is missing, and ValueError for any other `quality`.

    >>> main_text(b"<nav><a href=/>Home</a></nav><h1>Cats</h1><p>A cat is a small animal that sleeps, and then sleeps again.</p>")
    'Cats\\n\\nA cat is a small animal that sleeps, and then sleeps again.'
    """
    if quality not in ("fast", "best"):
        raise ValueError(f"quality={quality!r}: write fast or best")
    body = to_bytes(body)
    return text_of(parse(body, content_type, url).tree, body, url, quality, content_type)


def text_of(
    tree: turbohtml.Document,
    body: bytes,
    url: str | None,
    quality: Quality = "fast",
    content_type: str | None = None,
) -> str:
    """Does the same as `main_text` for a parsed page."""
    from gossamer.parsing.article import blocks
    from gossamer.parsing.shown import shown

    ours = "\n\n".join(block.text for block in blocks(shown(tree)))
    if quality == "fast":
        return ours
    try:
        import trafilatura
    except ImportError as error:
        raise RuntimeError(f'quality="best" needs trafilatura ({error}): {install_command("text")}') from None
    if len(body) > _MAX_BYTES or body.count(b"<") > _MAX_TAGS:
        return ours
    try:
        theirs = (
            trafilatura.extract(decode(body, content_type), url=url, fast=True, include_comments=False) or ""
        )
    except (ValueError, TypeError, AttributeError, LookupError, RecursionError, AssertionError):
        return ours
    return theirs if len(ours) < _MIN_SHARE * len(theirs) else ours


def markdown(body: Body, url: str | None = None, content_type: str | None = None) -> str:
    """Returns the article of a page as GitHub Flavored Markdown, with its heading. Links are absolute if
    `url` is given. A page without an article is returned whole, except for navigation and forms. Accepts any
    bytes and never raises.

    >>> markdown(b"<h1>Cats</h1><p>They <b>sleep</b> in a <a href=/box>box</a>.<ul><li>always</ul>", "https://example.com/")
    '# Cats\\n\\nThey **sleep** in a [box](https://example.com/box).\\n\\n- always'
    """
    from gossamer.parsing.article import marked_down

    page = parse(body, content_type, url)
    return marked_down(page, may_grow(page.tree))
