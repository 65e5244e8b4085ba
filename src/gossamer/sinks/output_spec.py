"""Parses the value of `-o` and opens its sinks. The file name extension determines the format of a file.
`FILE:FORMAT` forces a format. `-` means the standard output."""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from gossamer.config.redaction import mask, register_in
from gossamer.errors import UsageError
from gossamer.items.assets import FILES, REFERENCES
from gossamer.model.interfaces import FileSink, Movable, TableSink
from gossamer.model.visit import LINKS, Row
from gossamer.sinks.append_log import AppendLog
from gossamer.sinks.columns import OURS, Columns, with_ids
from gossamer.sinks.sink_url import (
    AWAY,
    FORMS,
    SCHEMES,
    SinkUrl,
    check_kind,
    parameters_of,
    parse_sink_url,
)

if TYPE_CHECKING:
    from gossamer.sinks.column_choice import ColumnChoice

FORMATS = ("jsonl", "json", "csv", "parquet", "sqlite", "xlsx", "warc")
WHOLE = ("warc", "objects")
"""Formats that contain only whole responses."""
_NAMES = ".jsonl .json .csv .parquet .sqlite .xlsx .warc.gz"
_CHOOSING = ("jsonl", "json", "csv", "parquet", "xlsx", "stdout")
"""Formats whose columns can be chosen (`columns=`)."""
_OBJECTS = "s3://BUCKET/PREFIX, gs://BUCKET/PREFIX or hdfs://HOST:PORT/FOLDER"
_PACKED = ("gz", "bz2", "xz", "zst", "zip")
_MEANT = {
    "ndjson": "jsonl",
    "jl": "jsonl",
    "db": "sqlite",
    "sqlite3": "sqlite",
    "pq": "parquet",
    "tsv": "csv",
    "xls": "xlsx",
}
"""Maps unsupported file extensions and format names to the supported format that the error message
suggests."""


class OutputSpec(NamedTuple):
    """The parsed value of `-o`.

    The meaning of `path` and `format` depends on the output. For a file, `path` is the file's path, and
    `format` is one of FORMATS. For the standard output, `path` is `-`, and `format` is `stdout`. For a store
    of rows, `path` is its URL, and `format` is its kind (`sink_url.FORMS`). For an object store, `path` is
    its URL, and `format` is one of WHOLE. For a folder of objects, `path` is the folder's path, and `format`
    is `objects`.
    """

    path: str
    format: str


def parse(spec: str) -> OutputSpec:
    """Parses the value of `-o`. Raises UsageError, which lists the valid values.

    >>> parse("books.jsonl"), parse("data:csv")
    (OutputSpec(path='books.jsonl', format='jsonl'), OutputSpec(path='data', format='csv'))
    """
    register_in(spec)
    if spec.partition("?")[0] in ("-", "-:jsonl", "-:csv"):
        file_and_parameters(spec)
        return OutputSpec("-", "stdout")
    if spec.startswith("objects:") and len(spec) > len("objects:"):
        return OutputSpec(
            object_store_url(spec.removeprefix("objects:"))
            if "://" in spec
            else spec.removeprefix("objects:"),
            "objects",
        )
    spec, _ = file_and_parameters(spec)
    scheme, mark, rest = spec.partition("://")
    if mark and scheme.lower() in AWAY:
        return OutputSpec(object_store_url(spec), "warc")
    if mark and scheme.lower() in ("file", "sqlite"):
        raise UsageError(f"-o {_shown(spec)}: a file is named by its path alone: write {_shown(rest)}")
    if "://" in spec:
        kind = check_kind(spec)
        if kind != "own" and "columns" in parameters_of(spec):
            raise UsageError(f"-o {mask(spec)}: {no_choice()}")
        return OutputSpec(spec, kind)
    path, colon, forced = spec.rpartition(":")
    if path == "-":
        raise UsageError(f"-o {spec}: the standard output takes JSON lines and CSV: write - or -:csv")
    if colon and forced.lower() in FORMATS and path:
        return OutputSpec(path, forced.lower())
    _slip(spec)
    if colon and "." not in forced and "/" not in forced and path:
        raise UsageError(
            f"-o {_shown(spec)}: no format {forced!r}{_nearest(forced)}; formats are {', '.join(FORMATS)}"
        )
    name = os.path.basename(spec.rstrip("/"))
    stem, _, ending = name.rpartition(".")
    if name.lower().endswith(".warc.gz") and len(name) > len(".warc.gz"):
        return OutputSpec(spec.rstrip("/"), "warc")
    if stem and ending.lower() in FORMATS and ending.lower() != "warc":
        return OutputSpec(spec.rstrip("/"), ending.lower())
    if not stem or not ending or name == ".warc.gz":
        raise UsageError(f"-o {spec!r} names no format: end it in one of {_NAMES}, or write FILE:FORMAT")
    raise UsageError(f"-o {_shown(spec)}: no format for .{_shown(ending)}{_instead(stem, ending)}")


def is_formula_guarded(spec: str) -> bool:
    """Returns whether texts in a CSV output are escaped, so that spreadsheets do not run them as formulas.
    The parameter in `FILE.csv?guard=no` turns off this escaping.

    >>> is_formula_guarded("a.csv"), is_formula_guarded("a.csv?guard=no&columns=title")
    (True, False)
    """
    return file_and_parameters(spec)[1].get("guard") != "no"


def has_byte_order_mark(spec: str) -> bool:
    """Returns whether a CSV output begins with a byte order mark.

    >>> has_byte_order_mark("a.csv"), has_byte_order_mark("a.csv?bom=yes")
    (False, True)
    """
    return file_and_parameters(spec)[1].get("bom") == "yes"


def column_choice(spec: str) -> ColumnChoice | None:
    """Returns the chosen columns of a file output, or None for all columns.

    >>> column_choice("a.csv?columns=title,price")
    ColumnChoice(names=('title', 'price'))
    """
    path, given = file_and_parameters(spec)
    if "columns" not in given:
        return None
    from gossamer.sinks.column_choice import parse_choice

    return parse_choice(given["columns"], _shown(path))


def file_and_parameters(spec: str) -> tuple[str, dict[str, str]]:
    """Splits a file output from its parameters. Returns the path and the parameters. Raises UsageError."""
    path, mark, query = spec.rpartition("?")
    ending = path.lower().rpartition("." if "." in path.rpartition("/")[2] else ":")[2]
    form = "stdout" if path in ("-", "-:jsonl", "-:csv") else path.lower().rpartition(":")[2]
    form = form if form in (*FORMATS, "stdout") else "jsonl" if path.endswith("/") else ending
    names = [pair.partition("=")[0] for pair in query.split("&")]
    if not mark or "://" in spec or (form != "csv" and not {"columns", "guard", "bom"} & {*names}):
        return spec, {}
    given = dict(zip(names, (pair.partition("=")[2] for pair in query.split("&")), strict=True))
    csv = form == "csv" or path == "-:csv"
    if "columns" in given and form not in _CHOOSING:
        raise UsageError(f"-o {_shown(spec)}: {no_choice()}")
    known = ("columns", *(("guard", "bom") if csv else ()))
    if any(name not in known or (name != "columns" and given[name] not in ("yes", "no")) for name in given):
        more = ", guard=no and bom=yes" if csv else ""
        raise UsageError(f"-o {_shown(spec)}: parameters are columns=NAME,NAME{more}")
    return path, given


def no_choice() -> str:
    """Returns the message for `columns=` on an output whose columns cannot be chosen."""
    return (
        f"columns can be chosen for {', '.join(f'.{one}' for one in _CHOOSING[:-1])} and the standard output; a "
        "store keeps all fields, because it compares them: choose them in a query, or with gossamer export"
    )


def object_store_url(url: str) -> str:
    """Returns the URL of an object store, `s3://BUCKET/PREFIX`, with its scheme in lower case. Raises
    UsageError."""
    scheme, _, rest = url.partition("://")
    bucket = rest.partition("?")[0].rstrip("/")
    if scheme.lower() not in AWAY or not bucket or bucket.startswith("/"):
        raise UsageError(f"-o {mask(url)}: write {_OBJECTS}")
    if bucket.lower().endswith(tuple(f".{one}" for one in FORMATS if one not in WHOLE)):
        raise UsageError(f"-o {mask(url)}: an object store takes only whole pages; write rows to a file")
    return f"{scheme.lower()}://{rest}"


def has_whole_responses(specs: Sequence[str]) -> bool:
    """Returns whether at least one of the outputs stores whole responses."""
    return any(parse(spec).format in WHOLE for spec in specs)


class OpenedOutput:
    """A file output. The output has one file for all kinds of rows, or one file per kind (CSV, Parquet). Each
    file contains each of its rows exactly once (`crash_safe_file`). The file of a kind is opened when its
    first row arrives."""

    def __init__(
        self,
        path: str,
        make: Callable[[str, str], FileSink],
        kinds: Sequence[str] | None,
        choice: ColumnChoice | None = None,
    ) -> None:
        """`make(path, kind)` opens a sink. `kinds` lists the kinds that are known in advance. `kinds` is None
        if all kinds share one file. `choice`: the chosen columns, or None for all columns."""
        self.path = path
        self._make, self._choice = make, choice
        self._linked: str | None = None
        """If `path` is a symbolic link to the file of a kind, this attribute is the kind, otherwise ''.
        `_linked` is None until the first rows are written."""
        self._told_foreign = False
        self.is_split = kinds is not None
        self._sinks: dict[str, FileSink] = {}
        self._reopened: dict[str, FileSink] = {}
        """The files that earlier processes wrote, by their paths, until rows of their kinds arrive."""
        for kind in ("",) if kinds is None else kinds:
            self.sink(kind)

    def sink(self, kind: str) -> FileSink:
        """Returns the file for rows of this kind."""
        name = kind if self.is_split else ""
        if name not in self._sinks:
            path = kind_path(self.path, name)
            open_before = self._reopened.pop(os.path.abspath(path), None)
            self._sinks[name] = open_before or self._make(path, name)
        return self._sinks[name]

    def reopen(self, lengths: Mapping[str, int]) -> None:
        """See `interfaces.FileOutput`. Kinds that are not declared are found by the names of their files."""
        there = {sink.target() for sink in self.sinks()}
        for path in lengths:
            if path not in there and (kind := kind_in_path(self.path, path)):
                self._reopened[path] = self._make(path, kind)
        gone = {path: n for path, n in lengths.items() if os.path.isabs(path) and not os.path.exists(path)}
        folder = os.path.dirname(os.path.abspath(self.path))
        for name in sorted(os.listdir(folder)) if gone and os.path.isdir(folder) else ():
            path = f"{folder}/{name}"
            if path not in there and path not in self._reopened and (kind := kind_in_path(self.path, path)):
                sink = self._make(path, kind)
                if isinstance(sink, Movable) and sink.find(gone) is not None:  # it was moved here
                    self._reopened[path] = sink

    def sinks(self) -> list[FileSink]:
        """Returns all files that are open so far. The result always includes the files of the declared
        kinds."""
        return [*self._sinks.values(), *self._reopened.values()]

    def route(self, rows: Sequence[Row]) -> list[tuple[FileSink, Sequence[Row]]]:
        """Groups the rows by file. The rows of a file keep their order."""
        if self._choice is not None:
            rows = self._choice.project(rows)
        if not self.is_split:
            return [(self.sink(""), rows)] if rows else []
        kinds: dict[str, list[Row]] = {}
        for row in rows:
            kinds.setdefault(row.kind, []).append(row)
        found: list[tuple[FileSink, Sequence[Row]]] = []
        found += [(self.sink(kind), group) for kind, group in kinds.items()]
        if rows and self._linked != (single := self._single_kind()):
            self._linked = single
            link_only_kind(self.path, single)
            if not {"page", LINKS, ""} & {*self._sinks} and not is_kind_link(self.path):
                self._tell_foreign()
        return found

    def _tell_foreign(self) -> None:
        """Reports a file at the name of the output that contains none of the rows."""
        if os.path.lexists(self.path) and not self._told_foreign:
            self._told_foreign = True
            names = ", ".join(os.path.basename(kind_path(self.path, kind)) for kind in self._sinks)
            print(
                f"gossamer: {self.path} is not of this crawl and stays as it is; the rows are in {names}. Move it, "
                "or give another file with -o",
                file=sys.stderr,
            )

    def _single_kind(self) -> str:
        """Returns the kind of the items if all items have the same kind, otherwise ''."""
        kinds = [kind for kind in self._sinks if kind not in (FILES, REFERENCES, "page", LINKS, "")]
        return kinds[0] if len(kinds) == 1 and len(self._sinks) < 4 else ""


def kind_path(path: str, kind: str) -> str:
    """Returns the path of the file for a kind. Page records and links are written to `path` itself.

    >>> kind_path("out/all.csv", "book"), kind_path("out/all.csv", "page")
    ('out/all.book.csv', 'out/all.csv')
    """
    if kind in ("", "page", LINKS):
        return path
    folder, name = os.path.split(path)
    stem, dot, ending = name.rpartition(".")
    safe = re.sub(r"[^a-z0-9_-]", "_", kind.lower())[:60]
    if safe != kind:  # The hash distinguishes kinds that differ only in replaced characters.
        safe += "-" + hashlib.blake2b(kind.encode("utf-8", "replace"), digest_size=4).hexdigest()
    return os.path.join(folder, f"{stem}.{safe}.{ending}" if dot and stem else f"{name}.{safe}")


def kind_in_path(output: str, path: str) -> str | None:
    """Returns the kind that the path of a file contains, as `kind_path` writes it. Returns None if the file
    is not one of the output `output`.

    >>> kind_in_path("/out/all.csv", "/out/all.book.csv"), kind_in_path("/out/all.csv", "/out/other.csv")
    ('book', None)
    """
    before, after = kind_path(os.path.abspath(output), "kind").rsplit("kind", 1)
    found = re.fullmatch(rf"{re.escape(before)}([a-z0-9_-]+){re.escape(after)}", path)
    return found[1] if found else None


def link_only_kind(path: str, kind: str) -> None:
    """Makes `books.csv` a link to `books.book.csv`, which is the file of the only kind of items. If there are
    several kinds, the caller passes '' as `kind`, and the link `books.csv` is removed. If `path` exists and
    is not such a link, `path` stays unchanged."""
    folder, name = os.path.split(os.path.abspath(path))
    stem, _, ending = name.rpartition(".")
    with contextlib.suppress(OSError):
        there = os.readlink(path) if os.path.islink(path) else None
        ours = there is not None and there.startswith(f"{stem}.") and there.endswith(f".{ending}")
        wanted = os.path.basename(kind_path(path, kind)) if kind else None
        if there == wanted or (os.path.lexists(path) and not ours):
            return
        if ours:
            os.unlink(path)
        others = {
            one for one in os.listdir(folder) if one.startswith(f"{stem}.") and one.endswith(f".{ending}")
        }
        records = {os.path.basename(kind_path(path, one)) for one in (FILES, REFERENCES)}
        if wanted is not None and not others - records - {wanted, name}:
            os.symlink(wanted, path)


def is_kind_link(path: str) -> bool:
    """Returns whether a path is a link that `link_only_kind` made."""
    if not os.path.islink(path):
        return False
    stem, _, ending = os.path.basename(path).rpartition(".")
    there = os.readlink(path)
    return "/" not in there and there.startswith(f"{stem}.") and there.endswith(f".{ending}")


def open_output(
    spec: str,
    columns: Columns,
    *,
    overwrite: bool = False,
    owner: str = "",
    folder: str = ".",
    log: AppendLog | None = None,
) -> OpenedOutput | TableSink:
    """Opens the output of one `-o` (append) or `-O` (overwrite), and returns its sinks. Nothing is written
    before `prepare`. `columns`: the declared kinds (`columns.page_columns`, `columns.item_columns`). `owner`:
    a unique name of the crawl. `folder`: the crawl's own folder. `log`: the log of the crawl's appends to
    files. Raises UsageError for an invalid spec, ConfigError if a library is missing.
    """
    path, form = parse(spec)
    choice = column_choice(spec)
    if form == "csv" or spec.startswith("-:csv"):
        columns = with_ids(columns)
    if choice is not None:
        from gossamer.sinks.column_choice import check_choice

        check_choice(choice, columns, path)
        columns = choice.declared(columns)
    if form in FORMS:
        return open_store(
            parse_sink_url(spec), columns, overwrite=overwrite, owner=owner, folder=folder, log=log
        )
    if form in ("json", "jsonl", "xlsx", "csv", "parquet"):
        shared = {"overwrite": overwrite, "owner": owner, "log": log}
        return _file_of_rows(spec, columns, choice, folder, shared)
    if form == "sqlite":
        from gossamer.sinks.refused_rows import RefusedRowsFile
        from gossamer.sinks.sqlite import Sqlite

        return Sqlite(
            path,
            columns,
            overwrite=overwrite,
            refuse=RefusedRowsFile(
                folder if folder != "." else os.path.dirname(os.path.abspath(path))
            ).refuse,
        )
    if form in WHOLE:
        return OpenedOutput(path, lambda where, _: _whole(where, form, overwrite, owner, folder, log), None)
    if spec.startswith("-:csv"):
        from gossamer.sinks.csv import CsvStdout

        return CsvStdout(columns, choice)
    from gossamer.sinks.jsonl import Stdout

    return Stdout(choice=choice)


def _file_of_rows(
    spec: str, columns: Columns, choice: ColumnChoice | None, folder: str, shared: Mapping[str, Any]
) -> OpenedOutput:
    """Returns the sinks of an output that is a file. `columns`: the declared kinds with their chosen columns.
    `shared`: the arguments of all file sinks (overwrite, owner, log)."""
    path, form = parse(spec)
    if form == "json":
        from gossamer.sinks.json_array import JsonArray

        return OpenedOutput(path, lambda where, _: JsonArray(where, **shared), None, choice)
    if form == "jsonl":
        from gossamer.sinks.jsonl import JsonLines

        return OpenedOutput(path, lambda where, _: JsonLines(where, **shared), None, choice)
    if form == "xlsx":
        from gossamer.sinks.excel import Excel

        book = Excel(path, columns, folder=folder, **shared)
        return OpenedOutput(path, lambda *_: book, None, choice)
    if form == "csv":
        from gossamer.sinks.csv import Csv

        given: dict[str, Any] = {
            "guard": is_formula_guarded(spec),
            "bom": has_byte_order_mark(spec),
            "choice": choice,
        }
        return OpenedOutput(
            path, lambda where, kind: Csv(where, columns.get(kind), **given, **shared), tuple(columns), choice
        )
    from gossamer.sinks.parquet import Parquet
    from gossamer.sinks.refused_rows import RefusedRowsFile

    refuse = RefusedRowsFile(folder if folder != "." else os.path.dirname(os.path.abspath(path))).refuse
    untyped = None if choice is None else tuple(one for one in OURS if one.name in choice.names)
    return OpenedOutput(
        path,
        lambda where, kind: Parquet(where, columns.get(kind, untyped), refuse=refuse, **shared),
        tuple(columns),
        choice,
    )


def open_store(
    at: SinkUrl,
    columns: Columns,
    *,
    overwrite: bool,
    owner: str,
    folder: str,
    log: AppendLog | None = None,
) -> OpenedOutput | TableSink:
    """Returns the sink of a store of rows. Raises UsageError, ConfigError."""
    from gossamer.sinks.refused_rows import RefusedRowsFile

    refuse = RefusedRowsFile(folder).refuse
    if at.kind == "own":
        from gossamer.sinks.own_sink import own_sink

        return own_sink(at, folder)
    if at.kind == "postgresql":
        from gossamer.sinks.postgresql import postgresql

        return postgresql(at, columns, refuse, overwrite=overwrite)
    if at.kind == "mongodb":
        from gossamer.sinks.mongodb import mongodb

        return mongodb(at, columns, refuse, overwrite=overwrite)
    if at.kind == "cassandra":
        from gossamer.sinks.cassandra import cassandra

        return cassandra(at, columns, refuse, overwrite=overwrite)
    if at.kind == "valkey" and "hash" in at.given:
        from gossamer.sinks.valkey import hash_sink

        return hash_sink(at, columns, refuse, overwrite=overwrite)
    from gossamer.sinks.journal import open_journal

    return OpenedOutput(
        at.where,
        lambda _path, _kind: open_journal(
            at, refuse, owner=owner, folder=folder, overwrite=overwrite, log=log
        ),
        None,
    )


def _whole(path: str, form: str, overwrite: bool, owner: str, folder: str, log: AppendLog | None) -> FileSink:
    """Returns the sink of an output that stores whole responses."""
    if "://" in path:
        from gossamer.sinks.object_store_archive import ObjectStoreArchive

        return ObjectStoreArchive(
            path, f"{folder}/sending", plain=form == "objects", overwrite=overwrite, owner=owner, log=log
        )
    if form == "objects":
        from gossamer.sinks.object_files import Objects

        return Objects(path, overwrite=overwrite, owner=owner, log=log)
    from gossamer.sinks.warc import Warc

    return Warc(path, folder=not path.lower().endswith(".warc.gz"), overwrite=overwrite, owner=owner, log=log)


def _slip(spec: str) -> None:
    """Raises UsageError for a common mistake: a spec of the form `NAME:PATH` in which NAME is the name of a
    store or format."""
    word, colon, rest = spec.partition(":")
    named, kind = word.lower(), SCHEMES.get(word.lower())
    if named == "objects" and colon:
        raise UsageError("-o objects: names no folder: write objects:FOLDER, or objects:s3://BUCKET/PREFIX")
    if rest.lower() == "objects":
        raise UsageError(f"-o {_shown(spec)}: write objects:{_shown(word)}")
    if not rest or not (kind or named in AWAY or named in ("file", *FORMATS)):
        return
    form = (
        FORMS[kind][0]
        if kind
        else _OBJECTS
        if named in AWAY
        else rest
        if named == "file"
        else f"{rest}:{named}"
    )
    raise UsageError(f"-o {named}:...: write {_shown(form)}; a file of that name is ./{named}:...")


def _instead(stem: str, ending: str) -> str:
    """Returns a suggestion for a file name with an unknown extension."""
    inner = stem.rpartition(".")[2].lower()
    if ending.lower() == "warc" or inner == "warc":
        name = stem if inner == "warc" else f"{stem}.warc"
        return (
            f": a WARC file is compressed, write {_shown(name)}.gz, or {_shown(name)}/:warc "
            "for a folder of parts"
        )
    if ending.lower() in _PACKED and inner in FORMATS:
        return f": files of rows are not compressed, write {_shown(stem)}"
    return f"{_nearest(ending)}; endings are {_NAMES}, or write FILE:FORMAT"


def _shown(text: str) -> str:
    return text if text.isprintable() else repr(text)


def _nearest(word: str) -> str:
    import difflib

    word = word.lower().strip(". ")
    close = [_MEANT[word]] if word in _MEANT else difflib.get_close_matches(word, FORMATS, 1, 0.5)
    return f" (did you mean {close[0]}?)" if close else ""
