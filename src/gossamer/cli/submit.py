"""`gossamer submit`: submits a crawl to the fleet. Prints the crawl's name as soon as workers may start the
crawl. After a signal, prints one line with the number of URLs that were added."""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import os
import signal
import sys
import time
from typing import TYPE_CHECKING, Annotated, Any

from gossamer.cli import crawl as crawling
from gossamer.cli.options import Option
from gossamer.config.shown_command import shown_command
from gossamer.errors import CrawlEnded, GossamerError

if TYPE_CHECKING:
    from gossamer.app.job import Job

STOPPED, FORCED = 11, 13
SUMMARY_TIMEOUT_S = 5.0
"""The maximum number of seconds that the command waits for the summary after a signal."""


def submit(**words: Any) -> int:
    """Submit a crawl to the fleet and print its name. With --wait, wait until the crawl ends, and return the
    same exit code as `crawl`."""
    job = crawling.job_of(words, shared=True)
    crawling.warn_before_start(job.settings, words["quiet"])
    job = crawling.of_sites(job, words)
    return Submission(job, words, shown_command("submit", crawling.arguments_to_continue(sys.argv[2:]))).run()


def _signature() -> inspect.Signature:
    own = crawling.signature()
    waiting = Annotated[
        bool, Option("--wait", help="Wait for its end; print its summary, exit as crawl does.")
    ]
    more = inspect.Parameter("wait", inspect.Parameter.KEYWORD_ONLY, default=False, annotation=waiting)
    of_crawl = [one for one in own.parameters.values() if one.name != "verbose"]
    return own.replace(parameters=[*of_crawl, more])


vars(submit)["__signature__"] = _signature()


class Submission:
    """One run of the command `submit`. The first SIGINT, SIGTERM or SIGHUP stops the command gracefully, and
    the second signal stops the command immediately."""

    def __init__(self, job: Job, words: dict[str, Any], again: str) -> None:
        """`words`: the options of the command by name, at least `quiet`, `json` and `wait`. `again`: the
        command that continues the submission."""
        self.job, self.words, self._again = job, words, again
        self.quiet, self.json, self.waits = words["quiet"], words["json"], words["wait"]
        self.name = ""
        """The crawl's name, or '' until workers may start the crawl."""
        self.given = False
        """Whether all seeds of the crawl were added."""
        self._signals, self._last, self._began = 0, list[str](), time.time()
        self._were: dict[signal.Signals, Any] = {}

    def run(self) -> int:
        """Runs the command and returns the exit code."""
        try:
            return asyncio.run(self._run())
        finally:
            for name, was in self._were.items():
                signal.signal(name, was)

    async def _run(self) -> int:
        self._listen()
        try:
            return await self._submitted()
        except asyncio.CancelledError:
            return await self._cut_off()

    async def _submitted(self) -> int:
        from gossamer.app.submit import read_summary, submit, wait_for_end
        from gossamer.cli.foreground_crawl import report_bad_seeds
        from gossamer.cli.printing import put_json, remark

        try:
            await submit(self.job, self._say, self._begun)
        except CrawlEnded as error:
            remark(f"{error}. Start over with: {self._again} --fresh")
            if self.json and not self.waits:
                put_json(await read_summary(self.job.settings, self.name))
            if not self.waits:
                return error.exit_code
        self.given = True
        report_bad_seeds(self.job, self.name, self._began, self.quiet)
        if self.waits:
            summary = await wait_for_end(self.job.settings, self.name, say=self._say)
            return crawling.print_end(summary, False, self.job, self.words)
        if self.json:
            put_json(await read_summary(self.job.settings, self.name))
        return 0

    def _begun(self, name: str) -> None:
        """Prints the crawl's name immediately, because a long list or a watched sitemap can keep this command
        busy for hours or forever."""
        from gossamer.cli.printing import remark

        self.name = name
        if self.waits or self.json:  # stdout is reserved for the summary
            remark(f"{name} is on the fleet; see it with: gossamer top {name}", self.quiet)
            return
        with contextlib.suppress(OSError):  # continue to add the list if stdout is closed
            print(name, flush=True)

    def _say(self, line: str) -> None:
        from gossamer.cli.printing import remark

        if self._signals:
            self._last.append(line)
        else:
            remark(line, self.quiet)

    def _listen(self) -> None:
        loop, task = asyncio.get_running_loop(), asyncio.current_task()
        assert task is not None

        def heard(*_: object) -> None:
            self._signals += 1
            if self._signals > 1:
                self._forced()
            loop.call_soon_threadsafe(task.cancel)

        for name in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            # under nohup, SIGHUP must stay ignored, because the terminal may close
            if name != signal.SIGHUP or signal.getsignal(name) != signal.SIG_IGN:
                self._were[name] = signal.signal(name, heard)

    async def _cut_off(self) -> int:
        """Reports how many URLs were added before the signal, and which command continues the submission.
        Returns the exit code."""
        from gossamer.app.submit import read_summary
        from gossamer.cli.printing import put_json, remark

        if self.given:
            remark(f"stopped waiting; {self.name} continues on the fleet. Wait again with: {self._again}")
        elif self.name:
            added = "; ".join(self._last) or "nothing of its lists was added yet"
            remark(f"stopped; {added}; {self.name} stays on the fleet. Continue with: {self._again}")
        else:
            remark(f"stopped before the crawl began; nothing is lost. Continue with: {self._again}")
        if self.json and self.name:
            with contextlib.suppress(GossamerError, TimeoutError):
                put_json(
                    await asyncio.wait_for(read_summary(self.job.settings, self.name), SUMMARY_TIMEOUT_S)
                )
        return STOPPED

    def _forced(self) -> None:
        from gossamer.cli.printing import remark

        remark(f"stopped immediately; nothing is lost. Continue with: {self._again}")
        os._exit(FORCED)
