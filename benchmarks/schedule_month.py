"""A simulated month of five uses and the cleaning on the clock, while schedulers are killed, frozen and away.

    python benchmarks/schedule_month.py [--days 30] [--out FILE]

Two schedulers run as processes on one store, whose clock is moved from one due time to the next. Their commands are
real processes against a shop, a site and a search provider on loopback. Prices, ranks and the search run every day,
keywords and the audit every week, the cleaning every month. In the middle of a run the leader is killed (day 5, and
the second audit), frozen for a minute (day 12), and stopped gracefully (day 24). From day 17 to day 19 no scheduler
runs. After each of these events there are two schedulers again. For each schedule, the benchmark compares its due
times with the runs in the store, and with the runs that the use itself has recorded. The exit code is 1 if a due time
was neither run nor told, or if a use has run more often than its schedule.
"""

from __future__ import annotations

import argparse
import signal
import sys
import tempfile
import time
from collections import Counter
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from support.moving_clock import moved_store
from support.schedule_month import Simulation, Site, simulation, wait

CRONS = ("30 1 * * *", "0 4 * * *", "0 5 * * mon", "0 3 * * sun", "30 5 * * *", "0 6 1 * *")
FIRST = "2026-11-01T00:00:00"
FROZEN_S = 60.0
AWAY = (17, 19)
"""The first and the last day without a scheduler."""


def strike(month: Simulation, how: str) -> None:
    """Kills, freezes or stops the leader in the middle of a run of the shop or the site."""
    asked = len(Site.asked)
    wait("the site is asked", lambda: len(Site.asked) > asked + 1)
    leader = month.leader()
    if how == "freeze":
        leader.send_signal(signal.SIGSTOP)
        time.sleep(FROZEN_S)
        Site.delay = 0.0
        leader.send_signal(signal.SIGCONT)
        return
    leader.send_signal(signal.SIGKILL if how == "kill" else signal.SIGTERM)
    leader.wait(30)
    Site.delay = 0.0
    month.start()


def strike_of(name: str, day: int, audits: int) -> str:
    if name == "audit":
        return "kill" if audits == 2 else ""
    return {5: "kill", 12: "freeze", 24: "stop"}.get(day, "") if name == "prices" else ""


def live(month: Simulation, last: str) -> Counter[str]:
    """Moves the clock through the month. Returns the number of events of each kind."""
    done: Counter[str] = Counter()
    audits = 0
    for at, name in month.due_times(f"{FIRST}+00:00", last):
        day = datetime.fromtimestamp(at, UTC).day
        if AWAY[0] <= day <= AWAY[1]:
            month.stop_all()
            continue
        if all(process.poll() is not None for process in month.processes):
            done["away"] += 1
            month.go_to(at - 3600)
            month.start()
            month.start()
            month.leader()
            time.sleep(5)  # the leader decides about the missed runs
            for one in month.schedules:  # the clock must not jump while runs make up for missed ones
                wait(f"{one.name} is made up", partial(month.is_idle, one.name))
        audits += name == "audit"
        how = strike_of(name, day, audits)
        Site.delay = 1.0 if how else 0.0
        month.go_to(at)
        if how:
            strike(month, how)
            done[how] += 1
        run = month.wait_for(name, at)
        print(f"{month.moved.stamp()} {name} {run.state} {how}".rstrip(), file=sys.stderr, flush=True)
    return done


def report(month: Simulation, last: str, done: Counter[str]) -> tuple[list[str], bool]:
    """Returns the lines of the report, and whether all is as it should be."""
    head = f"{'schedule':<10}{'due':>6}{'run':>6}{'told as missed':>16}{'neither':>9}{'failed':>8}{'by the use':>12}"
    lines, good = [head], True
    due = Counter(name for _, name in month.due_times(f"{FIRST}+00:00", last))
    for one in month.schedules:
        runs = month.runs(one.name)
        ran = sum(run.state != "missed" for run in runs)
        missed = sum(run.times for run in runs if run.state == "missed")
        failed = sum(run.state not in ("missed", "finished") for run in runs)
        neither, starts = due[one.name] - ran - missed, one.starts(month.folder)
        good = good and neither == 0 and failed == 0 and starts == ran
        lines.append(
            f"{one.name:<10}{due[one.name]:>6}{ran:>6}{missed:>16}{neither:>9}{failed:>8}{starts:>12}"
        )
    took = len(month.events("taken up"))
    lines.append("")
    lines.append(
        f"killed {done['kill']} times, frozen {done['freeze']}, stopped {done['stop']}, no scheduler for "
        f"{AWAY[1] - AWAY[0] + 1} days; {took} runs were continued by another scheduler"
    )
    return lines, good


def main() -> int:
    """Runs the benchmark."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--days", type=int, default=30)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    last = f"{FIRST[:8]}{options.days:02d}T23:59:00+00:00"
    began = time.monotonic()
    with (
        tempfile.TemporaryDirectory(prefix="month-") as folder,
        moved_store() as moved,
        simulation(Path(folder), moved, CRONS, f"{FIRST}Z") as month,
    ):
        month.start()
        month.start()
        month.leader()
        lines, good = report(month, last, live(month, last))
    took = f"{datetime.now(UTC):%Y-%m-%d}: {options.days} days in {time.monotonic() - began:.0f} s"
    text = "\n".join([took, "", *lines, ""])
    print(text)
    if options.out is not None:
        options.out.write_text(text)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
