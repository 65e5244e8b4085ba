"""Reads page archives that `sinks.object_files` wrote. An archive consists of index files with one line per
response, and a folder of bodies."""

from __future__ import annotations

from pathlib import Path
from typing import BinaryIO

import msgspec

from gossamer.collectors.archive.answers import AnswerPositions, answer_key
from gossamer.collectors.archive.answers import StoredAnswer as Answer
from gossamer.collectors.http.transfer import http_version, parse
from gossamer.model.visit import RequestContext

MAX_SKIPPED = 1000


class ObjectLine(msgspec.Struct):
    """A line of an index file. Each line describes one response."""

    url: str
    at: float
    head: str
    object: str
    status: int = 200
    size: int = 0
    cut: bool = False
    asked: RequestContext = RequestContext()


_line = msgspec.json.Decoder(ObjectLine).decode


class ObjectArchive:
    """Finds the responses of an object archive by URL. See `AnswerPositions` for URLs with several responses.
    Raises OSError if the folder cannot be read."""

    def __init__(self, path: Path) -> None:
        self._folder = path
        self._files: list[BinaryIO] = []
        self._places = AnswerPositions[tuple[int, int]]()
        self.skipped: list[str] = []
        """One message per index line that could not be read, at most 1,000 messages."""
        self.broken: list[str] = []
        """One message per truncated or damaged file. The message describes the first damage in the file."""
        for number, file in enumerate(sorted(path.glob("*.jsonl"))):
            self._files.append(file.open("rb"))
            at, told = 0, False
            for text in self._files[number]:
                try:
                    line = _line(text)
                    # status 304: the page was unchanged, so the response that was stored earlier stays valid
                    if line.status != 304:
                        self._places[answer_key(line.url, line.asked.method, line.asked.body)] = (number, at)
                except msgspec.DecodeError as error:
                    if not told:
                        self.broken.append(f"{file} is broken from byte {at} on ({error})")
                    told = True
                    self.skipped += [f"{file.name} byte {at}: {error}"][: MAX_SKIPPED - len(self.skipped)]
                at += len(text)

    def find(self, url: str, most: int) -> Answer | None:
        """Returns the response for a key, such as a URL, with at most `most` + 1 bytes of the body. Returns
        None if the response is missing or incomplete."""
        return self._places.latest_answer(url, lambda place: self._load(place, most))

    def _load(self, place: tuple[int, int], most: int) -> Answer | None:
        number, at = place
        self._files[number].seek(at)
        line = _line(self._files[number].readline())
        if len(line.object) != 64 or not line.object.isalnum():
            return None
        try:
            with (self._folder / "objects" / line.object[:2] / line.object).open("rb") as file:
                body = file.read(most + 1)
        except FileNotFoundError:
            return None
        if len(body) < min(line.size, most + 1):  # the body is incomplete
            return None
        lines = [one + b"\r\n" for one in line.head.encode("latin-1", "replace").split(b"\r\n")]
        status, headers = parse(lines)
        headers = [row for row in headers if row[0] != "transfer-encoding"]
        return Answer(
            status, headers, body, line.at, max(line.size, len(body)), http_version(lines[0]), line.asked
        )

    def urls(self) -> list[str]:
        """Returns the keys of all responses."""
        return list(self._places)

    def again(self) -> None:
        """Reopens the files. A forked process must call this method, because otherwise the parent and the
        child process share the file positions."""
        names = [file.name for file in self._files]
        self.close()
        self._files = [one.open("rb") for one in map(Path, names)]

    def close(self) -> None:
        """Closes the files."""
        for file in self._files:
            file.close()
