"""Crawls as tasks of Apache Airflow: an operator that starts a crawl and waits for its end, and a sensor that waits for
a crawl which something else started. Both call a `gossamer serve` and run nothing themselves. Needs the extra
`airflow`.

The connection `gossamer_default` names the server: its host (`http://crawler:8321`, or host, schema and port) and, as
password, the token."""

from __future__ import annotations

import asyncio
import hashlib
import re
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any, Literal

from airflow.sdk import BaseHook, BaseOperator
from airflow.sdk.exceptions import AirflowException, AirflowFailException
from airflow.triggers.base import BaseTrigger, TriggerEvent

from gossamer.client.service_client import Client
from gossamer.errors import GossamerError, ServiceAway, StoreError, UnknownCrawl
from gossamer.frontier.crawls import ENDED
from gossamer.operations.results import CrawlOutcome

CONNECTION = "gossamer_default"
POLL_INTERVAL_S = 5.0
PORT = 8321
LASTING_CODES = (2, 3, 4, 5, 30, 31)
"""The exit codes that a retry would not change. All other codes but 0 leave the retries of the task to Airflow."""
MAX_NAME_CHARS = 80
_KILLS = ("cancel", "stop", "pause", "leave")
WhenKilled = Literal["cancel", "stop", "pause", "leave"]


def crawl_of_task(dag: str, run: str, task: str, index: int = -1) -> str:
    """Returns the name of a task's crawl, such as `shop.crawl-6ba2dd4c314a` for the task `crawl` of the DAG `shop`. A retry
    has the same name, so it finds the crawl of the try before."""
    mark = hashlib.sha256("\n".join([dag, run, task, str(index)]).encode()).hexdigest()[:12]
    words = re.sub(r"[^A-Za-z0-9._-]", "-", f"{dag}.{task}").lstrip("._-") or "airflow"
    return f"{words[: MAX_NAME_CHARS - 13]}-{mark}"


class GossamerTrigger(BaseTrigger):
    """Waits in the triggerer until a crawl has ended. If the triggerer restarts, the crawl is left alone."""

    def __init__(
        self,
        conn_id: str,
        crawl: str,
        when_killed: WhenKilled = "leave",
        poll_interval: float = POLL_INTERVAL_S,
    ) -> None:
        super().__init__()
        self.conn_id, self.crawl, self.when_killed = conn_id, crawl, when_killed
        self.poll_interval = poll_interval

    def serialize(self) -> tuple[str, dict[str, Any]]:
        """Returns the class and its arguments."""
        names = ("conn_id", "crawl", "when_killed", "poll_interval")
        return "gossamer.airflow.GossamerTrigger", {name: getattr(self, name) for name in names}

    async def run(self) -> AsyncIterator[TriggerEvent]:
        """Yields one event, when the crawl has ended or is unknown. While the server does not answer, waits on."""
        self.log.info("waiting for the end of crawl %s", self.crawl)
        while True:
            # Not at once: Airflow fails a task that is resumed before its scheduler has seen the deferral.
            await asyncio.sleep(self.poll_interval)
            try:
                outcome = await asyncio.to_thread((await self._client()).outcome, self.crawl)
            except (ServiceAway, StoreError) as error:
                self.log.warning("crawl %s: %s", self.crawl, error)
            except GossamerError as error:
                yield TriggerEvent({"crawl": self.crawl, "error": str(error)})
                return
            else:
                if outcome.exit_code is not None:
                    yield TriggerEvent({"crawl": self.crawl, "state": outcome.state})
                    return

    async def on_kill(self) -> None:
        """Does with the crawl what `when_killed` says. Airflow calls this if a user ends or clears the deferred task."""
        if self.when_killed != "leave":
            client = await self._client()
            await asyncio.to_thread(_end, client, self.crawl, self.when_killed)
            self.log.info("crawl %s: %s", self.crawl, self.when_killed)

    async def _client(self) -> Client:
        return _client(await BaseHook.aget_connection(self.conn_id))


class _CrawlTask(BaseOperator):
    """What the operator and the sensor have in common: how they wait, and what they make of the end."""

    ui_color = "#e8e4f0"
    conn_id: str
    poll_interval: float
    deferrable: bool

    def _wait(self, crawl: str, when_killed: WhenKilled) -> dict[str, Any]:
        """Waits for the end of a crawl: in the triggerer, or in this process. A crawl that has ended is not waited for."""
        client = self._client()
        outcome = client.outcome(crawl)
        if outcome.exit_code is None and self.deferrable:
            self.defer(
                trigger=GossamerTrigger(self.conn_id, crawl, when_killed, self.poll_interval),
                method_name="execute_complete",
                timeout=self.execution_timeout,
            )
        while outcome.exit_code is None:
            outcome = client.outcome(crawl, wait=30)
        return self._concluded(outcome)

    def execute_complete(self, context: Any, event: Mapping[str, Any]) -> dict[str, Any]:
        """Continues the task after the trigger's event."""
        if "error" in event:
            raise AirflowException(f"crawl {event['crawl']}: {event['error']}")
        return self._concluded(self._client().outcome(event["crawl"]))

    def _concluded(self, outcome: CrawlOutcome) -> dict[str, Any]:
        """Returns the outcome of a crawl as the result of the task. Raises AirflowException if it failed."""
        found = {name: getattr(outcome, name) for name in outcome.__struct_fields__}
        counts = ", ".join(
            f"{found[name]} {name}" for name in ("found", "pages", "items", "failed", "dead", "pending")
        )
        line = f"crawl {outcome.crawl} is {outcome.state}: {counts}"
        if outcome.exit_code == 0:
            self.log.info(line)
            return found
        why = outcome.error or outcome.reason
        line = f"{line}; exit code {outcome.exit_code}, {outcome.meaning}{f': {why}' if why else ''}"
        self.log.error(line)
        raise (AirflowFailException if outcome.exit_code in LASTING_CODES else AirflowException)(line)

    def _client(self) -> Client:
        return _client(BaseHook.get_connection(self.conn_id))


class GossamerCrawlOperator(_CrawlTask):
    """Starts a crawl, waits for its end, and fails by its exit code. The result of the task is the outcome of the crawl.

    - `targets`, `sites`, `options`: as in `gossamer.Client.start`.
    - `deferrable`: whether the task waits in the triggerer.
    - `when_killed`: what happens to the crawl if a user ends or clears the waiting task: `cancel` drops its queue, `stop`
      and `pause` keep it, `leave` changes nothing.
    """

    template_fields: Sequence[str] = ("targets", "sites", "options", "conn_id")

    def __init__(
        self,
        *,
        targets: Sequence[str] = (),
        sites: Sequence[str] = (),
        options: Mapping[str, Any] | None = None,
        conn_id: str = CONNECTION,
        deferrable: bool = True,
        when_killed: WhenKilled = "cancel",
        poll_interval: float = POLL_INTERVAL_S,
        **kwargs: Any,
    ) -> None:
        """Raises ValueError."""
        super().__init__(**kwargs)
        if when_killed not in _KILLS:
            raise ValueError(f"when_killed={when_killed!r}: write {', '.join(_KILLS)}")
        self.targets, self.sites, self.options = list(targets), list(sites), dict(options or {})
        self.conn_id, self.deferrable, self.when_killed = conn_id, deferrable, when_killed
        self.poll_interval = poll_interval
        self._crawl = ""

    def execute(self, context: Any) -> dict[str, Any]:
        """Starts the crawl of this task, or finds the one that an earlier try started."""
        task = context["ti"]
        self._crawl = name = crawl_of_task(
            task.dag_id, task.run_id, task.task_id, -1 if task.map_index is None else task.map_index
        )
        client = self._client()
        options = dict(self.options)
        try:
            known: CrawlOutcome | None = client.outcome(name)
        except UnknownCrawl:
            known = None
        if known is not None and known.exit_code in (None, 0):
            self.log.info("crawl %s of an earlier try is %s", name, known.state)
        else:
            if known is not None and known.state in ENDED and known.state not in ("stopped", "failed"):
                options["fresh"] = True  # such a crawl has no queue that could be continued
            client.start(*self.targets, sites=self.sites, name=name, **options)
            self.log.info("crawl %s has begun", name)
        return self._wait(name, self.when_killed)

    def on_kill(self) -> None:
        """Does with the crawl what `when_killed` says, if the task is killed while it waits in its own process."""
        if self._crawl and self.when_killed != "leave":
            _end(self._client(), self._crawl, self.when_killed)


class GossamerCrawlSensor(_CrawlTask):
    """Waits until a crawl has ended, and fails by its exit code. The crawl is never ended by the sensor."""

    template_fields: Sequence[str] = ("crawl", "conn_id")

    def __init__(
        self,
        *,
        crawl: str,
        conn_id: str = CONNECTION,
        deferrable: bool = True,
        poll_interval: float = POLL_INTERVAL_S,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.crawl, self.conn_id, self.deferrable = crawl, conn_id, deferrable
        self.poll_interval = poll_interval

    def execute(self, context: Any) -> dict[str, Any]:
        """Waits for the end of the crawl."""
        return self._wait(self.crawl, "leave")


def _client(connection: Any) -> Client:
    """Returns the client of a connection."""
    host = connection.host or "127.0.0.1"
    if "://" not in host:
        host = f"{connection.schema or 'http'}://{host}:{connection.port or PORT}"
    elif connection.port:
        host = f"{host}:{connection.port}"
    return Client(host, token=connection.password or None)


def _end(client: Client, crawl: str, how: WhenKilled) -> None:
    """Ends or pauses a crawl that has not ended."""
    if client.outcome(crawl).exit_code is None:
        {"cancel": client.cancel, "stop": client.stop, "pause": client.pause}[how](crawl)
