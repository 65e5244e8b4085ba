"""A site that is ready for a crawl."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from gossamer.model.request import Request
from gossamer.model.site import Site


class LoadedSite:
    """A site and its file: the file's path, its version (a hash of its content) and the item classes that it
    declares."""

    def __init__(
        self,
        site: Site,
        path: Path,
        version: str,
        items: Mapping[str, list[type]],
        default: bool,
        script_site: Site | None = None,
    ) -> None:
        self.site, self.path, self.version, self.items, self.default = site, path, version, items, default
        self.name = site.name
        self.classes: dict[str, type] = {}
        """The classes of the items that the page functions have yielded so far, keyed by kind."""
        self.script_site = script_site
        """The original Site object if a Python program created the site, otherwise None. Other processes
        cannot load a site that a Python program created."""

    def requests(self) -> list[Request]:
        """Returns requests for the seeds."""
        return [Request(seed) if isinstance(seed, str) else seed for seed in self.site.seeds]
