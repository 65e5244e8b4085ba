"""The CDXJ index of a WARC file. The index has one line per record, and the lines are sorted. A line has the
form `com,example)/path 20260102030405 {"url": ..., "offset": ...}`.

While a part of the WARC file grows, its index lines are in the journal `.NAME.index`. The lines of the
journal are in the order of writing. The journal also contains two other kinds of lines. `@N` means that the
records of the following lines begin at byte N or later. If an earlier line describes a record that begins at
byte N or later, a reader ignores the earlier line, because its record was cut. `=M C` ends a group of C index
lines. All index lines up to the end of this group together cover the records before byte M of the part.
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
from gossamer.model.content_type import essence
from gossamer.model.request import split
from gossamer.model.visit import RequestContext
from gossamer.sinks.crash_safe_file import sink_error, sync, sync_folder

_encode = msgspec.json.Encoder().encode
_asked = msgspec.json.Decoder(RequestContext).decode
_BEGIN, _END = re.compile(rb"@(\d+)\n"), re.compile(rb"=(\d+) (\d+)\n")
_TORN = cast(type[Exception], isal_zlib.error)  # the type stub wrongly declares this class as an instance
ENDING = ".warc.gz"
HEAD_BYTES = 256 << 10
"""The header of a WARC record and the head of its HTTP response must end within the first HEAD_BYTES
decompressed bytes of the record."""


class IndexPosition(msgspec.Struct):
    """The position of a record, with the fields of a CDXJ line. CDXJ writes numbers as strings."""

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
    """An index line and the offset of its record in the part."""

    offset: int
    text: bytes


def surt(url: str) -> str:
    """Returns a URL in the form that sorts by site (SURT).

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


def index_line(key: str, moment: str, place: IndexPosition) -> IndexLine:
    """Returns the index line of a record. `key`: the URL as a SURT. `moment`: the record's date as 14
    digits."""
    return IndexLine(
        int(place.offset), b"%b %b %b\n" % (key.encode("utf-8", "replace"), moment.encode(), _encode(place))
    )


def journal_path(path: str) -> str:
    """Returns the path of the index journal of a part."""
    folder, name = os.path.split(path)
    return f"{folder}/.{name}.index"


def index_path(path: str) -> str:
    """Returns the path of the finished index of a part."""
    return f"{path.removesuffix(ENDING)}.cdxj"


def note_lines(path: str, begin: int, end: int, lines: Sequence[IndexLine]) -> None:
    """Adds index lines to the journal of a part. The lines describe records that the caller is about to
    write. These records fill the bytes from `begin` to `end` of the part.

    Only the creation of the journal and its first lines are synced. If later lines are lost in a power
    failure, `finish_index` restores them.
    """
    where = journal_path(path)
    # The data starts with a line feed, because the last line of the file may be incomplete.
    data = b"\n@%d\n" % begin + _counted(lines, end)
    try:
        fd = os.open(where, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o666)
        try:
            new = not os.fstat(fd).st_size
            if new and os.path.exists(index_path(path)):
                known, _ = read_lines(index_path(path))
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
        raise sink_error(where, error) from error


def _counted(lines: Sequence[IndexLine], end: int) -> bytes:
    return b"".join([part.text for part in lines]) + b"=%d %d\n" % (end, len(lines))


def finish_index(path: str, end: int) -> None:
    """Writes the index of a part, and removes the journal. `end`: the length of the part. Index lines that
    the journal lacks, for example after a power failure, are read from the part. Raises SinkError,
    DiskFull."""
    where = journal_path(path)
    if not os.path.exists(where):
        return
    try:
        known, whole = read_lines(where)
        lines = [part.text for part in known if part.offset < min(whole, end)]
        if whole < end:
            lines += [part.text for part in read_records(path, whole, end)]
        with open(f"{where}.new", "wb") as file:
            file.writelines(sorted(lines))
            file.flush()
            sync(file.fileno())
        os.rename(f"{where}.new", index_path(path))
        sync_folder(os.path.dirname(path))
        os.unlink(where)
    except OSError as error:
        raise sink_error(index_path(path), error) from error
    except _TORN as error:
        raise SinkError(_broken(path)) from error


def check_members(path: str, size: int) -> None:
    """Checks that the part consists of whole gzip members. Reads only bytes that no index covers. The check
    is needed because a reader cannot get past an incomplete record. Raises SinkError."""
    end = size if os.path.exists(index_path(path)) else min(size, read_lines(journal_path(path))[1])
    try:
        with open(path, "rb") as file:
            for at, long, text in _members(file, end, size):
                end = at + long if text.startswith(b"WARC/") else size + 1
    except OSError as error:
        raise sink_error(path, error) from error
    except _TORN:
        end = 0
    if end != size:
        raise SinkError(_broken(path))


def _broken(path: str) -> str:
    return (
        f"{path} is not a WARC file of whole gzip members: give another file with -o, or overwrite it with -O"
    )


def remove_index(path: str) -> None:
    """Removes the index and the journal of a part that no longer exists."""
    for file in (index_path(path), journal_path(path)):
        with contextlib.suppress(FileNotFoundError):
            os.unlink(file)


def read_lines(path: str) -> tuple[list[IndexLine], int]:
    """Returns the lines of an index or a journal, and the offset up to which the journal is complete. Leaves
    out the lines whose bytes were cut. Returns ([], 0) if there is no file."""
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


def read_records(path: str, begin: int, end: int) -> Iterator[IndexLine]:
    """Reads the responses between two offsets of a part, and yields their index lines."""
    name = os.path.basename(path)
    with open(path, "rb") as file:
        for at, size, text in _members(file, begin, end):
            head, _, block = text.partition(b"\r\n\r\n")
            fields = _fields(head)
            if fields.get("warc-type") not in ("response", "revisit"):
                continue
            http, url = block.partition(b"\r\n\r\n")[0], fields["warc-target-uri"]
            mime = essence(_fields(http).get("content-type")) or "-"
            asked = _asked(fields.get("gossamer-request", "{}"))
            yield index_line(
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
    """Returns the headers by name in lower case. The first line of `head` contains no header, and is skipped.
    If a header occurs several times, returns its first value."""
    found: dict[str, str] = {}
    for text in head.decode("utf-8", "replace").split("\r\n")[1:]:
        name, _, value = text.partition(":")
        found.setdefault(name.strip().lower(), value.strip())
    return found


def _members(file: BinaryIO, at: int, end: int) -> Iterator[tuple[int, int, bytes]]:
    """Yields the offset, the size, and the first HEAD_BYTES decompressed bytes of each gzip member between
    two offsets."""
    file.seek(at)
    data = b""
    while at < end:
        undo, text, size = isal_zlib.decompressobj(31), b"", 0
        while not undo.eof:
            data = data or file.read(1 << 16)
            if not data:
                return
            text += undo.decompress(data)[: HEAD_BYTES - len(text)]
            size += len(data) - len(undo.unused_data)
            data = undo.unused_data
        yield at, size, text
        at += size


def place_of(text: bytes) -> IndexPosition | None:
    """Decodes an index line, or returns None if the line is not valid."""
    if not text.endswith(b"\n") or text.count(b" ") < 2:
        return None
    try:
        return _decode(text.split(b" ", 2)[2])
    except msgspec.DecodeError:
        return None
