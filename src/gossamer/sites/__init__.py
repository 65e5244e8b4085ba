"""Sites: one file each, found by itself, matched by host and path. `loading` finds and imports them,
`running` applies a page function purely, `check` runs them over saved pages, `new` writes a first one.
"""

from gossamer.sites.loading import LoadedSite, load, load_all, sources, version

__all__ = ["LoadedSite", "load", "load_all", "sources", "version"]
