"""Runs a crawl for the command line: signals, progress, and messages after the run."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
import os
import re
import signal
import sys
import time
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING

from gossamer.cli.printing import discard_stdout, put_json, remark
from gossamer.errors import GossamerError

if TYPE_CHECKING:
    from gossamer.app.job import Job
    from gossamer.cli.progress import Progress
    from gossamer.config.settings import Settings
    from gossamer.model.site import Site
    from gossamer.model.summary import Summary

FORCED = 13
FINISH_KEY = "f"
"""The key that ends the wait for retries."""
MAX_SHOWN_BAD_SEEDS = 10
"""Maximum number of bad seed lines that are reported individually."""
MAX_REASONS = 5
"""The maximum number of different reasons for rejected items that are reported."""
FORCED_STOP_S = 2.0
"""Seconds for which a forced stop waits until locks and the store are released."""
BLOCKED_STOP_S = 9.0
"""Seconds after the first signal after which the process ends if code still blocks the event loop."""


def report_bad_seeds(job: Job, crawl: str, since: float, quiet: bool) -> None:
    """Reports the seed lines that this run rejected. `since` is the start of the run, in seconds since the
    epoch."""
    path = Path(job.settings.data) / crawl / "rejected.jsonl"
    try:
        if path.stat().st_mtime < since:
            return
        with path.open("rb") as file:  # a queue of other programs may contain any number of bad messages
            shown = list(itertools.islice(file, MAX_SHOWN_BAD_SEEDS))
            count = len(shown) + sum(1 for _ in file)
    except OSError:
        return
    for raw in shown:
        line = json.loads(raw)
        remark(f"{line['source']} line {line['line']}: {line['reason']}", quiet)
    remark(f"{count} bad lines are rejected: they are in {path}; the rest was taken", quiet)


def report_no_seeds(job: Job, crawl: str) -> int:
    """Reports why there was nothing to crawl. Returns the exit code."""
    if (bad := Path(job.settings.data) / crawl / "rejected.jsonl").exists():
        remark(f"not one line of the targets is a request: {bad} has the reasons")
        return 2
    remark(f"not one URL was found in the targets: gossamer attempts {crawl} shows their responses")
    return 0


def hint_for_empty_pages(site: Site, settings: Settings) -> str:
    """Returns advice for a site whose pages may contain their items only after scripts have run. Returns ''
    if no change is needed."""
    browser = "browser" in (site.ladder if site.says_ladder else settings.ladder)
    if browser and site.must_have:
        return ""
    named = 'must_have=["CSS selector of an item"]'
    if browser:
        return f"if scripts add the items, {named} makes a page without them climb to the browser"
    rung = 'ladder=["plain", "browser"]' if site.says_ladder else "--ladder plain,browser"
    if site.must_have:
        return f"if scripts add the items, {rung} fetches pages that lack must_have in a browser"
    return f"if scripts add the items, {rung} and {named} fetch such pages in a browser"


_PAGE_LINE = re.compile(r" *(\d{3}|-) ")


def write_log_line(line: str) -> None:
    """Writes a log line of the crawl to stderr. A line of `-v` is shown in the color of its status."""
    from gossamer.cli.printing import clean_line
    from gossamer.cli.terminal import has_colours, painter

    text = clean_line(line.rstrip("\n"))
    found = _PAGE_LINE.match(text)
    if found is not None:
        from gossamer.cli.crawl_view import STATUS_STYLES
        from gossamer.cli.responses import status_class

        style = "red" if found[1] == "-" else STATUS_STYLES.get(status_class(int(found[1])), "red")
        text = painter(has_colours(sys.stderr))(text[: found.end(1)], style) + text[found.end(1) :]
    sys.stderr.write(f"{text}\n")
    sys.stderr.flush()


class ForegroundCrawl:
    """Runs one crawl in the foreground. The first SIGINT, SIGTERM or SIGHUP stops the crawl gracefully, and
    the second stops it at once."""

    def __init__(
        self, job: Job, *, quiet: bool, again: str, as_json: bool = False, verbose: bool = False
    ) -> None:
        self.job, self.quiet, self.again, self.as_json = job, quiet, again, as_json
        self.signals = self._met = 0
        self._heard_at, self._told = 0.0, False
        self._began = time.time()
        self._stop: asyncio.Event | None = None
        self._task: asyncio.Task[Summary] | None = None
        self._shown: Progress | None = None
        self._verbose = verbose
        self._keys = contextlib.ExitStack()

    def run(self) -> tuple[Summary, bool]:
        """Runs the crawl. Returns the summary, and whether a signal stopped the crawl. Exits the process
        after a second signal."""
        try:
            import uvloop

            runner = asyncio.Runner(loop_factory=uvloop.new_event_loop)
        except ImportError:
            runner = asyncio.Runner()
        try:
            with runner:
                summary = runner.run(self._run())
        except asyncio.CancelledError:
            self._gone()
        except GossamerError as error:
            if isinstance(error.__cause__, BrokenPipeError):
                discard_stdout()
            elif self.as_json and error.summary is not None:
                put_json(error.summary)
            raise
        report_bad_seeds(self.job, summary.crawl, self._began, self.quiet)
        self._unread(summary)
        self._rejected(summary)
        self._empty(summary)
        if self.signals or summary.state == "stopped":
            remark(f"stopped; nothing is lost. Continue with: {self.again}")
        return summary, bool(self.signals)

    async def _run(self) -> Summary:
        from gossamer.app.process_tuning import end_at_next, settle_in
        from gossamer.app.runner import ExtraReceivers, crawl
        from gossamer.cli.progress import progress

        settle_in()
        self._stop = asyncio.Event()
        loop = asyncio.get_running_loop()
        for name in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            # keep ignoring SIGHUP if nohup has set this, because the terminal may close
            if name != signal.SIGHUP or signal.getsignal(name) != signal.SIG_IGN:
                loop.add_signal_handler(name, self._signal)
                # this handler also works while a site's function blocks the event loop
                signal.signal(name, self._heard)
                end_at_next(name)
        on_terminal = any(one.spec == "-" for one in self.job.outputs) and sys.stdout.isatty()
        shown: Progress | None = None
        if not self.quiet:
            shown = progress(Path(self.job.settings.data), self._began, rows_on_terminal=on_terminal)
            loop.add_signal_handler(signal.SIGWINCH, shown.repaint)
        self._shown = shown
        finish = self._read_keys(shown)
        try:
            taps = ExtraReceivers(
                finish=finish,
                warn=lambda line: remark(line, self.quiet),
                verbose=self._verbose,
                say=write_log_line,
            )
            self._task = asyncio.ensure_future(
                crawl(self.job, shown.show if shown else None, self._stop, taps)
            )
            summary = await self._task
        finally:
            self._keys.close()
            if shown is not None:
                shown.close()
        if shown is not None and not shown.seen and summary.state in ("finished", "cancelled"):
            remark(
                f"{summary.crawl} is {summary.state} already, with {summary.pages} pages: "
                "--refresh visits them again, --fresh starts over"
            )
        return summary

    def _read_keys(self, shown: Progress | None) -> asyncio.Event:
        """Reads the keys of the terminal while the live display is shown. Returns an event that is set by the key
        FINISH_KEY."""
        finish = asyncio.Event()
        if shown is None or "-" in self.job.targets or not sys.stdin.isatty():
            return finish
        from gossamer.cli.keys import pressed_keys, reads_keys

        if not reads_keys():
            return finish
        from gossamer.cli.live_display import LiveDisplay  # imports 5 modules

        if isinstance(shown, LiveDisplay):
            shown.key = FINISH_KEY
            keys = self._keys.enter_context(pressed_keys())

            async def read() -> None:
                while await keys.get() != FINISH_KEY:
                    pass
                finish.set()
                remark("finishing: nothing is retried any more")

            reading = asyncio.ensure_future(read())
            self._keys.callback(reading.cancel)
        return finish

    def _unread(self, summary: Summary) -> None:
        """Reports the pages that the site files could not parse, and the command that parses them again
        without fetching them."""
        if not (summary.errors.get("parse") or summary.errors.get("missing")):
            return
        from gossamer.sites.failed_pages import MAX_REPORTED_ERRORS, failure_reasons

        folder = Path(self.job.settings.data) / summary.crawl / "failed"
        found = failure_reasons(folder, self._began)
        for why, count, url in found[:MAX_REPORTED_ERRORS]:
            remark(f"{why} ({count} page{'s' if count > 1 else ''}, such as {url})", self.quiet)
        if found:
            remark(f"these pages are stored in {folder}: gossamer check SITE.py --pages {folder}", self.quiet)

    def _rejected(self, summary: Summary) -> None:
        """Reports how many items were rejected, and why."""
        if not summary.rejected:
            return
        from gossamer.app.found_problems import item_problems

        folder = Path(self.job.settings.data) / summary.crawl
        path, found = folder / "rejected-items.jsonl", item_problems(folder)
        for one in found[:MAX_REASONS]:
            remark(f"{one.message} ({one.count} item{'s' if one.count > 1 else ''})", self.quiet)
        if any(one.message.endswith("got `null`") for one in found):
            remark(
                "`null` means that nothing was found: repair the selector, or annotate an "
                "optional field as `... | None`",
                self.quiet,
            )
        remark(
            f"{summary.rejected} item{'s are' if summary.rejected > 1 else ' is'} rejected: see {path}",
            self.quiet,
        )

    def _empty(self, summary: Summary) -> None:
        """Reports the sites whose pages yielded no items."""
        read = {name: one.pages for name, one in summary.sites.items() if one.pages and not one.items}
        if not read or summary.dropped or self.signals:
            return
        from gossamer.sites import load_all

        for site in load_all(self.job.targets, self.job.args):
            if site.name in read and site.site.functions:
                pages = f"{read[site.name]} page{'s' if read[site.name] > 1 else ''}"
                remark(
                    f"{site.name}: {pages} read, not one item yielded; see what a page gives: "
                    f"gossamer try URL --site {site.path}",
                    self.quiet,
                )
                if line := hint_for_empty_pages(site.site, self.job.settings):
                    remark(f"{site.name}: {line}", self.quiet)

    def _heard(self, number: int, *_: object) -> None:
        """Handles a signal between two bytecodes of the interpreter, even while the event loop is blocked."""
        from gossamer.app.process_tuning import end_at_next
        from gossamer.worker import read_watch

        end_at_next(number)
        self.signals += 1
        # an alarm works even while `re` blocks all threads, because `re` still runs Python's signal handlers
        if self.signals == 1:
            self._heard_at = time.monotonic()
            read_watch.hurry(self._stop, read_watch.HURRY_S)
            signal.signal(signal.SIGALRM, self._alarmed)
            signal.setitimer(signal.ITIMER_REAL, FORCED_STOP_S, read_watch.TICK_S)
        elif self.signals == 2:
            signal.signal(signal.SIGALRM, self._alarmed)
            end_at_next(signal.SIGALRM)
            signal.setitimer(signal.ITIMER_REAL, FORCED_STOP_S, FORCED_STOP_S)

    def _alarmed(self, number: int, frame: FrameType | None) -> None:
        from gossamer.worker import read_watch

        if self.signals > 1 or (not self._met and time.monotonic() > self._heard_at + BLOCKED_STOP_S):
            self._gone()
        self._stuck(frame)
        read_watch.tick(number, frame)

    def _stuck(self, frame: FrameType | None) -> None:
        """Reports the code that keeps the event loop from handling the first signal."""
        if self._met or self._told or frame is None:
            return
        self._told = True
        code = frame.f_code
        remark(
            f"{code.co_filename}:{frame.f_lineno} in {code.co_name} is still running; a second "
            "signal stops immediately, and nothing is lost"
        )

    def _signal(self) -> None:
        """Handles a signal in the event loop."""
        self._met += 1
        if self._met == 1:
            remark(
                "stopping: visits in flight end within 10 s; a second signal stops immediately", self.quiet
            )
            if self._stop is not None:
                self._stop.set()
        elif self._task is not None:
            self._task.cancel()

    def _gone(self) -> None:
        self._keys.close()  # gives the terminal its mode back
        if self._shown is not None:
            self._shown.close()
        remark(f"stopped immediately; nothing is lost. Continue with: {self.again}")
        os._exit(FORCED)
