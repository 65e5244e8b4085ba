"""Sends traces to an OpenTelemetry receiver (docs/traces.md). A trace has one span for each visit, and one
for each request of the visit.

A trace follows one URL. All tries of a URL have the same trace ID on any worker, because the ID is a hash of
the crawl and the URL. The span of a visit also has a link to the visit that found the URL. The IDs in the
link are hashes of the crawl and the linked URL, so no trace data is stored with URLs.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from datetime import datetime
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, Final

from gossamer.config.optional_deps import install_command
from gossamer.errors import ConfigError
from gossamer.model.verdict import ClaimEnd
from gossamer.model.visit import Attempt, Visit
from gossamer.observability.logs import safe_text
from gossamer.observability.visit_events import event_of

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import SpanExporter
    from opentelemetry.trace import SpanContext

FLUSH_S: Final = 2.0
"""Maximum time in seconds that an ending process waits until its spans are sent."""
EVENTS_THAT_FAILED: Final = ("page_failed", "page_retried", "page_blocked", "page_dead")
_MAX_QUEUED, _MAX_BATCH, _EXPORT_TIMEOUT_S = 2048, 512, 10.0
_started: Traces | None = None


class Traces:
    """Creates and sends the traces of a process. `sample`: the share of URLs, 0 to 1, whose visits are traced
    even if nothing fails. `exporter`: receives the spans instead of an OTLP receiver."""

    def __init__(self, url: str, sample: float, exporter: SpanExporter | None = None) -> None:
        try:
            from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
            from opentelemetry.sdk.resources import Resource
            from opentelemetry.sdk.trace import TracerProvider
            from opentelemetry.sdk.trace.export import BatchSpanProcessor
        except ImportError:
            raise ConfigError(f"traces need OpenTelemetry: {install_command('otel')}") from None
        self._ids = _Ids()
        self._processor = BatchSpanProcessor(
            exporter or OTLPSpanExporter(endpoint(url), timeout=_EXPORT_TIMEOUT_S),
            max_queue_size=_MAX_QUEUED,
            max_export_batch_size=_MAX_BATCH,
        )
        self.provider: TracerProvider = TracerProvider(
            resource=Resource.create({"service.name": "gossamer"}),
            id_generator=self._ids,  # type: ignore[arg-type]  # it has both methods of IdGenerator
            shutdown_on_exit=False,
        )
        self.provider.add_span_processor(self._processor)
        self._tracer = self.provider.get_tracer("gossamer")
        self._below = int(sample * (1 << 64))

    def samples(self, trace: bytes) -> bool:
        """Returns whether a trace is sampled. The result is the same on all workers."""
        return int.from_bytes(trace[8:]) < self._below

    def visit(self, visit: Visit, crawl: str, worker: str, trace: bytes, *, failed: bool) -> None:
        """Adds the spans of a visit that has ended."""
        from opentelemetry.trace import Link, SpanKind, StatusCode, set_span_in_context

        claim, settle, request = visit.claim, visit.settle, visit.claim.request
        now = time.time_ns()
        began = now - round((time.monotonic() - visit.began) * 1e9) if visit.began else now
        began = min([began, *(start_of(one) for one in visit.attempts)])
        last = visit.attempts[-1] if visit.attempts else None
        error = settle.reason or visit.error or (last.error if last and failed else None) or ""
        found_by = request.hops[-1] if request.hops else request.referrer
        links = [Link(context_of(crawl, found_by))] if found_by else []
        self._ids.trace, self._ids.span = trace, span_id(trace, claim.attempt)
        span = self._tracer.start_span(
            "crawl.visit",
            links=links,
            start_time=began,
            attributes=_present(
                {
                    "url.full": safe_text(request.url),
                    "server.address": claim.host,
                    "gossamer.crawl": crawl,
                    "gossamer.worker": worker,
                    "gossamer.attempt": claim.attempt + 1,
                    "gossamer.depth": request.depth,
                    "gossamer.outcome": last.outcome if last else settle.end.word if settle.end else None,
                    "gossamer.referrer": safe_text(found_by) if found_by else None,
                    "gossamer.block": last.block if last else None,
                    "gossamer.rows": len(visit.rows),
                    "gossamer.links": visit.counts.get("found"),
                    "error.type": safe_text(error) or None,
                }
            ),
        )
        for number, one in enumerate(visit.attempts):
            self._request(one, request.method, number, set_span_in_context(span), SpanKind.CLIENT)
        if failed:
            span.set_status(StatusCode.ERROR, safe_text(settle.detail or error))
        span.end(now)

    def _request(self, one: Attempt, method: str, number: int, within: Any, kind: Any) -> None:
        from opentelemetry.trace import StatusCode

        began = start_of(one)
        span = self._tracer.start_span(
            method,
            within,
            kind,
            start_time=began,
            attributes=_present(
                {
                    "http.request.method": method,
                    "url.full": safe_text(one.url),
                    "server.address": one.host,
                    "http.response.status_code": one.status,
                    "http.request.resend_count": number or None,
                    "http.response.size": one.bytes_wire,
                    "gossamer.rung": one.rung,
                    "gossamer.collector": one.collector,
                    "gossamer.outcome": one.outcome,
                    "gossamer.block": one.block,
                    "error.type": safe_text(one.error) if one.error else None,
                }
            ),
        )
        if one.error or (one.status or 0) >= 400:
            span.set_status(StatusCode.ERROR)
        span.end(began + round(one.seconds * 1e9))

    def close(self) -> None:
        """Sends the queued spans. Waits at most FLUSH_S seconds."""
        sending = threading.Thread(target=self._processor.shutdown, daemon=True)
        sending.start()
        sending.join(FLUSH_S)


class VisitTraces:
    """A callable that receives each visit of a crawl. Traces the visit if its URL is sampled, if the visit
    failed, or if an earlier try of the URL failed."""

    def __init__(self, traces: Traces, crawl: str, worker: str) -> None:
        self._traces, self._crawl, self._worker = traces, crawl, worker

    def __call__(self, visit: Visit) -> None:
        if visit.settle.end == ClaimEnd.REQUEUED:
            return
        failed = event_of(visit) in EVENTS_THAT_FAILED
        trace = trace_id(self._crawl, visit.claim.request.url)
        if failed or visit.claim.attempt or self._traces.samples(trace):
            self._traces.visit(visit, self._crawl, self._worker, trace, failed=failed)


def trace_id(crawl: str, url: str) -> bytes:
    """Returns the trace ID of a URL in a crawl (16 bytes)."""
    return blake2b(f"{crawl}\n{url}".encode("utf-8", "replace"), digest_size=16).digest()


def span_id(trace: bytes, attempt: int) -> bytes:
    """Returns the span ID of a visit (8 bytes). `attempt`: 0 for the first try of the URL."""
    return blake2b(trace, digest_size=8, salt=attempt.to_bytes(16)).digest()


def context_of(crawl: str, url: str) -> SpanContext:
    """Returns the span context of the first visit of a URL, for links to that visit."""
    from opentelemetry.trace import SpanContext, TraceFlags

    trace = trace_id(crawl, url)
    own = int.from_bytes(span_id(trace, 0))
    return SpanContext(int.from_bytes(trace), own, is_remote=True, trace_flags=TraceFlags(1))


def start_of(one: Attempt) -> int:
    """Returns the start of a request, in nanoseconds since the epoch."""
    return round(datetime.fromisoformat(one.ts).timestamp() * 1e9)


def endpoint(url: str) -> str:
    """Returns the URL to which spans are posted. If the receiver's URL has no path, the usual path is added.

    >>> endpoint("http://localhost:4318")
    'http://localhost:4318/v1/traces'
    """
    scheme, _, rest = url.partition("://")
    return url if rest.partition("/")[2] else f"{scheme}://{rest.rstrip('/')}/v1/traces"


def start_traces(url: str | None, sample: float) -> bool:
    """Starts the traces of this process, unless there is no receiver or they are already started. Returns
    whether this call started the traces. Must be called after a fork, because the thread that sends spans
    does not survive a fork."""
    global _started
    if url is None or _started is not None:
        return False
    _started = Traces(url, sample)
    return True


def started() -> Traces | None:
    """Returns the traces of this process, or None if `start_traces` was not called."""
    return _started


def stop_traces() -> None:
    """Sends the queued spans and stops the traces of this process."""
    global _started
    if _started is not None:
        _started.close()
        _started = None


class _Ids:
    """Generates the IDs of spans. The span of a visit gets the IDs that were set here, and each further span
    of the trace gets a random span ID."""

    def __init__(self) -> None:
        from opentelemetry.sdk.trace.id_generator import RandomIdGenerator

        self.trace, self.span = b"", b""
        self._random = RandomIdGenerator()

    def generate_trace_id(self) -> int:
        return int.from_bytes(self.trace)

    def generate_span_id(self) -> int:
        span, self.span = self.span, b""
        return int.from_bytes(span) if span else self._random.generate_span_id()

    def is_trace_id_random(self) -> bool:
        """Returns True. A trace ID is a hash, and the bits of a hash are as good as random."""
        return True


def _present(values: dict[str, str | int | None]) -> dict[str, str | int | Sequence[str]]:
    return {name: value for name, value in values.items() if value is not None}
