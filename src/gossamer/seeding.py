"""Targets -> seeds in the frontier: reads them, joins them to sites, adds them in batches; what is no request is kept aside."""

from __future__ import annotations

import asyncio
from pathlib import Path

import msgspec

from gossamer import sites as site_files
from gossamer import targets
from gossamer import url as urls
from gossamer.assemble import Bench, Job, Output, Setup
from gossamer.errors import UsageError, of_data
from gossamer.frontier.crawls import Record, Spec, check_name
from gossamer.frontier.spiller import bound
from gossamer.frontier.steer import Steer
from gossamer.frontier.store import Store
from gossamer.request import Request
from gossamer.road.taker import Taken
from gossamer.sites import acting

BATCH = 5000
"""Seeds added in one go."""


def prepare(job: Job, only: str | None = None) -> tuple[Setup, list[Request]]:
    """Read the targets: what every worker shares, and the seeds (or `only` one). Raises UsageError, ConfigError."""
    if not job.targets and only is None:
        raise UsageError("no TARGET: name a URL, a site file, a list, sitemap:URL, feed:URL or - for stdin")
    read = [targets.read(text) for text in job.targets]
    sites = site_files.load_all(job.targets, job.args)
    if only is None:
        job = msgspec.structs.replace(job, outputs=[*job.outputs, *own_outputs(sites)])
    name = job.name or targets.crawl_name(read, [site.name for site in sites])
    check_name(name)  # before the first folder of that name
    rejected: list[targets.Rejected] = []
    given: list[Request] = []
    credentials: dict[str, tuple[str, str]] = {}
    plain = [request for target in read if target.kind != "site" for request in targets.requests(target, rejected)]
    wanted = [*plain, *(seed for site in sites for seed in site.requests())]
    if only is not None:
        wanted = list(targets.requests(targets.read(only), rejected))
    for request in wanted:
        bare, secret = urls.split_credentials(request.url)
        if secret is not None:
            credentials[urls.origin(bare)] = secret
        given.append(msgspec.structs.replace(request, url=bare, priority=request.priority or job.priority))
    if rejected:
        keep_aside(Path(job.settings.data) / name, rejected)
    if not given:
        raise UsageError(_no_seeds(rejected))
    s = job.settings
    spec = Spec(
        sorted(job.targets), s.scope, sorted(s.include), sorted(s.exclude), s.depth, s.agent, s.seen,
        sorted(s.drop_parameters),
    )  # fmt: skip
    return Setup(
        job=job, crawl=name, spec=spec, store="", seeds=anchors(given, s.scope) + site_hosts(sites, s.scope), credentials=credentials,
        sites={site.name: site.version for site in sites},
        allowed=sorted({urls.host(request.url) for request in given}), alone=s.processes == 1,
    ), given  # fmt: skip


def own_outputs(sites: list[site_files.LoadedSite]) -> list[Output]:
    """Where sites keep their own items; several may name the same."""
    found: dict[str, list[str]] = {}
    for site in sites:
        for spec in site.site.sinks:
            found.setdefault(spec, []).append(site.name)
    return [Output(spec, sites=tuple(names)) for spec, names in found.items()]


def anchors(given: list[Request], scope: str) -> list[str]:
    """The URLs that make the scope: of very many one a host is enough, unless the paths matter."""
    if scope in ("page", "prefix") or len(given) <= 10_000:
        return list(dict.fromkeys(request.url for request in given))
    return list({urls.host(request.url): request.url for request in reversed(given)}.values())[::-1]


def site_hosts(sites: list[site_files.LoadedSite], scope: str) -> list[str]:
    """The front pages of the hosts that sites name: they are in the scope, whether a seed lies there or not."""
    if scope not in ("host", "domain"):
        return []
    return [f"https://{host}/" for site in sites for host in acting.hosts(site)]


async def seed(setup: Setup, store: Store, given: list[Request], record: Record) -> None:
    """Add the seeds, in batches; adding them again changes nothing."""
    bench_stop = asyncio.Event()
    bench = Bench(setup, store, "door", bench_stop)
    try:
        await bound(store, setup.crawl, bench.hot)
        flags = "r" if record.seeded else ""  # a known seed is not found a second time
        taken = Taken()
        for number, request in enumerate(given, 1):
            infra = "i" if (request.use or "").startswith("@") else "s"
            bench.taker.request(request, taken, flags=flags + infra)
            if number % BATCH == 0 or number == len(given):
                await bench.frontier.add(taken.adds)
                if not record.seeded:
                    await bench.frontier.count(
                        {**{f"skip:{k}": n for k, n in taken.skips.items()}, "found": taken.found}
                    )
                taken = Taken()
        await bench.crawls.seeded(setup.crawl)
        for site in bench.sites:
            if site.site.pace is not None and site.site.pace.per_host is not None:
                for host in acting.hosts(site):
                    await Steer(store).at_once(host, site.site.pace.per_host)
    finally:
        await bench.close()


def keep_aside(folder: Path, rejected: list[targets.Rejected]) -> None:
    """Write bad seed lines beside the crawl, so that none is lost."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with open(folder / "rejected.jsonl", "wb") as file:
            file.writelines(msgspec.json.encode(line) + b"\n" for line in rejected)
    except OSError as error:
        raise of_data(folder.parent, error) from error


def _no_seeds(rejected: list[targets.Rejected]) -> str:
    if not rejected:
        return "the targets hold no seeds: give URLs, one a line, or JSON lines with a url"
    first = rejected[0]
    where = f"{first.source} line {first.line}: {first.reason}; write URLs, one a line, or JSON lines with a url"
    return f"none of the {len(rejected)} lines is a request; {where}" if len(rejected) > 1 else where
