"""What a worker knows of a site whose file it lacks: which hosts are its, so that they are left to those that
have it."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

import msgspec

from gossamer.model.site import Site
from gossamer.sites.loading import LoadedSite


class Reach(msgspec.Struct, frozen=True):
    """Which hosts are a site's, and for whom they wait, in one version of its file."""

    version: str
    hosts: tuple[str, ...] = ()
    default: bool = False
    paths: bool = False
    """It is one of several on a host."""
    lane: str | None = None
    region: str | None = None
    ladder: tuple[str, ...] | None = None


def reach_of(loaded: LoadedSite) -> Reach:
    """The reach of a site."""
    site = loaded.site
    return Reach(
        loaded.version,
        site.hosts,
        loaded.default,
        bool(site.paths),
        site.lane if site.says_lane else None,
        site.region,
        site.ladder if site.says_ladder else None,
    )


def stand_ins(lacks: Mapping[str, Reach]) -> list[LoadedSite]:
    """In the place of sites that are lacked: they claim the same hosts, and read nothing."""
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


def owners(sites: Sequence[LoadedSite], host: str) -> set[str]:
    """The names of the sites that say something of a host, or may read pages of it."""
    near = [one for one in sites if not one.default and one.site.claims(host)]
    if all(one.site.paths for one in near):
        near += [one for one in sites if one.default]
    return {one.name for one in near}


def group(names: Collection[str], lacks: Collection[str]) -> str:
    """What something of these sites is set apart for where some are lacked, `SITE+SITE`; '' where none is.

    >>> group({"shop", "news"}, {"shop"})
    'news+shop'
    """
    return "+".join(sorted(names)) if any(name in lacks for name in names) else ""
