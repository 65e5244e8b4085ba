"""The Celery application: `gossamer worker`, or `celery -A gossamer.fleet worker -Q http -n w1@%h`.

A message names a slot; who takes it crawls for a slice (60 s). Messages are acknowledged early, results are
not kept, nothing has a soft time limit: leases and the keeper bring back whatever dies. A hard limit ends a
slice that hangs.
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
"""Seconds beyond a slice after which its process is killed."""
MEANT = 1.0
"""Seconds after a stop began from which SIGTERM to a child means that child."""

WITHIN = 8.0
"""Seconds after a stop began in which all of its parts end."""
QUIET = 4.0
"""Seconds without a slice after which Celery, which was told to stop, has lost its broker."""

_stopping = mmap.mmap(-1, 1 + 256)
"""Shared by the main process and its children: what the worker was told, and then which child is at work, one
byte each."""
DRAIN, STOP = 1, 2
"""What it says when the worker was told so."""


def settings() -> Settings:
    """The settings of this process, read once; ConfigError when a fleet cannot run by them."""
    if _Now.settings is None:
        found = load()
        if found.store is None:
            raise ConfigError(
                "a worker needs a shared store: set GOSSAMER_STORE, or give --store valkey://HOST"
            )
        _Now.settings = found
    return _Now.settings


class bearing:  # noqa: N801 - reads as a word
    """The name of this worker, which no other bears."""

    token: str | None = None
    """What keeps it, where it was chosen before Celery began."""

    @staticmethod
    async def bear(own: Settings, name: str, *, fixed: bool) -> tuple[str, str]:
        """See `crew.bear`."""
        store = await open_url(own.store or "", embedded=False)
        try:
            return await bear(Crew(store), name, fixed=fixed)
        finally:
            await store.close()


class _Now:
    """What this process is: filled as Celery starts it."""

    settings: Settings | None = None
    keeper: WorkerKeeper | None = None
    child: SliceProcess | None = None
    runner: asyncio.Runner | None = None
    name = ""
    code = 1
    """What the process ends with; 0 once it is known that it was asked to end."""
    told = 0.0
    """When this child first saw that the worker is to stop."""
    lanes: tuple[str, ...] = ("http",)


def configuration() -> dict[str, Any]:
    """Celery's settings, from ours."""
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
    """A slice in this process; `intake` checked the message."""
    signal.signal(signal.SIGTERM, _terminated)  # not sooner: billiard sets its own after the process is made
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
    """Of this child's byte."""
    return 1 + int(getattr(current_process(), "index", 0)) % 256


@contextlib.contextmanager
def _at_work() -> Iterator[None]:
    """The main process sees that this child is."""
    _stopping[_place()] = 1
    try:
        yield
    finally:
        _stopping[_place()] = 0


def send(lane: str, slot: int, ticket: str) -> None:
    """Send the message for a slot."""
    app.send_task(TASK, (VERSION, lane, slot, ticket), queue=lane, retry=False)


@signals.celeryd_after_setup.connect
def _set_up(sender: str, instance: Any, **_: Any) -> None:
    """The main process, before it forks: the worker's name is its own, or it ends here."""
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
    """Seconds that are left of a stop; without one, and for the last of its parts, `least`."""
    return max(least, _Now.told + WITHIN - time.monotonic()) if _Now.told else least


def _without_broker() -> None:
    """End when Celery does not: it waits for ever for a broker that takes words and does not answer. No
    message is of use any more."""
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
        sender.exitcode = _Now.code  # what plain Celery ends with


def _unasked(error: BaseException | None) -> tuple[str, int]:
    """Why a worker ended that nobody asked to, and its exit code."""
    if error is None:
        return "see its log; start it again", 1
    if isinstance(error, SystemExit):  # it said why
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
    """What this process ends with, once Celery returned: 0 only when it was asked to end."""
    return _Now.code


def _told() -> bool:
    """Whether the worker was told to stop or drain, as a child asks."""
    if _stopping[0] == STOP:
        _Now.told = _Now.told or time.monotonic()
    return bool(_stopping[0])


def _terminated(*_: object) -> None:
    """SIGTERM to a child. Supervisors tell all processes of a worker at once (systemd does): what the child
    has to do it hears from the main process. Later it is meant: the main process was told to end at once."""
    if _Now.told and time.monotonic() - _Now.told > MEANT:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGTERM)


@signals.worker_process_init.connect
def _child(**_: Any) -> None:
    """A child, after the fork: its own loop, its own connections."""
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
    """No more slices here; those under way end."""
    _stopping[0] = DRAIN
    for lane in _Now.keeper.me.lanes if _Now.keeper is not None else ():
        app.control.cancel_consumer(lane, destination=[_Now.name])


def _stop() -> None:
    _stopping[0] = STOP
    os.kill(os.getpid(), signal.SIGTERM)


def _weigh() -> int:
    """Memory of this process and its children, in bytes."""
    total = memory()
    with contextlib.suppress(OSError):
        for task in os.listdir(f"/proc/{os.getpid()}/task"):
            with open(f"/proc/{os.getpid()}/task/{task}/children") as file:
                total += sum(memory(int(pid)) for pid in file.read().split())
    return total
