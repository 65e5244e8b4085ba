"""`gossamer items`, `attempts` and `export`: search the stored rows of a crawl and write them to files."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
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
What = Annotated[str, Option("--what", metavar="WHAT", help="items (default), attempts, pages or skipped.")]
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
    from gossamer.app.query.opened_crawl import filtered_rows, folder_of, opened_crawl
    from gossamer.cli.printing import remark
    from gossamer.items.assets import told_of

    settings = read_settings(data, store, setting)
    if confirm_gone:
        return _confirm_gone(settings, folder_of(Path(settings.data), crawl), dry_run, as_json)
    if dry_run:
        raise UsageError("--dry-run goes with --confirm-gone")
    test = all_of(host=only_of(host), since=since, wheres=where or ())
    with opened_crawl(settings, crawl, remark) as stored:
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
    from gossamer.app.query.opened_crawl import filtered_rows, opened_crawl
    from gossamer.app.query.reports import BY
    from gossamer.cli.printing import remark
    from gossamer.config.value_parsers import nearest

    for word in by.split(",") if by is not None else ():
        if word not in BY:
            raise UsageError(f"--by {word}: use {', '.join(BY)}, or several with commas{nearest(word, BY)}")
    test = all_of(host=only_of(host), status=status, outcome=outcome, since=since, wheres=where or ())
    with opened_crawl(read_settings(data, store, setting), crawl, remark) as stored:
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
    from gossamer.app.query.opened_crawl import filtered_rows, opened_crawl
    from gossamer.app.query.writing import infer_columns, write
    from gossamer.cli.printing import put_json, remark
    from gossamer.frontier.crawl_lock import refuse_if_written
    from gossamer.sinks.output_spec import parse

    if what not in ("items", "attempts", "pages", "skipped"):
        raise UsageError(f"--what {what}: items, attempts, pages or skipped")
    settings = read_settings(data, store, setting)
    test = all_of(host=only_of(host), status=status, outcome=outcome, since=since, wheres=where or ())
    with opened_crawl(settings, crawl, remark) as stored:
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
    from gossamer.cli.printing import put_json, put_table
    from gossamer.config.value_texts import format_bytes, format_counts

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
