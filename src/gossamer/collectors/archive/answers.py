"""An answer of an archive, and the places where answers lie."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import msgspec

from gossamer.model.page import Headers
from gossamer.model.visit import RequestContext

At = TypeVar("At")


class StoredAnswer(msgspec.Struct):
    """An answer as it is kept: its body still in its content-coding. `size` > len(body): it was too large to
    be read."""

    status: int = 200
    headers: Headers = []
    body: bytes = b""
    at: float = 0.0
    """When it was got, seconds since the epoch; 0: now."""
    size: int = 0
    version: str = "1.1"
    asked: RequestContext = RequestContext()
    """How it was asked for, where that is known."""


Source = Callable[[str, int], StoredAnswer | None]
"""A URL in fetch form (or `key`) and the most bytes wanted of its body -> the answer, None when it is not
there."""


def key(url: str, method: str = "GET", body: str | None = None) -> str:
    """What an answer is found by: the URL, and what was sent along with it.

    >>> key("http://e.com/"), key("http://e.com/", "POST", "a=b")
    ('http://e.com/', 'http://e.com/ POST a=b')
    """
    return url if method in ("GET", "HEAD") and body is None else f"{url} {method} {body or ''}"


def blocked(kept: StoredAnswer) -> bool:
    """Whether an answer was a block to the crawl: one that is empty, or lacks what it must have, is a page
    that it read."""
    line = kept.asked.block
    return line is not None and line.split(" ")[1:2] not in (["empty"], ["missing"])


def telling(kept: StoredAnswer) -> bool:
    """Whether an answer says something of its page: errors (but that it is gone) and blocks say only that it
    could not be had then."""
    return (kept.status < 400 or kept.status in (404, 410)) and not blocked(kept)


class Places(dict[str, At]):
    """Where answers lie, by URL (or `key`): the last of each, and the ones before it."""

    def __init__(self) -> None:
        super().__init__()
        self._earlier: dict[At, At] = {}

    def __setitem__(self, name: str, place: At) -> None:
        if (before := self.get(name)) is not None:
            self._earlier[place] = before
        super().__setitem__(name, place)

    def latest(self, name: str, load: Callable[[At], StoredAnswer | None]) -> StoredAnswer | None:
        """The last answer that tells something, else the last."""
        if (place := self.get(name)) is None or (last := load(place)) is None or telling(last):
            return None if place is None else last
        while (before := self._earlier.get(place)) is not None:
            if (found := load(place := before)) is not None and telling(found):
                return found
        return last
