"""What `doctor` says of the fleet's brokers."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from gossamer.cli.findings import Finding
from gossamer.config.optional_deps import install
from gossamer.errors import ConfigError

if TYPE_CHECKING:
    from gossamer.config.settings import Settings


async def brokers(settings: Settings) -> list[Finding]:
    """One for each broker that is named. One that fails is bad where no other serves."""
    from gossamer.config.redaction import mask
    from gossamer.fleet.brokers import evicts, tried
    from gossamer.store.store_check import NOEVICTION

    if not settings.broker:
        return []
    try:
        said = [await asyncio.to_thread(tried, one, ()) for one in settings.broker]
    except ImportError:
        return [Finding("broker", "warn", "not asked: Celery is not here", install("fleet"))]
    except ConfigError as error:
        return [Finding("broker", "bad", str(error))]
    level = "bad" if all(said) else "warn"
    findings = []
    for one, why in zip(settings.broker, said, strict=True):
        if why:
            findings.append(Finding("broker", level, why, "mend it, or name another broker", 8))
            continue
        findings.append(Finding("broker", "ok", f"{mask(one)} answers"))
        if policy := await asyncio.to_thread(evicts, one):
            found = f"{mask(one)}: maxmemory-policy is {policy}: it forgets messages when it is full"
            findings.append(Finding("broker memory", "warn", found, NOEVICTION))
    return findings
