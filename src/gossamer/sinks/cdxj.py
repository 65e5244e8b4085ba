"""The CDXJ index of a WARC: one sorted line a record, `com,example)/path 20260102030405 {"url": ..., "offset": ...}`.

While a part grows, its lines are kept in `.NAME.index`, in the order written; `@N` says that what follows lies from byte N on, so that
lines of bytes that were cut are passed over.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable
from functools import lru_cache
from typing import NamedTuple

import msgspec

from gossamer.request import split
from gossamer.sinks.exact import failure, sync, sync_folder

_encode = msgspec.json.Encoder().encode
ENDING = ".warc.gz"


class Place(msgspec.Struct):
    """Where a record lies, as CDXJ has it: numbers are texts there."""

    url: str
    mime: str
    status: str
    digest: str
    length: str
    offset: str
    filename: str
    method: str | msgspec.UnsetType = msgspec.UNSET


_decode = msgspec.json.Decoder(Place).decode


class Line(NamedTuple):
    """A line, and where its record begins."""

    offset: int
    text: bytes


def surt(url: str) -> str:
    """The form of a URL that sorts by site.

    >>> surt("https://www.Example.com:443/A?b=2&a=1"), surt("http://example.com:8080/")
    ('com,example)/a?a=1&b=2', 'com,example:8080)/')
    """
    scheme, host, rest = split(url.lower())
    path, mark, query = rest.partition("?")
    return f"{_site(scheme, host)}){path}{mark}{'&'.join(sorted(query.split('&')))}"


@lru_cache(maxsize=10_000)
def _site(scheme: str, host: str) -> str:
    name, colon, port = host.rpartition(":") if not host.endswith("]") else (host, "", "")
    name, port = (name, port) if colon and port.isdecimal() else (host, "")
    name = name.removeprefix("www.")
    ip = name.startswith("[") or name.replace(".", "").isdigit()
    usual = {"http": "80", "https": "443"}.get(scheme)
    return (name if ip else ",".join(reversed(name.split(".")))) + (f":{port}" if port and port != usual else "")


def line(key: str, moment: str, place: Place) -> Line:
    """`moment`: the record's date, 14 digits."""
    return Line(int(place.offset), b"%b %b %b\n" % (key.encode("utf-8", "replace"), moment.encode(), _encode(place)))


def journal(path: str) -> str:
    """The journal of a part."""
    folder, name = os.path.split(path)
    return f"{folder}/.{name}.index"


def index(path: str) -> str:
    """The finished index of a part."""
    return f"{path.removesuffix(ENDING)}.cdxj"


def note(path: str, begin: int, lines: Iterable[Line]) -> None:
    """Add the lines of what is about to be written to a part from byte `begin` on. Durable when it returns."""
    where = journal(path)
    seed = [] if os.path.exists(where) else read(index(path))
    data = b"".join(part.text for part in seed) + b"@%d\n" % begin + b"".join(part.text for part in lines)
    try:
        fd = os.open(where, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o666)
        try:
            rest = memoryview(b"\n" + data)  # after a torn line, too
            while rest:
                rest = rest[os.write(fd, rest) :]
            sync(fd)
        finally:
            os.close(fd)
    except OSError as error:
        raise failure(where, error) from error


def finish(path: str, end: int) -> None:
    """Write the index of a part whose length is `end`; the journal is gone then."""
    where = journal(path)
    if not os.path.exists(where):
        return
    lines = [part.text for part in read(where) if part.offset < end]
    try:
        with open(f"{where}.new", "wb") as file:
            file.writelines(sorted(lines))
            file.flush()
            sync(file.fileno())
        os.rename(f"{where}.new", index(path))
        sync_folder(os.path.dirname(path))
        os.unlink(where)
    except OSError as error:
        raise failure(index(path), error) from error


def forget(path: str) -> None:
    """Remove index and journal of a part that is no more."""
    for file in (index(path), journal(path)):
        with contextlib.suppress(FileNotFoundError):
            os.unlink(file)


def read(path: str) -> list[Line]:
    """The lines of an index or a journal, without those of bytes that were cut; none where there is no file."""
    found: list[Line] = []
    try:
        with open(path, "rb") as file:
            for text in file:
                if text[:1] == b"@":
                    with contextlib.suppress(ValueError):
                        begin = int(text[1:])
                        if found and found[-1].offset >= begin:
                            found = [part for part in found if part.offset < begin]
                elif (place := place_of(text)) is not None:
                    found.append(Line(int(place.offset), text))
    except FileNotFoundError:
        pass
    return found


def place_of(text: bytes) -> Place | None:
    """What a line says; None for what is none."""
    if not text.endswith(b"\n") or text.count(b" ") < 2:
        return None
    try:
        return _decode(text.split(b" ", 2)[2])
    except msgspec.DecodeError:
        return None
