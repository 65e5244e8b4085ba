"""Whether a server may keep a frontier: what its INFO says, without asking for more rights than that."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

OLDEST = {"server": (6, 2), "cluster": (7, 0)}
"""The oldest servers that know our commands; in a Cluster scripts look over the buckets of a node."""
NOEVICTION = "CONFIG SET maxmemory-policy noeviction"


class Remark(NamedTuple):
    """One thing that is not as it should be. `bad`: the store must not be used so."""

    what: str
    bad: bool
    found: str
    advice: str


def name(info: Mapping[str, Any]) -> str:
    """The program and its version."""
    version = info.get("valkey_version") or info.get("redis_version") or "of unknown version"
    return f"{info.get('server_name', 'redis')} {version}"


def remarks(info: Mapping[str, Any], kind: str) -> Iterator[Remark]:
    """What to say of a server; `kind` is that of its address."""
    if not info:
        yield Remark(
            "rights", False, "the user may not call INFO: replicas and eviction cannot be looked at", "grant it +info"
        )
        return
    oldest = OLDEST.get(kind, OLDEST["server"])
    version = tuple(map(int, re.findall(r"\d+", str(info.get("redis_version", "")))[:2]))
    if version and version < oldest:
        yield Remark(
            "version", True, f"{name(info)} is too old", f"use Valkey, or Redis {'.'.join(map(str, oldest))} or newer"
        )
    policy, most = str(info.get("maxmemory_policy", "")), int(info.get("maxmemory", 0) or 0)
    if most and policy and policy != "noeviction":
        yield Remark("memory", True, f"maxmemory-policy is {policy}: it forgets URLs when it is full", NOEVICTION)
    if not most and "maxmemory" not in info:
        yield Remark(
            "memory", False, "it does not say whether it evicts", "make sure that maxmemory-policy is noeviction"
        )
    if str(info.get("aof_enabled", "0")) != "1":
        yield Remark(
            "disk",
            False,
            "append-only file off",
            "CONFIG SET appendonly yes, or a restart forgets what came since its last save",
        )
