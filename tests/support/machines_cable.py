"""The network of `apart`, as a process. It creates the namespaces, forwards packets between them, and removes
them when its stdin is closed."""

from __future__ import annotations

import contextlib
import fcntl
import heapq
import itertools
import json
import os
import random
import select
import struct
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from support.machines_apart import inside

TUNSETIFF, PLAIN = 0x400454CA, 0x1001
MOST = 64
"""The number of packets that are taken from one machine before the next machine has its turn."""


def ip(*words: str) -> None:
    """Runs a command of iproute2."""
    subprocess.run(["ip", *words], check=True)


def attach(space: str, address: str, network: str) -> int:
    """Creates a namespace. Returns the file through which its packets are read and written."""
    ip("netns", "add", space)
    with inside(space):
        fd = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
        fcntl.ioctl(fd, TUNSETIFF, struct.pack("16sH22x", b"eth0", PLAIN))
        ip("link", "set", "lo", "up")
        ip("link", "set", "eth0", "up", "txqueuelen", "5000")
        ip("addr", "add", f"{address}/32", "dev", "eth0")
        ip("route", "add", "default", "dev", "eth0", "src", address)
        if network:
            ip("route", "add", "local", network, "dev", "lo")
    return fd


def packed(address: str) -> bytes:
    return bytes(map(int, address.split(".")))


class Cable:
    """Forwards packets between machines, by address or by the first two numbers of a network."""

    def __init__(self, given: dict[str, Any]) -> None:
        self._loss, self._random = given["loss"], random.Random(given["seed"])
        self._fds: dict[bytes, int] = {}
        self._delays: dict[int, float] = {}
        self._networks: set[bytes] = set()
        self._cuts: dict[frozenset[bytes], float] = {}
        self._way: list[tuple[float, int, int, bytes]] = []
        self._numbers = itertools.count()
        self._lost: list[tuple[int, str]] = []
        for _, delay, network, space, address in given["machines"]:
            fd = attach(space, address, network)
            self._delays[fd] = delay
            self._fds[packed(address)] = fd
            if network:
                self._networks.add(short := packed(network.partition("/")[0])[:2])
                self._fds[short] = fd

    def run(self) -> None:
        """Forward packets until stdin is closed."""
        poll = select.epoll()
        for fd in {0, *self._delays}:
            poll.register(fd, select.EPOLLIN)
        while True:
            wait = max(0.0, self._way[0][0] - time.monotonic()) if self._way else -1
            for fd, _ in poll.poll(wait):
                if fd:
                    self._take(fd)
                elif not self._hear():
                    return
            while self._way and self._way[0][0] <= time.monotonic():
                _, _, to, packet = heapq.heappop(self._way)
                self._put(to, packet)

    def _take(self, fd: int) -> None:
        for _ in range(MOST):
            try:
                packet = os.read(fd, 65536)
            except BlockingIOError:
                return
            source, target = packet[12:16], packet[16:20]
            to = self._fds.get(target) or self._fds.get(target[:2])
            if packet[0] >> 4 != 4 or to is None or self._gone(source, target, packet):
                continue
            if delay := self._delays[fd] + self._delays[to]:
                heapq.heappush(self._way, (time.monotonic() + delay, next(self._numbers), to, packet))
            else:
                self._put(to, packet)

    def _gone(self, source: bytes, target: bytes, packet: bytes) -> bool:
        if self._cuts and self._cuts.get(frozenset((source, target)), 0.0) > time.monotonic():
            return True
        if not self._loss or self._random.random() >= self._loss:
            return False
        if target[:2] in self._networks and len(packet) > 60 + 20:
            self._lost.append((time.monotonic_ns(), ".".join(map(str, target))))
        return True

    def _put(self, to: int, packet: bytes) -> None:
        with contextlib.suppress(OSError):  # the queue is full, so the packet is lost, as on a real network
            os.write(to, packet)

    def _hear(self) -> bool:
        line = sys.stdin.buffer.raw.readline()  # type: ignore[attr-defined] # nothing may wait in a buffer
        if not line:
            return False
        word, *args = json.loads(line)
        if word == "cut":
            self._cuts[frozenset(map(packed, args[:2]))] = time.monotonic() + args[2]
        else:
            print(json.dumps(self._lost), flush=True)
        return True


def main() -> None:
    given = json.loads(sys.argv[1])
    try:
        cable = Cable(given)
        # real-time priority, because busy processes must not slow the simulated network down
        with contextlib.suppress(OSError):
            os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))
        print("true", flush=True)
        cable.run()
    finally:
        for *_, space, _ in given["machines"]:
            subprocess.run(["ip", "netns", "del", space], stderr=subprocess.DEVNULL, check=False)


if __name__ == "__main__":
    main()
