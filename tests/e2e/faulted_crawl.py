"""Runs a crawl under injected faults: the crawl is started and watched, a fault is injected, the same
command is started again, and the outputs are checked at the end.

All files of the crawl are in one folder. `--data` and `-o` are relative, so the same command works after
the folder is moved. All processes of the crawl are recognized by a mark in their environment, whichever
process started them. Linux only (`/proc`)."""

from __future__ import annotations

import contextlib
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time
import uuid
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from e2e.output_oracle import FOREIGN, Verdict, judge, pages
from e2e.runs import SRC
from support import fork_server
from web import Plan, Web, preset, serve
from web.judge import fetched, url_of
from web.truth import home as page_of

FORMATS = ("jsonl", "csv", "sqlite", "parquet", "warc.gz")
MARK = "CRAWL_OF_FAULTS"
MAIN = "from gossamer.cli import main; main()"
STILL = 90.0
"""Seconds without a request after which a running crawl counts as hanging. The duration of intended pauses
is added to this time."""
OUTCOMES = ("exact", "repaired", "refused", "missing", "double", "silent", "orphans")


class Process(NamedTuple):
    """A running process of the crawl."""

    pid: int
    words: str

    def is_store(self) -> bool:
        return "valkey-server" in self.words or "redis-server" in self.words

    def is_child(self) -> bool:
        return "gossamer.app.worker_processes" in self.words


@dataclass
class Run:
    """One execution of the command."""

    process: subprocess.Popen[bytes]
    out: Path
    err: Path

    def said(self) -> str:
        return self.err.read_text(errors="replace")

    def code(self) -> int | None:
        return self.process.poll()

    def clear(self) -> bool:
        """Return whether a failed run ended understandably: with a last line from gossamer, and without a
        bug report or a traceback."""
        lines = [line for line in self.said().splitlines() if line.strip()]
        told = bool(lines) and lines[-1].startswith("gossamer: ")
        code = self.code() or 0
        return told and code > 1 and not re.search(r"Traceback|a bug|Error: ", self.said())


@dataclass
class Effect:
    """The effect of a fault. `undo`: restores the state before the fault. `progress`: the number of
    requests after which the crawl counts as running again. `still`: the seconds without a request that are
    allowed in addition. `after`: called after the check of the crawl. `verdict`: the verdict on a copy of
    the crawl that was run to its end."""

    did: str
    undo: Callable[[], object] | None = None
    progress: int = 25
    still: float = 0.0
    after: Callable[[], object] | None = None
    verdict: Verdict | None = None
    note: str = ""
    foreign_rows: bool = False
    """Another crawl may have written its rows to the same output. These rows are not counted when this
    crawl is refused."""


@dataclass
class Strike:
    """A fault and its outcome."""

    kind: str
    seed: str
    did: str = ""
    at: int = 0
    """The time of the fault, in ns of the machine's monotonic clock."""
    ended: list[tuple[int, str]] = field(default_factory=list)
    """Exit codes and last lines of the runs that the fault ended."""
    outcomes: dict[str, int] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    def add(self, outcome: str, count: int = 1, note: str = "") -> None:
        self.outcomes[outcome] = self.outcomes.get(outcome, 0) + count
        self.notes += [note] if note else []

    def wrong(self) -> bool:
        return any(self.outcomes.get(name) for name in ("missing", "double", "silent", "orphans"))


class Crawl:
    """The crawl of a web, from its first start to the check of its outputs."""

    def __init__(
        self, base: Path, web: Web, rng: random.Random, formats: Sequence[str], processes: int, delay: float
    ) -> None:
        self.base, self.web, self.rng, self.processes, self.delay = base, web, rng, processes, delay
        self.mark = uuid.uuid4().hex
        self._started: set[int] = set()  # a forked process has no mark in /proc
        self.formats = list(formats)
        self.folder = base / "work"
        self.data, self.out = "data", "out"
        self.run: Run | None = None
        self.runs = 0
        self.foreign: list[Path] = []
        """Outputs to which another program wrote a line that must remain."""
        self.precious: dict[Path, bytes] = {}
        """Files outside the data folder that must not be written to."""
        self.stopped: set[int] = set()
        base.mkdir(parents=True, exist_ok=True)
        self.begin_anew()

    def begin_anew(self) -> None:
        """Continue in a new folder, because the old crawl cannot continue."""
        self.end_all()
        self.runs += 1
        self.folder = self.base / f"work{self.runs}"
        (self.folder / "out").mkdir(parents=True)
        self.data, self.out = "data", "out"
        self.foreign, self.precious = [], {}

    def words(self, *more: str, name: str = "c") -> list[str]:
        """Return the arguments of the command, which are the same at each start."""
        words = ["crawl", *self.web.plan.seeds(), "--name", name, "--data", self.data, "--json", "--quiet"]
        words += [word for ending in self.formats for word in ("-o", f"{self.out}/out.{ending}")]
        words += ["--delay", str(self.delay), "--per-host", "2", "--retries", "0.1s,0.2s,0.3s"]
        return [*words, "--processes", str(self.processes), "--allow-private", "127.0.0.0/8", *more]

    def start(
        self,
        words: Sequence[str] | None = None,
        *,
        code: str = MAIN,
        folder: Path | None = None,
        env: dict[str, str] | None = None,
        limit: Callable[[], object] | None = None,
        apart: bool = False,
    ) -> Run:
        """Start the command. With `apart`, the new run does not replace the watched run."""
        self.runs += 1
        # outside the small disk, which the crawl may fill
        logs = self.base.parent.with_name(f"{self.base.parent.name}-runs")
        logs.mkdir(exist_ok=True)
        out, err = (logs / f"run-{self.runs}.{name}" for name in ("out", "err"))
        given = {key: value for key, value in os.environ.items() if not key.startswith("GOSSAMER_")}
        given |= {
            "PYTHONPATH": os.pathsep.join((str(SRC), str(SRC.parent / "tests"))),
            MARK: self.mark,
            **(env or {}),
        }
        with out.open("wb") as stdout, err.open("wb") as stderr:
            process = fork_server.Popen(
                [sys.executable, "-c", code, *(self.words() if words is None else words)],
                cwd=folder or self.folder,
                env=given,
                stdin=subprocess.DEVNULL,
                stdout=stdout,
                stderr=stderr,
                preexec_fn=limit,
            )
        self._started.add(process.pid)
        run = Run(process, out, err)
        if not apart:
            self.run = run
        return run

    def living(self) -> list[Process]:
        """Return all running processes of this crawl."""
        found, mark = [], f"{MARK}={self.mark}".encode()
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit():
                with contextlib.suppress(OSError, IndexError):
                    if int(entry.name) in self._started or mark in (entry / "environ").read_bytes():
                        words = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
                        if (entry / "stat").read_text().rsplit(")", 1)[1].split()[0] != "Z":
                            found.append(Process(int(entry.name), words))
        return found

    def pids(self, whom: str) -> list[int]:
        """Return process IDs by part: `door` (the main process of the command), `child` (one of its worker
        processes), `store`, or `all`."""
        if whom == "door":
            return [self.run.process.pid] if self.run and self.run.code() is None else []
        found = self.living()
        if whom == "child":
            return [one.pid for one in found if one.is_child()][:1] or self.pids("door")
        return [one.pid for one in found if whom == "all" or one.is_store()]

    def send(self, whom: str, how: signal.Signals) -> list[int]:
        """Send a signal to a part of the crawl, and return the IDs of the processes that received it."""
        hit = []
        for pid in self.pids(whom):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, how)
                hit.append(pid)
        if how == signal.SIGKILL and self.run and (whom == "all" or self.run.process.pid in hit):
            self.run.process.wait()
            self.run = None
        return hit

    def kill(self, whom: str = "all") -> None:
        """Kill a part of the crawl (SIGKILL), and wait until its processes are gone."""
        hit, deadline = self.send(whom, signal.SIGKILL), time.monotonic() + 10
        while time.monotonic() < deadline and {one.pid for one in self.living()} & set(hit):
            time.sleep(0.01)

    def stand(self, whom: str, seconds: float) -> None:
        """Stop the processes of a part (SIGSTOP), and continue them after some seconds."""
        hit = self.send(whom, signal.SIGSTOP)
        time.sleep(seconds)
        resume(hit)

    def leave(self) -> int:
        """Stop the crawl by SIGINT, and return the exit code."""
        if not self.pids("door"):
            return 0
        self.send("door", signal.SIGINT)
        assert self.run
        try:
            code = self.run.process.wait(30)
        except subprocess.TimeoutExpired:
            code = -9
        self.kill()
        self.run = None
        return code

    def end_all(self) -> None:
        """Kill all processes of the crawl."""
        self.kill()
        self.run = None

    def requests(self) -> int:
        return int(self.web.stats()["requests"])

    def wait(self, requests: int, still: float = 0.0) -> str:
        """Wait until the web has received `requests` requests in total ("on"), the run has ended
        ("ended"), or the crawl hangs ("hangs")."""
        assert self.run
        seen, since = self.requests(), time.monotonic()
        while True:
            ended = self.run.code() is not None
            if (now := self.requests()) != seen:
                seen, since = now, time.monotonic()
            if ended:
                return "ended"
            if seen >= requests:
                return "on"
            if time.monotonic() - since > STILL + still:
                return "hangs"
            time.sleep(0.03)

    def left(self) -> list[str]:
        """Return the processes that are still running although the command has ended by itself."""
        deadline = time.monotonic() + 8
        while (found := self.living()) and time.monotonic() < deadline:
            time.sleep(0.05)
        return [one.words[:60] for one in found]

    def path(self, ending: str) -> Path:
        return self.folder / self.out / f"out.{ending}"

    def verdict(self, folder: Path | None = None) -> Verdict:
        return judge(folder or self.folder / self.out, self.formats, self.web.plan)

    def trespasses(self) -> list[str]:
        """Return the files of others that the crawl wrote to, and the foreign lines that it deleted."""
        found = [
            f"{path.name} outside was written to"
            for path, was in self.precious.items()
            if path.read_bytes() != was
        ]
        now = self.folder / self.out  # the outputs may have been moved meanwhile
        deleted = [
            path
            for path in self.foreign
            if not any(is_foreign(file) for at in (path.parent, now) for file in at.glob(f"{path.name}*"))
        ]
        return found + [f"the foreign line in {path.name} was deleted" for path in deleted]


def is_foreign(path: Path) -> bool:
    """Return whether a file contains the line of another program."""
    return path.is_file() and FOREIGN.encode() in path.read_bytes()


def resume(pids: list[int]) -> None:
    """Continue the processes that still exist (SIGCONT)."""
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGCONT)


def written(crawl: Crawl) -> Counter[str]:
    """Return the number of rows per page in a text output that may be incomplete."""
    path = crawl.path("jsonl" if "jsonl" in crawl.formats else "csv")
    # if another program has replaced the file, the file contains no rows of the crawl
    with contextlib.suppress(OSError, ValueError, KeyError):
        return Counter(pages(path, path.suffix[1:], Verdict(), torn=True))
    return Counter()


def last_line(text: str) -> str:
    lines = [line for line in text.splitlines() if line.strip()]
    return lines[-1][:300] if lines else "(nothing said)"


Fault = Callable[[Crawl, random.Random], Effect]


class Trial:
    """A sequence of faults on one crawl."""

    def __init__(
        self,
        crawl: Crawl,
        faults: Sequence[tuple[int, str, Fault]],
        of: int,
        seed: int,
        say: Callable[[str], object],
    ) -> None:
        self.crawl, self.faults, self.of, self.seed, self.say = crawl, faults, of, seed, say
        self.strikes: list[Strike] = []
        self.base = 0
        """The number of requests that the web received before this crawl started."""
        self.first = 0
        """The index of the first fault of this crawl."""
        self.written: list[tuple[int, set[str]]] = []
        """The index of each fault, with the pages that were written before the fault."""

    def begin_anew(self) -> None:
        """Replace a crawl that has ended or cannot continue with a new crawl."""
        self.crawl.begin_anew()
        self.base, self.first, self.written = self.crawl.requests(), len(self.strikes), []

    def spoiled(self) -> bool:
        """Return whether the last fault produced duplicate rows."""
        found = written(self.crawl)
        if twice := sum(found.values()) - len(found):
            self.blame("double", twice, f"{twice} rows double before the next fault")
        return bool(twice)

    def play(self) -> list[Strike]:
        """Inject all faults, run the crawl to its end, and check its outputs. Return one record per fault."""
        crawl, plan = self.crawl, self.crawl.web.plan
        before = self.first = len(self.strikes)
        total = plan.hosts * plan.pages
        try:
            for number, kind, fault in self.faults:
                strike = Strike(kind, f"{self.seed}.{number}")
                moment = round(
                    total * (number + 0.3 + 0.6 * random.Random(strike.seed).random()) / (self.of + 1)
                )
                if (
                    not self.reach(self.base + moment)
                    or self.spoiled()
                    or crawl.requests() > self.base + 0.85 * total
                ):
                    self.begin_anew()
                    self.reach(self.base + moment // 2)
                self.strikes.append(strike)
                self.strike(strike, fault)
                self.say(line_of(strike))
            self.finish()
        finally:
            crawl.end_all()
        return self.strikes[before:]

    def reach(self, requests: int) -> bool:
        """Run the crawl until the web has received `requests` requests. Return False if the crawl has
        ended or cannot continue."""
        crawl, again = self.crawl, 0
        while True:
            if crawl.run is None:
                crawl.start()
            how = crawl.wait(requests)
            if how == "on":
                return True
            if how == "ended" and crawl.run and crawl.run.code() == 0:
                self.judge()
                return False
            if how == "hangs":
                self.blame("silent", 1, "hangs between faults")
                return False
            assert crawl.run
            again += 1
            code, line = crawl.run.code(), last_line(crawl.run.said())
            crawl.run = None
            if code == 8 and again <= 3:  # the store died more often than a single command restarts a store
                continue
            self.blame("silent", 1, f"ended with {code} between faults: {line}")
            return False

    def blame(self, outcome: str, count: int, note: str) -> None:
        """Attribute a wrong outcome to the most recent fault."""
        if self.strikes:
            self.strikes[-1].add(outcome, count, note)
            self.strikes[-1].outcomes.pop("exact", None)
            self.say(f"    {outcome}: {note}")

    def strike(self, strike: Strike, fault: Fault) -> None:
        """Inject one fault, check whether the crawl continues, and record the message if it does not."""
        crawl = self.crawl
        self.written.append((len(self.strikes) - 1, set(written(crawl))))
        strike.at = time.monotonic_ns()
        try:
            effect = fault(crawl, random.Random(f"{strike.seed}:{strike.kind}"))
        except (OSError, AssertionError) as error:  # the target of the fault does not exist
            strike.notes.append(f"not struck: {error}")
            self.begin_anew()
            return
        strike.did = effect.did
        strike.notes += [effect.note] if effect.note else []
        if effect.verdict and not effect.verdict.exact():
            strike.add("missing", len(effect.verdict.lost()), f"the copy: {effect.verdict}")
            if twice := sum(effect.verdict.twice().values()):
                strike.add("double", twice)
        went = self.aftermath(strike, effect)
        outcome = "exact"
        if went == "refused":
            outcome = "refused"
            said = strike.ended[-1][1]
            if "--repair" in said and self.repair(strike) and self.aftermath(strike, effect) == "on":
                outcome = "repaired"
            elif effect.undo:
                effect.undo()
                if self.aftermath(strike, effect, still_away=False) != "on":
                    strike.notes.append("still refused when all was put back")
                    self.begin_anew()
            elif self.aftermath(strike, effect, still_away=False) != "on":
                self.begin_anew()
        elif went == "wrong":
            outcome = ""
            self.begin_anew()
        for trespass in crawl.trespasses():
            strike.add("silent", 1, trespass)
            outcome = ""
            crawl.foreign, crawl.precious = [], {}
        if effect.after:
            effect.after()
        if outcome:
            strike.add(outcome)

    def aftermath(self, strike: Strike, effect: Effect, *, still_away: bool = True) -> str:
        """Return "on" if the crawl continues or ended with exact outputs, "refused" if it ended with a
        clear line, and "wrong" otherwise."""
        crawl = self.crawl
        if crawl.run is None:
            crawl.start()
        run = crawl.run
        assert run
        how = crawl.wait(crawl.requests() + (effect.progress if still_away else 10), effect.still)
        if how == "on":
            return "on"
        if how == "hangs":
            strike.add("silent", 1, f"hangs: {last_line(run.said())}")
            crawl.end_all()
            return "wrong"
        if orphans := crawl.left():
            strike.add("orphans", len(orphans), f"left: {orphans[0]}")
            crawl.kill()
        crawl.run = None
        code = run.code()
        assert code is not None
        if code == 0:
            return "on" if self.judge() else "wrong"
        strike.ended.append((code, last_line(run.said())))
        found = written(crawl)
        too_many = 0 if effect.foreign_rows else sum(found.values()) - len(found)
        if too_many:
            strike.add("double", too_many, "at the refusal")
        if not run.clear():
            strike.add("silent", 1, f"no clear line, exit {code}: {run.said()[-600:]}")
            return "wrong" if code in (1,) else "refused"
        return "refused"

    def repair(self, strike: Strike) -> bool:
        """Run `gossamer doctor --repair`, which the refusal recommended, and return whether it succeeded."""
        run = self.crawl.start(["doctor", "--repair", "--data", self.crawl.data], apart=True)
        try:
            code = run.process.wait(120)
        except subprocess.TimeoutExpired:
            self.crawl.end_all()
            strike.add("silent", 1, "doctor --repair hangs")
            return False
        strike.notes.append(
            f"doctor --repair: {code} {last_line(run.said() + run.out.read_text(errors='replace'))}"
        )
        return code == 0

    def judge(self) -> bool:
        """Check the outputs of a crawl that ended with exit code 0. If rows are missing or duplicate,
        attribute each of these rows to a fault, and return False."""
        verdict = self.crawl.verdict()
        self.crawl.run = None
        if orphans := self.crawl.left():
            self.blame("orphans", len(orphans), f"left: {orphans[0]}")
            self.crawl.kill()
        if verdict.exact():
            return True
        log = list(self.crawl.web.log())
        last, times = {page_of(url_of(hit)): hit.seen for hit in log}, fetched(log)
        struck = self.strikes[self.first :] or self.strikes[-1:]
        for what, those in (("missing", verdict.lost()), ("double", set(verdict.twice()))):
            for page in sorted(those):
                seen = last.get(page, 0)
                was = [self.strikes[n] for n, there in self.written if page in there]
                after = [one for one in struck if one.at >= seen] if what == "missing" else []
                before = [one for one in struck if one.at <= seen]
                one = (
                    was[-1]
                    if was and what == "missing"
                    else after[0]
                    if after
                    else before[-1]
                    if before
                    else struck[0]
                )
                one.add(what, 1)
                one.outcomes.pop("exact", None)
                if len(one.notes) < 6:
                    one.notes.append(f"{what} {page.split('/', 3)[-1]} (requested {times[page]} times)")
        if verdict.broken:
            self.blame("silent", 1, "; ".join(verdict.broken))
        self.say(f"    ended with 0, but {verdict}")
        return False

    def finish(self) -> None:
        """Run the crawl to its end. Then run the same command once more, which must find nothing to do."""
        crawl = self.crawl
        while self.reach(1 << 60):
            pass
        if any(one.wrong() for one in self.strikes[self.first :]):
            return
        if crawl.requests() and (crawl.folder / crawl.data).exists():
            run = crawl.start()
            code = run.process.wait(60)
            crawl.run = None
            if code != 0 or not crawl.verdict().exact():
                self.blame(
                    "silent",
                    1,
                    f"the same command after the end: {code} {last_line(run.said())}; {crawl.verdict()}",
                )


def line_of(strike: Strike) -> str:
    """Return the line of output that reports a fault."""
    said = "; ".join(f"exit {code}: {line}" for code, line in strike.ended)
    found = ", ".join(f"{name} {n}" if n > 1 else name for name, n in strike.outcomes.items())
    return (
        f"  {strike.seed:>6} {strike.kind:<24} {found:<10} {strike.did}{' | ' if said else ''}{said}"
        + "".join(f"\n         {note}" for note in strike.notes)
    )


@contextlib.contextmanager
def place(folder: Path, mounted: bool) -> Iterator[bool]:
    """Mount a small disk of its own for the crawl, if this is allowed. Yield whether the disk was mounted."""
    folder.mkdir(parents=True)
    words = ["mount", "-t", "tmpfs", "-o", "size=192m", "gossamer-faults", str(folder)]
    done = mounted and os.geteuid() == 0 and subprocess.run(words, capture_output=True).returncode == 0
    try:
        yield done
    finally:
        if done:
            subprocess.run(["umount", "-l", str(folder)], capture_output=True)
        shutil.rmtree(folder, ignore_errors=True)


def web_of(seed: int, pages: int) -> Plan:
    """Return the plan of the web of a crawl."""
    return preset("tiny", seed=seed, hosts=8, pages=pages, latency=0.01, spread=0.05)


def trial(
    base: Path,
    seed: int,
    faults: Sequence[tuple[int, str, Fault]],
    of: int,
    *,
    pages: int = 100,
    disk: bool = True,
    into: list[Strike] | None = None,
    say: Callable[[str], object] = print,
) -> list[Strike]:
    """Run a crawl with faults. The seed determines the formats, the number of processes and everything
    else. `into` contains the faults of earlier crawls, and each fault of this crawl is added to it."""
    rng = random.Random(f"crawl {seed}")
    chosen = {*rng.sample(FORMATS, rng.choice((1, 2, 3, 5))), rng.choice(("jsonl", "csv"))}
    formats = sorted(chosen, key=FORMATS.index)
    processes, mounted = rng.choice((1, 1, 2)), rng.random() < 0.5
    with serve(web_of(seed, pages)) as web, place(base / f"crawl-{seed}", disk and mounted) as own:
        say(
            f"crawl {seed}: {', '.join(formats)}; {processes} processes; {'a disk of its own' if own else 'the common disk'}"
        )
        crawl = Crawl(base / f"crawl-{seed}" / "all", web, rng, formats, processes, delay=0.1)
        one = Trial(crawl, faults, of, seed, say)
        one.strikes = [] if into is None else into
        return one.play()
