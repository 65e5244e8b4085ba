"""What stands for a collector that is not installed."""

from __future__ import annotations

import time
from collections.abc import Mapping

from gossamer.model.browser_profile import Guise
from gossamer.model.page import Failure, Page
from gossamer.model.request import Request


class Missing:
    """Stands for a collector that is not installed, where a request alone asks for its rung: it refuses, and
    says why."""

    name = "none"

    def __init__(self, why: str) -> None:
        self._why = why

    async def collect(
        self, request: Request, headers: Mapping[str, str], guise: Guise | None = None
    ) -> Page | Failure:
        """Why not."""
        return Failure("filter", self._why, time.time(), 0.0, final=True, collector=self.name, sent=False)

    async def close(self) -> None:
        """Nothing to let go."""
