"""A placeholder for a collector that is not installed."""

from __future__ import annotations

from collections.abc import Mapping

from gossamer.model.browser_profile import Guise
from gossamer.model.page import Failure, Page
from gossamer.model.request import Request
from gossamer.model.wall_clock import CLOCK


class Missing:
    """Replaces a collector that is not installed, if only some requests need the collector's rung. Each of
    these requests fails, and its failure contains the reason."""

    name = "none"

    def __init__(self, why: str) -> None:
        self._why = why

    async def collect(
        self, request: Request, headers: Mapping[str, str], guise: Guise | None = None
    ) -> Page | Failure:
        """Returns the failure."""
        return Failure("filter", self._why, CLOCK.now(), 0.0, final=True, collector=self.name, sent=False)

    async def close(self) -> None:
        """Does nothing."""
