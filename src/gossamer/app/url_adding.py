"""Adds URLs to an existing crawl on this machine or on a fleet. The crawl may be running, paused or ended.

The filters of the crawl apply to each added URL in the same way as to links. Batches are added while a lease
keeps the crawl from finishing. A finished crawl that gets new URLs is no longer finished. If the process is
killed, run the same command again. The command then adds only the remaining URLs, because the seen set
rejects the URLs that were already added.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, cast

import msgspec

from gossamer import url as urls
from gossamer.app.enqueuer import Enqueuer
from gossamer.app.job import Setup
from gossamer.app.open_store import cold_settings
from gossamer.app.producer_runner import (
    CHECK_INTERVAL_S,
    CROWDED_INTERVAL_S,
    keep_aside,
    keep_open,
    why_no_room,
)
from gossamer.app.producers.lines import ListFile, StdinUrls
from gossamer.app.producers.source import BATCH_URLS, UrlBatch
from gossamer.app.stored_setup import load_setup
from gossamer.app.targets import MAX_CARRY_BYTES, Rejected, Target, requests, target_kind
from gossamer.app.unfinished_additions import Addition, begin_addition, command_hash, end_addition
from gossamer.config.settings import Settings
from gossamer.errors import CrawlEnded, GossamerError, InUse, StoreError, UsageError, of_data
from gossamer.frontier.background_task import run_beside
from gossamer.frontier.cold import run_spiller
from gossamer.frontier.crawl_lock import is_running
from gossamer.frontier.crawls import REMOVING, Crawls, Record
from gossamer.frontier.summary import crawl_counts
from gossamer.model.request import Request, check_key
from gossamer.recrawl import known_pages
from gossamer.sites.loaded_site import LoadedSite
from gossamer.sites.loading import load_all
from gossamer.state.fleet_crawls import FleetCrawls
from gossamer.store.store import Store
from gossamer.worker.link_intake import TakenLinks

MAX_SHOWN = 20
"""Maximum number of refused URLs, and of rejected lines, that the result lists."""
MAX_NEW_HOSTS = 1000
"""Maximum number of hosts that one call may add to the scope. The limit exists because every worker reads the
added hosts every second."""
MAX_ID_CHARS = 500
"""Maximum length of the option `id`."""
PROGRESS_INTERVAL_S, WATCH_INTERVAL_S, END_INTERVAL_S = 10.0, 0.5, 0.2
"""PROGRESS_INTERVAL_S is the number of seconds between progress messages. WATCH_INTERVAL_S is the number of
seconds between checks of the crawl's state. While the command waits for a fleet to end the crawl, the checks
are END_INTERVAL_S seconds apart."""
REFUSING, STOPPED = ("cancelled", "cancelling", REMOVING), 11
"""REFUSING contains the states in which a crawl accepts no URLs. STOPPED is the exit code of the command if
the crawl is cancelled, removed or started anew while URLs are added."""
ENDING_TIMEOUT_S = 60.0
"""The number of seconds to wait for a fleet to end a crawl in the state `ending`."""
ADDED_FROM = ("url", "list", "stdin", "sitemap", "feed")
"""Kinds of targets from which URLs are added."""

Say = Callable[[str], None]


class AddOptions(msgspec.Struct, frozen=True, kw_only=True):
    """The options of the requests to add. A value of the request itself takes precedence over an option."""

    priority: int | None = None
    """The priority of the requests. None means the priority of the crawl's seeds."""
    id: str | None = None
    use: str | None = None
    carry: Any = None
    key: str | None = None
    again: bool = False
    """Whether URLs that the crawl already knows are visited again."""
    if_older: float | None = None
    """Seconds. If not None, URLs that the crawl has visited are visited again if their last good visit is
    older."""
    as_seeds: bool = False
    """Whether URLs are added regardless of the scope and the patterns. If `as_seeds` is true, the hosts of
    the added URLs join the scope."""


class Added(msgspec.Struct, kw_only=True):
    """The result of adding URLs to a crawl."""

    crawl: str
    state: str = ""
    """The state of the crawl after the URLs were added."""
    running: bool = False
    """Whether a process or a fleet works on the crawl, or will work on the crawl after the crawl is
    resumed."""
    continued: bool = False
    """Whether the same command with `again` was started earlier and has not ended. URLs that the earlier
    command added count as duplicates."""
    added: int = 0
    duplicates: int = 0
    """Number of URLs that the crawl already knew."""
    recent: int = 0
    """Number of URLs that are not visited, because their last good visit is younger than `if_older`."""
    refused: dict[str, int] = {}
    """Number of URLs that a filter of the crawl refused, by reason (docs/glossary.md)."""
    refused_urls: list[tuple[str, str]] = []
    """The first MAX_SHOWN refused URLs, each with its reason."""
    rejected: int = 0
    """Number of lines that are not valid requests."""
    rejected_lines: list[Rejected] = []
    """The first MAX_SHOWN lines that are not valid requests. The file `rejected.jsonl` in the crawl's folder
    contains all lines that are not valid requests."""

    @property
    def read(self) -> int:
        """The number of URLs and lines read."""
        return self.added + self.duplicates + self.recent + self.rejected + sum(self.refused.values())


async def add_urls(
    store: Store,
    settings: Settings,
    crawl: str,
    given: Sequence[Target],
    options: AddOptions,
    say: Say = lambda _: None,
    result: Added | None = None,
) -> Added:
    """Adds the URLs of targets to a crawl and returns how many were added, refused or rejected. `say`
    receives a progress message every 10 s. `result` is updated while URLs are added, so `result` is also
    correct if the call is cancelled. Raises GossamerError."""
    record = await Crawls(store).need(crawl)
    refuse_state(record)
    setup = await load_setup(store, record, settings)
    check_use(record, options.use)
    result = result or Added(crawl=crawl)
    adding = _Adding(store, setup, record, options, say, result)
    command = command_hash(given, options)
    cold, hot = cold_settings(setup.job.settings, crawl)
    try:
        async with (
            keep_open(store, crawl),
            run_spiller(store, crawl, cold, hot),
            run_beside(adding.watch()),
        ):
            await adding.begin(command)
            for target in given:
                async for batch in batches_of(target):
                    await adding.add(batch)
    finally:
        if cold is not None:
            await cold.close()
    await adding.end()
    return result


def added_targets(texts: Iterable[str]) -> list[Target]:
    """Returns the targets from which URLs are added. Raises UsageError for any other kind of target."""
    given = [target_kind(text) for text in texts]
    for target in given:
        if target.kind not in ADDED_FROM:
            raise UsageError(
                f"{target.text}: add takes URLs, lists (.txt, .jsonl, .csv, .gz), sitemap:URL, feed:URL and - for "
                "stdin; a site file or a database needs a crawl of its own"
            )
    if not given:
        raise UsageError("no URL given: name URLs, a list, or - for stdin")
    return given


def check_options(options: AddOptions, given: Sequence[Target]) -> None:
    """Raises UsageError if an option has a value that no request can have."""
    if options.priority is not None and not -1_000_000 <= options.priority <= 1_000_000:
        raise UsageError("the priority must be between -1000000 and 1000000")
    if options.carry is not None and len(msgspec.json.encode(options.carry)) > MAX_CARRY_BYTES:
        raise UsageError(f"carry is larger than {MAX_CARRY_BYTES} bytes")
    if options.id is not None and not 0 < len(options.id) <= MAX_ID_CHARS:
        raise UsageError(f"an id has 1 to {MAX_ID_CHARS} characters")
    if options.again and options.if_older is not None:
        raise UsageError("--again and --if-older exclude one another: --again visits recent pages, too")
    if options.key is None:
        return
    try:
        check_key(options.key)
    except ValueError as error:
        raise UsageError(str(error)) from None
    if [target.kind for target in given] != ["url"]:
        raise UsageError("a key names one request: give one URL, or write the keys into JSON lines")


def refuse_state(record: Record) -> None:
    """Raises UsageError or InUse if the state of a crawl does not allow URLs to be added."""
    if record.state in ("cancelled", "cancelling"):
        raise UsageError(
            f"crawl {record.name} is {record.state}, so its queue is dropped: start it over with --fresh"
        )
    if record.state == REMOVING:
        raise InUse(f"crawl {record.name} is being removed by gossamer clean")


def check_use(record: Record, use: str | None) -> None:
    """Raises UsageError if no site file of the crawl has the page function `use`. Files that this machine
    lacks are not checked."""
    if use is None:
        return
    if use.startswith("@"):
        raise UsageError(f"--use {use}: a page function has no @ in its name")
    sites: list[LoadedSite] = []
    if record.sites:
        try:
            sites = load_all([text for text in record.spec.targets if target_kind(text).kind == "site"])
        except GossamerError:  # the site files may exist only on the workers' machines
            return
    names = sorted({one.name for site in sites for one in site.site.functions})
    if use not in names and (names or not record.sites):
        known = f"its site files have {', '.join(names)}" if names else "it has no site file"
        raise UsageError(f"--use {use}: crawl {record.name} has no such page function; {known}")


async def batches_of(target: Target) -> AsyncIterator[UrlBatch]:
    """Yields the URLs of a target in batches of at most BATCH_URLS. A list is read while its URLs are added.
    Standard input is read as it arrives."""
    if target.kind == "list" and target.lines is None:
        source: ListFile | StdinUrls = ListFile(Path(target.text), target.fields)
    elif target.kind == "stdin":
        source = StdinUrls(target.fields)
    else:
        rejected: list[Rejected] = []
        found = list(requests(target, rejected))
        for first in range(0, max(len(found), 1), BATCH_URLS):
            yield UrlBatch(found[first : first + BATCH_URLS], rejected if not first else [], None)
        return
    await source.open(cast(Any, None))  # lists and stdin are read without a collector
    try:
        async for batch in source.batches(None):
            for first in range(0, max(len(batch.requests), 1), BATCH_URLS):
                some = batch.requests[first : first + BATCH_URLS]
                yield UrlBatch(some, batch.rejected if not first else [], None, batch.share)
    finally:
        await source.close()


class _Adding:
    """Adds batches of URLs to one crawl. Reopens a finished crawl, so that the crawl visits the URLs."""

    def __init__(
        self, store: Store, setup: Setup, record: Record, options: AddOptions, say: Say, result: Added
    ) -> None:
        self._store, self._setup, self._record, self._options = store, setup, record, options
        self._say, self._result = say, result
        self._adds = Enqueuer(setup, store, "add")
        self._crawls = Crawls(store)
        self._priority = setup.job.priority if options.priority is None else options.priority
        self._beside = "*" if setup.open or setup.spec.scope == "page" else ""
        self._addition: Addition | None = None
        self._told = self._looked = time.monotonic()
        self._hosts: set[str] = set()
        self._visits: dict[int, tuple[int, bool]] = {}
        """With `if_older`, the marks of the visited URLs (`known_pages.last_visits`)."""

    async def begin(self, command: str) -> None:
        """Reads the hosts that joined the scope since the crawl began, and with `if_older` the visits of the crawl.
        With `again`, continues the same command if the command was started earlier and has not ended."""
        await self._adds.scope.refresh()
        if self._options.if_older is not None:
            self._visits = await asyncio.to_thread(self._read_visits, time.time() - self._options.if_older)
        if not self._options.again:
            return
        self._addition = found = await begin_addition(self._store, self._setup.crawl, command)
        self._result.continued = found.continued
        if found.continued:
            begun = time.strftime("%Y-%m-%d %H:%M", time.gmtime(found.begun_at))
            self._say(
                f"the same command was started at {begun} UTC and did not finish: the URLs that it added are not added again"
            )

    def _read_visits(self, since: float) -> dict[int, tuple[int, bool]]:
        """Returns the visits of the crawl. Raises UsageError if this machine has no records of them."""
        folder = self._setup.known_at
        if self._setup.job.settings.revisit is not None:
            raise UsageError(
                f"--if-older: crawl {self._record.name} has --revisit, which decides itself when a page is due: "
                "gossamer changed CRAWL URL visits a page sooner"
            )
        if self._record.fleet and (not self._setup.job.known or folder is None or not folder.is_dir()):
            raise UsageError(
                "--if-older on a fleet needs the records of visits: submit the crawl with --known DIR, and run add "
                "where DIR can be reached"
            )
        try:
            return {} if folder is None else known_pages.last_visits(folder, since, self._adds.intake.mark)
        except OSError as error:
            raise of_data(folder, error, "--known" if self._setup.job.known else "--data") from error

    async def watch(self) -> None:
        """Raises CrawlEnded when the crawl is cancelled, removed or started anew."""
        while True:
            await asyncio.sleep(WATCH_INTERVAL_S)
            try:
                now = await self._crawls.get(self._record.name)
            except StoreError:  # the next write reports the outage
                continue
            if now is None or now.state in REFUSING or now.started_at != self._record.started_at:
                what = "began anew" if now is not None and now.state not in REFUSING else "was ended"
                raise CrawlEnded(f"crawl {self._record.name} {what} while URLs were added", STOPPED)

    async def add(self, batch: UrlBatch) -> None:
        """Adds a batch of URLs to the crawl."""
        self._reject(batch.rejected)
        wanted = [self._needs(request) for request in batch.requests]
        if self._options.as_seeds:
            await self._widen(wanted)
        taken = TakenLinks()
        edition = f"again {self._addition.token}" if self._addition else ""
        for request in wanted:
            last = self._visits.get(self._adds.intake.mark(request)) if self._visits else None
            if last is None:
                self._take(request, taken, edition)
            elif last[1]:
                taken.skip("recent")
                self._result.recent += 1
            else:
                # the edition names the last visit, so that repeated commands queue the URL once
                self._take(request, taken, f"older {last[0]}")
        new, old, parked = await self._adds.add(taken)
        self._result.added += new - parked
        self._result.duplicates += old
        for reason, n in {**taken.skips, "budget": taken.skips.get("budget", 0) + parked}.items():
            if n and reason != "recent":
                self._result.refused[reason] = self._result.refused.get(reason, 0) + n
        if new > parked:
            await self._reopen()
        await self._pause()

    async def end(self) -> None:
        """If a fleet is ending the crawl, waits until the crawl has ended. Then resumes the crawl if it is
        finished and has URLs. Finally, records the end of the command."""
        deadline = time.monotonic() + ENDING_TIMEOUT_S
        while (record := await self._crawls.need(self._setup.crawl)).state == "ending":
            if time.monotonic() > deadline:
                break
            await asyncio.sleep(END_INTERVAL_S)
        if record.state == "finished" and (await crawl_counts(self._store, self._setup.crawl))["open"]:
            await self._reopen()
            record = await self._crawls.need(self._setup.crawl)
        self._result.state = record.state
        self._result.running = is_running(record, self._setup.job.settings.data)
        if self._addition:
            await end_addition(self._store, self._setup.crawl, self._addition)

    async def _reopen(self) -> None:
        """Changes the state of a finished crawl, so that the crawl can continue. If a fleet runs the crawl,
        the fleet continues the crawl immediately."""
        tasks = FleetCrawls(self._store)
        if self._record.fleet:
            await tasks.reopen(self._setup.crawl)
        else:
            await tasks.turn(self._setup.crawl, "finished", "stopped", "URLs were added")

    def _needs(self, request: Request) -> Request:
        """Returns a copy of a request. If the request lacks a value, the value of the option is used."""
        options = self._options
        return msgspec.structs.replace(
            request,
            priority=request.priority or self._priority,
            id=options.id if request.id is None else request.id,
            use=options.use if request.use is None else request.use,
            carry=options.carry if request.carry is None else request.carry,
            key=options.key if request.key is None else request.key,
            added_at=round(time.time(), 3) if request.added_at is None else request.added_at,
        )

    def _take(self, request: Request, taken: TakenLinks, edition: str) -> None:
        """Accepts one request, or records why it is refused."""
        if "@" in request.url and urls.split_credentials(request.url)[1] is not None:
            taken.skip("filter")
            reason: str | None = "filter"
        else:
            flags = "i" if request.use == "@sitemap" else "s" if self._options.as_seeds else ""
            reason = self._adds.take(request, taken, flags, self._beside, edition)
        if reason is not None and len(self._result.refused_urls) < MAX_SHOWN:
            self._result.refused_urls.append((request.url, reason))

    async def _widen(self, wanted: list[Request]) -> None:
        """Adds seeds to the scope of this process, and adds the hosts of the seeds to the scope of all
        workers."""
        found = [request.url for request in wanted if request.use != "@sitemap"]
        scope = self._adds.scope
        scope.widen(found)
        if self._setup.open or self._setup.spec.scope == "page":
            return
        for url in found:
            place = url.rpartition("/")[0] if self._setup.spec.scope == "prefix" else urls.host(url)
            if place in self._hosts:
                continue
            self._hosts.add(place)
            if len(self._hosts) > MAX_NEW_HOSTS:
                raise UsageError(
                    f"--as-seeds: more than {MAX_NEW_HOSTS} hosts: start a separate crawl with this list"
                )
            await self._crawls.anchor(self._setup.crawl, "", url)

    def _reject(self, rejected: list[Rejected]) -> None:
        if not rejected:
            return
        folder = Path(self._setup.job.settings.data) / self._setup.crawl
        keep_aside(folder, rejected, "ab", again=True)
        self._result.rejected += len(rejected)
        self._result.rejected_lines += rejected[: MAX_SHOWN - len(self._result.rejected_lines)]

    async def _pause(self) -> None:
        """Reports the progress. If the crawl has too many pending URLs or the store is almost full, waits
        until more URLs can be added. Checks at most once per second."""
        if time.monotonic() - self._looked < CHECK_INTERVAL_S:
            return
        while True:
            self._looked = time.monotonic()
            why = await why_no_room(self._store, self._setup.crawl)
            if time.monotonic() - self._told >= PROGRESS_INTERVAL_S:
                self._told = time.monotonic()
                waits = f"; it waits for room: {why}" if why else ""
                self._say(f"{self._result.read:,} URLs read, {self._result.added:,} added{waits}")
            if not why:
                return
            await asyncio.sleep(CROWDED_INTERVAL_S)
