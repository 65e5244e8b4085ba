"""How `gossamer doctor --repair` mends the embedded store's append-only files. docs/decisions/0036.

Valkey keeps a base (RDB) and increments (commands as they were sent), named by a manifest.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

from gossamer.store.append_only import FOLDER, MANIFEST

_FILE = re.compile(r"appendonly\.aof\.(\d+)\.(base\.rdb|base\.aof|incr\.aof)")


def faults(store: Path) -> list[str]:
    """What is wrong with the files, in words; the manifest, and increments that are not whole."""
    folder, found = store / FOLDER, []
    if not folder.is_dir():
        return []
    if any(_files(folder)) and not _listed(folder):
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
    bases = [name for name in _files(folder) if ".base." in name]
    if broken or not _listed(folder):
        lines = [f"file {name} seq {_number(name)} type b\n" for name in bases[-1:]]
        lines += [f"file {name} seq {_number(name)} type i\n" for name in kept]
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


def _files(folder: Path) -> list[str]:
    found = [path.name for path in folder.iterdir() if _FILE.fullmatch(path.name)]
    return sorted(found, key=_number)


def _number(name: str) -> int:
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
        n for n in _files(folder) if ".incr." in n
    ]
    return [folder / name for name in names if (folder / name).is_file()]
