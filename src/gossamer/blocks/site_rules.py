"""A site's own rules about blocks: additional signs, and exceptions from the built-in rules."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from gossamer.blocks import block
from gossamer.blocks.response import Block, Headers, clip
from gossamer.model.page import Page
from gossamer.url.patterns import Searcher
from gossamer.url.patterns import found as found_in

MAX_SEARCHED_BYTES = 256 << 10
"""Number of bytes at the start of a page that are searched for the patterns of the site's own rules."""

Blocks = bool | Sequence[Searcher]
"""A site's rules about blocks. True means that only the built-in rules apply. False means that no response is
a block. If the value is a list of patterns, the built-in rules apply, and a page whose text matches a pattern
is also a block. A pattern that begins with `!` is an exception. An exception names a vendor, a kind, or both
(`!login`, `!generic login`), and cancels the built-in rules for this vendor or kind."""


def seen_by(
    own: Blocks,
    status: int,
    headers: Headers,
    body: bytes,
    url: str,
    shows: Callable[[], int] | None = None,
    settled: bool = False,
) -> Block | None:
    """Returns a Block if the response is a block page according to the rules of its site, otherwise None.
    `shows` and `settled` have the same meaning as in `block`.

    >>> import re
    >>> seen_by([re.compile("No robots")], 200, {}, b"<title>Shop of kettles</title>No robots, please", "https://a.example/x")
    Block(vendor='generic', kind='denied', signs=('site: No robots',))
    """
    if own is False:
        return None
    found = block(status, headers, body, url, shows, settled)
    if isinstance(own, bool):
        return found
    wrong = {one.pattern[1:].strip() for one in own if one.pattern.startswith("!")}
    if found is not None and wrong.isdisjoint((found.vendor, found.kind, str(found))):
        return found
    patterns = [one for one in own if not one.pattern.startswith("!")]
    if not patterns or 300 <= status < 400:
        return None
    text = body[:MAX_SEARCHED_BYTES].decode("utf-8", "replace")
    sign = next((one.pattern for one in patterns if found_in(one, text, on_timeout=False)), None)
    return Block("generic", "denied", (f"site: {clip(sign)}",)) if sign is not None else None


def worth_keeping(page: Page) -> bool:
    """Returns whether a response may be stored for later use. A block page must not be stored, because a
    later request may return the real page."""
    found = block(page.status, page.headers, page.body, page.url, settled=page.settled)
    return found is None or found.bare or found.kind == "empty"
