"""Reads the targets of a crawl and adds their seeds to the frontier in batches. Lines that are not valid
requests are rejected."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec

from gossamer import sites as site_files
from gossamer import url as urls
from gossamer.app import targets
from gossamer.app.enqueuer import Enqueuer, seed_form
from gossamer.app.job import Job, JobOutput, Setup
from gossamer.app.preflight import output_values
from gossamer.app.producer_runner import keep_aside
from gossamer.app.producers.registry import is_producer_target, producer_of
from gossamer.app.producers.source import UrlProducer
from gossamer.app.revisit_setup import with_site_rules
from gossamer.app.sink_setup import make_outputs
from gossamer.config.data_files import make_private
from gossamer.config.redaction import mask_user_info
from gossamer.errors import UsageError
from gossamer.frontier.cold import hot_limit, set_hot_limit
from gossamer.frontier.crawls import Record, Spec, check_name
from gossamer.frontier.producer_positions import position_of
from gossamer.model.request import Request
from gossamer.sites import host_rules
from gossamer.sites.manifest import write_manifest
from gossamer.store.store import Store
from gossamer.worker.link_intake import TakenLinks

BATCH_SEEDS = 5000
"""Number of seeds added in one call."""


class Targets(msgspec.Struct):
    """The seeds and producers that the targets contain. `seeds`: the seeds that are read before the crawl
    begins. `sources`: the producers that supply further seeds while the crawl runs (`producer_runner`)."""

    seeds: list[Request]
    sources: list[UrlProducer] = []


def prepare(job: Job, only: str | None = None) -> tuple[Setup, Targets]:
    """Reads the targets. Returns the setup that all workers share, and the seeds. If `only` is given, this
    URL is the only seed. Raises UsageError, ConfigError."""
    if not job.targets and only is None:
        raise UsageError("no TARGET: name a URL, a site file, a list, sitemap:URL, feed:URL or - for stdin")
    fields = job.settings.message_fields
    read = [targets.target_kind(text)._replace(fields=fields) for text in job.targets]
    job = with_site_rules(job, sites := site_files.load_all(job.targets, job.args))
    if only is None:
        job = msgspec.structs.replace(job, outputs=[*job.outputs, *own_outputs(sites)])
    name = targets.crawl_name(read, [site.name for site in sites]) if job.name is None else job.name
    check_name(name)  # must be valid, because a folder with this name is created below
    if any("{" in spec for spec in output_values(job)):
        from gossamer.app.output_names import with_names

        job = with_names(job, name, [site.name for site in sites])
    if job.settings.processes != 1 and any(site.script_site is not None for site in sites):
        raise UsageError("processes= needs site files: only this process knows a Site made in a script")
    rejected: list[targets.Rejected] = []
    short, sources = divide_targets(read, job.watch) if only is None else ([], [])
    plain = [request for one in short for request in targets.requests(one, rejected)]
    wanted = [*plain, *(seed for site in sites for seed in site.requests())]
    if only is not None:
        wanted = list(targets.requests(targets.target_kind(only), rejected))
    given, credentials = strip_credentials(in_seed_form(wanted, sites, job), job.priority)
    # the entries of a sitemap or feed become seeds when the crawl reads the sitemap or feed
    entries = any(target.kind in ("sitemap", "feed") for target in read)
    watched = [target.text for target in read if job.watch is not None and target.kind in ("sitemap", "feed")]
    apis = [target.text.partition(" ")[0] for target in read if target.kind == "api"]
    if rejected:
        keep_aside(Path(job.settings.data) / name, rejected)
    if not given and not sources:
        raise UsageError(_no_seeds(rejected, [str(site.path) for site in sites]))
    s = job.settings
    if sources and s.scope == "prefix":
        raise UsageError(
            "--scope prefix needs all seeds at the start, but a long list or a stream yields them later: use "
            "host or page"
        )
    spec = _spec_of(job)
    return Setup(
        job=job,
        crawl=name,
        spec=spec,
        store="",
        seeds=[*scope_anchors(given, s.scope), *watched, *site_hosts(sites, s.scope)],
        credentials=credentials,
        sites={site.name: site.version for site in sites},
        allowed=sorted({urls.host(url) for url in (*(request.url for request in given), *watched, *apis)}),
        alone=s.processes == 1,
        open=bool(sources) or (s.scope == "page" and (job.sitemaps or entries)),
        ids=bool(sources and _names_requests(read)) or any(one.id or one.added_at for one in given),
    ), Targets(given, sources)


def _spec_of(job: Job) -> Spec:
    s = job.settings
    return Spec(
        sorted(map(mask_user_info, job.targets)),
        s.scope,
        sorted(s.include),
        sorted(s.exclude),
        s.depth,
        s.agent,
        s.seen,
        sorted(s.drop_parameters),
    )


def in_seed_form(
    wanted: Sequence[Request], sites: Sequence[site_files.LoadedSite], job: Job
) -> list[Request]:
    """Returns the seeds without the fragments of their URLs. A fragment is kept if it is a route of a page
    that the browser renders."""
    return [seed_form(one, sites, job.settings) for one in wanted]


def strip_credentials(
    wanted: list[Request], priority: int
) -> tuple[list[Request], dict[str, tuple[str, str]]]:
    """Removes the credentials from the seeds' URLs. Fills in the priority of seeds that have none. Returns
    the seeds, and a dict that maps each origin to its credentials."""
    given, credentials = [], {}
    for request in wanted:
        bare, secret = urls.split_credentials(request.url)
        if secret is not None:
            credentials[urls.origin(bare)] = secret
        given.append(msgspec.structs.replace(request, url=bare, priority=request.priority or priority))
    return given, credentials


def _names_requests(read: list[targets.Target]) -> bool:
    """Returns whether a target may contain requests with ids, and not only URLs."""
    lists = [target.text for target in read if target.kind == "list" and target.lines is None]
    return any(target.kind in ("sql", "kafka", "queue", "api", "stdin") for target in read) or any(
        text.endswith((".jsonl", ".jsonl.gz")) for text in lists
    )


WATCHED = ("sitemap", "feed", "api")
"""Kinds of targets that `--watch` reads again."""


def divide_targets(
    read: list[targets.Target], watch: float | None
) -> tuple[list[targets.Target], list[UrlProducer]]:
    """Splits the targets. Some targets are read immediately, and producers read the other targets. Returns
    the targets to read immediately, and the producers of the other targets."""
    short, sources = [], list[UrlProducer]()
    for target in read:
        if target.kind == "stdin":
            from gossamer.app.producers.lines import StdinUrls

            given = StdinUrls(target.fields)
            lines = given.short()
            sources += [given] if lines is None else []
            short += [] if lines is None else [target._replace(lines=lines)]
        elif is_producer_target(target) or (watch is not None and target.kind in WATCHED):
            sources.append(producer_of(target, watch))
        elif target.kind != "site":
            short.append(target)
    if watch is not None and not any(target.kind in WATCHED for target in read):
        raise UsageError("--watch is for sitemap:URL, feed:URL and api:URL: name one")
    return short, sources


def file_paths(sites: Sequence[site_files.LoadedSite]) -> list[Path]:
    """Returns the paths of the site files. Sites that a script defines are left out, because a later command
    cannot load them."""
    return [site.path for site in sites if site.script_site is None]


def own_outputs(sites: list[site_files.LoadedSite]) -> list[JobOutput]:
    """Returns the outputs that site files set for their own items. Several sites may name the same output."""
    found: dict[str, list[str]] = {}
    for site in sites:
        for spec in site.site.sinks:
            found.setdefault(spec, []).append(site.name)
    return [JobOutput(spec, sites=tuple(names)) for spec, names in found.items()]


def scope_anchors(given: list[Request], scope: str) -> list[str]:
    """Returns the URLs that define the scope. If there are more than 10,000 seeds, returns one URL per host,
    unless the scope depends on paths."""
    if scope in ("page", "prefix") or len(given) <= 10_000:
        return list(dict.fromkeys(request.url for request in given))
    return list({urls.host(request.url): request.url for request in reversed(given)}.values())[::-1]


def site_hosts(sites: list[site_files.LoadedSite], scope: str) -> list[str]:
    """Returns the root URL of each host that a site names. The hosts of a site are in scope even without a
    seed on these hosts."""
    if scope not in ("host", "domain"):
        return []
    return [f"https://{host}/" for site in sites for host in host_rules.hosts_of_site(site)]


async def seed(setup: Setup, store: Store, given: Targets, record: Record) -> None:
    """Adds the seeds of `given` in batches. Adding the same seeds again has no effect. `producer_runner` adds
    the seeds of producers."""
    adds = Enqueuer(setup, store)
    folder = Path(setup.job.settings.data) / setup.crawl
    make_private(folder)
    outputs = [(one.spec, not one.sites) for one in setup.job.outputs]
    outputs += [(setup.job.pages, True)] if setup.job.pages else []
    anew = not record.seeded and not record.refreshing
    make_outputs(setup, adds.sites, store=store.identity)  # raises if an output cannot be opened
    write_manifest(folder, outputs, file_paths(adds.sites), anew=anew)
    await set_hot_limit(
        store, setup.crawl, hot_limit(setup.job.settings.cold, setup.job.settings.store is None)
    )
    flags = "r" if record.seeded else ""  # a known seed must not increase the count `found` again
    taken = TakenLinks()
    for number, request in enumerate(given.seeds, 1):
        infra = "i" if (request.use or "").startswith("@") else "s"
        adds.take(request, taken, flags + infra)
        if number % BATCH_SEEDS == 0 or number == len(given.seeds):
            await adds.add(taken, counted=not record.seeded)
            taken = TakenLinks()
    await adds.crawls.seeded(setup.crawl)
    for site in adds.sites:
        if site.site.pace is not None and site.site.pace.per_host is not None:
            for host in host_rules.hosts_of_site(site):
                from gossamer.frontier.operator import OperatorCommands

                await OperatorCommands(store).at_once(host, site.site.pace.per_host)


async def has_grown(setup: Setup, store: Store, given: Targets) -> bool:
    """Adds the seeds that a finished crawl does not know yet. Returns whether there were any, or whether a
    long list was changed since it was read."""
    from gossamer.app.producers.lines import ListFile

    adds, new = Enqueuer(setup, store), 0
    for start in range(0, len(given.seeds), BATCH_SEEDS):
        taken = TakenLinks()
        for request in given.seeds[start : start + BATCH_SEEDS]:
            adds.take(request, taken, "ri" if (request.use or "").startswith("@") else "rs")
        new += (await adds.add(taken, counted=False))[0]
    for source in given.sources:
        size = source.size() if isinstance(source, ListFile) else None
        position = await position_of(store, setup.crawl, source.name)
        if size is not None and position and position["at"] and position["at"]["size"] != size:
            return True
    return bool(new)


def _no_seeds(rejected: list[targets.Rejected], files: list[str]) -> str:
    if not rejected and files:
        return (
            f"{', '.join(files)} names no seeds: write Site(..., seeds=[URL]), or give a URL after the file"
        )
    if not rejected:
        return "the targets contain no seeds: give one URL per line, or JSON lines with a url"
    first = rejected[0]
    if first.source == "list":  # a list of a Python program has elements, not lines
        all_of = "" if len(rejected) == 1 else f"none of the {len(rejected)} elements is a request; "
        return f"{all_of}list[{first.line - 1}]: {first.reason}"
    where = (
        f"{first.source} line {first.line}: {first.reason}; write one URL per line, or JSON lines with a url"
    )
    return f"none of the {len(rejected)} lines is a request; {where}" if len(rejected) > 1 else where
