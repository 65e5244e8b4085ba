"""Handles sites whose files a worker lacks. The worker knows the hosts of such a site, and leaves these hosts
to workers that have the site's file."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

import msgspec

from gossamer.model.site import Site
from gossamer.sites.loaded_site import LoadedSite


class SiteReach(msgspec.Struct, frozen=True):
    """The hosts of a site and the lane, region and ladder that its workers need, for one version of the
    site's file."""

    version: str
    hosts: tuple[str, ...] = ()
    default: bool = False
    paths: bool = False
    """Whether the site accepts only some paths of its hosts, so that other sites may share the hosts."""
    lane: str | None = None
    region: str | None = None
    ladder: tuple[str, ...] | None = None


def reach_of(loaded: LoadedSite) -> SiteReach:
    """Returns the hosts of a loaded site, and the lane, region and ladder that its workers need."""
    site = loaded.site
    return SiteReach(
        loaded.version,
        site.hosts,
        loaded.default,
        bool(site.paths),
        site.lane if site.says_lane else None,
        site.region,
        site.ladder if site.says_ladder else None,
    )


def stand_ins(lacks: Mapping[str, SiteReach]) -> list[LoadedSite]:
    """Returns stand-ins for sites whose files are missing. A stand-in has the same hosts as the site, but no
    page functions."""
    return [
        LoadedSite(
            Site(
                name,
                hosts=one.hosts,
                paths=".*" if one.paths else (),
                lane=one.lane,
                region=one.region,
                ladder=one.ladder,
            ),
            Path(),
            one.version,
            {},
            one.default,
        )
        for name, one in lacks.items()
    ]


def owner_names(sites: Sequence[LoadedSite], host: str) -> set[str]:
    """Returns the names of the sites that set rules for a host or may read its pages."""
    near = [one for one in sites if not one.default and one.site.claims(host)]
    if all(one.site.paths for one in near):
        near += [one for one in sites if one.default]
    return {one.name for one in near}


def site_group(names: Collection[str], lacks: Collection[str]) -> str:
    """If this worker has the files of all sites in `names`, returns ''. Otherwise, returns the name of the
    group of workers that have all these files, because the host must be reserved for this group. The name
    lists the sites in the form `SITE+SITE`.

    >>> site_group({"shop", "news"}, {"shop"})
    'news+shop'
    """
    return "+".join(sorted(names)) if any(name in lacks for name in names) else ""
