"""`gossamer reparse`: runs a site's page functions on the pages that a crawl stored, without fetching the
pages again."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from gossamer.cli.options import Data, Json, MaybeCrawl, Option, Quiet, Setting, read_settings
from gossamer.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gossamer.app.reparse.runner import ReparseResult, ReparseRun, ReparseState
    from gossamer.sites.loaded_site import LoadedSite
    from gossamer.sites.manifest import Manifest

Archive = Annotated[
    str | None,
    Option("--archive", metavar="PATH", help="Stored pages: a WARC, a folder of them, objects, s3://..."),
]
Site = Annotated[
    list[str] | None, Option("--site", metavar="FILE", help="A site file instead of the crawl's; repeatable.")
]
Out = Annotated[
    list[str] | None,
    Option("-o", "--output", metavar="FILE", help="Another output for the items; repeatable."),
]
Over = Annotated[
    list[str] | None,
    Option("-O", "--overwrite", metavar="FILE", help="The same, but replace the file; repeatable."),
]
Old = Annotated[
    str | None,
    Option(
        "--old",
        metavar="FILE",
        help="Items to compare with, any output that can be read (default: the crawl's).",
    ),
]
Processes = Annotated[
    str | None, Option("--processes", metavar="N", help="Processes, or auto: one per core (default).")
]
SiteArgument = Annotated[
    list[str] | None, Option("-a", "--argument", metavar="NAME=VALUE", help="A site's argument.")
]
Fresh = Annotated[
    bool, Option("--fresh", help="Start from the beginning, even if an earlier run was interrupted.")
]


def reparse(
    crawl: MaybeCrawl = None,
    archive: Archive = None,
    site: Site = None,
    output: Out = None,
    overwrite: Over = None,
    old: Old = None,
    processes: Processes = None,
    argument: SiteArgument = None,
    fresh: Fresh = False,
    data: Data = None,
    setting: Setting = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> int:
    """Run site functions on stored pages, and compare the new items with the earlier items."""
    from gossamer.app.process_tuning import settle_in
    from gossamer.cli.printing import put_json
    from gossamer.sites.site_logs import print_site_logs

    run = make_run(
        crawl,
        archive,
        site or [],
        output or [],
        overwrite or [],
        old,
        processes,
        argument or [],
        fresh,
        data,
        setting,
    )
    shown = run.shown = ReparseProgress(quiet)
    settle_in()
    print_site_logs("error" if quiet else "info")
    try:
        told = run.work()
    finally:
        shown.close()
    if as_json:
        put_json(told)
    else:
        print_results(told)
    return 4 if told.failed and not told.items else 0


def make_run(
    crawl: str | None,
    archive: str | None,
    site: list[str],
    output: list[str],
    overwrite: list[str],
    old: str | None,
    processes: str | None,
    argument: list[str],
    fresh: bool,
    data: str | None,
    setting: list[str] | None,
) -> ReparseRun:
    """Builds a reparse run from the command-line options. Raises UsageError."""
    from gossamer.app.reparse.runner import ReparseRun
    from gossamer.cli.crawl import arguments_of
    from gossamer.sites import load_all
    from gossamer.sites.manifest import Manifest, read_manifest

    settings = read_settings(data, None, setting)
    folder = crawl_folder(Path(settings.data), crawl, archive)
    known = (
        Manifest(sites=site)
        if archive is not None and not (folder / "kept.json").exists()
        else read_manifest(folder)
    )
    paths = site or known.sites
    if not paths:
        raise UsageError("name the site file with --site FILE")
    sites = load_all(paths, arguments_of(argument))
    if not sites:
        raise UsageError(f"--site {paths[0]}: there is no such site file or folder")
    if archive is None and not known.archives:
        raise UsageError(
            f"{folder.name} kept no pages: crawl with -o pages.warc.gz, or name pages with --archive PATH"
        )
    where = (
        [local_copy(archive, folder)] if archive is not None else stored_page_paths(known.archives, folder)
    )
    before = old_items_file(old, known, folder / "reparse", sites)
    count = count_of(processes)
    outputs = [(spec, False) for spec in output] + [(spec, True) for spec in overwrite]
    for spec, over in outputs:
        refuse_output(
            spec, over, Path(settings.data), [*known.outputs, *([f"{before}:jsonl"] if before else ())]
        )
    return ReparseRun(
        folder / "reparse", where, sites, outputs=outputs, old=before, processes=count, fresh=fresh
    )


def old_items_file(
    old: str | None, known: Manifest, folder: Path, sites: Sequence[LoadedSite]
) -> Path | None:
    """Returns the JSON Lines file with the earlier items, with which the new items are compared. The earlier
    items come from the output in `--old`. Without `--old`, the earlier items come from the first readable
    output of the crawl. An output in another format is converted to a file in `folder`. Returns None if there
    are no earlier items. Raises UsageError or ConfigError."""
    from gossamer.app.query.sources import restore_types, rows_of
    from gossamer.app.sink_setup import item_columns
    from gossamer.errors import ConfigError
    from gossamer.sinks.jsonl import encode
    from gossamer.sinks.output_spec import parse

    if old is not None and (Path(old).is_file() and not old.endswith((".csv", ".sqlite"))):
        return Path(old)
    if old is None and known.items and Path(known.items).is_file():
        return Path(known.items)
    for spec in [old] if old is not None else known.outputs:
        path, _ = parse(spec)
        if (
            "://" not in path
            and not Path(path).exists()
            and not [*Path(path).parent.glob(f"{Path(path).stem}.*")]
        ):
            if old is not None:
                raise UsageError(f"--old {old}: there is no such output")
            continue
        folder.mkdir(parents=True, exist_ok=True)
        before, count = folder / "before.jsonl", 0
        columns = item_columns(item for site in sites for items in site.items.values() for item in items)
        try:
            with before.open("wb") as file:
                for row in rows_of(spec):
                    if "_kind" in row and "_key" in row:
                        file.write(encode([restore_types(row, columns.get(row["_kind"], ()))]))
                        count += 1
        except ConfigError:
            if old is not None:
                raise
            continue
        if count:
            return before
    return None


def crawl_folder(data: Path, crawl: str | None, archive: str | None) -> Path:
    """Returns the folder of the given crawl or the folder for the given archive. If neither is given, returns
    the folder of the only crawl that has stored pages. Raises UsageError."""
    from gossamer.sites.manifest import NAME, read_manifest

    if crawl is not None:
        if not (data / crawl).is_dir():
            raise UsageError(f"there is no crawl {crawl} in {data}")
        return data / crawl
    if archive is not None:
        import xxhash

        return data / f"archive-{xxhash.xxh3_64_hexdigest(archive.encode())[:6]}"
    found = sorted(path.parent for path in data.glob(f"*/{NAME}") if read_manifest(path.parent).archives)
    if len(found) != 1:
        names = ", ".join(path.name for path in found)
        raise UsageError(
            f"several crawls kept pages: {names}; name one"
            if found
            else f"no crawl in {data} kept pages: name them with --archive PATH"
        )
    return found[0]


def stored_page_paths(archives: list[str], folder: Path) -> list[Path]:
    """Returns the local paths of the pages that all runs of a crawl stored. Prints a warning for each archive
    that no longer exists. Raises UsageError if there are no stored pages."""
    import sys

    gone = [one for one in archives if "://" not in one and not Path(one.removeprefix("objects:")).exists()]
    if len(gone) == len(archives):
        raise UsageError(f"{', '.join(gone)}: there is nothing; name pages with --archive PATH")
    for one in gone:
        print(f"gossamer: {one} is gone, and so are the pages that only it had", file=sys.stderr)
    copies = [local_copy(one, folder) for one in archives if one not in gone]
    found = [one for one in copies if not _is_empty(one)]  # a fleet worker may not have stored any pages
    if not found:
        raise UsageError(
            f"{', '.join(archives)}: no stored pages were found; name a path with --archive PATH"
        )
    return found


def _is_empty(path: Path) -> bool:
    """Returns whether a path contains no stored pages. A path contains stored pages if it is a file, a folder
    with a WARC file, or a folder with a JSON Lines file and a folder `objects`."""
    if path.is_file():
        return False
    if (path / "objects").is_dir() and any(path.glob("*.jsonl")):
        return False
    return not any(one.name.lower().endswith((".warc", ".warc.gz")) for one in path.glob("*"))


def local_copy(archive: str, folder: Path) -> Path:
    """Returns the local path of an archive. An archive in an object store is downloaded to the crawl's
    folder. Raises UsageError."""
    archive = archive.removeprefix("objects:")
    if "://" not in archive:
        if not Path(archive).exists():
            raise UsageError(f"--archive {archive}: there is nothing")
        return Path(archive)
    import xxhash

    from gossamer.sinks.object_store import ObjectFolder

    away, there = ObjectFolder(archive), folder / "fetched" / xxhash.xxh3_64_hexdigest(archive.encode())[:6]
    for name, size in away.names():
        path = there / name
        if not path.is_file() or path.stat().st_size != size:
            path.parent.mkdir(parents=True, exist_ok=True)
            away.fetch(name, str(path))
    return there


def refuse_output(spec: str, over: bool, data: Path, taken: list[str]) -> None:
    """Raises UsageError if the output stores pages, if a crawl is writing to the output, or if the output
    contains the earlier items. Databases are allowed, because databases store items by key."""
    import os

    from gossamer.frontier.crawl_lock import refuse_if_written
    from gossamer.sinks.output_spec import parse

    path, form = parse(spec)
    if form in ("warc", "objects"):
        raise UsageError(f"-o {spec}: this output stores pages, but reparse makes items")
    if "://" in path or (form == "sqlite" and not over):
        return
    refuse_if_written(data, path)
    if form != "sqlite" and os.path.realpath(path) in {os.path.realpath(parse(one).path) for one in taken}:
        raise UsageError(
            f"-o {spec}: it holds the crawl's own items: give another file (a database takes new "
            "items by their key)"
        )


def count_of(text: str | None) -> int:
    """Returns the number of processes for the option `--processes`. The value `auto` means one process per
    CPU core. Raises UsageError."""
    import os

    if text in (None, "auto"):
        return os.cpu_count() or 1
    if not (text or "").isdecimal() or not 1 <= int(text or "") <= 256:
        raise UsageError(f"--processes {text}: a number from 1 to 256, or auto")
    return int(text or "")


class ReparseProgress:
    """Prints the progress of a reparse run on stderr."""

    def __init__(self, quiet: bool) -> None:
        from gossamer.cli.printing import is_plain_stderr

        self._quiet, self._dumb, self._next = quiet, is_plain_stderr(), 0.0

    def show(self, state: ReparseState, total: int) -> None:
        """Prints the progress every 0.2 s on a terminal. If stderr is not a terminal, prints the progress
        every 10 s."""
        import json
        import sys
        import time

        if self._quiet or time.monotonic() < self._next:
            return
        first, self._next = not self._next, time.monotonic() + (10.0 if self._dumb else 0.2)
        done = state.pages + state.passed
        if not self._dumb:
            print(
                f"\rreparse: {done:,} of {total:,} pages, {state.items:,} items",
                end="",
                file=sys.stderr,
                flush=True,
            )
        elif not first:
            line = {"read": done, "of": total, "items": state.items, "failed": state.failed}
            print(json.dumps(line), file=sys.stderr, flush=True)

    def close(self) -> None:
        """Ends the redrawn line with a line break."""
        import sys

        if self._next and not self._dumb and not self._quiet:
            print(file=sys.stderr)


def print_results(told: ReparseResult) -> None:
    """Prints the results of a reparse run as a table."""
    from gossamer.cli.printing import put_table
    from gossamer.config.value_texts import format_counts as pairs

    rows: list[tuple[str, Any]] = [
        ("read", told.read),
        ("pages", told.pages),
        ("passed over", told.passed),
        ("items", told.items),
        ("rejected", told.rejected),
        ("failed", told.failed),
        *((f"  {why}", n) for why, n in list(told.reasons.items())[:5]),
        *([("  kept in", told.kept)] if told.kept else ()),
        ("in", told.items_file),
        ("outputs", ", ".join(told.outputs) or "-"),
        *([("cannot be read", told.unread), *(("", line) for line in told.broken)] if told.unread else ()),
    ]
    found = told.difference
    if found is not None:
        rows.append(
            (
                "differences",
                (
                    f"{found.added} added, {found.changed} changed, {found.removed} removed, "
                    f"{found.same} the same"
                ),
            )
        )
        rows += [(f"  {field}", pairs(counts)) for field, counts in found.fields.items()]
        rows.append(("details", told.details_file))
    put_table((), rows)
