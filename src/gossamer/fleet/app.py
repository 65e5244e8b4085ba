"""The Celery application of the fleet. Either `gossamer worker` or Celery's own command `celery -A
gossamer.fleet worker -Q http -n w1@%h` starts the application.

A message names a slot. The process that takes the slot crawls for one slice (60 s). If a process dies, its
leases expire and the keeper fills its slot again, so no work is lost. Therefore Celery acknowledges messages
early, stores no results, and sets no soft time limit. A hard time limit kills a process whose slice hangs.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import mmap
import os
import platform
import signal
import sys
import threading
import time
from collections.abc import Iterator
from typing import Any

from billiard import current_process  # type: ignore[import-untyped]
from celery import Celery, signals
from celery.exceptions import WorkerShutdown, WorkerTerminate
from kombu.exceptions import OperationalError

import gossamer.fleet.rabbitmq_tls  # noqa: F401 - RabbitMQ over TLS
from gossamer import __version__
from gossamer.app.open_store import open_url
from gossamer.config.redaction import mask, mask_logs
from gossamer.config.resources import resident_memory
from gossamer.config.settings import Settings, load
from gossamer.errors import OWN_LIMITS, ConfigError, GossamerError, ResourceError
from gossamer.fleet.active_crawls import WorkerProcess
from gossamer.fleet.brokers import LOGGERS, BrokerTroubleFilter, all_of
from gossamer.fleet.message_checks import TASK, VERSION, Malformed, refused
from gossamer.fleet.slice_process import SliceProcess
from gossamer.fleet.worker_keeper import WorkerKeeper
from gossamer.observability import logs
from gossamer.observability.alert_delivery import receivers_of
from gossamer.observability.alert_rules import read_alert_settings
from gossamer.observability.traces import start_traces, stop_traces
from gossamer.state.workers import WorkerRecord, WorkerRecords, take_name

log = logging.getLogger("gossamer.worker")

HANG_TIMEOUT_S = 60.0
"""If a slice runs for more than this many seconds longer than planned, the process of the slice is killed."""
RECYCLE_SHARE = 0.9
"""A process is replaced after its current slice if the process uses more than this share of `recycle_memory`.
RECYCLE_SHARE is less than 1, because a process claims fewer URLs if it uses more than 80% of
`recycle_memory`, and no URLs if it uses more than 95% (`process_load`)."""
CHILD_SIGNAL_DELAY_S = 1.0
"""After an order to stop, a child process ignores SIGTERM for this many seconds. After this time, a SIGTERM
ends the child process."""

STOP_TIMEOUT_S = 8.0
"""Seconds within which all parts of a worker must finish after an order to stop."""
BROKER_LOST_S = 4.0
"""If a stopping worker runs no slice for this many seconds, the worker assumes that Celery has lost its
broker."""

_stopping = mmap.mmap(-1, 1 + 256)
"""Memory that the main process and its child processes share. The first byte contains the order to the
worker: DRAIN, STOP, or 0 if there is no order. Each of the other bytes belongs to one child process, and has
the value 1 while this child process runs a slice."""
DRAIN, STOP = 1, 2
"""The values of the first byte of `_stopping`."""


trouble = BrokerTroubleFilter()


def settings() -> Settings:
    """Returns the settings of this process, which are read only once. Raises ConfigError if the settings are
    invalid or name no store."""
    if _Now.settings is None:
        found = load()
        if found.store is None:
            raise ConfigError(
                "a worker needs a shared store: set GOSSAMER_STORE, or give --store valkey://HOST"
            )
        _Now.settings = found
    return _Now.settings


class bearing:  # noqa: N801 - reads as a function
    """Claims the name of this worker, which no other living worker may have."""

    token: str | None = None
    """The token that renews the worker's claim on its name, if the name was claimed before Celery started."""

    @staticmethod
    async def bear(own: Settings, name: str, *, fixed: bool) -> tuple[str, str]:
        """Claims a name for this worker in the store. Returns the name and the token that renews the claim.
        See `state.workers`."""
        store = await open_url(own.store or "", embedded=False)
        try:
            return await take_name(WorkerRecords(store), name, fixed=fixed)
        finally:
            await store.close()


class _Now:
    """The state of this process. Celery's signals set the fields while Celery starts the process."""

    settings: Settings | None = None
    keeper: WorkerKeeper | None = None
    child: SliceProcess | None = None
    runner: asyncio.Runner | None = None
    name = ""
    code = 1
    """The exit code of the process. The exit code changes to 0 if the process ends because of an order to
    stop."""
    told = 0.0
    """The monotonic time when this process first saw the order to stop, or 0."""
    lanes: tuple[str, ...] = ("http",)


def configuration() -> dict[str, Any]:
    """Returns Celery's settings, derived from gossamer's settings."""
    own = settings()
    urls, options = all_of(own.broker or (own.store or "",))
    slices = max(1, min(own.recycle_slices, int(own.recycle_time / own.slice)))
    return {
        "broker_url": urls,
        "broker_connection_retry_on_startup": True,
        "broker_connection_max_retries": None,
        "broker_channel_error_retry": True,
        "broker_connection_timeout": 5,
        "broker_heartbeat": 10,
        "broker_transport_options": {
            "visibility_timeout": 3600,
            "unacked_restore_interval": 5,
            "unacked_restore_throttle": 1,
            "socket_timeout": 10,
            "socket_connect_timeout": 5,
            "socket_keepalive": True,
            "health_check_interval": 10,
            **options,
        },
        "accept_content": ["json"],
        "task_serializer": "json",
        "result_serializer": "json",
        "event_serializer": "json",
        "task_ignore_result": True,
        "task_store_errors_even_if_ignored": False,
        "task_acks_late": False,
        "task_reject_on_worker_lost": False,
        "task_default_queue": "http",
        "task_time_limit": own.slice + HANG_TIMEOUT_S,
        "task_soft_time_limit": None,
        "worker_prefetch_multiplier": 1,
        "worker_disable_prefetch": True,
        "worker_max_tasks_per_child": slices,
        "worker_max_memory_per_child": int(own.recycle_memory * RECYCLE_SHARE) // 1024,
        "worker_cancel_long_running_tasks_on_connection_loss": False,
        "worker_hijack_root_logger": False,
        "worker_redirect_stdouts": False,
        "worker_proc_alive_timeout": 30.0,
        "worker_consumer": "gossamer.fleet.message_checks:Consumer",
    }


def _made() -> Any:
    mask_logs()
    made = Celery("gossamer", set_as_current=False)
    made.add_defaults(configuration)
    return made


app = _made()


@app.task(name=TASK, ignore_result=True)
def slice_(_version: int, lane: str, slot: int, ticket: str) -> None:
    """Runs a slice in this process. `message_checks` has checked the message."""
    signal.signal(signal.SIGTERM, _terminated)  # set late, because billiard installs its own handler
    assert _Now.child is not None
    assert _Now.runner is not None
    try:
        with _at_work():
            after = _Now.runner.run(_Now.child.slice(lane, slot, ticket))
    except GossamerError as error:
        log.warning("slice of slot %s:%d: %s", lane, slot, error)
        return
    if after is not None:
        try:
            send(lane, slot, after)
        except Exception as error:  # noqa: BLE001 - transports have errors of their own; a keeper resends it
            log.warning("the broker does not take the message for slot %s:%d: %s", lane, slot, error)


def _place() -> int:
    """Returns the index of this child's byte in `_stopping`."""
    return 1 + int(getattr(current_process(), "index", 0)) % 256


@contextlib.contextmanager
def _at_work() -> Iterator[None]:
    """A context manager that marks this child as running a slice, so that the main process can see this."""
    _stopping[_place()] = 1
    try:
        yield
    finally:
        _stopping[_place()] = 0


def send(lane: str, slot: int, ticket: str) -> None:
    """Sends the message for a slot."""
    app.send_task(TASK, (VERSION, lane, slot, ticket), queue=lane, retry=False)


@signals.setup_logging.connect
def _log(**_: Any) -> None:
    """Makes Celery's log records use gossamer's formatter. While this handler is connected, Celery does not
    set up its own logs."""
    own = settings()
    if logs.started() is None:
        logs.start_logs(own.log_format or "text", own.log_level)
    for name in LOGGERS:
        logging.getLogger(name).addFilter(trouble)
    if own.log_level != "debug":  # slices are not logged
        for name in ("celery.worker.strategy", "celery.app.trace"):
            logging.getLogger(name).setLevel(logging.WARNING)


@signals.celeryd_after_setup.connect
def _set_up(sender: str, instance: Any, **_: Any) -> None:
    """Prepares the main process before it forks. Claims the worker's name in the store, and creates the
    keeper, which renews the claim and fills the fleet's slots. Exits if the preparation fails."""
    if instance.app is not app:
        return
    try:
        own = settings()
        lanes = sorted(str(queue) for queue in instance.app.amqp.queues.consume_from)
        token = bearing.token or asyncio.run(bearing.bear(own, sender, fixed=True))[1]
        me = WorkerRecord(
            name=sender,
            host=platform.node(),
            pid=os.getpid(),
            lanes=lanes,
            processes=int(instance.concurrency),
            memory_limit=int(instance.concurrency) * own.recycle_memory,
            version=__version__,
            region=own.region or "",
        )
        _Now.name, _Now.lanes = sender, tuple(lanes)
        _Now.keeper = WorkerKeeper(
            own.store or "",
            me,
            token,
            send=send,
            weigh=_weigh,
            drain=_drain,
            stop=_stop,
            alerts=_alert_settings(own),
        )
        refused.keep = _keep_aside
    except GossamerError as error:
        print(f"gossamer: {error}", file=sys.stderr)
        raise SystemExit(error.exit_code) from None


def _alert_settings(own: Settings) -> Settings | None:
    """Returns the settings with which this worker evaluates the alert rules, or None if the settings name no
    receiver, or a program that this machine does not have."""
    if not own.alerts:
        return None
    try:
        read_alert_settings(own.alert_rules)
        receivers_of(own.alerts, own.allow_private)
    except ConfigError as error:
        log.warning("this worker evaluates no alert rules: %s", error)
        return None
    return own


@signals.worker_ready.connect
def _ready(**_: Any) -> None:
    if _Now.keeper is not None:
        _Now.keeper.start()
        me = _Now.keeper.me
        region = f" in region {me.region}" if me.region else ""
        log.info("%s serves lane %s%s with %d processes", me.name, ", ".join(me.lanes), region, me.processes)


@signals.worker_shutting_down.connect
def _shutting_down(**_: Any) -> None:
    _stopping[0] = STOP
    _Now.told = _Now.told or time.monotonic()
    if _Now.keeper is not None:
        _Now.keeper.me.state = "stopping"
    threading.Thread(target=_without_broker, name="stop", daemon=True).start()


def _left(least: float) -> float:
    """Returns how many seconds of STOP_TIMEOUT_S remain after an order to stop, but at least `least`. Returns
    `least` if the process has seen no order to stop."""
    return max(least, _Now.told + STOP_TIMEOUT_S - time.monotonic()) if _Now.told else least


def _without_broker() -> None:
    """Ends the process during a stop if Celery does not end the process. If a broker accepts data but does
    not answer, Celery waits for the broker without a time limit, even if the worker is stopping and needs no
    more messages."""
    quiet = 0.0
    while quiet < min(BROKER_LOST_S, _left(1.5)):
        time.sleep(0.1)
        quiet = 0.0 if any(_stopping[1:]) else quiet + 0.1
    if _Now.keeper is not None:
        _Now.keeper.end(_left(0.3))
    log.warning("Celery waits for its broker: this worker ends without it")
    logging.shutdown()
    os._exit(0)


def _keep_aside(one: Malformed) -> None:
    if _Now.keeper is not None:
        _Now.keeper.keep_aside(one._asdict())


@signals.worker_shutdown.connect
def _shut_down(sender: Any = None, **_: Any) -> None:
    error = sys.exc_info()[1]
    if _Now.keeper is not None:
        _Now.keeper.end(min(5.0, _left(0.3)))
    asked = bool(_Now.told) or _stopping[0] == STOP or isinstance(error, WorkerShutdown | WorkerTerminate)
    _Now.code = 0
    if not asked:
        said, _Now.code = _unasked(error)
        print(f"gossamer: worker {_Now.name} ended unexpectedly: {said}", file=sys.stderr)
    if sender is not None and (not asked or not isinstance(sender.exitcode, int)):
        sender.exitcode = _Now.code  # the exit code if the command `celery` started the worker


def _unasked(error: BaseException | None) -> tuple[str, int]:
    """Returns the reason and the exit code for a worker that ended without an order."""
    if error is None:
        return "see its log; start it again", 1
    if isinstance(error, SystemExit):  # the message has already been printed
        return "see the line before", error.code if isinstance(error.code, int) else 1
    said = f"{type(error).__name__}: {mask(' '.join(str(error).split()))[:200]}"
    if isinstance(error, GossamerError):
        return str(error), error.exit_code
    if isinstance(error, OSError) and error.errno in OWN_LIMITS:
        return f"{said}: raise the limit, then start it again", ResourceError.exit_code
    if isinstance(error, OSError | OperationalError):
        return f"{said}: check whether its broker answers, then start it again", 8
    return f"{said}: a bug; start it again", 1


def exit_code() -> int:
    """Returns the exit code of the process, after Celery has returned. The exit code is 0 only if the process
    was asked to end."""
    return _Now.code


def _told() -> bool:
    """Returns whether the worker was ordered to stop or drain. Called in children."""
    if _stopping[0] == STOP:
        _Now.told = _Now.told or time.monotonic()
    return bool(_stopping[0])


def _terminated(*_: object) -> None:
    """Handles SIGTERM in a child. Supervisors such as systemd send SIGTERM to all processes of a worker at
    once. A child ignores such a SIGTERM, because the main process gives the orders to its children. However,
    if a SIGTERM arrives more than a second after the order to stop, the main process must end at once, and
    the child also ends."""
    if _Now.told and time.monotonic() - _Now.told > CHILD_SIGNAL_DELAY_S:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGTERM)


@signals.worker_process_init.connect
def _child(**_: Any) -> None:
    """Prepares a child process after the fork. The child process gets its own event loop and its own
    connections."""
    import uvloop

    from gossamer.app.process_tuning import settle_in

    settle_in()
    own = settings()
    start_traces(own.traces, own.trace_sample)
    _stopping[_place()] = 0
    _Now.keeper = None
    _Now.runner = asyncio.Runner(loop_factory=uvloop.new_event_loop)
    _Now.child = SliceProcess(WorkerProcess(_Now.name, own, _told, _Now.lanes))


@signals.worker_process_shutdown.connect
def _child_ends(**_: Any) -> None:
    if _Now.child is not None and _Now.runner is not None:
        with _at_work(), contextlib.suppress(GossamerError, TimeoutError):
            _Now.runner.run(asyncio.wait_for(_Now.child.close(), _left(0.3) if _Now.told else None))
        _Now.runner.close()
        _Now.child = None
    stop_traces()


def _drain() -> None:
    """Stops the worker from accepting new slices. Running slices finish."""
    _stopping[0] = DRAIN
    for lane in _Now.keeper.me.lanes if _Now.keeper is not None else ():
        app.control.cancel_consumer(lane, destination=[_Now.name])


def _stop() -> None:
    _stopping[0] = STOP
    os.kill(os.getpid(), signal.SIGTERM)


def _weigh() -> int:
    """Returns the memory of this process and its children, in bytes."""
    total = resident_memory()
    with contextlib.suppress(OSError):
        for task in os.listdir(f"/proc/{os.getpid()}/task"):
            with open(f"/proc/{os.getpid()}/task/{task}/children") as file:
                total += sum(resident_memory(int(pid)) for pid in file.read().split())
    return total
