"""The hosts of a web of walls, generated from a seed: their pages, their defences with the times of these,
and their block pages.

Each defence lets clients pass from a rung on: `open` from 0. `tls`, `h2` and `decoy` from 1 (the handshake of
a browser). `challenge`, `cookie`, `shell` and `lure` from 2 (a client that runs scripts). `address` from 3 (a
client from another address).
"""

from __future__ import annotations

import hashlib
import itertools
import random
from dataclasses import dataclass

NEEDS = {
    "open": 0,
    "tls": 1,
    "h2": 1,
    "decoy": 1,
    "challenge": 2,
    "cookie": 2,
    "shell": 2,
    "lure": 2,
    "address": 3,
    "forbidden": 9,
}
SCRIPTED = ("challenge", "cookie", "shell", "lure")
USUAL = {
    "open": 23,
    "rate": 8,
    "tls": 9,
    "h2": 3,
    "decoy": 3,
    "script": 3,
    "address": 1,
    "turns": 6,
    "classes": 3,
    "forbidden": 1,
}
"""The number of hosts of each kind, of sixty hosts."""


@dataclass(frozen=True)
class Rate:
    """Allows an address at most `most` pages in `window` seconds. Further requests get `status`, and nothing
    is served for `ban` seconds."""

    most: int
    window: float
    ban: float
    status: int
    says: bool
    """Whether the answer contains Retry-After."""


@dataclass(frozen=True)
class Host:
    """One host. `phases` contains (seconds since the first page, defence). `classes` contains the defence of
    a folder, which is independent of time."""

    name: str
    address: str
    kind: str
    paths: tuple[str, ...]
    phases: tuple[tuple[float, str], ...] = ((0.0, "open"),)
    classes: tuple[tuple[str, str], ...] = ()
    rate: Rate | None = None
    manner: int = 0
    """Selects one of the block pages of a defence."""
    crawl_delay: float = 0.0
    guards_robots: bool = False
    """Whether the wall also protects robots.txt."""

    def defence(self, path: str, age: float) -> str:
        """Returns the defence of a path, `age` seconds after the first page."""
        folder = path.split("/")[1] if path.count("/") > 1 else ""
        if folder in (known := dict(self.classes)):
            return known[folder]
        return next((defence for since, defence in reversed(self.phases) if age >= since), "open")

    def due(self) -> list[str]:
        """Returns the paths that a crawl should fetch."""
        return [path for path in self.paths if self.defence(path, 0.0) != "forbidden"]


def web(seed: int, hosts: int = 60, pages: tuple[int, int] = (28, 40), phase: float = 10.0) -> list[Host]:
    """Returns the hosts of a web. `phase` is the approximate time, in seconds, for which an intermittent wall
    stands."""
    draw = random.Random(f"walls {seed}")
    kinds = [kind for kind, n in USUAL.items() for _ in range(n)]
    if hosts < len(kinds):  # one of each kind first
        kinds = [*USUAL, *(kinds[n] for n in range(0, len(kinds), 5))][:hosts]
    scripts, later = draw.sample(SCRIPTED, 4), ["tls", "challenge", "h2", "tls", "cookie", "decoy"]
    made = []
    for n, kind in enumerate(kinds):
        number = draw.randint(*pages)
        folders = ("a", "b", "c") if kind == "classes" else ("p",)
        paths = tuple(f"/{folders[i % len(folders)]}/{i}" for i in range(1, number))
        more: dict[str, object] = {}
        if kind == "rate":
            status, ban = (429, 429, 403)[n % 3], draw.uniform(0.1, 0.6) * phase
            more = {"rate": Rate(draw.randint(6, 10), phase, ban, status, draw.random() < 0.5)}
        elif kind == "turns":
            ends = itertools.accumulate(draw.uniform(0.6, 1.4) * phase for _ in range(12))
            both = ("open", later[n % 6]) if draw.random() < 0.7 else (later[n % 6], "open")
            more = {"phases": tuple((since, both[i % 2]) for i, since in enumerate([0.0, *ends]))}
        elif kind in ("classes", "forbidden"):
            folder = "b" if kind == "classes" else "q"
            more = {
                "classes": (
                    (folder, ("challenge", "tls", "shell")[n % 3] if kind == "classes" else "forbidden"),
                )
            }
            paths += tuple(f"/q/{i}" for i in range(4)) if kind == "forbidden" else ()
        elif kind != "open":
            more = {"phases": ((0.0, scripts[n % 4] if kind == "script" else kind),)}
        guards = kind == "tls" and draw.random() < 0.5
        slow = 1.5 if kind in ("open", "tls") and draw.random() < 0.1 else 0.0
        made.append(
            Host(
                f"{kind}{n}.test",
                f"127.1.0.{n + 1}",
                kind,
                ("/", *paths),
                manner=draw.randrange(6),
                guards_robots=guards,
                crawl_delay=slow,
                **more,
            )  # type: ignore[arg-type]
        )
    return made


def token(seed: int, host: str, path: str) -> str:
    """Returns the token that only the true page contains."""
    return hashlib.sha256(f"{seed} {host} {path}".encode()).hexdigest()[:16]
