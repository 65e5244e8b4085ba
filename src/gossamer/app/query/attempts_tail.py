"""Reads the attempts log backwards, to find the last attempts of one URL or host."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

if TYPE_CHECKING:
    from gossamer.config.settings import Settings

MAX_SEARCHED_BYTES = 256 << 20
"""Maximum number of bytes to search, from the end of the log."""
STEP_BYTES = 1 << 20
MAX_LOG_LINES = 200_000


def last_attempts(
    settings: Settings, name: str, key: str, canonical: Callable[[str], str | None], limit: int
) -> list[dict[str, Any]]:
    """Returns the last `limit` attempts of the URL with canonical form `key`, oldest first."""
    from gossamer.config.redaction import mask

    found: list[dict[str, Any]] = []
    decode = msgspec.json.Decoder(dict[str, Any]).decode
    host = key.split("/", 3)[2].encode()
    for line in lines_backwards(Path(settings.data) / name / "attempts.jsonl"):
        if host not in line:
            continue
        try:
            attempt = decode(line)
        except msgspec.MsgspecError:
            continue
        url = str(attempt.get("url"))
        if url == mask(key) or canonical(url) in (key, mask(key)):
            found.append(attempt)
            if len(found) >= limit:
                break
    return found[::-1]


def last_blocks(settings: Settings, name: str, host: str, limit: int) -> list[dict[str, Any]]:
    """Searches a crawl's attempts log for requests that `host` blocked. Returns at most `limit` attempts,
    latest first. Only the last `MAX_LOG_LINES` lines of the log are searched."""
    found: list[dict[str, Any]] = []
    sign, decode = f'"host":"{host}"'.encode(), msgspec.json.Decoder(dict[str, Any]).decode
    for line in islice(lines_backwards(Path(settings.data) / name / "attempts.jsonl"), MAX_LOG_LINES):
        if len(found) >= limit:
            break
        if sign in line and b'"block":null' not in line:
            with suppress(msgspec.MsgspecError):
                found.append(decode(line))
    return [line for line in found if line.get("block")]


def lines_backwards(path: Path) -> Iterator[bytes]:
    """Yields the lines of a file, last line first. Yields nothing if the file does not exist."""
    try:
        file = path.open("rb")
    except OSError:
        return
    with file:
        at = file.seek(0, 2)
        least, rest = max(0, at - MAX_SEARCHED_BYTES), b""
        while at > least:
            step = min(STEP_BYTES, at - least)
            at -= step
            file.seek(at)
            lines = (file.read(step) + rest).split(b"\n")
            rest = lines[0]
            yield from (line for line in reversed(lines[1:]) if line)
        if rest and at == 0:
            yield rest
