"""The operator and the sensor in a real Airflow 3.3: what a task does, what becomes of its crawl, and what its log
says."""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from typing import Any, ClassVar

import pytest

from airflow.standalone import ENVIRONMENT, Airflow, running
from cli.command_line import Pages
from gossamer.client.service_client import Client
from gossamer.operations.results import CrawlOutcome
from operations.service_process import Serving, served_folder
from support.answers import answering

pytestmark = pytest.mark.skipif(
    not (ENVIRONMENT / "ready").exists(),
    reason="Airflow is not here: ./test gets it from PyPI",
)

DAGS = """
from datetime import timedelta

from airflow.sdk import DAG
from gossamer.airflow import GossamerCrawlOperator, GossamerCrawlSensor

WEB = "ADDRESS/"
for name, options, given in [
    ("good", {}, {}),
    ("here", {}, {"deferrable": False}),
    ("gate", {"fail_on": ["pages<1000"]}, {}),
    ("long", {"delay": 4}, {}),
    ("left", {"delay": 8}, {"when_killed": "leave"}),
    ("killed", {"delay": 2}, {"deferrable": False, "retries": 1, "retry_delay": timedelta(seconds=1)}),
    ("down", {}, {"targets": ["http://127.0.0.1:1/"], "retries": 1, "retry_delay": timedelta(seconds=1)}),
    ("shrinking", {}, {"targets": ["SHRINKING/"], "retries": 1, "retry_delay": timedelta(seconds=1)}),
]:
    with DAG(name, schedule=None, max_active_runs=4) as dag:
        given = {"targets": [WEB], **given}
        GossamerCrawlOperator(task_id="crawl", options=options, poll_interval=5, **given)
    globals()[name] = dag

with DAG("mapped", schedule=None) as mapped:
    GossamerCrawlOperator.partial(task_id="crawl", options={"scope": "page"}).expand(targets=[[WEB + "1"], [WEB + "2"]])

with DAG("sensor", schedule=None) as sensor:
    GossamerCrawlSensor(task_id="crawl", crawl="watched", poll_interval=5)
"""


class Shrinking(BaseHTTPRequestHandler):
    """A site whose number of pages tests change."""

    pages: ClassVar[int] = 40

    def do_GET(self) -> None:
        is_page = self.path == "/" or self.path.removeprefix("/").isdecimal()
        body = "".join(f'<a href="/{n}">x</a>' for n in range(self.pages)).encode() if is_page else b""
        self.send_response(200 if is_page else 404)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """Disable the request log."""


@pytest.fixture(scope="module")
def web() -> Iterator[str]:
    with answering(Pages) as port:
        yield f"http://127.0.0.1:{port}"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    with served_folder(tmp_path_factory.mktemp("served"), "-s", "retries=none") as found:
        yield found


@pytest.fixture(scope="module")
def client(server: Serving) -> Client:
    return Client(server.url)


@pytest.fixture(scope="module")
def airflow(tmp_path_factory: pytest.TempPathFactory, server: Serving, web: str) -> Iterator[Airflow]:
    folder = tmp_path_factory.mktemp("airflow")
    with answering(Shrinking) as port:
        dags = DAGS.replace("ADDRESS", web).replace("SHRINKING", f"http://127.0.0.1:{port}")
        with running(folder, server.url, dags) as found:
            yield found


def crawl_of(client: Client, dag: str) -> CrawlOutcome:
    """Returns the latest crawl of a DAG's task."""
    names = crawls_of(client, dag)
    return client.outcome(max(names, key=lambda name: client.status(name).started_at))


def crawls_of(client: Client, dag: str) -> list[str]:
    return [one.crawl for one in client.crawls() if one.crawl.startswith(f"{dag}.crawl-")]


def waited(client: Client, dag: str, state: str) -> CrawlOutcome:
    """Waits until the crawl of a DAG's task has a state."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        if crawls_of(client, dag) and (found := crawl_of(client, dag)).state == state:
            return found
        time.sleep(0.2)
    raise AssertionError(f"the crawl of {dag} is not {state}")


def test_a_task_waits_in_the_triggerer_and_returns_the_outcome(airflow: Airflow, client: Client) -> None:
    run = airflow.run("good")
    assert airflow.wait("good", run)["state"] == "success", airflow.log("good", run)
    found = crawl_of(client, "good")
    assert (found.state, found.exit_code, found.pages) == ("finished", 0, 13)
    assert "13 pages" in airflow.log("good", run)
    value = airflow.ask(
        "GET", f"/api/v2/dags/good/dagRuns/{run}/taskInstances/crawl/xcomEntries/return_value"
    )
    assert value["value"]["crawl"] == found.crawl

    began = client.status(found.crawl).started_at
    airflow.clear("good", run)
    assert airflow.wait("good", run, number=2)["state"] == "success"
    assert client.status(found.crawl).started_at == began, "a crawl that ended before is not started again"
    assert "of an earlier try is finished" in airflow.log("good", run, number=2)


def test_a_task_that_may_not_be_deferred_waits_itself(airflow: Airflow, client: Client) -> None:
    run = airflow.run("here")
    assert airflow.wait("here", run)["state"] == "success", airflow.log("here", run)
    assert crawl_of(client, "here").pages == 13


def test_a_gate_that_is_not_met_fails_the_task_with_the_counts(airflow: Airflow, client: Client) -> None:
    run = airflow.run("gate")
    assert airflow.wait("gate", run)["state"] == "failed"
    log = airflow.log("gate", run)
    assert "exit code 30" in log
    assert "13 pages" in log
    assert crawl_of(client, "gate").exit_code == 30


def test_a_run_unlike_the_good_runs_fails_the_task_with_the_counts(airflow: Airflow, client: Client) -> None:
    for _ in range(3):
        run = airflow.run("shrinking")
        assert airflow.wait("shrinking", run)["state"] == "success", airflow.log("shrinking", run)
    Shrinking.pages = 2
    run = airflow.run("shrinking")
    assert airflow.wait("shrinking", run)["state"] == "failed"
    log = airflow.log("shrinking", run)
    assert "exit code 31" in log
    assert "gossamer accept" in log
    assert airflow.task("shrinking", run)["try_number"] == 1, "a retry would change nothing"


def test_a_failure_worth_a_retry_is_retried_with_the_same_crawl(airflow: Airflow, client: Client) -> None:
    run = airflow.run("down")
    assert airflow.wait("down", run)["state"] == "failed"
    assert airflow.task("down", run)["try_number"] == 2
    assert "exit code 9" in airflow.log("down", run, number=2)
    assert len(crawls_of(client, "down")) == 1


def test_mark_failed_while_deferred_ends_the_crawl(airflow: Airflow, client: Client) -> None:
    run = airflow.run("long")
    airflow.wait_for_line("long", run, "waiting for the end of crawl")
    airflow.set_state("long", run, "failed")
    waited(client, "long", "cancelled")


def test_mark_failed_leaves_the_crawl_if_the_task_says_so_and_a_retry_finds_it(
    airflow: Airflow, client: Client
) -> None:
    run = airflow.run("left")
    airflow.wait_for_line("left", run, "waiting for the end of crawl")
    airflow.set_state("left", run, "failed")
    airflow.clear("left", run)
    airflow.wait("left", run, "deferred", number=2)
    found = crawl_of(client, "left")
    assert found.state == "running"
    assert airflow.wait("left", run, number=2)["state"] == "success"
    assert "of an earlier try is running" in airflow.log("left", run, number=2)
    assert len(crawls_of(client, "left")) == 1


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL])
def test_a_restart_of_the_triggerer_leaves_the_crawl_alone(
    airflow: Airflow, client: Client, how: int
) -> None:
    run = airflow.run("long")
    airflow.wait_for_line("long", run, "waiting for the end of crawl")
    found = waited(client, "long", "running")
    airflow.end("triggerer", how)
    assert client.outcome(found.crawl).state == "running"
    airflow.begin("triggerer")
    assert airflow.wait("long", run)["state"] == "success", airflow.log("long", run)
    assert client.outcome(found.crawl).pages == 13


def test_a_killed_worker_is_retried_and_finds_the_crawl(airflow: Airflow, client: Client) -> None:
    run = airflow.run("killed")
    airflow.wait("killed", run, "running")
    found = waited(client, "killed", "running")
    airflow.kill_task("killed", run)
    assert airflow.wait("killed", run)["state"] == "success", airflow.log("killed", run, number=2)
    assert airflow.task("killed", run)["try_number"] == 2
    assert client.outcome(found.crawl).pages == 13
    assert len(crawls_of(client, "killed")) == 1


def test_mapped_tasks_have_crawls_of_their_own(airflow: Airflow, client: Client) -> None:
    run = airflow.run("mapped")
    for index in (0, 1):
        assert airflow.wait("mapped", run, task=f"crawl/{index}")["state"] == "success"
    assert len(crawls_of(client, "mapped")) == 2


def test_a_sensor_waits_for_a_crawl_of_another_program(airflow: Airflow, client: Client, web: str) -> None:
    client.start(f"{web}/", name="watched", delay=1)
    run = airflow.run("sensor")
    airflow.wait("sensor", run, "deferred")
    assert airflow.wait("sensor", run)["state"] == "success", airflow.log("sensor", run)
    assert client.outcome("watched").state == "finished"
