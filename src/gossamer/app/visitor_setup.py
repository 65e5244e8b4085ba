"""Builds the parts of a worker's visits: the rules for each host, the robots.txt gate, the throttle for hosts that share
a budget, and the router of hosts whose site file the worker lacks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from itertools import islice
from typing import TYPE_CHECKING

from gossamer import url as urls
from gossamer.app.enqueuer import Enqueuer
from gossamer.app.job import Setup
from gossamer.app.network_setup import Network
from gossamer.config.settings import Settings
from gossamer.model.request import split
from gossamer.politeness.pace import Delay
from gossamer.recrawl import known_pages
from gossamer.sites import host_rules
from gossamer.sites.loaded_site import LoadedSite
from gossamer.store.store import Store
from gossamer.worker.robots_gate import HostTreatment, RobotsGate
from gossamer.worker.routing import SiteRouter
from gossamer.worker.unrendered_pages import MAX_NAMED_HOSTS

if TYPE_CHECKING:
    from gossamer.worker.shared_throttle import SharedThrottle

Treatment = Callable[[str], HostTreatment]
"""Returns the rules that apply to requests to a host."""


def site_treatment(sites: Sequence[LoadedSite], settings: Settings) -> Treatment | None:
    """Returns the function that returns the treatment of a host, or None if no site has rules for its hosts."""
    if not host_rules.has_rules(sites):
        return None
    needs = lru_cache(10_000)(partial(host_rules.host_needs, sites))
    return lru_cache(10_000)(lambda host: host_treatment(needs(host), settings))


def host_treatment(needs: host_rules.HostNeeds, settings: Settings) -> HostTreatment:
    """Returns the rules that apply to requests to a host. The settings of the host's sites take precedence.
    Two options override the settings of all sites. These options are `--retries none` and
    `--ignore-robots`."""
    delay = needs.pace.delay
    usual = None if settings.delay is None else Delay(*settings.delay)
    return HostTreatment(
        needs.retries if needs.retries is not None and settings.waits else settings.waits,
        usual if delay is None else Delay(delay, delay),
        needs.robots and not settings.ignore_robots,
        needs.blocks,
    )


def make_robots_gate(
    enqueuer: Enqueuer, network: Network, settings: Settings, treat: Treatment | None, *, files: bool
) -> RobotsGate:
    """Returns the gate that applies robots.txt. `files`: whether the crawl downloads files."""
    return RobotsGate(
        enqueuer.frontier,
        network.collectors.robots,
        agent=settings.agent.partition("/")[0].strip(),
        usual=HostTreatment(
            settings.waits,
            None if settings.delay is None else Delay(*settings.delay),
            not settings.ignore_robots,
        ),
        treat=treat,
        opens=enqueuer.scope.allows_port,
        ladder=network.collectors.free,
        files=files,
    )


def make_site_router(setup: Setup, enqueuer: Enqueuer, gate: RobotsGate) -> SiteRouter | None:
    """Returns the router that requeues the claims of hosts whose site file this worker lacks. Returns None if
    the worker has all site files."""
    if setup.lacks is None:
        return None
    from gossamer.state.fleet_crawls import FleetCrawls

    tell = partial(FleetCrawls(enqueuer.frontier.store).apart, setup.crawl)
    return SiteRouter(enqueuer.frontier, enqueuer.all_sites, setup.lacks, tell, gate.give_back)


def make_shared_throttle(
    settings: Settings, network: Network, store: Store, *, has_logins: bool
) -> SharedThrottle | None:
    """Returns the throttle for hosts that share a budget, or None if each host has its own budget."""
    if settings.polite_by == "host":
        return None
    domain, single = lru_cache(10_000)(urls.registered_domain), network.single

    async def group(host: str) -> str | None:
        if single is None:
            return f"domain:{domain(host)}"
        address = await single.address(host)
        return address and f"ip:{address}"

    hold = (8 if has_logins else 2) * network.collectors.longest + 10
    from gossamer.state.host_groups import HostGroups
    from gossamer.worker.shared_throttle import SharedThrottle

    return SharedThrottle(
        HostGroups(store, settings.per_host, hold), group, single.failed if single else None
    )


def seeded_homes(setup: Setup) -> frozenset[str]:
    """Returns the hosts whose home page is a seed, at most MAX_NAMED_HOSTS of them. Returns no hosts if the
    crawl reads sitemaps, or if site files choose its pages."""
    uses_sitemaps = setup.job.sitemaps or any(one.startswith("sitemap:") for one in setup.job.targets)
    if uses_sitemaps or setup.sites or setup.spec.scope == "page":
        return frozenset()
    homes = (host for scheme, host, path in map(split, setup.seeds) if path == "/")
    return frozenset(islice(homes, MAX_NAMED_HOSTS))


def has_page_table(setup: Setup) -> bool:
    """Returns whether the crawl has a page table. With a page table, known pages are queued again although
    the seen set contains their URLs. The page table may come from this run or from an earlier run."""
    if setup.revisits_on_fleet:
        return True
    at = setup.known_at
    return at is not None and (setup.job.settings.revisit is not None or known_pages.has_table(at))
