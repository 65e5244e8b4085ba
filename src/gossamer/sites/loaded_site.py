"""A site that is ready for a crawl."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from gossamer.model.request import Request
from gossamer.model.site import Site


class LoadedSite:
    """A site with its file: the path, the version (a hash of the file) and the classes of items that it
    declares."""

    def __init__(
        self, site: Site, path: Path, version: str, items: Mapping[str, list[type]], default: bool
    ) -> None:
        self.site, self.path, self.version, self.items, self.default = site, path, version, items, default
        self.name = site.name
        self.classes: dict[str, type] = {}
        """The classes of the items that the page functions yielded, by kind."""
        self.script_site: Site | None = None
        """The object of the Python program that made the site, which no other process can load."""

    def requests(self) -> list[Request]:
        """Returns requests for the seeds."""
        return [Request(seed) for seed in self.site.seeds]
