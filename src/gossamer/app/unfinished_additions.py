"""Stores each command `gossamer add --again` until the command ends, so that a killed command can be
repeated.

The seen set rejects known URLs, so each repeated visit of a URL needs its own entry in the seen set. This
entry is computed from the URL and from a random token of the command. The token is stored until the command
ends. If the same command is repeated after a kill, the new run gets the same token. The token makes the seen
set reject the URLs that the killed command already added.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Awaitable, Sequence
from hashlib import blake2b
from pathlib import Path
from typing import Any, NamedTuple, cast

import msgspec

from gossamer.app.targets import Target
from gossamer.store import keys
from gossamer.store.store import Store


class Addition(NamedTuple):
    """A `gossamer add --again` command that has not ended."""

    command: str
    """A hash of the command's targets and options (`command_hash`). Equal commands have the same hash."""
    token: str
    begun_at: float
    """The time when the command was first started, in seconds since the epoch."""
    continued: bool
    """Whether the same command was started before and has not ended."""


def command_hash(given: Sequence[Target], options: Any) -> str:
    """Returns a hash of a command's targets and options. For a file, the hash depends on the absolute path.
    For a list of URLs from a Python program, the hash depends on the list's contents."""
    texts = [
        str(Path(one.text).absolute()) if one.kind == "list" and one.lines is None else one.text
        for one in given
    ]
    return blake2b(msgspec.json.encode([texts, options]), digest_size=12).hexdigest()


async def begin_addition(store: Store, crawl: str, command: str) -> Addition:
    """Records the start of a command. If the same command was started before and has not ended, returns the
    earlier record."""
    key, token = keys.additions(crawl), secrets.token_hex(8)
    pipe = store.client.pipeline()
    pipe.hsetnx(key, command, f"{token} {time.time():.3f}")
    pipe.hget(key, command)
    is_new, stored = await store.guard(pipe.execute())
    token, begun_at = stored.decode().split()
    return Addition(command, token, float(begun_at), not is_new)


async def end_addition(store: Store, crawl: str, addition: Addition) -> None:
    """Records the end of a command. If the same command is run again, the command gets a new token."""
    await store.guard(cast(Awaitable[Any], store.client.hdel(keys.additions(crawl), addition.command)))
