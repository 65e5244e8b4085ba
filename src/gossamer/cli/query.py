"""`gossamer items`, `attempts` and `export`: search the stored rows of a crawl and write them to files."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from gossamer.cli.options import (
    Argument,
    Data,
    Json,
    MaybeCrawl,
    Option,
    Setting,
    StoreUrl,
    only_of,
    read_settings,
)
from gossamer.errors import UsageError

if TYPE_CHECKING:
    from gossamer.app.query.shared_store import SharedCrawl
    from gossamer.config.settings import Settings

HostFilter = Annotated[str | None, Option("--host", metavar="HOST", help="Only of this host.")]
Status = Annotated[
    str | None, Option("--status", metavar="N", help="Only with this HTTP status: 404, or 4xx.")
]
Outcome = Annotated[
    str | None,
    Option("--outcome", metavar="WORD", help="Only attempts with this outcome: done, retry, dead, ..."),
]
Since = Annotated[str | None, Option("--since", metavar="TIME", help="Seen since: 2h ago, or a moment.")]
Where = Annotated[
    list[str] | None,
    Option(
        "--where",
        metavar="TEST",
        help='FIELD=VALUE; also != < <= > >= and ~ (contains); "VALUE": that text; repeatable.',
    ),
]
Kind = Annotated[str | None, Option("--kind", metavar="KIND", help="Only items of this kind.")]
Limit = Annotated[
    int | None,
    Option("--limit", metavar="N", help="How many are shown (50, with --json all; 0: all).", least=0),
]
By = Annotated[
    str | None,
    Option(
        "--by",
        metavar="WHAT",
        help="Summed up by provider, hour, host, reason, rung or worker; several with commas.",
    ),
]
What = Annotated[str, Option("--what", metavar="WHAT", help="items (default), attempts or pages.")]
Name = Annotated[str, Argument(metavar="CRAWL", help="Its name; `gossamer status` lists them.")]
File = Annotated[str, Argument(metavar="FILE", help="An output, as after crawl's -o; it is replaced.")]
ConfirmGone = Annotated[
    bool,
    Option(
        "--confirm-gone",
        help="Mark items as gone that the last run of a complete=True site did not see.",
    ),
]
DryRun = Annotated[bool, Option("--dry-run", help="With --confirm-gone: only count them.")]
DEFAULT_LIMIT = 50


def items(
    crawl: MaybeCrawl = None,
    host: HostFilter = None,
    kind: Kind = None,
    since: Since = None,
    where: Where = None,
    limit: Limit = None,
    confirm_gone: ConfirmGone = False,
    dry_run: DryRun = False,
    data: Data = None,
    store: StoreUrl = None,
    setting: Setting = None,
    as_json: Json = False,
) -> int:
    """Show the stored items of a crawl. With `--confirm-gone`, mark the items that the last run did not see
    as gone."""
    from gossamer.app.query.filters import all_of
    from gossamer.items.assets import told_of

    settings = read_settings(data, store, setting)
    if confirm_gone:
        return _confirm_gone(settings, folder_of(Path(settings.data), crawl), dry_run, as_json)
    if dry_run:
        raise UsageError("--dry-run goes with --confirm-gone")
    test = all_of(host=only_of(host), since=since, wheres=where or ())
    with opened_crawl(settings, crawl) as stored:
        found = (row for row in stored.rows("items") if test(row))
        if kind:
            rows = (row for row in found if str(row.get("_kind")).lower() == kind.lower())
        else:
            rows = (row for row in found if not told_of(row))
        print_rows(
            filtered_rows(rows, stored, "items", where),
            limit,
            as_json,
            ("_kind", "_key"),
            empty=stored.why_empty,
        )
    return 0


def _confirm_gone(settings: Settings, folder: Path, dry_run: bool, as_json: bool) -> int:
    import asyncio

    from gossamer.app.confirm_gone import confirm_gone
    from gossamer.cli.printing import put_json, remark

    found = asyncio.run(confirm_gone(settings, folder.name, dry_run=dry_run))
    if as_json:
        put_json(
            {
                "crawl": folder.name,
                "dry_run": dry_run,
                "sites": {name: one._asdict() for name, one in found.items()},
            }
        )
        return 0
    for name, one in found.items():
        said = "would be marked" if dry_run else "are marked"
        remark(f"{name}: {one.gone} of {one.stored} stored items {said} as gone")
    return 0


def attempts(
    crawl: MaybeCrawl = None,
    by: By = None,
    host: HostFilter = None,
    status: Status = None,
    outcome: Outcome = None,
    since: Since = None,
    where: Where = None,
    limit: Limit = None,
    data: Data = None,
    store: StoreUrl = None,
    setting: Setting = None,
    as_json: Json = False,
) -> int:
    """Show the requests of a crawl. With `--by`, show totals by provider, hour, host, reason, rung or
    worker."""
    from gossamer.app.query.filters import all_of
    from gossamer.app.query.reports import BY
    from gossamer.config.value_parsers import nearest

    for word in by.split(",") if by is not None else ():
        if word not in BY:
            raise UsageError(f"--by {word}: use {', '.join(BY)}, or several with commas{nearest(word, BY)}")
    test = all_of(host=only_of(host), status=status, outcome=outcome, since=since, wheres=where or ())
    with opened_crawl(read_settings(data, store, setting), crawl) as stored:
        rows = filtered_rows((row for row in stored.rows("attempts") if test(row)), stored, "attempts", where)
        _print_attempts(rows, by, limit, as_json, stored.why_empty)
    return 0


def _print_attempts(
    rows: Iterator[dict[str, Any]],
    by: str | None,
    limit: int | None,
    as_json: bool,
    empty: Callable[[str], str],
) -> None:
    if by is None:
        heads = (
            "ts",
            "url",
            "attempt",
            "rung",
            "status",
            "outcome",
            "seconds",
            "bytes_wire",
            "proxy",
            "error",
        )
        print_rows(
            rows,
            limit,
            as_json,
            heads,
            only=True,
            least=("bytes_wire", "rung", "proxy", "attempt", "ts", "seconds"),
            empty=empty,
            what="attempts",
        )
    else:
        put_report(rows, by, as_json)


def export(
    crawl: Name,
    file: File,
    what: What = "items",
    host: HostFilter = None,
    status: Status = None,
    outcome: Outcome = None,
    since: Since = None,
    where: Where = None,
    data: Data = None,
    store: StoreUrl = None,
    setting: Setting = None,
    as_json: Json = False,
) -> int:
    """Write the stored rows of a crawl to a file of any format."""
    from gossamer.app.query.filters import all_of
    from gossamer.app.query.writing import infer_columns, write
    from gossamer.cli.printing import put_json
    from gossamer.frontier.crawl_lock import refuse_if_written
    from gossamer.sinks.output_spec import parse

    if what not in ("items", "attempts", "pages"):
        raise UsageError(f"--what {what}: items, attempts or pages")
    settings = read_settings(data, store, setting)
    test = all_of(host=only_of(host), status=status, outcome=outcome, since=since, wheres=where or ())
    with opened_crawl(settings, crawl) as stored:
        rows = filtered_rows((row for row in stored.rows(what) if test(row)), stored, what, where)
        refuse_if_written(Path(settings.data), parse(file).path)
        columns = (
            infer_columns(stored.rows(what, natural=True))
            if what == "items" and parse(file).format != "jsonl"
            else None
        )
        count, files = write(file, what, rows, stored.outputs, items=columns, folder=stored.folder)
    if as_json:
        put_json({"crawl": stored.name, "file": file, "files": files, "rows": count})
    else:
        print(f"{count} {what} to {', '.join(map(os.path.relpath, files))}")
    return 0


@contextlib.contextmanager
def opened_crawl(settings: Settings, crawl: str | None) -> Iterator[LocalRows | SharedRows]:
    """Opens the stored rows of a crawl. If the settings name a shared store, and the crawl runs on the fleet
    or has no local folder, the rows come from outputs that any machine can reach. In all other cases, the
    rows come from the data folder. Raises UsageError."""
    if settings.store is None:
        yield LocalRows(folder_of(Path(settings.data), crawl))
        return
    from gossamer.app.query.shared_store import SharedCrawl

    with SharedCrawl(settings, crawl) as shared:
        folder = Path(settings.data) / shared.name
        if shared.is_of_fleet or not folder.is_dir():
            yield SharedRows(shared, settings)
        else:
            yield LocalRows(folder)


class LocalRows:
    """Reads the stored rows of a crawl from this machine's data folder."""

    def __init__(self, folder: Path) -> None:
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
        from gossamer.sites.manifest import NAME, read_manifest

        return read_manifest(self._folder).archives if (self._folder / NAME).exists() else []

    def rows(self, what: str, *, natural: bool = False) -> Iterator[dict[str, Any]]:
        """Yields the stored rows of one kind (`items`, `attempts` or `pages`)."""
        return stored_rows(self._folder, what, natural)

    def why_empty(self, what: str) -> str:
        """Returns a message that explains why no rows are shown."""
        n = sum(1 for _ in self.rows(what))
        return f"none of {n} {what} matches" if n else f"{self.name} has no {what} in {self._folder} yet"


class SharedRows:
    """Reads the stored rows of a crawl in a shared store."""

    def __init__(self, shared: SharedCrawl, settings: Settings) -> None:
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
        from gossamer.cli.printing import remark

        if what != "attempts":
            return self._shared.rows("_kind" if what == "items" else "requested_url", natural=natural)
        size = self._shared.attempts_size()
        if size.dropped:
            remark(
                f"the first {size.dropped} of {size.lines} attempts are dropped (keep_attempts); "
                "--attempts OUTPUT keeps all"
            )
        return self._shared.attempts()

    def why_empty(self, what: str) -> str:
        """Returns a message that explains why no rows are shown."""
        if n := sum(1 for _ in self.rows(what)):
            return f"none of {n} {what} matches"
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
    from gossamer.sites.manifest import NAME, read_manifest

    if not (folder / NAME).exists():
        return []
    found = read_manifest(folder)
    return found.partial if partial else found.outputs


def stored_rows(folder: Path, what: str, natural: bool = False) -> Iterator[dict[str, Any]]:
    """Yields the stored rows of a crawl. A complete store with one row per item (SQLite, a database) is read
    first. Otherwise, the rows that the crawl keeps in its folder are read, because they have all types. If the
    crawl did not keep its rows, the first readable output is read. If `natural` is true, values keep their
    types. Otherwise, values are converted to JSON types. Raises UsageError or ConfigError if no rows can be
    read."""
    from gossamer.app.query.sources import kept_rows, natural_rows_of, rows_of, to_json_values
    from gossamer.cli.printing import remark
    from gossamer.errors import ConfigError
    from gossamer.sinks.output_spec import parse
    from gossamer.sinks.rows_in_data_folder import NAME, why_incomplete

    if what == "attempts":
        path = folder / "attempts.jsonl"
        yield from rows_of(f"{path}:jsonl") if path.exists() else ()
        return
    sign = "_kind" if what == "items" else "requested_url"
    specs, problem = sources(folder), None
    if (folder / NAME).exists() and not why_incomplete(folder):
        specs = [spec for spec in specs if parse(spec).format not in ("jsonl", "json", "csv", "parquet")]
    partial = [] if (folder / NAME).exists() else sources(folder, partial=True)
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
    if (folder / NAME).exists():
        if why := why_incomplete(folder):
            remark(f"{folder.name}: some rows are missing: {why}")
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
    from gossamer.app.query.filters import field_of, why_senseless
    from gossamer.config.value_parsers import nearest

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


def print_rows(
    rows: Iterable[dict[str, Any]],
    limit: int | None,
    as_json: bool,
    heads: tuple[str, ...],
    only: bool = False,
    least: Sequence[str] = (),
    empty: Callable[[str], str] | None = None,
    what: str = "items",
) -> None:
    """Prints rows as a table, or as one JSON object per line. The columns of the table are `heads`. Unless
    `only` is true, the table also has one column for each other field of the printed rows. `least`: the
    columns that a narrow terminal leaves out first. `empty`: a function that returns the message for an empty
    result. `what`: the kind of the rows."""
    from gossamer.cli.printing import put_json, put_table, remark

    if as_json:
        found = 0
        for row in islice(rows, limit or None):
            put_json(row)
            found += 1
        if not found and empty is not None:
            remark(empty(what))
        return
    limit = DEFAULT_LIMIT if limit is None else limit
    shown = list(islice(rows, limit + 1) if limit else rows)
    if not shown:
        remark("nothing was found" if empty is None else empty(what))
        return
    if limit and len(shown) > limit:
        remark(f"the first {limit} are shown; --limit 0 shows all")
        shown = shown[:limit]
    more = [name for row in shown for name in row if not name.startswith("_")] if not only else []
    names = list(dict.fromkeys((*heads, *more)))
    put_table(names, [[cell_text(row.get(name)) for name in names] for row in shown], least=least)


def put_report(rows: Iterable[dict[str, Any]], by: str, as_json: bool) -> None:
    """Prints a summary of the attempts, grouped by the fields in `by`."""
    from gossamer.app.query.reports import report
    from gossamer.cli.printing import format_bytes, format_counts, put_json, put_table

    lines = report(rows, by)
    if as_json:
        put_json(lines)
        return
    heads = (by, "requests", "good", "blocked", "mean s", "median", "95 %", "bytes", "credits", "errors")
    put_table(
        heads,
        [
            (
                line.group,
                line.requests,
                f"{line.good:.1%}",
                line.blocked,
                *(f"{one:.3f}" for one in line.seconds),
                format_bytes(line.bytes),
                line.credits,
                format_counts(line.errors),
            )
            for line in lines
        ],
        right=heads[1:-1],
        least=("credits", "median", "bytes"),
    )


def cell_text(value: Any) -> str | None:
    """Formats a value for a table cell."""
    import msgspec

    if value is None:
        return None
    if isinstance(value, str):
        return value
    return msgspec.json.Encoder(decimal_format="number", enc_hook=str).encode(value).decode()
