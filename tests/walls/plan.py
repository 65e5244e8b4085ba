"""The hosts of a web of walls, drawn from a seed: their pages, what each defends itself with and when, and
how it says no.

A defence lets in from a rung on: `open` 0; `tls`, `h2`, `decoy` 1 (who shakes hands as a browser does);
`challenge`, `cookie`, `shell`, `lure` 2 (who runs scripts); `address` 3 (who does not come from here).
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
"""Hosts of each kind among sixty."""


@dataclass(frozen=True)
class Rate:
    """At most `most` pages in `window` seconds for an address; else `status`, and nothing for `ban` seconds."""

    most: int
    window: float
    ban: float
    status: int
    says: bool
    """Whether it says Retry-After."""


@dataclass(frozen=True)
class Host:
    """One host. `phases`: (seconds since its first page, defence); `classes`: defence of a folder, whatever
    the time."""

    name: str
    address: str
    kind: str
    paths: tuple[str, ...]
    phases: tuple[tuple[float, str], ...] = ((0.0, "open"),)
    classes: tuple[tuple[str, str], ...] = ()
    rate: Rate | None = None
    manner: int = 0
    """Which of its kind's pages it refuses with."""
    crawl_delay: float = 0.0
    guards_robots: bool = False
    """Its robots.txt stands behind its wall, too."""

    def defence(self, path: str, age: float) -> str:
        """What guards a path so many seconds after the first page."""
        folder = path.split("/")[1] if path.count("/") > 1 else ""
        if folder in (known := dict(self.classes)):
            return known[folder]
        return next((defence for since, defence in reversed(self.phases) if age >= since), "open")

    def due(self) -> list[str]:
        """The paths that a crawl should bring."""
        return [path for path in self.paths if self.defence(path, 0.0) != "forbidden"]


def web(seed: int, hosts: int = 60, pages: tuple[int, int] = (28, 40), phase: float = 10.0) -> list[Host]:
    """A web. `phase`: seconds that a wall that comes and goes stands, about."""
    draw = random.Random(f"walls {seed}")
    kinds = [kind for kind, n in USUAL.items() for _ in range(n)]
    if hosts < len(kinds):  # one of each first
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
    """What only the true page has."""
    return hashlib.sha256(f"{seed} {host} {path}".encode()).hexdigest()[:16]
