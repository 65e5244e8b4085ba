"""The faults that `chaos.Hit` describes, one function per fault. Each function strikes a worker, or a part
that the worker depends on, and returns False if there is nothing to strike."""

from __future__ import annotations

import os
import signal
import time
from typing import Any

import redis

from fleet.chaos import BACK, Chaos, Hit
from support.machines_apart import Machines

FREEZE, WRONG, CUT = 35.0, 20.0, 5.0
"""Seconds for which a worker is frozen (longer than a lease), its clock is wrong, and its network is cut."""
UP = 8.0
"""Seconds until the old master of the store is restarted. By then its replica is the master."""


def child(chaos: Chaos, name: str, whom: float) -> bool:
    """Sends SIGKILL to one crawling process."""
    children = chaos.parts[name].children() if _lives(chaos, name) else []
    if children:
        os.kill(children[int(whom * 997) % len(children)], signal.SIGKILL)
    return bool(children)


def main(chaos: Chaos, name: str, whom: float) -> bool:
    """Sends SIGKILL to a whole worker."""
    if not _lives(chaos, name):
        return False
    chaos.parts[name].kill()
    return True


def all_(chaos: Chaos, name: str, whom: float) -> bool:
    """Sends SIGKILL to all workers except frozen ones."""
    return [main(chaos, one, whom) for one in chaos.clocks].count(True) > 0


def broker(chaos: Chaos, name: str, whom: float) -> bool:
    """Sends SIGKILL to the broker, which later comes back with its data."""
    if chaos.broker.process is None or chaos.broker.process.poll() is not None:
        return False
    chaos.broker.kill()

    def back() -> None:
        with chaos.places.at("broker"):
            chaos.broker.start()

    chaos.later(BACK, back)
    return True


def master(chaos: Chaos, name: str, whom: float) -> bool:
    """Sends SIGKILL to the store's master if a replica follows it. Sentinel then promotes that replica."""
    leads = []
    for server in chaos.store.servers:
        try:
            with server.client() as client:
                info: Any = client.info("replication")
        except redis.RedisError:  # the server is just starting
            return False
        if info["role"] == "master" and info["connected_slaves"] and info["slave0"]["state"] == "online":
            leads.append(server)
    if len(leads) != 1:
        return False
    leads[0].kill()

    def back() -> None:
        with chaos.places.at("store"):
            leads[0].start()

    chaos.later(UP, back)
    return True


def scheduler(chaos: Chaos, name: str, whom: float) -> bool:
    """Sends SIGKILL to the scheduler that leads, so that the other scheduler takes over."""
    try:
        found = chaos.fleet.json("schedule", "list")
    except AssertionError:  # the store is unreachable at the moment
        return False
    pid = int((found[0]["scheduler"] or "::").split(":")[1] or 0)
    for part in (chaos.parts[one] for one in ("s0", "s1")):
        if part.process.pid == pid and part.process.poll() is None:
            part.kill()
            return True
    return False


def freeze(chaos: Chaos, name: str, whom: float) -> bool:
    """Stops a worker with SIGSTOP for longer than a lease."""
    if not _lives(chaos, name):
        return False
    worker, since = chaos.parts[name], time.monotonic()
    worker.signal(signal.SIGSTOP)
    chaos.busy.add(name)

    def wake() -> None:
        chaos.asleep.append((name, since, time.monotonic()))
        worker.signal(signal.SIGCONT)
        chaos.busy.discard(name)

    chaos.later(FREEZE, wake)
    return True


def clock(chaos: Chaos, name: str, whom: float) -> bool:
    """Sets the clock of a running worker back by an hour, and corrects it some time later."""
    file = chaos.clocks[name]
    if not _lives(chaos, name) or file.read_text() != "+0\n":
        return False
    _set(chaos, name, "-3600\n")
    chaos.later(WRONG, lambda: _set(chaos, name, "+0\n"))
    return True


def cut(chaos: Chaos, name: str, whom: float) -> bool:
    """Drops all packets between a worker and the store for a while."""
    assert isinstance(chaos.places, Machines)
    if not _lives(chaos, name):
        return False
    chaos.places.cut(name, "store", CUT)
    return True


def _lives(chaos: Chaos, name: str) -> bool:
    return name not in chaos.busy and chaos.parts[name].process.poll() is None


def _set(chaos: Chaos, name: str, text: str) -> None:
    aside = chaos.clocks[name].with_suffix(".new")
    aside.write_text(text)
    aside.replace(chaos.clocks[name])


KINDS: dict[str, Hit] = {
    "child": child,
    "main": main,
    "all": all_,
    "broker": broker,
    "master": master,
    "scheduler": scheduler,
    "freeze": freeze,
    "clock": clock,
    "cut": cut,
}
