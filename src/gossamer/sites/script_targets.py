"""Crawl targets that a Python program created: `Site` objects and lists of URLs. A job refers to these
objects by strings (`site:NAME`, `list:HASH`). The objects are available only in the thread or task that runs
the job.

A crawl of these objects runs in one process, because another process cannot load the objects.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from gossamer.errors import UsageError

if TYPE_CHECKING:
    from gossamer.sites.loaded_site import LoadedSite

SITE, LIST = "site:", "list:"


class ScriptTargets(NamedTuple):
    """The crawl targets of a program. `sites` maps `site:NAME` to a site. `lists` maps `list:HASH` to a list
    of lines. Each line has the same form as a line in a file of URLs."""

    sites: Mapping[str, LoadedSite] = MappingProxyType({})
    lists: Mapping[str, list[bytes]] = MappingProxyType({})


NOTHING = ScriptTargets()
_current: ContextVar[ScriptTargets] = ContextVar("script_targets", default=NOTHING)


@contextmanager
def script_targets(targets: ScriptTargets) -> Iterator[None]:
    """Makes the targets available to this thread or task while the body of the `with` statement runs."""
    token = _current.set(targets)
    try:
        yield
    finally:
        _current.reset(token)


def list_name(lines: list[bytes]) -> str:
    """Returns the string that identifies a list. Equal lists have equal strings, so a crawl of the same list
    can be resumed.

    >>> list_name([b"https://example.com/"])
    'list:b67917ba'
    """
    return LIST + hashlib.blake2b(b"\n".join(lines), digest_size=4).hexdigest()


def site_of(target: str) -> LoadedSite:
    """Returns the site of a target `site:NAME`. Raises UsageError if this program did not create the site."""
    if (found := _current.get().sites.get(target)) is None:
        raise UsageError(f"{target} is a Site of a Python script: run that script again")
    return found


def lines_of(target: str) -> list[bytes]:
    """Returns the lines of a target `list:HASH`. Raises UsageError if the list was not created by this
    program."""
    if (found := _current.get().lists.get(target)) is None:
        raise UsageError(f"{target} is a list of a Python script: run that script again")
    return found
