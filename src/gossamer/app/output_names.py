"""Fills in the names `{date}`, `{crawl}` and `{site}` in outputs."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import msgspec

from gossamer.app.job import Job, JobOutput
from gossamer.app.repair import begin_date, read_crawl_file
from gossamer.errors import UsageError
from gossamer.sinks.sink_url import kind_of

NAMES = ("date", "crawl", "site")
_NAME = re.compile(r"\{(\{|[^{}]*\})|\}\}")


def with_names(job: Job, crawl: str, sites: Sequence[str]) -> Job:
    """Replaces the placeholders in the outputs of a job, and returns the job. `{date}` is the day (UTC) on
    which the crawl or its pass began, so a crawl that is continued keeps its outputs. An output with `{site}`
    becomes one output for each site. Raises UsageError."""
    given = [*(one.spec for one in job.outputs), job.pages or "", job.attempts or "", job.graph or ""]
    if not any("{" in spec for spec in given):
        return job
    values = {"crawl": crawl, "date": begin_date(job, read_crawl_file(Path(job.settings.data) / crawl))}
    outputs = list[JobOutput]()
    for one in job.outputs:
        if not _has_site(one.spec):
            outputs.append(msgspec.structs.replace(one, spec=fill(one.spec, values)))
            continue
        if not sites:
            raise UsageError(
                f"-o {one.spec}: {{site}} is the name of a site file's site, but the crawl has no site file"
            )
        for site in one.sites or sites:
            spec = fill(one.spec, {**values, "site": site})
            outputs.append(msgspec.structs.replace(one, spec=spec, sites=(site,)))
    pages, attempts, graph = (spec and fill(spec, values) for spec in (job.pages, job.attempts, job.graph))
    return msgspec.structs.replace(job, outputs=outputs, pages=pages, attempts=attempts, graph=graph)


def fill(spec: str, values: dict[str, str]) -> str:
    """Returns an output with the values of its placeholders filled in. `{{` and `}}` are braces. The query
    part of a URL is not changed, because braces have another meaning in the query part. Raises UsageError for
    any other name.

    >>> fill("{crawl}-{date}.jsonl", {"crawl": "books", "date": "2026-11-24"})
    'books-2026-11-24.jsonl'
    """
    path, mark, query = spec.partition("?") if "://" in spec else (spec, "", "")
    lax = kind_of(spec) is not None

    def value(found: re.Match[str]) -> str:
        name = found[1]
        if name is None or name == "{":
            return found[0] if lax else found[0][0]
        if name[:-1] in values:
            return values[name[:-1]]
        if lax or path[found.start() - 1 : found.start()] == "$":  # ${env:NAME}
            return found[0]
        raise UsageError(
            f"-o {spec}: there is no name {{{name}; there are {', '.join(f'{{{one}}}' for one in NAMES)}; "
            "write {{ for a brace"
        )

    return _NAME.sub(value, path) + mark + query


def _has_site(spec: str) -> bool:
    return any(found[1] == "site}" for found in _NAME.finditer(spec.partition("?")[0]))
