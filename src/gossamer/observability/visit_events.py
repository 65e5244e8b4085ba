"""Logs the events of visits: pages that were fetched, failed, blocked, retried or given up."""

from __future__ import annotations

from gossamer.model.verdict import ClaimEnd
from gossamer.model.visit import Attempt, Visit
from gossamer.observability.logs import log_event, logs_events


class VisitEvents:
    """Called with each visit of a crawl. Logs at most one event per visit."""

    def __init__(self, crawl: str, worker: str) -> None:
        self._crawl, self._worker = crawl, worker

    def __call__(self, visit: Visit) -> None:
        event = event_of(visit)
        if event and logs_events(event):
            last = visit.attempts[-1] if visit.attempts else None
            claim, settle = visit.claim, visit.settle
            log_event(
                event,
                crawl=self._crawl,
                host=claim.host,
                url=last.url if last else claim.request.url,
                worker=self._worker,
                attempt=claim.attempt + 1,
                error=(settle.reason if settle.end else "") or visit.error or (last.error if last else None),
                text=settle.detail,
                retry_s=round(settle.wait / 1000) if settle.end == ClaimEnd.RETRY else None,
                **_request(last),
            )


def event_of(visit: Visit) -> str:
    """Returns the event of a visit, or '' if the visit made no request and did not fail."""
    end, last = visit.settle.end, visit.attempts[-1] if visit.attempts else None
    blocked = last is not None and bool(last.block)
    if end is None:  # a robots claim, which the robots gate has settled
        return "" if last is None else "page_failed" if last.error else "page_fetched"
    if end == ClaimEnd.DEAD:
        return "page_dead"
    if blocked:
        return "page_blocked"
    if end == ClaimEnd.RETRY:
        return "page_retried"
    if visit.error:
        return "page_failed"
    return "page_fetched" if last is not None else ""


def _request(last: Attempt | None) -> dict[str, object]:
    if last is None:
        return {}
    return {
        "rung": last.rung,
        "collector": last.collector,
        "status": last.status,
        "outcome": last.outcome,
        "ms": round(last.seconds * 1000),
        "bytes": last.bytes_wire,
        "block": last.block,
    }
