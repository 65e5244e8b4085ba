"""Why nothing has come yet: who crawls a host that does not answer waits through all of `--retries`, and
wants to know for what."""

from __future__ import annotations

from gossamer.model.visit import Visit


class Silence:
    """Hears of all visits until a page comes. `of`: the host asked last and the error that it gave; None when
    there is nothing to say."""

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
