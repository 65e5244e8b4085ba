"""Loads site files, runs their functions on pages and builds items. A site is one Python file, found
automatically and matched by host and path.

The module `loading` finds and imports site files. The module `page_functions` applies a page function to a
page. The module `item_builder` builds the items. The module `check` runs a site over saved pages. The module
`new` writes a first site file.
"""

from gossamer.sites.loaded_site import LoadedSite
from gossamer.sites.loading import load, load_all, sources, version

__all__ = ["LoadedSite", "load", "load_all", "sources", "version"]
