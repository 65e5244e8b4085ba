"""Opens the stored rows of a crawl: from the data folder of this machine, or from the outputs of a fleet that any
machine can reach."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from itertools import chain
from pathlib import Path
from typing import Any

from gossamer.app.query.filters import field_of, why_senseless
from gossamer.app.query.shared_store import SharedCrawl
from gossamer.app.query.sources import kept_rows, natural_rows_of, rows_of, to_json_values
from gossamer.config.settings import Settings
from gossamer.config.value_parsers import nearest
from gossamer.errors import ConfigError, UsageError
from gossamer.observability.skipped_log import NAME as SKIPPED
from gossamer.observability.skipped_log import skipped_urls
from gossamer.sinks.output_spec import parse
from gossamer.sinks.rows_in_data_folder import NAME as KEPT
from gossamer.sinks.rows_in_data_folder import why_incomplete
from gossamer.sites.manifest import NAME, read_manifest

Say = Callable[[str], None]
NO_LIST = (
    "this machine has no list of skipped URLs: nothing was skipped here yet, keep_skipped is off, or the workers run on "
    "other machines"
)


@contextlib.contextmanager
def opened_crawl(
    settings: Settings, crawl: str | None, say: Say = lambda _: None
) -> Iterator[LocalRows | SharedRows]:
    """Opens the stored rows of a crawl. If the settings name a shared store, and the crawl runs on the fleet
    or has no local folder, the rows come from outputs that any machine can reach. In all other cases, the
    rows come from the data folder. `say` receives messages about rows that are missing. Raises UsageError."""
    if settings.store is None:
        yield LocalRows(folder_of(Path(settings.data), crawl), say)
        return
    with SharedCrawl(settings, crawl) as shared:
        folder = Path(settings.data) / shared.name
        if shared.is_of_fleet or not folder.is_dir():
            yield SharedRows(shared, settings, say)
        else:
            yield LocalRows(folder, say)


class LocalRows:
    """Reads the stored rows of a crawl from this machine's data folder."""

    def __init__(self, folder: Path, say: Say = lambda _: None) -> None:
        self._say = say
        self._folder, self.name, self.folder = folder, folder.name, str(folder)

    @property
    def outputs(self) -> list[str]:
        """The crawl's own files, in the syntax of the option `-o`. An export must not replace the crawl's own
        files."""
        folder = self._folder
        return [*sources(folder), *sources(folder, partial=True), f"{folder / 'attempts.jsonl'}:jsonl"]

    @property
    def archives(self) -> list[str]:
        """The outputs that store the crawl's complete pages, such as WARC files."""
        return read_manifest(self._folder).archives if (self._folder / NAME).exists() else []

    def rows(self, what: str, *, natural: bool = False) -> Iterator[dict[str, Any]]:
        """Yields the stored rows of one kind (`items`, `attempts`, `pages` or `skipped`)."""
        return stored_rows(self._folder, what, natural, self._say)

    def why_empty(self, what: str) -> str:
        """Returns a message that explains why no rows are shown."""
        n = sum(1 for _ in self.rows(what))
        if what == "skipped" and not (self._folder / SKIPPED).exists():
            return f"{self.name}: {NO_LIST}"
        return f"none of {n} {what} matches" if n else f"{self.name} has no {what} in {self._folder} yet"


class SharedRows:
    """Reads the stored rows of a crawl in a shared store."""

    def __init__(self, shared: SharedCrawl, settings: Settings, say: Say = lambda _: None) -> None:
        self._say = say
        self._shared, self._settings, self.name = shared, settings, shared.name
        self.folder = str(Path(settings.data) / shared.name)

    @property
    def outputs(self) -> list[str]:
        """The crawl's outputs. An export must not replace the outputs of the crawl."""
        return self._shared.outputs

    @property
    def archives(self) -> list[str]:
        """The outputs in which the workers stored complete pages."""
        return self._shared.archives

    def rows(self, what: str, *, natural: bool = False) -> Iterator[dict[str, Any]]:
        """Yields the stored rows that this machine can read."""
        if what == "skipped":
            self._say(
                "each worker's machine lists the URLs that its workers skipped; this is the list of this machine"
            )
            return skipped_urls(Path(self.folder), self._say)
        if what != "attempts":
            return self._shared.rows("_kind" if what == "items" else "requested_url", natural=natural)
        size = self._shared.attempts_size()
        if size.dropped:
            self._say(
                f"the first {size.dropped} of {size.lines} attempts are dropped (keep_attempts); "
                "--attempts OUTPUT keeps all"
            )
        return self._shared.attempts()

    def why_empty(self, what: str) -> str:
        """Returns a message that explains why no rows are shown."""
        if n := sum(1 for _ in self.rows(what)):
            return f"none of {n} {what} matches"
        if what == "skipped":
            return f"{self.name}: {NO_LIST}"
        if what == "attempts" and self._settings.keep_attempts is None:
            return f"{self.name}: keep_attempts is off here, so workers may keep no attempts in the store"
        return f"{self.name} has no {what} yet; see gossamer status {self.name}"


def folder_of(data: Path, crawl: str | None) -> Path:
    """Returns the folder of the given crawl. If no crawl is given, returns the folder of the only crawl in
    the data folder. Raises UsageError."""
    if crawl is not None:
        if not (data / crawl).is_dir():
            raise UsageError(f"there is no crawl {crawl} in {data}; see gossamer status --data {data}")
        return data / crawl
    found = sorted(path.parent for path in data.glob("*/attempts.jsonl"))
    if len(found) != 1:
        names = ", ".join(path.name for path in found)
        raise UsageError(
            f"several crawls exist: {names}; name one"
            if found
            else f"there is no crawl in {data} yet: start one with gossamer crawl URL, or give its folder with --data DIR"
        )
    return found[0]


def sources(folder: Path, *, partial: bool = False) -> list[str]:
    """Returns the outputs of a crawl, in the syntax of the option `-o`. If `partial` is true, returns the
    outputs that contain only some of the rows or columns. Otherwise, returns the complete outputs."""
    if not (folder / NAME).exists():
        return []
    found = read_manifest(folder)
    return found.partial if partial else found.outputs


def stored_rows(
    folder: Path, what: str, natural: bool = False, say: Say = lambda _: None
) -> Iterator[dict[str, Any]]:
    """Yields the stored rows of a crawl. A complete store with one row per item (SQLite, a database) is read
    first. Otherwise, the rows that the crawl keeps in its folder are read, because they have all types. If the
    crawl did not keep its rows, the first readable output is read. If `natural` is true, values keep their
    types. Otherwise, values are converted to JSON types. `say` receives a message if rows are missing.
    Raises UsageError or ConfigError if no rows can be read."""
    if what == "skipped":
        yield from skipped_urls(folder, say)
        return
    if what == "attempts":
        path = folder / "attempts.jsonl"
        yield from rows_of(f"{path}:jsonl") if path.exists() else ()
        return
    sign = "_kind" if what == "items" else "requested_url"
    specs, problem = sources(folder), None
    if (folder / KEPT).exists() and not why_incomplete(folder):
        specs = [spec for spec in specs if parse(spec).format not in ("jsonl", "json", "csv", "parquet")]
    partial = [] if (folder / KEPT).exists() else sources(folder, partial=True)
    for spec in (*specs, *partial):
        rows = natural_rows_of(spec) if natural else rows_of(spec)
        try:
            first = next((row for row in rows if sign in row), None)
        except ConfigError as error:
            problem = error
            continue
        if first is not None:
            yield first
            yield from (row for row in rows if sign in row)
            return
    if (folder / KEPT).exists():
        if why := why_incomplete(folder):
            say(f"{folder.name}: some rows are missing: {why}")
        rows = kept_rows(folder)
        yield from (row if natural else to_json_values(row) for row in rows if sign in row)
        return
    if problem is not None:
        raise problem
    if not specs and not partial:
        raise UsageError(f"{folder.name} has no output that can be read: crawl with -o")


def filtered_rows(
    rows: Iterator[dict[str, Any]], stored: LocalRows | SharedRows, what: str, wheres: list[str] | None
) -> Iterator[dict[str, Any]]:
    """Checks the comparisons of `--where`, and returns the rows. `rows`: the rows that pass the filters.
    Raises UsageError if a test makes no sense for its field, or if no row has the field."""
    for text in wheres or ():
        if why := why_senseless(text, stored.rows(what)):
            raise UsageError(f"--where {text!r}: {why}")
    first = next(rows, None)
    if first is not None:
        return chain([first], rows)
    if wheres:
        names = {name for row in stored.rows(what) for name in row}
        for text in wheres:
            if names and (field := field_of(text)) not in names:
                raise UsageError(
                    f"--where {text!r}: no row of {what} has a field {field}{nearest(field, names)}"
                )
    return iter(())
