"""Runs `gossamer keywords`: gets the texts of pages from a crawl or from stored pages, and counts them. Each
run has its own folder. If a run is stopped or killed, the same command continues the run."""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import msgspec

import gossamer
from gossamer.client.known_urls import good_urls
from gossamer.client.stored_pages import archives_of, read_stored_pages
from gossamer.errors import ConfigError, GossamerError, UsageError
from gossamer.uses.keywords.counting import CountOptions, CountResult, count_texts
from gossamer.uses.keywords.merging import check_libraries
from gossamer.uses.keywords.texts import decode_line

FOLDER: Final = "keywords"
DELAY: Final = "3-7"
"""The seconds between two visits of a host, if the user gives no other delay."""
SITE: Final = str(Path(__file__).with_name("page_site.py"))
BOUNDS: Final = ("scope", "include", "exclude", "archive")
PAGES: Final = "pages.jsonl"
REUSED: Final = "reused.jsonl"
"""The names of the files with the texts that a run fetched, and with the texts of an earlier run that the run uses
again."""
_STORED: Final = (".warc", ".warc.gz")
Tell = Callable[[str], None]


class KeywordRun(msgspec.Struct, kw_only=True):
    """A run, as stored in the file `run.json` of its folder."""

    id: str
    """The start time of the run in UTC, as YYYYMMDD-HHMMSS."""
    began: float
    """The start time of the run, in seconds since the epoch."""
    sources: list[str]
    state: str = "crawling"
    """The state of the run: `crawling`, `counting` or `done`."""
    files: list[str] = []
    """The paths of the files that contain the texts of the pages."""
    bounds: dict[str, Any] = {}
    """The options that decide which pages the run has (`BOUNDS`)."""
    crawl: str = ""
    """The name of the crawl of the run. A run that uses the texts of another run continues its crawl."""
    reuses: str = ""
    """The id of the run whose texts are used for pages that this run does not fetch, or ''."""
    crawled: str = ""
    """The end state of the run's crawl, such as `finished` or `limited`."""
    list_names: list[str] = []
    stem: str = ""
    result: CountResult | None = None


class KeywordRunOptions(msgspec.Struct, kw_only=True):
    """The options of a run."""

    folder: str = FOLDER
    count: CountOptions = CountOptions()
    list_names: list[str] = []
    """The names of the keyword lists, which the report shows."""
    data: str = ".gossamer"
    """The data folder that contains crawls. The name of a crawl in the data folder may be used as a source of
    pages."""
    delay: str = DELAY
    processes: int = 1
    if_older: float | None = None
    """Seconds. If not None, a run with the same sources as the last run does not fetch pages whose last good visit
    is younger, and uses their texts again."""
    fresh: bool = False
    """Whether to begin a new run even if an earlier run can be continued."""
    crawl: dict[str, Any] = {}
    """Additional arguments of `gossamer.run`."""


def run_keywords(sources: Sequence[str], options: KeywordRunOptions, tell: Tell) -> tuple[KeywordRun, Path]:
    """Begins or continues a run. Returns the run and its folder. If there are no sources, the texts of the
    last run are counted again. `tell`: called with messages for the user. Raises GossamerError. After a
    KeyboardInterrupt, the next call continues the run."""
    check_libraries()
    run = _choose(sources, options, tell)
    folder = run_folder(options.folder, run.id)
    with _locked(folder):
        if run.state == "crawling":
            run.files = _texts(run, folder, options, tell)
            run.state = "counting"
            save(run, folder)
        run.list_names, run.stem = options.list_names, options.count.stem
        run.result = count_texts(run.files, folder, options.count, tell)
        run.state = "done"
        save(run, folder)
    return run, folder


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Prevents other processes from working on a run. If this process dies, another process may continue the
    run. Raises ConfigError if another process works on the run."""
    with (folder / "lock").open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise ConfigError(
                f"another process works on run {folder.name}: wait until it ends, or give another --folder"
            ) from None
        yield


def list_runs(folder: str) -> list[KeywordRun]:
    """Returns the runs of a folder, oldest first. Raises ConfigError for a damaged `run.json`."""
    found = []
    for path in sorted(Path(folder).glob("runs/*/run.json")):
        try:
            found.append(msgspec.json.decode(path.read_bytes(), type=KeywordRun))
        except (msgspec.DecodeError, OSError) as error:
            raise ConfigError(f"{path} cannot be read ({error}): remove its folder, or restore it") from error
    return found


def done_run(folder: str, number: str | None) -> tuple[KeywordRun, Path]:
    """Returns the completed run with this id, or the last completed run. Raises UsageError if there is no
    such run."""
    runs = [run for run in list_runs(folder) if run.state == "done"]
    if number is not None:
        runs = [run for run in runs if run.id == number]
    if not runs:
        which = f"no run {number}" if number else "no run that is done"
        raise UsageError(f"there is {which} in {folder}: run `gossamer keywords URL` first, or give --folder")
    return runs[-1], run_folder(folder, runs[-1].id)


def run_folder(folder: str, number: str) -> Path:
    """Returns the folder of a run."""
    return Path(folder) / "runs" / number


def save(run: KeywordRun, folder: Path) -> None:
    """Writes `run.json`."""
    folder.mkdir(parents=True, exist_ok=True)
    new = folder / "run.json.new"
    new.write_bytes(msgspec.json.encode(run))
    os.replace(new, folder / "run.json")


def _choose(sources: Sequence[str], options: KeywordRunOptions, tell: Tell) -> KeywordRun:
    runs = list_runs(options.folder)
    if not sources:
        if not runs:
            raise UsageError("which pages? name a URL, stored pages or a crawl; see gossamer keywords --help")
        if runs[-1].state == "done":
            tell(f"the texts of run {runs[-1].id} are counted again")
        return runs[-1]
    if runs and runs[-1].state != "done" and runs[-1].sources == list(sources) and not options.fresh:
        tell(f"run {runs[-1].id} continues")
        return runs[-1]
    check_sources(sources, options)
    began = time.time()
    try:
        while (folder := _new_folder(options.folder, began)) is None:
            began += 1
        run = KeywordRun(id=folder.name, began=began, sources=list(sources), crawl=f"keywords-{folder.name}")
        run.bounds = {name: options.crawl[name] for name in BOUNDS if options.crawl.get(name)}
        if options.if_older is not None and not options.fresh:
            run.crawl, run.reuses = _crawl_to_continue(run, runs, options.folder)
        save(run, folder)
    except OSError as error:
        raise UsageError(f"{options.folder} cannot be written: {error.strerror or error}") from error
    return run


def _crawl_to_continue(run: KeywordRun, runs: Sequence[KeywordRun], folder: str) -> tuple[str, str]:
    """Returns the name of the crawl that a new run continues, and the id of the run that made it last. If no run
    has the same sources and bounds, returns the name of a new crawl and ''."""
    for old in reversed(runs):
        name = old.crawl or f"keywords-{old.id}"
        same = old.sources == run.sources and old.bounds == run.bounds
        if old.state == "done" and same and (_data(folder) / name).is_dir():
            return name, old.id
    return run.crawl, ""


def _data(folder: str) -> Path:
    """Returns the data folder of the crawls."""
    return Path(folder) / ".gossamer"


def _new_folder(parent: str, began: float) -> Path | None:
    """Creates the folder of a run. The name of the folder is the time `began`. Returns None if another run
    has a folder with this name."""
    folder = run_folder(parent, time.strftime("%Y%m%d-%H%M%S", time.gmtime(began)))
    folder.parent.mkdir(parents=True, exist_ok=True)
    try:
        folder.mkdir()
    except FileExistsError:
        return None
    return folder


def _is_url(source: str) -> bool:
    return source.startswith(("http://", "https://", "sitemap:", "feed:"))


def check_sources(sources: Sequence[str], options: KeywordRunOptions) -> None:
    """Raises UsageError for a source that is neither a URL, a file nor a crawl."""
    for source in sources:
        if not _is_url(source) and not Path(source).exists():
            archives_of(source, options.data)


def _texts(run: KeywordRun, folder: Path, options: KeywordRunOptions, tell: Tell) -> list[str]:
    """Returns the files with the texts of all sources. Crawls the sources that are URLs, and reads the pages
    of the sources that are crawls or archives."""
    files, stored = [], list[str]()
    for source in run.sources:
        if _is_url(source):
            continue
        path = Path(source)
        if not path.exists():
            stored += archives_of(source, options.data)
        elif path.is_dir() or path.name.lower().endswith(_STORED):
            stored.append(source)
        else:
            files.append(str(path.resolve()))
    if urls := [source for source in run.sources if _is_url(source)]:
        files += _crawl(run, urls, folder, options, tell)
    if stored:
        files.append(read_stored_pages(stored, SITE, str(folder / "stored"), options.processes, tell))
    return files


def _crawl(
    run: KeywordRun, urls: Sequence[str], folder: Path, options: KeywordRunOptions, tell: Tell
) -> list[str]:
    """Crawls, and returns the files with the texts of the crawl's pages."""
    texts = folder / PAGES
    given: dict[str, Any] = {
        "name": run.crawl or f"keywords-{run.id}",
        "data": str(_data(options.folder)),
        "delay": options.delay,
        "processes": options.processes,
        "keep": "off",
        "files": "off",
        "guard": "off",
    }
    if options.if_older is not None:
        given |= {"if_older": options.if_older, "per_pass": True}
    try:
        run.crawled = gossamer.run(SITE, *urls, output=str(texts), **{**given, **options.crawl}).state
    except GossamerError:
        if not run.reuses and not _has_rows(texts):
            (folder / "run.json").unlink(
                missing_ok=True
            )  # no text was found, so there is nothing to continue
        raise
    files = [str(texts)] if _has_rows(texts) else []
    if run.reuses and (count := _reuse(run, folder, options.folder)):
        files.insert(0, str(folder / REUSED))
        tell(f"{count:,} texts of run {run.reuses} are used again: their pages are recent, or did not change")
    if not files:
        (folder / "run.json").unlink(missing_ok=True)
        raise UsageError(f"{', '.join(urls)[:200]}: no page has a text")
    return files


def _has_rows(path: Path) -> bool:
    return path.is_file() and path.stat().st_size > 0


def _reuse(run: KeywordRun, folder: Path, runs: str) -> int:
    """Writes the texts of an earlier run whose pages are still good, and that this run did not fetch again.
    Returns their number."""
    texts, old, new = folder / PAGES, run_folder(runs, run.reuses), folder / f"{REUSED}.new"
    good = good_urls(str(_data(runs)), run.crawl)
    for line in _lines(texts):
        if (page := decode_line(line)) is not None:
            good.discard(page.url)
    count = 0
    with new.open("wb") as file:
        for path in (old / PAGES, old / REUSED):
            for line in _lines(path):
                page = decode_line(line)
                if page is not None and page.url in good:
                    good.discard(page.url)
                    file.write(line)
                    count += 1
    os.replace(new, folder / REUSED)
    return count


def _lines(path: Path) -> Iterator[bytes]:
    if path.is_file():
        with path.open("rb") as file:
            yield from file
