"""The CDXJ index of a WARC: one sorted line a record, `com,example)/path 20260102030405 {"url": ...,
"offset": ...}`.

While a part grows, its lines are kept in `.NAME.index`, in the order written; `@N` says that what follows
lies from byte N on, so that lines of bytes that were cut are passed over, `=M C` that these were the C lines
of the bytes up to M.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import BinaryIO, NamedTuple, cast

import msgspec
from isal import isal_zlib

from gossamer.errors import SinkError
from gossamer.model.request import split
from gossamer.model.visit import RequestContext
from gossamer.sinks.exact import failure, sync, sync_folder

_encode = msgspec.json.Encoder().encode
_asked = msgspec.json.Decoder(RequestContext).decode
_BEGIN, _END = re.compile(rb"@(\d+)\n"), re.compile(rb"=(\d+) (\d+)\n")
_TORN = cast(type[Exception], isal_zlib.error)  # its stub calls it an instance
ENDING = ".warc.gz"
HEAD = 256 << 10
"""Bytes within which a record's header and its answer's head lie."""


class IndexPosition(msgspec.Struct):
    """Where a record lies, as CDXJ has it: numbers are texts there."""

    url: str
    mime: str
    status: str
    digest: str
    length: str
    offset: str
    filename: str
    method: str | msgspec.UnsetType = msgspec.UNSET


_decode = msgspec.json.Decoder(IndexPosition).decode


class IndexLine(NamedTuple):
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
    return (name if ip else ",".join(reversed(name.split(".")))) + (
        f":{port}" if port and port != usual else ""
    )


def line(key: str, moment: str, place: IndexPosition) -> IndexLine:
    """`moment`: the record's date, 14 digits."""
    return IndexLine(
        int(place.offset), b"%b %b %b\n" % (key.encode("utf-8", "replace"), moment.encode(), _encode(place))
    )


def journal(path: str) -> str:
    """The journal of a part."""
    folder, name = os.path.split(path)
    return f"{folder}/.{name}.index"


def index(path: str) -> str:
    """The finished index of a part."""
    return f"{path.removesuffix(ENDING)}.cdxj"


def note(path: str, begin: int, end: int, lines: Sequence[IndexLine]) -> None:
    """Add the lines of what is about to be written to a part from byte `begin` to `end`. Durable is only that
    there is a journal, and what it began with: see `finish`."""
    where = journal(path)
    data = b"\n@%d\n" % begin + _counted(lines, end)  # a line end first: the last line may be torn
    try:
        fd = os.open(where, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o666)
        try:
            new = not os.fstat(fd).st_size
            if new and os.path.exists(index(path)):
                known, _ = read(index(path))
                data = b"@0\n" + _counted([one for one in known if one.offset < begin], begin) + data
            rest = memoryview(data)
            while rest:
                rest = rest[os.write(fd, rest) :]
            if new:
                sync(fd)
                sync_folder(os.path.dirname(where))
        finally:
            os.close(fd)
    except OSError as error:
        raise failure(where, error) from error


def _counted(lines: Sequence[IndexLine], end: int) -> bytes:
    return b"".join([part.text for part in lines]) + b"=%d %d\n" % (end, len(lines))


def finish(path: str, end: int) -> None:
    """Write the index of a part whose length is `end`; the journal is gone then. What the journal lacks, as
    it may where the machine lost its power, is read out of the part."""
    where = journal(path)
    if not os.path.exists(where):
        return
    try:
        known, whole = read(where)
        lines = [part.text for part in known if part.offset < min(whole, end)]
        if whole < end:
            lines += [part.text for part in records(path, whole, end)]
        with open(f"{where}.new", "wb") as file:
            file.writelines(sorted(lines))
            file.flush()
            sync(file.fileno())
        os.rename(f"{where}.new", index(path))
        sync_folder(os.path.dirname(path))
        os.unlink(where)
    except OSError as error:
        raise failure(index(path), error) from error
    except _TORN as error:
        raise SinkError(_broken(path)) from error


def check(path: str, size: int) -> None:
    """That what stands in a part is whole, where no index says so: nothing could be read behind a torn
    record. Raises SinkError."""
    end = size if os.path.exists(index(path)) else min(size, read(journal(path))[1])
    try:
        with open(path, "rb") as file:
            for at, long, text in _members(file, end, size):
                end = at + long if text.startswith(b"WARC/") else size + 1
    except OSError as error:
        raise failure(path, error) from error
    except _TORN:
        end = 0
    if end != size:
        raise SinkError(_broken(path))


def _broken(path: str) -> str:
    return f"{path} is no WARC of whole gzip members: give another file with -o, or overwrite it with -O"


def forget(path: str) -> None:
    """Remove index and journal of a part that is no more."""
    for file in (index(path), journal(path)):
        with contextlib.suppress(FileNotFoundError):
            os.unlink(file)


def read(path: str) -> tuple[list[IndexLine], int]:
    """The lines of an index or a journal without those of bytes that were cut, and the byte up to which a
    journal has all; none where there is no file."""
    found: list[IndexLine] = []
    whole = begin = since = 0
    try:
        with open(path, "rb") as file:
            for text in file:
                if match := _BEGIN.fullmatch(text):
                    begin = int(match[1])
                    found = [part for part in found if part.offset < begin]
                    whole, since = min(whole, begin), len(found)
                elif match := _END.fullmatch(text):
                    if begin <= whole and len(found) - since == int(match[2]):
                        whole = int(match[1])
                elif (place := place_of(text)) is not None:
                    found.append(IndexLine(int(place.offset), text))
    except FileNotFoundError:
        pass
    return found, whole


def records(path: str, begin: int, end: int) -> Iterator[IndexLine]:
    """The lines of the answers between two bytes of a part, out of the part itself."""
    name = os.path.basename(path)
    with open(path, "rb") as file:
        for at, size, text in _members(file, begin, end):
            head, _, block = text.partition(b"\r\n\r\n")
            fields = _fields(head)
            if fields.get("warc-type") not in ("response", "revisit"):
                continue
            http, url = block.partition(b"\r\n\r\n")[0], fields["warc-target-uri"]
            mime = _fields(http).get("content-type", "").partition(";")[0].strip() or "-"
            asked = _asked(fields.get("gossamer-request", "{}"))
            yield line(
                surt(url),
                re.sub(r"\D", "", fields["warc-date"])[:14],
                IndexPosition(
                    url,
                    mime if fields["warc-type"] == "response" else "warc/revisit",
                    str(int(http.split(b" ", 2)[1])),
                    fields.get("warc-payload-digest", "-"),
                    str(size),
                    str(at),
                    name,
                    msgspec.UNSET if asked.method == "GET" else asked.method,
                ),
            )


def _fields(head: bytes) -> dict[str, str]:
    """The first value of each field behind the first line, names in lower case."""
    found: dict[str, str] = {}
    for text in head.decode("utf-8", "replace").split("\r\n")[1:]:
        name, _, value = text.partition(":")
        found.setdefault(name.strip().lower(), value.strip())
    return found


def _members(file: BinaryIO, at: int, end: int) -> Iterator[tuple[int, int, bytes]]:
    """Where each gzip member begins, its size, and its first HEAD bytes unpacked."""
    file.seek(at)
    data = b""
    while at < end:
        undo, text, size = isal_zlib.decompressobj(31), b"", 0
        while not undo.eof:
            data = data or file.read(1 << 16)
            if not data:
                return
            text += undo.decompress(data)[: HEAD - len(text)]
            size += len(data) - len(undo.unused_data)
            data = undo.unused_data
        yield at, size, text
        at += size


def place_of(text: bytes) -> IndexPosition | None:
    """What a line says; None for what is none."""
    if not text.endswith(b"\n") or text.count(b" ") < 2:
        return None
    try:
        return _decode(text.split(b" ", 2)[2])
    except msgspec.DecodeError:
        return None
