"""Defines a stored response, and the index of the responses in an archive."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import msgspec

from gossamer.model.page import Headers
from gossamer.model.visit import RequestContext

At = TypeVar("At")


class StoredAnswer(msgspec.Struct):
    """A stored response. `body` is not yet decoded from its content coding, for example gzip. If `size` is
    larger than len(body), the body was too large to be read."""

    status: int = 200
    headers: Headers = []
    body: bytes = b""
    at: float = 0.0
    """The time when the response was fetched, in seconds since the epoch, or 0 if the time is unknown."""
    size: int = 0
    version: str = "1.1"
    asked: RequestContext = RequestContext()
    """The context of the request that led to this response, if the archive contains the context."""


Source = Callable[[str, int], StoredAnswer | None]
"""The type of a function that returns a stored response, or None if the archive contains no such response.
The function takes a URL in fetch form (or the key of a response) and the maximum number of bytes of the
body."""


def answer_key(url: str, method: str = "GET", body: str | None = None) -> str:
    """Returns the key of a response. The key is the URL, followed by the request's method and body unless the
    request is a plain GET.

    >>> answer_key("http://e.com/"), answer_key("http://e.com/", "POST", "a=b")
    ('http://e.com/', 'http://e.com/ POST a=b')
    """
    return url if method in ("GET", "HEAD") and body is None else f"{url} {method} {body or ''}"


def is_blocked(kept: StoredAnswer) -> bool:
    """Returns whether a response was a block page. Returns False for an empty page and for a page without the
    required content, because the crawl has parsed these responses as pages."""
    line = kept.asked.block
    return line is not None and line.split(" ")[1:2] not in (["empty"], ["missing"])


def is_telling(kept: StoredAnswer) -> bool:
    """Returns whether a response is conclusive. A conclusive response contains the page, a redirect, or the
    status 404 or 410, which means that the page does not exist. A block page, or a response with any other
    error status, is not conclusive, because it only shows that the fetch failed."""
    return (kept.status < 400 or kept.status in (404, 410)) and not is_blocked(kept)


class AnswerPositions(dict[str, At]):
    """Maps each response key, such as a URL, to the position of the last response. The class also stores the
    positions of earlier responses with the same key."""

    def __init__(self) -> None:
        super().__init__()
        self._earlier: dict[At, At] = {}

    def __setitem__(self, name: str, place: At) -> None:
        if (before := self.get(name)) is not None:
            self._earlier[place] = before
        super().__setitem__(name, place)

    def latest_answer(self, name: str, load: Callable[[At], StoredAnswer | None]) -> StoredAnswer | None:
        """Returns the last conclusive response (see `is_telling`), or the last response if no response is
        conclusive."""
        if (place := self.get(name)) is None or (last := load(place)) is None or is_telling(last):
            return None if place is None else last
        while (before := self._earlier.get(place)) is not None:
            if (found := load(place := before)) is not None and is_telling(found):
                return found
        return last
