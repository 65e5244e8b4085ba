"""Ready plans."""

from __future__ import annotations

import dataclasses
from typing import Any

from web.plan import FEATURES, Plan

POLITE = (
    "private",
    "sitemaps",
    "tracking",
    "duplicates",
    "redirects",
    "nofollow",
    "status",
    "flaky",
    "types",
    "encodings",
    "external",
)
HOSTILE = ("slow", "keepalive", "lies", "hang", "endless", "bombs")
ROBOTS_MIX = ("part", "allow", "missing", "delay", "agent", "big", "chain", "403", "rate", "bom")

PRESETS: dict[str, Plan] = {
    "tiny": Plan("tiny", pages=30, links=12, hrefs=20, fanout=6, size=4_000),
    "small": Plan(
        "small",
        hosts=5,
        pages=60,
        links=20,
        hrefs=40,
        fanout=8,
        size=8_000,
        robots=ROBOTS_MIX[:5],
        crawl_delay=(0.3,),
        features=POLITE,
    ),
    "real2k": Plan("real2k", pages=2_000),
    "real10k": Plan("real10k", pages=10_000),
    "hosts50": Plan(
        "hosts50",
        hosts=50,
        pages=12,
        links=12,
        hrefs=20,
        fanout=4,
        size=6_000,
        latency=0.005,
        spread=0.1,
        robots=("part", "delay", "missing", "rate", "allow", "delay", "agent", "403", "delay", "chain"),
        crawl_delay=(0.3, 0.5, 0.4, 1.0, 0.35, 0.8, 0.6),
        features=("private",),
    ),
    "traps": Plan(
        "traps",
        hosts=2,
        pages=1200,
        links=30,
        hrefs=60,
        fanout=8,
        size=8_000,
        robots=("part",),
        features=("private", "tracking", "traps"),
    ),
    "hostile": Plan(
        "hostile",
        hosts=2,
        pages=30,
        links=12,
        hrefs=20,
        fanout=6,
        size=4_000,
        robots=("missing", "part"),
        features=("private", "nofollow", "redirects", "status", "flaky", "types", "encodings", *HOSTILE),
    ),
    "robots": Plan(
        "robots",
        hosts=16,
        pages=8,
        links=8,
        hrefs=10,
        fanout=4,
        size=3_000,
        features=("private",),
        crawl_delay=(0.3,),
        robots=(
            "missing",
            "allow",
            "empty",
            "part",
            "none",
            "agent",
            "delay",
            "rate",
            "403",
            "500",
            "500-once",
            "hang",
            "chain",
            "big",
            "html",
            "bom",
        ),
    ),
    "all": Plan(
        "all",
        hosts=3,
        pages=40,
        links=12,
        hrefs=20,
        fanout=6,
        size=4_000,
        robots=("part", "delay", "missing"),
        features=FEATURES,
        spam=20,
        crawl_delay=(0.3,),
    ),
    "big": Plan("big", pages=200_000, warm=False, cache=2_000),
}


def preset(name: str, **changes: Any) -> Plan:
    """Returns a ready plan with some fields changed: `preset("small", hosts=2)`. Raises KeyError with the
    available names for an unknown name."""
    if name not in PRESETS:
        raise KeyError(f"no preset {name!r}; there are {', '.join(PRESETS)}")
    return dataclasses.replace(PRESETS[name], **changes)
