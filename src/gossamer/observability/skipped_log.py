"""Writes the list of skipped URLs: the URLs that a crawl found and does not fetch, with the reason and the rule. All
processes of a crawl on one machine share the file. Like the attempts log, it is written before the claims are settled,
so a kill loses no line. A URL may have several lines, because each process and each run lists what it meets:
`skipped_urls` yields each URL once.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec

from gossamer.config.redaction import mask
from gossamer.config.value_texts import format_time
from gossamer.model.visit import SkippedUrl
from gossamer.model.wall_clock import CLOCK
from gossamer.observability.attempts import AttemptsLog, whole_size

NAME = "skipped.jsonl"
FULL = b'{"full":true}\n'
"""The last line of a full list."""


class SkippedLog(AttemptsLog):
    """Appends skipped URLs to the file at `path` until it has `most` bytes. Then the last line says that the list is
    full, and nothing more is written. A larger `most` continues a full list. `on_full`: called once, maybe in another
    thread, when the list is full."""

    def __init__(
        self, path: str | os.PathLike[str], most: int, on_full: Callable[[], None] = lambda: None
    ) -> None:
        super().__init__(path)
        self._most, self._on_full = most, on_full
        self.is_full = False

    def write(self, lines: Sequence[Any]) -> None:
        """Appends a batch, with the present time. Secrets are masked. Raises like `AttemptsLog.write`."""
        if lines and not self.is_full:
            ts = format_time(CLOCK.now())
            super().write([_line(one, ts) for one in lines])

    def _append(self, fd: int, data: bytes) -> None:
        size = whole_size(fd, os.fstat(fd).st_size)
        if size >= len(FULL) and os.pread(fd, len(FULL), size - len(FULL)) == FULL:
            if size + len(data) > self._most:
                self._end()
                return
            os.ftruncate(fd, size := size - len(FULL))
        room = self._most - size - len(FULL)
        if len(data) > room:
            data = data[: data.rfind(b"\n", 0, max(0, room)) + 1] + FULL
            self._end()
        super()._append(fd, data)

    def _end(self) -> None:
        self.is_full = True
        self._on_full()


def _line(one: SkippedUrl, ts: str) -> SkippedUrl:
    page = None if one.found_on is None else mask(one.found_on)
    return SkippedUrl(mask(one.url), one.reason, one.rule, one.depth, page, ts)


def skipped_urls(folder: Path, say: Callable[[str], None] = lambda _: None) -> Iterator[dict[str, Any]]:
    """Yields the skipped URLs of the crawl in `folder`, each once, oldest first. `say` receives a message if the list
    is full. Yields nothing if there is no list."""
    try:
        file = (folder / NAME).open("rb")
    except FileNotFoundError:
        return
    seen, decode = set[str](), msgspec.json.Decoder(dict[str, Any]).decode
    with file:
        for raw in file:
            if raw == FULL:
                say(
                    f"the list of skipped URLs is full: it contains the first {len(seen):,} (keep_skipped); the counts of "
                    "gossamer status contain all"
                )
                continue
            with suppress(msgspec.MsgspecError):  # an incomplete last line, or damage
                row = decode(raw)
                url = row.get("url")
                if isinstance(url, str) and url not in seen:
                    seen.add(url)
                    yield row
