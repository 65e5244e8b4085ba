"""A real Airflow for tests: its four processes in an environment of its own, which tests talk to over its REST API."""

from __future__ import annotations

import http.client
import json
import os
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from cli.command_line import SRC

CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "gossamer-servers"
ENVIRONMENT = CACHE / "airflow-3.3.2"
"""The virtual environment with Airflow, which `deploy/needs.sh` makes."""
PYTHON = str(ENVIRONMENT / "bin" / "python")
END_STATES = ("success", "failed", "skipped", "upstream_failed", "removed")
TIMEOUT_S = 240.0


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


class Airflow:
    """The processes of one Airflow. `server`: the address of `gossamer serve` that its tasks call."""

    def __init__(self, folder: Path, server: str, dags: str) -> None:
        self.folder, self.port = folder, free_port()
        (folder / "dags").mkdir(parents=True)
        (folder / "dags" / "crawls.py").write_text(dags)
        base = f"http://127.0.0.1:{self.port}"
        own = {
            name: value for name, value in os.environ.items() if not name.startswith(("AIRFLOW", "GOSSAMER_"))
        }
        self.env = {
            **own,
            "PYTHONPATH": str(SRC),
            "PATH": f"{ENVIRONMENT / 'bin'}:{os.environ['PATH']}",
            "AIRFLOW_HOME": str(folder),
            "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
            "AIRFLOW__CORE__EXECUTION_API_SERVER_URL": f"{base}/execution/",
            "AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_ALL_ADMINS": "True",
            "AIRFLOW__CORE__PARALLELISM": "4",
            "AIRFLOW__WORKERS__EXECUTION_API_TIMEOUT": "120",  # a busy machine is slow at first
            "AIRFLOW__API__PORT": str(self.port),
            "AIRFLOW__API__BASE_URL": base,
            "AIRFLOW__API__WORKERS": "1",
            "AIRFLOW__API_AUTH__JWT_SECRET": "a secret of a test, which is long enough",
            "AIRFLOW__DAG_PROCESSOR__REFRESH_INTERVAL": "5",
            "AIRFLOW__SCHEDULER__SCHEDULER_HEARTBEAT_SEC": "1",
            "AIRFLOW__TRIGGERER__JOB_HEARTBEAT_SEC": "1",
            "AIRFLOW_CONN_GOSSAMER_DEFAULT": json.dumps({"conn_type": "http", "host": server}),
        }
        self.processes: dict[str, subprocess.Popen[bytes]] = {}
        self._token = ""

    def start(self) -> None:
        """Starts everything, and waits until the DAGs are known."""
        subprocess.run(
            [PYTHON, "-m", "airflow", "db", "migrate"], env=self.env, check=True, capture_output=True
        )
        for name in ("api-server", "scheduler", "dag-processor", "triggerer"):
            self.begin(name)
        deadline = time.monotonic() + TIMEOUT_S
        while time.monotonic() < deadline:
            try:
                self._token = self.ask("GET", "/auth/token")["access_token"]
                if self.ask("GET", "/api/v2/dags")["total_entries"]:
                    return
            except (OSError, http.client.HTTPException, KeyError):
                pass
            time.sleep(1)
        raise AssertionError("Airflow has not begun: see " + str(self.folder))

    def begin(self, name: str) -> None:
        with (self.folder / f"{name}.out").open("ab") as log:
            self.processes[name] = subprocess.Popen(
                [PYTHON, "-m", "airflow", name],
                env=self.env,
                stdout=log,
                stderr=log,
                cwd=self.folder,
                start_new_session=True,
            )

    def end(self, name: str, how: int = signal.SIGTERM) -> None:
        process = self.processes.pop(name)
        os.killpg(process.pid, how)
        try:
            process.wait(30)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()

    def ask(self, method: str, path: str, body: Any = None) -> Any:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        headers = {"Content-Type": "application/json", "Authorization": f"Bearer {self._token}"}
        try:
            connection.request(method, path, None if body is None else json.dumps(body), headers)
            got = connection.getresponse()
            text = got.read()
            assert got.status < 400, (path, got.status, text)
            return json.loads(text or b"null")
        finally:
            connection.close()

    def run(self, dag: str) -> str:
        """Starts a run of a DAG, and returns its id."""
        self.ask("PATCH", f"/api/v2/dags/{dag}", {"is_paused": False})
        return str(self.ask("POST", f"/api/v2/dags/{dag}/dagRuns", {"logical_date": None})["dag_run_id"])

    def task(self, dag: str, run: str, task: str = "crawl") -> dict[str, Any]:
        found: dict[str, Any] = self.ask("GET", f"/api/v2/dags/{dag}/dagRuns/{run}/taskInstances/{task}")
        return found

    def wait(self, dag: str, run: str, *states: str, task: str = "crawl", number: int = 1) -> dict[str, Any]:
        """Waits until a task has one of these states, in its try `number` or a later one."""
        deadline = time.monotonic() + TIMEOUT_S
        while time.monotonic() < deadline:
            found = self.task(dag, run, task)
            is_try = found["try_number"] >= number
            if is_try and found["state"] in (states or END_STATES):
                return found
            assert not is_try or found["state"] not in END_STATES, (
                found["state"],
                self.log(dag, run, task, number),
            )
            time.sleep(0.5)
        raise AssertionError(f"the task is still {found['state']}: see {self.folder}")

    def wait_for_line(self, dag: str, run: str, line: str, number: int = 1) -> None:
        """Waits until the log of a task's try, which is deferred, has a line."""
        self.wait(dag, run, "deferred", number=number)
        deadline = time.monotonic() + TIMEOUT_S
        while line not in self.log(dag, run, number=number):
            assert time.monotonic() < deadline, f"no line {line!r}: see {self.folder}"
            time.sleep(0.5)

    def set_state(self, dag: str, run: str, state: str, task: str = "crawl") -> None:
        """Marks a task as failed or succeeded, as a user does."""
        self.ask("PATCH", f"/api/v2/dags/{dag}/dagRuns/{run}/taskInstances/{task}", {"new_state": state})

    def clear(self, dag: str, run: str, task: str = "crawl") -> None:
        """Clears a task, so that it runs again."""
        given = {"dry_run": False, "dag_run_id": run, "task_ids": [task], "only_failed": False}
        self.ask("POST", f"/api/v2/dags/{dag}/clearTaskInstances", given)

    def kill_task(self, dag: str, run: str) -> None:
        """Kills the process of a task, and the process that supervises it."""
        pid = int(self.task(dag, run)["pid"])
        os.kill(pid, signal.SIGKILL)

    def log(self, dag: str, run: str, task: str = "crawl", number: int = 1) -> str:
        """Returns the log of one try of a task."""
        path = f"/api/v2/dags/{dag}/dagRuns/{run}/taskInstances/{task}/logs/{number}?full_content=true"
        return json.dumps(self.ask("GET", path))

    def close(self) -> None:
        for name in list(self.processes):
            self.end(name)


@contextmanager
def running(folder: Path, server: str, dags: str) -> Iterator[Airflow]:
    """An Airflow for the duration of the block."""
    found = Airflow(folder, server, dags)
    try:
        found.start()
        yield found
    finally:
        found.close()
