"""Checks and repairs the append-only files of an embedded store. The files are checked before a server reads
them, and a torn end is removed. `gossamer doctor --repair` repairs other damage (docs/decisions/store.md).

Valkey keeps a base file (RDB) and incremental files (the commands as they were sent), and lists these files
in a manifest. The check prevents silent loss of data. A server that finds no manifest starts with an empty
store. If a length field in a file is damaged, the server drops all data after the field, as if the file had a
torn end.
"""

from __future__ import annotations

import os
import re
import time
from pathlib import Path
from typing import NamedTuple

from gossamer.config.data_files import open_file
from gossamer.errors import StoreDamaged

_FILE = re.compile(r"appendonly\.aof\.(\d+)\.(base\.rdb|base\.aof|incr\.aof)")


def find_faults(store: Path) -> list[str]:
    """Returns a description of each fault: a missing manifest, or an incremental file with a broken
    command."""
    folder, found = store / FOLDER, []
    if not folder.is_dir():
        return []
    if any(_log_files(folder)) and not _listed(folder):
        found.append(f"{MANIFEST} is missing or empty")
    for path in _increments(folder):
        size, whole = path.stat().st_size, whole_commands(path)
        if whole < size:
            found.append(f"{path.name} is broken from byte {whole} of {size} on")
    return found


def mend_files(store: Path) -> None:
    """Truncates each incremental file after its last complete command or transaction, and writes the manifest
    if it is missing. The new manifest does not list the incremental files after the first broken file."""
    folder = store / FOLDER
    kept, broken = [], False
    for path in _increments(folder):
        if broken:
            continue
        size, whole = path.stat().st_size, whole_commands(path)
        if whole < size:
            os.truncate(path, whole)
            broken = True
        kept.append(path.name)
    bases = [name for name in _log_files(folder) if ".base." in name]
    if broken or not _listed(folder):
        lines = [f"file {name} seq {_sequence_number(name)} type b\n" for name in bases[-1:]]
        lines += [f"file {name} seq {_sequence_number(name)} type i\n" for name in kept]
        (folder / MANIFEST).write_text("".join(lines))


def whole_commands(path: Path) -> int:
    """Returns the offset of the end of the last complete command in an incremental file. The commands of an
    unfinished transaction do not count as complete."""
    end, within = 0, False
    with open(path, "rb") as file:
        while line := file.readline(100):
            if line[:1] == b"#" and line.endswith(b"\r\n"):  # a timestamp
                end = end if within else file.tell()
                continue
            words = _words(file, line)
            if not words:
                break
            within = {b"MULTI": True, b"EXEC": False}.get(words[0].upper(), within)
            if not within:
                end = file.tell()
    return end


def _words(file: object, line: bytes) -> list[bytes]:
    """Reads one command, and returns the name of the command as a list of one element. The list is empty if
    the command is broken."""
    read, seek, readline = file.read, file.seek, file.readline  # type: ignore[attr-defined]
    if not re.fullmatch(rb"\*[1-9]\d{0,8}\r\n", line):
        return []
    size, words = os.fstat(file.fileno()).st_size, []  # type: ignore[attr-defined]
    for n in range(int(line[1:-2])):
        head = readline(100)
        if not re.fullmatch(rb"\$\d{1,10}\r\n", head):
            return []
        length = int(head[1:-2])
        if n == 0:
            words.append(read(length))
        elif seek(length, 1) > size:
            return []
        if read(2) != b"\r\n":
            return []
    return words


def _log_files(folder: Path) -> list[str]:
    found = [path.name for path in folder.iterdir() if _FILE.fullmatch(path.name)]
    return sorted(found, key=_sequence_number)


def _sequence_number(name: str) -> int:
    found = _FILE.fullmatch(name)
    return int(found[1]) if found else 0


def _listed(folder: Path) -> list[str]:
    try:
        return re.findall(r"^file (\S+) seq", (folder / MANIFEST).read_text("utf-8", "replace"), re.MULTILINE)
    except FileNotFoundError:
        return []


def _increments(folder: Path) -> list[Path]:
    """Returns the incremental files that the manifest lists. If there is no manifest, returns all incremental
    files in the folder."""
    names = [name for name in _listed(folder) if ".incr." in name] or [
        n for n in _log_files(folder) if ".incr." in n
    ]
    return [folder / name for name in names if (folder / name).is_file()]


FOLDER, MANIFEST = "appendonlydir", "appendonly.aof.manifest"
EMPTY_BASE_BYTES = 256
"""Maximum size in bytes of a base file that contains no keys."""
_CHUNK_BYTES = 1 << 20
_COMMAND = re.compile(rb"\*[1-9]\d{0,6}\r\n\$\d{1,9}\r\n")


def check_files(store: Path, *, served: bool) -> None:
    """Raises StoreDamaged if a server would silently lose keys when it loads the append-only files. `served`:
    whether a server has run in this folder before."""
    folder = store / FOLDER
    try:
        sizes = {path.name: path.stat().st_size for path in folder.iterdir() if path.suffix != ".manifest"}
    except FileNotFoundError:
        sizes = {}
    if not (folder / MANIFEST).exists():
        kept = any(
            size > (EMPTY_BASE_BYTES if "base" in name else 0)
            for name, size in sizes.items()
            if "temp" not in name
        )
        if served or kept:
            raise _damaged(store, f"{folder / MANIFEST} is missing")
        return
    for name in _files(store, b"b"):
        if sizes.get(name) == 0:
            raise _damaged(store, f"{folder / name} is empty")


def set_aside(store: Path) -> Path | None:
    """Moves the append-only files to a new folder in the store's folder. Returns the path of the new folder,
    or None if there were no append-only files."""
    to = store / f"damaged-{time.strftime('%Y%m%d-%H%M%S')}-{os.getpid()}"
    try:
        (store / FOLDER).rename(to)
    except FileNotFoundError:
        return None
    return to


def _damaged(store: Path, what: str) -> StoreDamaged:
    return StoreDamaged(
        f"the embedded store is damaged: {what}: keep a copy of {store.parent}, "
        f"then `gossamer doctor --repair --data {store.parent}` rebuilds the store"
    )


def _files(store: Path, kind: bytes) -> list[str]:
    """Returns the files of one type that the manifest lists. The types are `b` (base) and `i`
    (incremental)."""
    try:
        manifest = (store / FOLDER / MANIFEST).read_bytes()
    except OSError:
        return []
    found = re.findall(rb'^file "?([^"\n/]+?)"? seq \d+ type ' + kind + rb"\b", manifest, re.MULTILINE)
    return [name.decode("utf-8", "replace") for name in found]


def mend_tail(store: Path) -> str:
    """Removes a torn end from the last append-only file. Returns a message about the removed bytes, or '' if
    the file has no torn end.

    A file has a torn end if it ends within a command or a transaction, even if zeros follow. The removed
    bytes are saved in another file.
    """
    files = _files(store, b"i")
    if not files:
        return ""
    path = store / FOLDER / files[-1]
    try:
        fd = open_file(path, os.O_RDWR)
    except OSError:
        return ""
    try:
        end = _whole(fd)
        size = os.fstat(fd).st_size
        if end is None or end == size:
            return ""
        kept = store / f"torn-{time.strftime('%Y%m%d-%H%M%S')}-{os.getpid()}.aof"
        aside = open_file(kept, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        try:
            at = end
            while piece := os.pread(fd, _CHUNK_BYTES, at):
                os.write(aside, piece)
                at += len(piece)
            os.fsync(aside)
        finally:
            os.close(aside)
        os.ftruncate(fd, end)
        os.fsync(fd)
    finally:
        os.close(fd)
    return (
        f"the store's last {size - end} bytes were torn, as after a crash of the machine: they "
        f"are cut off, and kept in {kept}"
    )


class _AppendOnlyScan(NamedTuple):
    end: int
    """Offset of the end of the last complete command or transaction."""
    command: int
    """Offset of the first incomplete or broken command."""
    torn: bool
    """Whether the file ends within the command that begins at `command`, or within a transaction."""


def _whole(fd: int) -> int | None:
    """Returns the offset of the end of the last complete command or transaction in a file. Returns None if
    the file has any damage other than a torn end."""
    size = os.fstat(fd).st_size
    scan = _scan(fd, size)
    if not scan.torn:  # a disk may fill the end with zeros after a crash
        stripped = _without_zeros(fd, size, scan.command)
        if stripped == size:
            return None
        scan = _scan(fd, stripped)
        if scan.command < stripped and not scan.torn:
            return None
    return None if _holds_commands(fd, scan.command, size) else scan.end


def _without_zeros(fd: int, size: int, start: int) -> int:
    while size > start:
        step = min(_CHUNK_BYTES, size - start)
        rest = os.pread(fd, step, size - step).rstrip(b"\0")
        size -= step
        if rest:
            return size + len(rest)
    return size


def _holds_commands(fd: int, start: int, size: int) -> bool:
    """Returns whether complete commands follow a broken command. If complete commands follow, the fault is a
    wrong length field in the broken command, not a torn end."""
    at = start + 1
    while piece := os.pread(fd, _CHUNK_BYTES, at):
        for found in _COMMAND.finditer(piece):
            if _scan(fd, size, at + found.start()).command > at + found.start():
                return True
        at += max(1, len(piece) - 32)
        if len(piece) <= 32:
            return False
    return False


def _scan(fd: int, size: int, start: int = 0) -> _AppendOnlyScan:
    """Reads commands from offset `start` until the first incomplete command."""
    with open(os.dup(fd), "rb") as file:
        file.seek(start)
        at = end = start
        inside = False
        while at < size:
            read = _command(file, at, size)
            if isinstance(read, bool):
                return _AppendOnlyScan(end, at, read)
            length, name = read
            at += length
            inside = name == b"MULTI" or (inside and name != b"EXEC")
            if not inside:
                end = at
        return _AppendOnlyScan(end, at, inside)


def _command(file: object, at: int, size: int) -> tuple[int, bytes] | bool:
    """Reads the command at the file's position. Returns the length and the name of the command. Returns True
    if the file ends within the command, and False if the bytes are not a command."""
    read = file.readline(32)  # type: ignore[attr-defined]
    length, name = len(read), b""
    if read.startswith(b"#") and not read.endswith(b"\n") and at + length < size:
        read += file.readline()  # type: ignore[attr-defined]
        length = len(read)
    if at + length > size:
        return True
    if read.startswith(b"#"):  # an annotation line that the server wrote, such as a timestamp
        return (length, b"") if read.endswith(b"\n") else at + length >= size
    if not (count := _number(read, b"*", at + length >= size)):
        return count is None
    for n in range(count):
        read = file.readline(32)  # type: ignore[attr-defined]
        length += len(read)
        if at + length > size or not read:
            return True
        bulk = _number(read, b"$", at + length >= size)
        if bulk is None or bulk is False:
            return bulk is None
        if at + length + bulk + 2 > size:
            left = size - at - length
            if left > bulk:  # the file ends within the line break (CR LF) after the argument
                file.seek(bulk, 1)  # type: ignore[attr-defined]
                return bool(file.read(1) == b"\r")  # type: ignore[attr-defined]
            return True
        if n == 0 and bulk < 64:
            name = file.read(bulk).upper()  # type: ignore[attr-defined]
        else:
            file.seek(bulk, 1)  # type: ignore[attr-defined]
        if file.read(2) != b"\r\n":  # type: ignore[attr-defined]
            return False
        length += bulk + 2
    return length, name


def _number(line: bytes, mark: bytes, last: bool) -> int | bool | None:
    """Returns the number in a line such as `*3`. Returns None if the file ends within the line, and False if
    the line does not have this form."""
    if found := re.fullmatch(re.escape(mark) + rb"(\d{1,9})\r\n", line):
        return int(found[1])
    return None if last and re.fullmatch(re.escape(mark) + rb"\d{0,9}\r?", line) else False
