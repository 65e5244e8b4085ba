"""A stored response, and the index of where the responses of an archive are."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import msgspec

from gossamer.model.page import Headers
from gossamer.model.visit import RequestContext

At = TypeVar("At")


class StoredAnswer(msgspec.Struct):
    """A stored response. Its body still has its content coding. If `size` is larger than len(body), the body
    was too large to be read."""

    status: int = 200
    headers: Headers = []
    body: bytes = b""
    at: float = 0.0
    """When it was fetched, in seconds since the epoch. 0: now."""
    size: int = 0
    version: str = "1.1"
    asked: RequestContext = RequestContext()
    """How it was requested, if that is known."""


Source = Callable[[str, int], StoredAnswer | None]
"""Maps a URL in fetch form (or a `key`) and the maximum number of body bytes to the response, or to None if
there is none."""


def answer_key(url: str, method: str = "GET", body: str | None = None) -> str:
    """Returns the key of a response: the URL, with the method and body of the request if it is not a plain
    GET.

    >>> answer_key("http://e.com/"), answer_key("http://e.com/", "POST", "a=b")
    ('http://e.com/', 'http://e.com/ POST a=b')
    """
    return url if method in ("GET", "HEAD") and body is None else f"{url} {method} {body or ''}"


def is_blocked(kept: StoredAnswer) -> bool:
    """Returns whether a response was a block. An empty page, or one that lacks required content, is a page
    that the crawl read."""
    line = kept.asked.block
    return line is not None and line.split(" ")[1:2] not in (["empty"], ["missing"])


def is_telling(kept: StoredAnswer) -> bool:
    """Returns whether a response says something about its page. Errors (except 404 and 410) and blocks only
    show that the page could not be fetched at that time."""
    return (kept.status < 400 or kept.status in (404, 410)) and not is_blocked(kept)


class AnswerPositions(dict[str, At]):
    """The positions of responses by URL (or `key`): the last one of each, and the earlier ones."""

    def __init__(self) -> None:
        super().__init__()
        self._earlier: dict[At, At] = {}

    def __setitem__(self, name: str, place: At) -> None:
        if (before := self.get(name)) is not None:
            self._earlier[place] = before
        super().__setitem__(name, place)

    def latest_answer(self, name: str, load: Callable[[At], StoredAnswer | None]) -> StoredAnswer | None:
        """Returns the last response that says something about its page, or the last response if there is
        none."""
        if (place := self.get(name)) is None or (last := load(place)) is None or is_telling(last):
            return None if place is None else last
        while (before := self._earlier.get(place)) is not None:
            if (found := load(place := before)) is not None and is_telling(found):
                return found
        return last
