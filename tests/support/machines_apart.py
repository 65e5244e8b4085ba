"""Simulates separate machines: network namespaces, connected by a process that delays, drops and blocks
packets.

That process reads the packets of each namespace from a TUN device. Therefore it needs no kernel module for
delay and loss, and can cut two machines off from each other while both still reach the others. Addresses are
10.200.0.N, and a machine may also answer for a whole network. `refused()` returns the reason if namespaces
are not available.
"""

from __future__ import annotations

import ctypes
import json
import os
import shutil
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from support import fork_server

NAMES = Path("/run/netns")
NETWORK = 0x40000000
_libc = ctypes.CDLL(None, use_errno=True)


class Machine(NamedTuple):
    """`delay` is the time in seconds that a packet takes to or from the machine. `network` is a network that
    the machine answers for, such as `10.0.0.0/16`."""

    name: str
    delay: float = 0.0
    network: str = ""


def refused() -> str:
    """Returns the reason why namespaces are not allowed here, or an empty string if they are."""
    if not shutil.which("ip"):
        return "there is no ip command: Debian's iproute2 has it"
    if not os.access("/dev/net/tun", os.R_OK | os.W_OK):
        return "there is no /dev/net/tun"
    done = subprocess.run(["ip", "netns", "add", f"gt{os.getpid()}"], capture_output=True, text=True)
    if done.returncode:
        return done.stderr.strip()
    subprocess.run(["ip", "netns", "del", f"gt{os.getpid()}"], check=True)
    return ""


def enter(fd: int) -> None:
    """Moves this thread into a namespace. Processes that the thread starts from now on belong to that
    namespace."""
    if _libc.setns(fd, NETWORK):
        raise OSError(ctypes.get_errno(), "setns")


@contextmanager
def inside(space: str) -> Iterator[None]:
    """Runs the block in a namespace."""
    with open("/proc/thread-self/ns/net") as home, open(NAMES / space) as there:
        enter(there.fileno())
        try:
            yield
        finally:
            enter(home.fileno())


class Machines:
    """Several simulated machines and the network between them."""

    def __init__(self, machines: Sequence[Machine], loss: float, seed: int) -> None:
        self.address = {one.name: f"10.200.0.{number}" for number, one in enumerate(machines, 1)}
        self._spaces = {one.name: f"gt{os.getpid()}-{one.name}" for one in machines}
        given = {
            "loss": loss,
            "seed": seed,
            "machines": [[*one, self._spaces[one.name], self.address[one.name]] for one in machines],
        }
        self._wire = fork_server.Popen(
            [sys.executable, Path(__file__).with_name("machines_cable.py"), json.dumps(given)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self._said()

    def at(self, name: str) -> Any:
        """Runs the block on a machine."""
        return inside(self._spaces[name])

    def cut(self, one: str, other: str, seconds: float) -> None:
        """Drop all packets between two machines for a while."""
        self._say("cut", self.address[one], self.address[other], seconds)

    def lost(self) -> list[tuple[int, str]]:
        """Returns the packets that were lost on their way to a network: the time (ns, monotonic) and the
        address of the recipient."""
        self._say("lost")
        return [(at, to) for at, to in self._said()]

    def close(self) -> None:
        """Remove the machines."""
        self._wire.communicate()

    def _say(self, *words: object) -> None:
        assert self._wire.stdin is not None
        print(json.dumps(words), file=self._wire.stdin, flush=True)

    def _said(self) -> Any:
        assert self._wire.stdout is not None
        return json.loads(self._wire.stdout.readline())


@contextmanager
def apart(machines: Sequence[Machine], loss: float = 0.0, seed: int = 1) -> Iterator[Machines]:
    """Runs simulated machines for the duration of the block. `loss` is the share of packets that are lost."""
    made = Machines(machines, loss, seed)
    try:
        yield made
    finally:
        made.close()


class Together:
    """A substitute for `Machines` where namespaces are not allowed. All parts run on this machine."""

    address: Mapping[str, str] = defaultdict(lambda: "127.0.0.1")

    @contextmanager
    def at(self, name: str) -> Iterator[None]:
        """Runs the block on this machine."""
        yield
