"""Finds the scheme of targets that are given without one: https, or http if the host speaks only that."""

from __future__ import annotations

import msgspec

from gossamer.app.job import Job
from gossamer.app.targets import target_kind


async def with_schemes(job: Job) -> Job:
    """Returns the job with `http://` before each target without a scheme whose host refuses https and accepts
    http. Crawls through proxies stay as they are, because this machine must not contact their hosts."""
    if job.settings.proxies:
        return job
    targets = [await with_scheme(text) for text in job.targets]
    return job if targets == job.targets else msgspec.structs.replace(job, targets=targets)


async def with_scheme(text: str) -> str:
    """Returns a target with `http://` before it if its host speaks only http. Raises UsageError."""
    if "://" in text:
        return text
    target = target_kind(text)
    if target.kind != "url" or target.text.partition("://")[2].rstrip("/") != text.rstrip("/"):
        return text
    from gossamer.egress.scheme_probe import accepts

    host, _, port = text.partition("/")[0].partition(":")
    if await accepts(host, int(port or 443), secure=True) or not await accepts(host, int(port or 80)):
        return text
    return f"http://{text}"
