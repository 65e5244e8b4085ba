"""How `gossamer doctor --repair` mends the embedded store's append-only files. docs/decisions/0036.

Valkey keeps a base (RDB) and increments (commands as they were sent), named by a manifest.


The append-only files of an embedded store: checked before a server reads them, and a torn end cut off.

The server would begin with nothing where the manifest is missing, and would drop everything after a damaged
length as if it were torn.
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


def faults(store: Path) -> list[str]:
    """What is wrong with the files, in words; the manifest, and increments that are not whole."""
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


def mend(store: Path) -> None:
    """Cut each increment after its last whole command or transaction, and write a missing manifest. What
    follows a break is left out."""
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
    """Bytes of an increment up to the end of its last whole command outside a transaction that was not ended."""
    end, within = 0, False
    with open(path, "rb") as file:
        while line := file.readline(100):
            if line[:1] == b"#" and line.endswith(b"\r\n"):  # a time stamp
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
    """The first words of one command (long ones are passed over); none when it is broken."""
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
    """The increments that the manifest names; without one, those of the newest base and after."""
    names = [name for name in _listed(folder) if ".incr." in name] or [
        n for n in _log_files(folder) if ".incr." in n
    ]
    return [folder / name for name in names if (folder / name).is_file()]


FOLDER, MANIFEST = "appendonlydir", "appendonly.aof.manifest"
EMPTY_BASE = 256
"""Bytes of a base file that may hold no keys."""
_PIECE = 1 << 20
_COMMAND = re.compile(rb"\*[1-9]\d{0,6}\r\n\$\d{1,9}\r\n")


def check_files(store: Path, *, served: bool) -> None:
    """Raises StoreDamaged where a server would silently begin with fewer keys. `served`: a server has worked
    here before."""
    folder = store / FOLDER
    try:
        sizes = {path.name: path.stat().st_size for path in folder.iterdir() if path.suffix != ".manifest"}
    except FileNotFoundError:
        sizes = {}
    if not (folder / MANIFEST).exists():
        kept = any(
            size > (EMPTY_BASE if "base" in name else 0) for name, size in sizes.items() if "temp" not in name
        )
        if served or kept:
            raise _damaged(store, f"{folder / MANIFEST} is missing")
        return
    for name in _files(store, b"b"):
        if sizes.get(name) == 0:
            raise _damaged(store, f"{folder / name} is empty")


def set_aside(store: Path) -> Path | None:
    """Move the append-only files to a folder beside them; its path, None where there are none."""
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
    """The files of a kind that the manifest names: b for base, i for incremental."""
    try:
        manifest = (store / FOLDER / MANIFEST).read_bytes()
    except OSError:
        return []
    found = re.findall(rb'^file "?([^"\n/]+?)"? seq \d+ type ' + kind + rb"\b", manifest, re.MULTILINE)
    return [name.decode("utf-8", "replace") for name in found]


def mend_tail(store: Path) -> str:
    """Cut the torn end off the last append-only file; what was done, '' where the file has no torn end.

    Torn means that the file ends within a command, or within a transaction, with or without zeros after it.
    The bytes are kept.
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
            while piece := os.pread(fd, _PIECE, at):
                os.write(aside, piece)
                at += len(piece)
            os.fsync(aside)
        finally:
            os.close(aside)
        os.ftruncate(fd, end)
        os.fsync(fd)
    finally:
        os.close(fd)
    return f"the store's last {size - end} bytes were torn, as after a crash of the machine: they are cut off, and kept in {kept}"


class _AppendOnlyScan(NamedTuple):
    end: int
    """Where the last whole command or transaction ends."""
    command: int
    """Where the first broken command begins."""
    torn: bool
    """The file ends within that command."""


def _whole(fd: int) -> int | None:
    """Where the whole commands of a torn file end; None where the file is damaged in another way."""
    size = os.fstat(fd).st_size
    scan = _scan(fd, size)
    if not scan.torn:  # zeros after the end are what a crashed disk leaves
        stripped = _without_zeros(fd, size, scan.command)
        if stripped == size:
            return None
        scan = _scan(fd, stripped)
        if scan.command < stripped and not scan.torn:
            return None
    return None if _holds_commands(fd, scan.command, size) else scan.end


def _without_zeros(fd: int, size: int, start: int) -> int:
    while size > start:
        step = min(_PIECE, size - start)
        rest = os.pread(fd, step, size - step).rstrip(b"\0")
        size -= step
        if rest:
            return size + len(rest)
    return size


def _holds_commands(fd: int, start: int, size: int) -> bool:
    """Whether whole commands come after a broken one: then its length is wrong, and it is not the last."""
    at = start + 1
    while piece := os.pread(fd, _PIECE, at):
        for found in _COMMAND.finditer(piece):
            if _scan(fd, size, at + found.start()).command > at + found.start():
                return True
        at += max(1, len(piece) - 32)
        if len(piece) <= 32:
            return False
    return False


def _scan(fd: int, size: int, start: int = 0) -> _AppendOnlyScan:
    """Read commands from `start` until the first that is not whole."""
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
    """Length and name of the command at the file's position; True where the file ends within it, False where
    it is none."""
    read = file.readline(32)  # type: ignore[attr-defined]
    length, name = len(read), b""
    if read.startswith(b"#") and not read.endswith(b"\n") and at + length < size:
        read += file.readline()  # type: ignore[attr-defined]
        length = len(read)
    if at + length > size:
        return True
    if read.startswith(b"#"):  # a remark of the server
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
            if left > bulk:  # one byte of the line's end
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
    """The number of a line such as `*3`; None where the file ends within the line, False where it is no such
    line."""
    if found := re.fullmatch(re.escape(mark) + rb"(\d{1,9})\r\n", line):
        return int(found[1])
    return None if last and re.fullmatch(re.escape(mark) + rb"\d{0,9}\r?", line) else False
