"""What `explain` says of a URL beyond the filters: why its host's turn has not come, and what its last answer
was refused for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gossamer.cli.explain_conclusion import GateVerdict

if TYPE_CHECKING:
    from gossamer.frontier.stats import HostView
    from gossamer.state.lane_stats import HeapLine
    from gossamer.store.store import Store


async def turn(store: Store, name: str, view: HostView) -> list[GateVerdict]:
    """Whether the host's next request may go out now, and what it waits for."""
    from gossamer.state.lane_stats import heap

    return gates(view, await heap(store, name, view.host))


def gates(view: HostView, waits: HeapLine | None) -> list[GateVerdict]:
    """The same, of values."""
    from gossamer.cli.hosts import breaker
    from gossamer.cli.printing import duration
    from gossamer.politeness.breaker import Breaker

    found = []
    if view.paused:
        found.append(GateVerdict("pause", "wait", f"gossamer host pause; {duration(view.paused)} left"))
    if Breaker.of(view.trouble).state(round(view.now * 1000)) != "closed":
        found.append(GateVerdict("breaker", "wait", f"its host fails: {breaker(view)}"))
    if waits is not None and (waits.stranded or waits.lane != "http" or waits.region):
        files = f" with the files of {', '.join(waits.sites)}" if waits.sites else ""
        whose = (
            f"lane {waits.lane.partition('+')[0]}{f', region {waits.region}' if waits.region else ''}{files}"
        )
        if waits.stranded:
            found.append(GateVerdict("lane", "wait", f"waits for a worker of {whose}: none is alive"))
        else:
            found.append(GateVerdict("lane", "pass", f"workers of {whose}"))
    return found


def answered(attempts: list[dict[str, Any]]) -> list[GateVerdict]:
    """What the last answer was refused for: nobody knows a content type before."""
    from gossamer.collectors.http.transfer import ACCEPT

    last = attempts[-1] if attempts else {}
    if last.get("outcome") != "skipped":
        return []
    if last.get("error") == "content-type":
        return [
            GateVerdict("content type", "content-type", f"its answer's is not one of {', '.join(ACCEPT)}")
        ]
    if last.get("error") == "filter" and 300 <= (last.get("status") or 0) < 400:
        return [GateVerdict("redirect", "filter", "its answer redirects to what is no http(s) URL")]
    return []
