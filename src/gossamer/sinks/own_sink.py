"""Sinks that the user writes. A user's sink is a class with a method `write(rows)`.

`-o python://MODULE:CLASS` names the class. `-o NAME://...` names a class that an installed package provides
(entry point group `gossamer.sinks`). A class in an `-o` option is called with the URL of the output. A site
file puts a class or an object into `Site(sinks=[...])`. A class in a site file is called without arguments.
"""

from __future__ import annotations

import contextlib
import inspect
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from gossamer.config import plugins
from gossamer.config.redaction import mask
from gossamer.config.stdout_redirect import stdout_to_stderr
from gossamer.errors import ConfigError, GossamerError, SinkAway, SinkError
from gossamer.model.visit import Row
from gossamer.sinks.sink_url import PYTHON, SINKS, SITE, SinkUrl

_OF_SITES: dict[str, Any] = {}
"""Maps output specifications to the sink classes and sink objects that site files define. Gossamer generates
the output specification for each sink of a site file."""


class SinkContext(NamedTuple):
    """The argument of a user's method `sink.open(context)`."""

    crawl: str
    """The name of the crawl."""
    folder: Path
    """The crawl's folder."""


def register(spec: str, sink: Any) -> None:
    """Registers a sink class or object of a site file. `spec`: the output specification of this sink."""
    _OF_SITES[spec] = sink


class OwnSink:
    """The TableSink that calls a user's object. As with every store, rows may be written again after a
    crash."""

    def __init__(self, where: str, make: Callable[[], Any], folder: Path) -> None:
        self._where, self._make, self._context = where, make, SinkContext(folder.name, folder)
        self._sink: Any = None
        self._opened = False

    def target(self) -> str:
        """Returns the URL of the output without secrets."""
        return self._where

    def prepare(self) -> int:
        """Creates and opens the user's object."""
        self._open()
        return 0

    def upsert(self, rows: Sequence[Row]) -> None:
        """Calls `write(rows)`. Each row is a dict with the same fields as in a JSON Lines file."""
        self._open()
        given = [row.data if isinstance(row.data, dict) else msgspec.to_builtins(row.data) for row in rows]
        with self._reported("write"):
            self._sink.write(given)

    def close(self) -> None:
        """Calls `close()`."""
        if self._opened and hasattr(self._sink, "close"):
            self._opened = False
            try:
                with self._reported("close"):
                    self._sink.close()
            except GossamerError as error:  # the rows were already written
                print(f"gossamer: {error}", file=sys.stderr)

    def _open(self) -> None:
        if self._opened:
            return
        if self._sink is None:
            with self._reported("__init__"):
                self._sink = self._make()
            if not callable(getattr(self._sink, "write", None)):
                raise ConfigError(f"-o {self._where}: the sink has no method write(rows)")
        if hasattr(self._sink, "open"):
            with self._reported("open"):
                self._sink.open(self._context)
        self._opened = True

    @contextlib.contextmanager
    def _reported(self, method: str) -> Iterator[None]:
        """Converts exceptions of the user's method to exceptions of gossamer. A lost connection or a timeout
        becomes SinkAway, which is retried. Any other exception becomes SinkError."""
        try:
            with stdout_to_stderr:
                yield
        except GossamerError:
            raise
        except Exception as error:
            message = mask(f"{self._where}: {method}: {type(error).__name__}: {error}")
            kind = SinkAway if isinstance(error, ConnectionError | TimeoutError) else SinkError
            raise kind(message) from error


def own_sink(at: SinkUrl, folder: str) -> OwnSink:
    """Returns the sink for the URL of an output. Raises ConfigError if the class cannot be loaded."""
    scheme, _, rest = at.url.partition("://")
    if scheme == SITE:
        if at.url not in _OF_SITES:
            raise ConfigError(f"-o {at.where}: this is the sink of a site file: crawl with that file")
        given = _OF_SITES[at.url]
        return OwnSink(at.where, given if inspect.isclass(given) else lambda: given, Path(folder).absolute())
    try:
        named = rest.partition("?")[0] if scheme == PYTHON else scheme
        made = plugins.load(SINKS, named)
    except ValueError as error:
        raise ConfigError(f"-o {at.where}: {error}") from None
    if not callable(made):
        raise ConfigError(f"-o {at.where}: {named} is not a class")
    return OwnSink(at.where, lambda: made(at.url), Path(folder).absolute())
