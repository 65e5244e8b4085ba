"""The short form of benchmarks/schedule_month.py: the five uses and the cleaning on the clock, with a scheduler
that is killed in the middle of a price run, and a day without any scheduler."""

from __future__ import annotations

from pathlib import Path

from gossamer.scheduler.commands import TAKE_OVER_S
from gossamer.scheduler.loop import LEAD_TIMEOUT_S
from support.moving_clock import Moved
from support.schedule_month import Site, simulation, wait

CRONS = ("30 1 * * *", "0 2 * * *", "30 2 * * *", "0 3 * * *", "30 3 * * *", "0 4 * * *")


def test_each_use_runs_once_when_a_scheduler_is_killed_and_missed_runs_are_told(
    moved: Moved, tmp_path: Path
) -> None:
    with simulation(tmp_path, moved, CRONS, "2026-11-01T00:00:00Z") as month:
        month.start()
        month.start()
        month.leader()
        for at, name in month.due_times("2026-11-01T00:00:00+00:00", "2026-11-01T23:00:00+00:00"):
            Site.delay = 1.0 if name == "prices" else 0.0
            asked = len(Site.asked)
            month.go_to(at)
            if name == "prices":
                wait("the shop is asked", lambda before=asked: len(Site.asked) > before + 1)
                leader = month.leader()
                leader.kill()
                leader.wait()
                wait("the command of the killed scheduler ends", lambda: not month.commands())
                month.moved.move(LEAD_TIMEOUT_S + 1)
                month.leader()
                wait("it is taken up", lambda: month.events("taken up"))
                month.moved.move(TAKE_OVER_S + 1)
                Site.delay = 0.0
            run = month.wait_for(name, at)
            assert (name, run.state, run.exit_code, run.times) == (name, "finished", 0, 1), run
        month.stop_all()
        month.moved.set("2026-11-04T01:00:00Z")
        month.start()
        for one in month.schedules:
            month.wait_for(one.name, month.moved.now() - 86_400)
        for one in month.schedules:
            states = [(run.state, run.times) for run in month.runs(one.name)]
            assert (one.name, states) == (one.name, [("finished", 1), ("missed", 1), ("finished", 1)])
            assert (one.name, month.counts(one.name)["missed"]) == (one.name, 1)
            assert (one.name, one.starts(tmp_path)) == (one.name, 2)
        assert [one["schedule"] for one in month.events("taken up")] == ["prices"]
