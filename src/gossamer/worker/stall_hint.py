"""Explains why a crawl has no pages yet. If a host does not answer, the crawl waits through all of
`--retries`, and the user should know for what."""

from __future__ import annotations

from gossamer.model.visit import Visit


class Silence:
    """Receives all visits until the first page. `of`: the last host and its error, or None."""

    def __init__(self) -> None:
        self.of: tuple[str, str] | None = None
        self._over = False

    def __call__(self, visit: Visit) -> None:
        settle, robots = visit.settle, visit.claim.kind == "robots"
        if self._over:
            return
        if settle.action == "d" and not robots:
            self._over, self.of = True, None
        elif settle.reason and (settle.action == "r" or (robots and settle.health.startswith(("e", "f")))):
            self.of = visit.claim.host, settle.reason
