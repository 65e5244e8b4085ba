"""What a site says of its own blocks: signs that we do not know, and decisions of ours that are wrong there."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from gossamer.blocks import block
from gossamer.blocks.answer import Block, Headers, clip
from gossamer.model.page import Page
from gossamer.url.patterns import Searcher
from gossamer.url.patterns import found as found_in

MOST = 256 << 10
"""Bytes of a page that a site's own signs are looked for in."""

Blocks = bool | Sequence[Searcher]
"""True: as we know them; False: nothing is one; or patterns of the page's text that are blocks besides. A
pattern that begins with `!` names what is none: a vendor, a kind, or both (`!login`, `!generic login`)."""


def seen_by(
    own: Blocks, status: int, headers: Headers, body: bytes, url: str, shows: Callable[[], int] | None = None
) -> Block | None:
    """The block that an answer is, for a site that has its own word on it. `shows` as in `block`.

    >>> import re
    >>> seen_by([re.compile("No robots")], 200, {}, b"<title>Shop of kettles</title>No robots, please", "https://a.example/x")
    Block(vendor='generic', kind='denied', signs=('site: No robots',))
    """
    if own is False:
        return None
    found = block(status, headers, body, url, shows)
    if isinstance(own, bool):
        return found
    wrong = {one.pattern[1:].strip() for one in own if one.pattern.startswith("!")}
    if found is not None and wrong.isdisjoint((found.vendor, found.kind, str(found))):
        return found
    patterns = [one for one in own if not one.pattern.startswith("!")]
    if not patterns or 300 <= status < 400:
        return None
    text = body[:MOST].decode("utf-8", "replace")
    sign = next((one.pattern for one in patterns if found_in(one, text, on_timeout=False)), None)
    return Block("generic", "denied", (f"site: {clip(sign)}",)) if sign is not None else None


def worth_keeping(page: Page) -> bool:
    """Whether an answer may be kept for later: another time there may be a page in the place of a block."""
    found = block(page.status, page.headers, page.body, page.url)
    return found is None or found.bare or found.kind == "empty"
