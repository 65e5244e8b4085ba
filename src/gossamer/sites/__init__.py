"""Loads site files, runs their functions on pages and builds items. A site is one Python file, found
automatically and matched by host and path.

`loading` finds and imports site files. `page_functions` applies a page function to a page. `item_builder`
builds the items. `check` runs a site over saved pages. `new` writes a first site file.
"""

from gossamer.sites.loaded_site import LoadedSite
from gossamer.sites.loading import load, load_all, sources, version

__all__ = ["LoadedSite", "load", "load_all", "sources", "version"]
