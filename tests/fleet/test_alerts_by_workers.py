"""Without a scheduler, the workers of a fleet evaluate the alert rules. Without workers, `submit` and `alerts list`
report that nobody evaluates them."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from gossamer.app.alert_watch import UNWATCHED
from support import fork_server
from support.fleet_workers import Fleet, until
from support.web_receiver import receiving

RULES = """
interval = "500ms"
group_wait = "100ms"
[rules.GossamerWorkerGone]
for = "1s"
"""


def remarks(fleet: Fleet, *words: str) -> str:
    """Runs a command. Returns its messages."""
    command = [sys.executable, "-m", "gossamer", *words]
    done = fork_server.run(
        command, env=fleet.env(), cwd=fleet.folder, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    return str(done.stderr)


def test_a_worker_leads_the_evaluation_and_another_takes_over(fleet: Fleet, tmp_path: Path) -> None:
    (tmp_path / "alerts.toml").write_text(RULES)
    with receiving() as got:
        alerts = ("-s", f"alerts={got.url}/", "-s", f"alert_rules={tmp_path / 'alerts.toml'}")
        first = fleet.worker("w1", *alerts)
        fleet.ready(1)
        until("a worker leads", lambda: fleet.json("alerts", "list", *alerts)["evaluated"])
        fleet.worker("w2", *alerts)
        fleet.ready(2)
        first.kill()  # it led, so the other worker reports it
        until("the alert", lambda: got.calls)
        (alert,) = json.loads(got.calls[0].body)["alerts"]
    assert (alert["alert"], alert["status"]) == ("GossamerWorkerGone", "firing")
    assert alert["labels"]["worker"].startswith("w1@")


def test_a_worker_whose_receiver_cannot_run_here_leads_nothing_and_works(fleet: Fleet) -> None:
    worker = fleet.worker("w", "-s", "alerts=command:/no/such/program")
    fleet.ready(1)
    assert "this worker evaluates no alert rules: alerts command:/no/such/program" in worker.said()
    assert fleet.json("alerts", "list")["evaluated"] is False


def test_submit_says_that_nobody_evaluates_the_rules(fleet: Fleet) -> None:
    alerts = ("-s", "alerts=https://ops.example/hook")
    words = ("submit", "http://127.0.0.1:9/", "--json", "--name")
    said = remarks(fleet, *words, "one", *alerts)
    assert said.count(UNWATCHED) == 1
    assert UNWATCHED not in remarks(fleet, *words, "two"), "without receivers, no alert is expected"
    assert UNWATCHED in remarks(fleet, "alerts", "list", *alerts)
