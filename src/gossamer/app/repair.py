"""`gossamer doctor --repair`: repairs the store of a data folder, and rebuilds lost crawls. The crawls are
rebuilt from their outputs or from their kept rows. A page that has a row is done. The repair adds the URL of
a done page to the seen set. The crawl still requests each done page again, because the links that the crawl
had not yet followed are not stored elsewhere. Requesting a done page again does not add a second row for the
page. See docs/decisions/items-and-outputs.md.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import time
from collections.abc import Callable, Iterator
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from gossamer.app.enqueuer import canonical_url_function, policy
from gossamer.app.job import Job, Setup
from gossamer.app.open_store import open_store
from gossamer.config.redaction import mask
from gossamer.config.settings import Settings
from gossamer.errors import ConfigError, GossamerError, InUse, UsageError
from gossamer.frontier.crawls import Crawls, Record, Spec, forget_crawl
from gossamer.frontier.frontier_client import Frontier
from gossamer.model.request import Request
from gossamer.model.visit import PageRecord, Row
from gossamer.sinks.append_log import AppendLog, log_path
from gossamer.sinks.crash_safe_file import Mark, mark_store, write_mark
from gossamer.sinks.output_spec import has_whole_responses, is_kind_link, kind_path, parse
from gossamer.sinks.rows_in_data_folder import NAME as KEPT
from gossamer.sinks.rows_in_data_folder import (
    TARGET,
    KeptRows,
    iterate_kept,
    remove_kept,
    whole_length,
    why_incomplete,
)
from gossamer.sinks.sink_url import AWAY
from gossamer.store import append_only
from gossamer.store.append_only import FOLDER
from gossamer.store.embedded import Embedded
from gossamer.store.keys import bucket_of
from gossamer.store.store import Store
from gossamer.url import origin
from gossamer.url.scope import Scope
from gossamer.worker.link_intake import LinkIntake, TakenLinks, UrlPlaces

NAME = "crawl.json"
BATCH_URLS = 500
Say = Callable[[str], None]


class CrawlFile(msgspec.Struct):
    """The description of a crawl that is kept in the crawl's folder in case the store is lost."""

    name: str
    spec: Spec
    outputs: list[str]
    """The crawl's outputs. If an output is not a file, the secrets in its address are masked. A repair does
    not need the masked secrets, because a repair writes only to files."""
    sites: dict[str, str] = {}
    plain: bool = True
    """Whether the outputs contain only page records, without items, links or whole responses."""
    date: str = ""
    """The day on which the crawl or its pass began, as YYYY-MM-DD in UTC."""
    finished: bool = False
    """Whether the last run finished the crawl."""


class DonePage(NamedTuple):
    """A page that counts as done, because the outputs already contain its row."""

    url: str
    depth: int
    status: int | None
    error: str | None
    items: int = 1
    """The number of the page's items, or 1 if the crawl has no site files."""
    needs: dict[str, Any] | None = None
    """The fields of the page's request other than the URL and the depth, such as method, body and page
    function."""


def read_crawl_file(folder: Path) -> CrawlFile | None:
    """Returns the description of the crawl in a folder, or None if the folder contains no valid
    description."""
    try:
        return msgspec.json.decode((folder / NAME).read_bytes(), type=CrawlFile)
    except (OSError, msgspec.MsgspecError):
        return None


def begin_date(job: Job, known: CrawlFile | None) -> str:
    """Returns the day on which the crawl or its pass (`--refresh`) began, as YYYY-MM-DD in UTC."""
    continued = (
        known is not None
        and not job.fresh
        and not ((job.refresh or job.settings.if_older is not None) and known.finished)
    )
    return known.date if known is not None and continued and known.date else _today()


def _today() -> str:
    return time.strftime("%Y-%m-%d", time.gmtime())


def write_crawl_file(setup: Setup, date: str, *, finished: bool = False) -> None:
    """Writes the description that a repair needs into the crawl's folder. `date`: the day on which the crawl
    began. For a crawl with passes, `date` is the day on which the latest pass began."""
    job = setup.job
    outputs = [mask(one.spec) if "://" in one.spec else one.spec for one in job.outputs]
    more = [one for one in (job.pages, job.attempts, job.graph) if one is not None]
    plain = not (setup.sites or more or job.refresh)
    folder = Path(job.settings.data) / setup.crawl
    new = folder / f"{NAME}.new"
    # A crawl does not need the description file, so errors are ignored here. Problems with the folder are
    # reported elsewhere.
    with contextlib.suppress(OSError):
        folder.mkdir(parents=True, exist_ok=True)
        new.unlink(missing_ok=True)
        fd = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        with open(fd, "wb") as file:
            file.write(
                msgspec.json.encode(
                    CrawlFile(setup.crawl, setup.spec, outputs + more, setup.sites, plain, date, finished)
                )
            )
        os.replace(new, folder / NAME)


async def repair(settings: Settings, crawl: str | None, say: Say, *, dry: bool = False) -> None:
    """Repairs the store. Then rebuilds the crawl `crawl`, or each crawl whose outputs do not match the store.
    Raises GossamerError."""
    if settings.store is not None:
        raise UsageError("--repair is for the store of a data folder: leave out --store")
    data = Path(settings.data)
    if not (data / "store").is_dir():
        raise UsageError(f"--data {data}: there is no store to repair")
    with _alone(data):
        _mend_store(data / "store", say, dry)
        if dry and append_only.find_faults(data / "store"):
            _tell_crawls(data, crawl, say)
            return
    try:
        store, embedded = await open_store(settings)
    except GossamerError as error:
        if dry:
            say(
                f"the store does not start: {error}; it would be renamed, and all crawls "
                "rebuilt from their outputs"
            )
            return
        if (aside := Embedded(data).set_aside()) is not None:
            say(f"the store's files cannot be used; they are kept in {aside}")
        store, embedded = await open_store(settings)
    try:
        for known in _crawls(data, crawl):
            await _rebuild(settings, store, known, say, dry=dry, asked=crawl is not None)
    finally:
        await store.close()
        if embedded is not None:
            embedded.leave()


@contextlib.contextmanager
def _alone(data: Path) -> Iterator[None]:
    with open(data / "store" / "doors.lock", "a+") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise InUse(f"a crawl runs in {data}: stop it first, then repair") from None
        yield


def _mend_store(store: Path, say: Say, dry: bool) -> None:
    faults = append_only.find_faults(store)
    for fault in faults:
        say(f"{store}: {fault}")
    if faults and not dry:
        folder = store / FOLDER
        aside = f"{folder}-damaged-{_now()}"
        shutil.copytree(folder, aside)
        say(f"the damaged files are kept in {aside}")
        append_only.mend_files(store)


def _crawls(data: Path, crawl: str | None) -> list[CrawlFile]:
    found = []
    for path in sorted(data.glob(f"*/{NAME}")):
        with contextlib.suppress(msgspec.MsgspecError):
            found.append(msgspec.json.decode(path.read_bytes(), type=CrawlFile))
    if crawl is None:
        return found
    if not (named := [one for one in found if one.name == crawl]):
        raise ConfigError(
            f"{data / crawl} has no {NAME}: an older gossamer wrote it; start over with --fresh and -O"
        )
    return named


def _tell_crawls(data: Path, crawl: str | None, say: Say) -> None:
    for known in _crawls(data, crawl):
        pages = _done(known, _tables(known), set(), say, dry=True) if known.plain else {}
        say(
            f"crawl {known.name}: {len(pages)} pages have rows; what the store lost would be "
            "rebuilt from them"
        )


async def _rebuild(
    settings: Settings, store: Store, known: CrawlFile, say: Say, *, dry: bool, asked: bool
) -> None:
    crawls, frontier = Crawls(store), _frontier(settings, store, known)
    record, lengths = await crawls.get(known.name), await frontier.all_lengths()
    tables = [path for path in _tables(known) if not _is_replaced(path, say, dry=dry)]
    kept = Path(settings.data) / known.name / KEPT
    sizes = _sizes(tables) | ({TARGET: whole_length(kept)} if TARGET in lengths and kept.exists() else {})
    if record is not None and not asked and sizes.items() <= lengths.items():
        say(f"crawl {known.name}: the store and the outputs agree; nothing to do")
        return
    rebuilt = (
        known.plain and bool(tables) and len(tables) == sum(not _upserts(spec) for spec in known.outputs)
    )
    done = _done(known, tables, set(), say, dry=dry) if rebuilt else {}
    from_kept = not rebuilt and not why_incomplete(kept.parent) and not has_whole_responses(known.outputs)
    if from_kept:
        done, rebuilt = _done_of_kept(kept, known), True
    links = f"{len(done)} pages are done, and are to be visited again for their links (no second row)"
    if dry:
        say(f"crawl {known.name}: {links}" if rebuilt else f"crawl {known.name}: {_begins_again(known)}")
        return
    folder = Path(settings.data) / known.name
    await forget_crawl(store, known.name)
    _set_log_aside(folder)
    if not rebuilt:
        for spec in known.outputs:
            _move_rows_aside(spec, say)
        say(f"crawl {known.name}: {_begins_again(known)}")
        return
    if from_kept:
        for spec in known.outputs:
            _move_rows_aside(spec, say)
        say(f"crawl {known.name}: its outputs are filled with the rows that it keeps when it continues")
    record = await crawls.begin(known.name, known.spec, known.outputs, known.sites, {}, "running")
    await _enter(store, frontier, known, done, say)
    outputs = {} if from_kept else {path: path for path in _sizes(tables)}
    if from_kept:
        os.truncate(kept, whole_length(kept))
    if kept.exists() and (from_kept or _rewrite_kept(kept, known, tables)):
        outputs[TARGET] = str(kept.absolute())
    await _commit(frontier, folder, record, store, outputs)
    await crawls.set(known.name, "stopped", "repaired: run the same command to continue")
    say(f"crawl {known.name}: {links}; run the same command to continue")


def _begins_again(known: CrawlFile) -> str:
    return (
        "its outputs do not show which pages are done: files are renamed, databases keep their rows (rows "
        "are upserted), "
        "and the same command visits all pages again"
    )


def _frontier(settings: Settings, store: Store, known: CrawlFile) -> Frontier:
    given = msgspec.structs.replace(settings, seen=known.spec.seen, depth=known.spec.depth)
    return Frontier(store, known.name, policy(given))


async def _enter(
    store: Store, frontier: Frontier, known: CrawlFile, done: dict[str, DonePage], say: Say
) -> None:
    """Adds the done pages to the seen set. Also queues these pages, so that the crawl reads their links
    again."""
    bucket = partial(bucket_of, buckets=store.buckets)
    pages = list(done.values())
    hosts = {
        f"{origin(page.url)}/" for page in pages
    }  # the earlier run requested these origins, so their ports are allowed
    link_intake = LinkIntake(
        Scope.of(hosts, "any"),
        UrlPlaces(store.seed, frontier.remainder, bucket, canonical_url_function(known.spec)),
        own=lambda host: True,
        depths=frontier.policy.depths,
    )
    for first in range(0, len(pages), BATCH_URLS):
        taken, counts = TakenLinks(), dict[str, int]()
        for page in pages[first : first + BATCH_URLS]:
            link_intake.request(Request(page.url, page.depth, **(page.needs or {})), taken, flags="i")
            for name, by in _counts(page).items():
                counts[name] = counts.get(name, 0) + by
        for flat in taken.adds.values():
            flat[2::3] = [entry[:1].upper() + entry[1:] for entry in flat[2::3]]
        await frontier.add(taken.adds)
        await frontier.count(counts)
        if first and first % (20 * BATCH_URLS) == 0:
            say(f"crawl {known.name}: {first} of {len(pages)} pages")


def _counts(page: DonePage) -> dict[str, int]:
    """Returns the amounts by which a page increases the counts of the crawl."""
    error = {f"err:{page.error}": 1} if page.error else {}
    if page.status is None:
        return {"found": 1, "failed": 1, **error}
    return {"found": 1, "pages": 1, "items": page.items, "succeeded": int(page.status < 300), **error}


async def _commit(
    frontier: Frontier, folder: Path, record: Record, store: Store, outputs: dict[str, str]
) -> None:
    """Commits the current length of each output, and marks the output file as written by this crawl.
    `outputs` maps the store's name for an output to the path of the output."""
    owner = f"{record.name}@{record.started_at}"
    log = AppendLog(log_path(folder), owner, store.identity)
    for name, path in outputs.items():
        fd = os.open(path, os.O_RDWR | os.O_CLOEXEC)
        try:
            size = os.fstat(fd).st_size
            log.begin(path, size)
            mark_store(fd, log)
            write_mark(fd, Mark(owner))
        finally:
            os.close(fd)
        await frontier.base(name, size)


def _sizes(tables: list[str]) -> dict[str, int]:
    """Maps the absolute path of each output file to its length in bytes."""
    return {os.path.abspath(path): os.path.getsize(path) for path in tables}


def _tables(known: CrawlFile) -> list[str]:
    """Returns the outputs whose rows show which pages are done."""
    found = [parse(spec) for spec in known.outputs if "://" not in spec]
    return [
        kind_path(one.path, "page")
        for one in found
        if one.format in ("jsonl", "csv") and os.path.exists(one.path) and not is_kind_link(one.path)
    ]


def _is_replaced(path: str, say: Say, *, dry: bool) -> bool:
    """Whether an output contains bytes of another program and nothing else. Renames such a file, so that the crawl
    fills a new one."""
    with open(path, "rb") as file:
        lines = [line for line in islice(file, 1000) if line.strip()]
    ours = b"url" in lines[0] if lines and parse(path).format == "csv" else any(map(_is_object, lines))
    if ours or not lines:
        return False
    aside = f"{path}.replaced-{_now()}"
    say(f"{path} contains nothing of the crawl, so another program replaced it: it is kept in {aside}")
    if not dry:
        os.rename(path, aside)
    return True


def _is_object(line: bytes) -> bool:
    try:
        return isinstance(msgspec.json.decode(line), dict)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return False


def _upserts(spec: str) -> bool:
    return parse(spec).format in ("sqlite", "postgresql", "mongodb", "cassandra", "stdout")


def _done(known: CrawlFile, tables: list[str], seen: set[str], say: Say, *, dry: bool) -> dict[str, DonePage]:
    """Returns the pages that have a row in every output. If one of the outputs has no row for a page, the
    page's rows in the other outputs are moved to separate files, and the crawl visits the page again."""
    canonical = canonical_url_function(known.spec)
    rows = {path: [(canonical(page.url), page, end) for page, end in _rows(path)] for path in tables}
    common = set.intersection(*({name for name, _, _ in found} for found in rows.values())) if rows else seen
    done: dict[str, DonePage] = {}
    for path, found in rows.items():
        last = max((j for j, (name, _, _) in enumerate(found) if name in common), default=-1)
        ends = [end for _, _, end in found]
        size = os.path.getsize(path)
        if last + 1 < len(found):
            keep = ends[last] if last >= 0 else _starts(path, {ends[0]})[ends[0]]
        else:
            keep = ends[-1] if ends else size
        if keep < size and not _whole_tail(path, keep):
            say(f"{path}: {size - keep} bytes after the last row that all outputs have are cut off")
            if not dry:
                _cut(path, keep, say)
        single = {end for name, _, end in found[: last + 1] if name not in common}
        if single:
            say(
                f"{path}: {len(single)} rows that another output lacks are removed; their pages "
                "are visited again"
            )
            if not dry:
                _remove(path, single, say)
        done |= {name: page for name, page, _ in found[: last + 1] if name in common}
    return done


def _done_of_kept(kept: Path, known: CrawlFile) -> dict[str, DonePage]:
    """Returns the pages that have a page record in a crawl's kept rows."""
    canonical = canonical_url_function(known.spec)
    records: dict[str, tuple[PageRecord, dict[str, Any] | None]] = {}
    items: dict[str, set[tuple[str, str]]] = {}
    for row in iterate_kept(kept):
        if isinstance(row.data, PageRecord):
            key = (row.needs or {}).get("key", "")
            records[f"{canonical(row.data.url)} {key}"] = row.data, row.needs
        elif isinstance(row.data, dict):
            items.setdefault(str(row.data.get("_url")), set()).add((row.kind, row.key))
    return {
        name: DonePage(
            one.url,
            one.depth,
            one.status,
            one.error,
            len(items.get(one.url, ())) if known.sites else 1,
            needs,
        )
        for name, (one, needs) in records.items()
    }


def _rewrite_kept(kept: Path, known: CrawlFile, tables: list[str]) -> bool:
    """Replaces the kept rows of a crawl with rows from one of the repaired outputs in `tables`. Only a JSON
    lines output contains all values of a record. If the crawl has no JSON lines output, removes the kept rows
    and returns False."""
    path = next((one for one in tables if one.endswith(".jsonl")), None)
    if path is None:
        remove_kept(kept.parent, "a repair rebuilt the crawl from a CSV")
        return False
    canonical, sink, rows = (
        canonical_url_function(known.spec),
        KeptRows(kept.parent, overwrite=True),
        list[Row](),
    )
    length = sink.prepare()
    with open(path, "rb") as file:
        for line in file:
            with contextlib.suppress(msgspec.MsgspecError):
                record = msgspec.json.decode(line, type=PageRecord)
                rows.append(Row("page", canonical(record.requested_url), record))
            if len(rows) == BATCH_URLS:
                length, rows = sink.append(length, rows), []
    sink.close(sink.append(length, rows))
    return True


def _remove(path: str, ends: set[int], say: Say) -> None:
    """Rewrites an output without the rows that end at the offsets `ends`. The removed rows are moved to a
    file next to the output. No row is lost if the process is killed during the rewrite."""
    aside, new = f"{path}.removed-{_now()}", f"{path}.repaired-{_now()}"
    starts = _starts(path, ends)
    at = 0
    with open(path, "rb") as file, open(aside, "xb") as kept, open(new, "xb") as rest:
        for end in sorted(ends):
            rest.write(file.read(starts[end] - at))
            kept.write(file.read(end - starts[end]))
            at = end
        shutil.copyfileobj(file, rest)
        for one in (kept, rest):
            one.flush()
            os.fsync(one.fileno())
    shutil.copymode(path, new)
    os.replace(new, path)
    say(f"they are kept in {aside}")


def _starts(path: str, ends: set[int]) -> dict[int, int]:
    """Maps the end offset of each row in `ends` to the start offset of this row. In JSON lines, each row
    begins at the start of a line. In CSV, a row starts where the previous row ends."""
    if parse(path).format == "csv":
        starts, before = {}, _head_end(path)
        for _, end in _rows(path):
            starts[end], before = before, end
        return {end: starts[end] for end in ends}
    found, at = {}, 0
    with open(path, "rb") as file:
        for line in file:
            found[at + len(line)] = at
            at += len(line)
    return {end: found[end] for end in ends}


def _head_end(path: str) -> int:
    """Returns the offset of the first row of a CSV file. This offset is just after the line of column
    names."""
    with open(path, "rb") as file:
        return len(file.readline())


def _whole_tail(path: str, keep: int) -> bool:
    """Returns whether all lines after the last page row are complete rows, such as items or attempts. If so,
    the repair keeps these rows."""
    with open(path, "rb") as file:
        file.seek(keep)
        tail = file.read()
    return path.endswith("jsonl") and tail.endswith(b"\n") and b'"requested_url"' not in tail


def _cut(path: str, keep: int, say: Say) -> None:
    aside = f"{path}.cut-{_now()}"
    with open(path, "r+b") as file:
        file.seek(keep)
        with open(aside, "xb") as kept:
            shutil.copyfileobj(file, kept)
            os.fsync(kept.fileno())
        file.truncate(keep)
        os.fsync(file.fileno())
    say(f"they are kept in {aside}")


def _rows(path: str) -> Iterator[tuple[DonePage, int]]:
    """Yields the page rows of an output, each with its end offset. An incomplete row at the end is left
    out."""
    end = 0
    if parse(path).format == "csv":
        yield from _csv_rows(path)
        return
    with open(path, "rb") as file:
        for line in file:
            end += len(line)
            if not line.endswith(b"\n"):
                return
            with contextlib.suppress(msgspec.MsgspecError, ValueError, TypeError):
                row = msgspec.json.decode(line)
                if isinstance(row, dict) and "requested_url" in row:
                    yield _page(row), end


def _csv_rows(path: str) -> Iterator[tuple[DonePage, int]]:
    import csv

    from gossamer.sinks.csv import unguarded

    csv.field_size_limit(2**31 - 1)
    at = 0

    def lines() -> Iterator[str]:
        nonlocal at
        with open(path, "rb") as file:
            for line in file:
                at += len(line)
                if not line.endswith(b"\n"):
                    return
                yield line.decode("utf-8", "replace")

    reader = csv.reader(lines())
    head = next(reader, [])
    for fields in reader:
        if len(fields) == len(head):
            row = {name: unguarded(value) or None for name, value in zip(head, fields, strict=True)}
            with contextlib.suppress(ValueError, TypeError):
                yield _page(row), at


def _page(row: dict[str, Any]) -> DonePage:
    status = row.get("status")
    return DonePage(
        str(row["url"]), int(row.get("depth") or 0), int(status) if status else None, row.get("error") or None
    )


def _set_log_aside(folder: Path) -> None:
    path = log_path(folder)
    if path.exists():
        path.rename(path.with_name(f"{path.name}.before-repair-{_now()}"))


def _move_rows_aside(spec: str, say: Say) -> None:
    """Renames the files of an output, so that the crawl writes new files."""
    path, form = parse(spec)
    if form not in ("jsonl", "csv", "parquet", "warc", "objects") or path.partition("://")[0] in AWAY:
        return
    folder, name = os.path.split(os.path.abspath(path))
    stem, dot, ending = (name, "", "") if form == "objects" else name.partition(".")
    for found in sorted(Path(folder).glob(f"{stem}*")):
        ours = found.name == name or (
            dot and found.name.startswith((f"{stem}.", f"{stem}-")) and found.name.endswith(ending)
        )
        if (
            ours or (form == "warc" and found.name == f"{stem}.cdxj")
        ) and ".before-repair-" not in found.name:
            aside = found.with_name(f"{found.name}.before-repair-{_now()}")
            found.rename(aside)
            say(f"{found} is kept as {aside}")


def _now() -> str:
    return time.strftime("%Y%m%dT%H%M%S")
