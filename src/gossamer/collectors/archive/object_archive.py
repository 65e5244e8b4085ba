"""Plain objects by URL, as `sinks.objects` leaves them: lines that say what each is, beside a folder of
bodies."""

from __future__ import annotations

from pathlib import Path
from typing import BinaryIO

import msgspec

from gossamer.collectors.archive.answers import Places, key
from gossamer.collectors.archive.answers import StoredAnswer as Answer
from gossamer.collectors.http.transfer import parse, version
from gossamer.model.visit import RequestContext

MOST_SKIPPED = 1000


class ObjectLine(msgspec.Struct):
    """One answer."""

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
    """The answers of a folder by URL; of several see `Places`. Raises OSError when it cannot be read."""

    def __init__(self, path: Path) -> None:
        self._folder = path
        self._files: list[BinaryIO] = []
        self._places = Places[tuple[int, int]]()
        self.skipped: list[str] = []
        """Lines that could not be read, 1,000 at most."""
        self.broken: list[str] = []
        """A line for each file that is torn or damaged: the first place."""
        for number, file in enumerate(sorted(path.glob("*.jsonl"))):
            self._files.append(file.open("rb"))
            at, told = 0, False
            for text in self._files[number]:
                try:
                    line = _line(text)
                    if line.status != 304:  # the page is as it was: what was stored then counts
                        self._places[key(line.url, line.asked.method, line.asked.body)] = (number, at)
                except msgspec.DecodeError as error:
                    if not told:
                        self.broken.append(f"{file} is broken from byte {at} on ({error})")
                    told = True
                    self.skipped += [f"{file.name} byte {at}: {error}"][: MOST_SKIPPED - len(self.skipped)]
                at += len(text)

    def find(self, url: str, most: int) -> Answer | None:
        """The answer kept for a URL (or `archive.key`), at most `most` bytes of its body and one more; None,
        too, where it is not whole."""
        return self._places.latest(url, lambda place: self._load(place, most))

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
        if len(body) < min(line.size, most + 1):  # what is left of it is no answer
            return None
        lines = [one + b"\r\n" for one in line.head.encode("latin-1", "replace").split(b"\r\n")]
        status, headers = parse(lines)
        headers = [row for row in headers if row[0] != "transfer-encoding"]
        return Answer(
            status, headers, body, line.at, max(line.size, len(body)), version(lines[0]), line.asked
        )

    def urls(self) -> list[str]:
        """All URLs (keys) that are answered."""
        return list(self._places)

    def again(self) -> None:
        """Open the files anew: after a fork they would be read by both."""
        names = [file.name for file in self._files]
        self.close()
        self._files = [one.open("rb") for one in map(Path, names)]

    def close(self) -> None:
        """Close the files."""
        for file in self._files:
            file.close()
