"""Replays the files of a mirrored site. The file of a URL may have one of several names in the mirror's
folder. Symbolic links are not followed."""

from __future__ import annotations

import mimetypes
import os
import stat
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import unquote_to_bytes

from gossamer.collectors.archive.answers import StoredAnswer
from gossamer.model.request import split

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = (
    os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
)  # opening a FIFO in the folder must not block
_INDEX = b"index.html"


class Mirror:
    """A folder of files named `HOST[:PORT]/PATH`. If `base` is given, the folder contains the files of the
    site below that URL. Raises OSError."""

    def __init__(self, folder: Path, base: str | None = None) -> None:
        self._root = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        self._base = base if base is None or base.endswith("/") else base.rpartition("/")[0] + "/"

    def find(self, url: str, most: int) -> StoredAnswer | None:
        """Returns a response whose body is the file that the URL names. If the URL lacks the final slash of a
        folder that contains `index.html`, returns a redirect to the URL with the slash, so that relative
        links resolve correctly."""
        for names in self._names(url):
            if any(not stays_in_folder(name) for name in names[:-1]) or not (
                stays_in_folder(names[-1]) or not names[-1]
            ):
                continue
            with ClosingDescriptor(self._descend(names[:-1])) as folder:
                if folder < 0:
                    continue
                for name in file_names(names[-1], url):
                    if (kept := read_file(folder, name, most)) is not None:
                        return kept
                if names[-1] and _holds_index(folder, names[-1]):
                    head, mark, query = url.partition("?")
                    return StoredAnswer(301, [("location", f"{head}/{mark}{query}"), ("content-length", "0")])
        return None

    def close(self) -> None:
        """Closes the folder."""
        if self._root >= 0:
            os.close(self._root)
            self._root = -1

    def _names(self, url: str) -> Iterator[list[bytes]]:
        """Yields the possible file paths of a URL, each as a list of names. Without `base`, a file path
        begins with the host's name in one of several spellings. The other names in a path occur in two forms:
        as in the URL, and percent-decoded."""
        path = url.partition("?")[0]
        if self._base is not None:
            if not path.startswith(self._base):
                return
            tops: list[list[bytes]] = [[]]
            rest = path[len(self._base) :]
        else:
            _, host, rest = split(path)
            tops = [
                [name.encode()]
                for name in dict.fromkeys((host, host.replace(":", "+"), host.partition(":")[0]))
            ]
            rest = rest[1:]
        for top in tops:
            for parts in dict.fromkeys(
                (tuple(rest.encode().split(b"/")), tuple(map(unquote_to_bytes, rest.split("/"))))
            ):
                yield [*top, *parts]

    def _descend(self, names: list[bytes]) -> int:
        """Opens a folder below the root. Returns the folder's descriptor, or -1 if the folder cannot be
        opened."""
        at = os.dup(self._root)
        for name in names:
            try:
                below = os.open(name, _FOLDER, dir_fd=at)
            except (OSError, ValueError):
                return -1
            finally:
                os.close(at)
            at = below
        return at


class ClosingDescriptor:
    """A file descriptor that is closed at the end of a `with` block."""

    def __init__(self, fd: int) -> None:
        self.fd = fd

    def __enter__(self) -> int:
        return self.fd

    def __exit__(self, *_: object) -> None:
        if self.fd >= 0:
            os.close(self.fd)


def stays_in_folder(name: bytes) -> bool:
    r"""Returns whether a name is a valid file name. The names `.` and `..` and names with a path separator
    are invalid, because a file with such a name may be outside the folder.

    >>> [stays_in_folder(name) for name in (b"a.html", b"..", b".", b"", b"a/b", b"a\\b", b"a\0b")]
    [True, False, False, False, False, False, False]
    """
    return name not in (b"", b".", b"..") and not any(c in name for c in b"/\\\0") and len(name) < 256


def file_names(name: bytes, url: str) -> Iterator[bytes]:
    """Yields the file names that `wget` may have given to a page. `wget` may append the query and `.html` to
    the name in the URL."""
    query = url.partition("?")[2].encode()
    stem = name or _INDEX
    if query:
        for mark in (b"?", b"@"):
            for form in dict.fromkeys((query, unquote_to_bytes(query), query.replace(b"/", b"%2F"))):
                yield stem + mark + form
                yield stem + mark + form + b".html"
    yield stem
    if name and b"." not in name:
        yield name + b".html"


def read_file(folder: int, name: bytes, most: int) -> StoredAnswer | None:
    """Returns a regular file as a response, or None if there is no such file."""
    if not stays_in_folder(name):
        return None
    try:
        fd = os.open(name, _FILE, dir_fd=folder)
    except (OSError, ValueError):
        return None
    with ClosingDescriptor(fd):
        info = os.fstat(fd)
        if not stat.S_ISREG(info.st_mode):
            return None
        with os.fdopen(os.dup(fd), "rb") as file:
            body = file.read(most + 1)
    return StoredAnswer(
        200,
        [("content-type", content_type_of(name, body))],
        body,
        info.st_mtime,
        max(info.st_size, len(body)),
    )


def content_type_of(name: bytes, body: bytes) -> str:
    """Returns the content type of a file. The type is determined by the file's name or, if the name is
    unknown, by the first bytes. The type contains no charset, so that the charset is detected from the page
    itself.

    >>> content_type_of(b"a.html?x=1", b""), content_type_of(b"sitemap.xml.gz", b""), content_type_of(b"about", b"<!doctype html>")
    ('text/html', 'application/gzip', 'text/html')
    """
    stem = name.partition(b"?")[0].decode("utf-8", "replace")
    found, coding = mimetypes.guess_type(stem, strict=False)
    if coding is not None:
        return "application/gzip" if coding == "gzip" else "application/octet-stream"
    if found is None or name.endswith(b".html"):
        markup = name.endswith(b".html") or body[:256].lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"<")
        return "text/html" if markup else "application/octet-stream"
    return found


def single_file(path: Path, url: str | None = None) -> Callable[[str, int], StoredAnswer | None]:
    """Returns a source that contains a single file. The file is the response for `url`, or for the first
    requested URL if `url` is None."""
    meant = [url] if url is not None else []

    def find(asked: str, most: int) -> StoredAnswer | None:
        if not meant:
            meant.append(asked)
        if asked != meant[0]:
            return None
        with path.open("rb") as file:
            body, info = file.read(most + 1), os.fstat(file.fileno())
        name = os.fsencode(path.name)
        return StoredAnswer(
            200,
            [("content-type", content_type_of(name, body))],
            body,
            info.st_mtime,
            max(info.st_size, len(body)),
        )

    return find


def _holds_index(folder: int, name: bytes) -> bool:
    try:
        below = os.open(name, _FOLDER, dir_fd=folder)
    except (OSError, ValueError):
        return False
    with ClosingDescriptor(below):
        try:
            return stat.S_ISREG(os.stat(_INDEX, dir_fd=below, follow_symlinks=False).st_mode)
        except OSError:
            return False
