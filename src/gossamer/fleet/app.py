"""The Celery application, started by `gossamer worker` or by
`celery -A gossamer.fleet worker -Q http -n w1@%h`.

A message names a slot. The process that receives it crawls for one slice (60 s). Messages are acknowledged
early, results are not stored, and no task has a soft time limit, because leases and the keeper recover the work
of a process that dies. A hard limit ends a slice that hangs.
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
from gossamer.app.wiring import open_url
from gossamer.config.redaction import mask, mask_logs
from gossamer.config.resources import memory
from gossamer.config.settings import Settings, load
from gossamer.errors import OWN_LIMITS, ConfigError, GossamerError, ResourceError
from gossamer.fleet.active_crawls import Me
from gossamer.fleet.brokers import all_of
from gossamer.fleet.child import SliceProcess
from gossamer.fleet.intake import TASK, VERSION, Malformed, refused
from gossamer.fleet.keeper import WorkerKeeper
from gossamer.state.workers import Crew, WorkerRecord, bear

log = logging.getLogger("gossamer.worker")

HANG = 60.0
"""Seconds after the end of a slice after which its process is killed."""
MEANT = 1.0
"""Seconds after a stop began from which on a SIGTERM to a child is meant for the child."""

WITHIN = 8.0
"""Seconds in which all parts of a worker end after a stop began."""
QUIET = 4.0
"""Seconds without a slice after which a Celery worker that was told to stop has lost its broker."""

_stopping = mmap.mmap(-1, 1 + 256)
"""Memory shared by the main process and its children: the order that the worker got, then one byte per child
that says whether it is at work."""
DRAIN, STOP = 1, 2
"""The values of the order."""


def settings() -> Settings:
    """Returns the settings of this process, read once. Raises ConfigError if a fleet cannot run with them."""
    if _Now.settings is None:
        found = load()
        if found.store is None:
            raise ConfigError(
                "a worker needs a shared store: set GOSSAMER_STORE, or give --store valkey://HOST"
            )
        _Now.settings = found
    return _Now.settings


class bearing:  # noqa: N801 - reads as a word
    """The name of this worker, which no other live worker has."""

    token: str | None = None
    """The token that proves the name's ownership, if the name was chosen before Celery started."""

    @staticmethod
    async def bear(own: Settings, name: str, *, fixed: bool) -> tuple[str, str]:
        """See `state.workers.bear`."""
        store = await open_url(own.store or "", embedded=False)
        try:
            return await bear(Crew(store), name, fixed=fixed)
        finally:
            await store.close()


class _Now:
    """The state of this process, filled in while Celery starts."""

    settings: Settings | None = None
    keeper: WorkerKeeper | None = None
    child: SliceProcess | None = None
    runner: asyncio.Runner | None = None
    name = ""
    code = 1
    """The exit code of the process. 0 once it is known that it was asked to end."""
    told = 0.0
    """When this child first saw that the worker is to stop."""
    lanes: tuple[str, ...] = ("http",)


def configuration() -> dict[str, Any]:
    """Returns Celery's settings, made from ours."""
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
        "task_time_limit": own.slice + HANG,
        "task_soft_time_limit": None,
        "worker_prefetch_multiplier": 1,
        "worker_disable_prefetch": True,
        "worker_max_tasks_per_child": slices,
        "worker_max_memory_per_child": own.recycle_memory // 1024,
        "worker_cancel_long_running_tasks_on_connection_loss": False,
        "worker_hijack_root_logger": False,
        "worker_redirect_stdouts": False,
        "worker_proc_alive_timeout": 30.0,
        "worker_consumer": "gossamer.fleet.intake:Consumer",
    }


def _made() -> Any:
    mask_logs()
    made = Celery("gossamer", set_as_current=False)
    made.add_defaults(configuration)
    return made


app = _made()


@app.task(name=TASK, ignore_result=True)
def slice_(_version: int, lane: str, slot: int, ticket: str) -> None:
    """Runs a slice in this process. `intake` has checked the message."""
    signal.signal(
        signal.SIGTERM, _terminated
    )  # only here, because billiard sets its own handler after the process was created
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
        except Exception as error:  # noqa: BLE001 - each transport has errors of its own; a keeper sends it soon
            log.warning("the broker does not take the message for slot %s:%d: %s", lane, slot, error)


def _place() -> int:
    """Returns the index of this child's byte."""
    return 1 + int(getattr(current_process(), "index", 0)) % 256


@contextlib.contextmanager
def _at_work() -> Iterator[None]:
    """Marks this child as being at work for the main process."""
    _stopping[_place()] = 1
    try:
        yield
    finally:
        _stopping[_place()] = 0


def send(lane: str, slot: int, ticket: str) -> None:
    """Sends the message of a slot."""
    app.send_task(TASK, (VERSION, lane, slot, ticket), queue=lane, retry=False)


@signals.celeryd_after_setup.connect
def _set_up(sender: str, instance: Any, **_: Any) -> None:
    """Runs in the main process before it forks. Claims the worker's name, or ends the process."""
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
            version=__version__,
            region=own.region or "",
        )
        _Now.name, _Now.lanes = sender, tuple(lanes)
        _Now.keeper = WorkerKeeper(
            own.store or "", me, token, send=send, weigh=_weigh, drain=_drain, stop=_stop
        )
        refused.keep = _keep_aside
    except GossamerError as error:
        print(f"gossamer: {error}", file=sys.stderr)
        raise SystemExit(error.exit_code) from None


@signals.worker_ready.connect
def _ready(**_: Any) -> None:
    if _Now.keeper is not None:
        _Now.keeper.start()


@signals.worker_shutting_down.connect
def _shutting_down(**_: Any) -> None:
    _stopping[0] = STOP
    _Now.told = _Now.told or time.monotonic()
    if _Now.keeper is not None:
        _Now.keeper.me.state = "stopping"
    threading.Thread(target=_without_broker, name="stop", daemon=True).start()


def _left(least: float) -> float:
    """Returns the seconds that are left of a stop. Returns `least` if there is no stop, and for its last
    part."""
    return max(least, _Now.told + WITHIN - time.monotonic()) if _Now.told else least


def _without_broker() -> None:
    """Ends the process if Celery does not: Celery waits without end for a broker that accepts requests and
    does not answer. No message matters any more."""
    quiet = 0.0
    while quiet < min(QUIET, _left(1.5)):
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
        print(f"gossamer: worker {_Now.name} ended though nobody asked it to: {said}", file=sys.stderr)
    if sender is not None and (not asked or not isinstance(sender.exitcode, int)):
        sender.exitcode = _Now.code  # the exit code of plain Celery


def _unasked(error: BaseException | None) -> tuple[str, int]:
    """Returns why a worker ended although nobody asked it to, and its exit code."""
    if error is None:
        return "see its log; start it again", 1
    if isinstance(error, SystemExit):  # it has reported the reason
        return "see the line before", error.code if isinstance(error.code, int) else 1
    said = f"{type(error).__name__}: {mask(' '.join(str(error).split()))[:200]}"
    if isinstance(error, GossamerError):
        return str(error), error.exit_code
    if isinstance(error, OSError) and error.errno in OWN_LIMITS:
        return f"{said}: raise the limit, then start it again", ResourceError.exit_code
    if isinstance(error, OSError | OperationalError):
        return f"{said}: see whether its broker answers, then start it again", 8
    return f"{said}: a bug; start it again", 1


def exit_code() -> int:
    """Returns the exit code of this process after Celery returned. 0 only if it was asked to end."""
    return _Now.code


def _told() -> bool:
    """Returns whether the worker was told to stop or drain. Children call this."""
    if _stopping[0] == STOP:
        _Now.told = _Now.told or time.monotonic()
    return bool(_stopping[0])


def _terminated(*_: object) -> None:
    """Handles SIGTERM in a child. Supervisors such as systemd signal all processes of a worker at once, and a
    child gets its orders from the main process. A later signal is obeyed, because then the main process
    was told to end at once."""
    if _Now.told and time.monotonic() - _Now.told > MEANT:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGTERM)


@signals.worker_process_init.connect
def _child(**_: Any) -> None:
    """Initializes a child after the fork: it has its own loop and its own connections."""
    import uvloop

    from gossamer.app.interpreter import settle_in

    settle_in()
    _stopping[_place()] = 0
    _Now.keeper = None
    _Now.runner = asyncio.Runner(loop_factory=uvloop.new_event_loop)
    _Now.child = SliceProcess(Me(_Now.name, settings(), _told, _Now.lanes))


@signals.worker_process_shutdown.connect
def _child_ends(**_: Any) -> None:
    if _Now.child is not None and _Now.runner is not None:
        with _at_work(), contextlib.suppress(GossamerError, TimeoutError):
            _Now.runner.run(asyncio.wait_for(_Now.child.close(), _left(0.3) if _Now.told else None))
        _Now.runner.close()
        _Now.child = None


def _drain() -> None:
    """Starts no more slices here. Running ones end normally."""
    _stopping[0] = DRAIN
    for lane in _Now.keeper.me.lanes if _Now.keeper is not None else ():
        app.control.cancel_consumer(lane, destination=[_Now.name])


def _stop() -> None:
    _stopping[0] = STOP
    os.kill(os.getpid(), signal.SIGTERM)


def _weigh() -> int:
    """Returns the memory of this process and its children in bytes."""
    total = memory()
    with contextlib.suppress(OSError):
        for task in os.listdir(f"/proc/{os.getpid()}/task"):
            with open(f"/proc/{os.getpid()}/task/{task}/children") as file:
                total += sum(memory(int(pid)) for pid in file.read().split())
    return total
