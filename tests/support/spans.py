"""Reads the spans that a receiver got over OTLP/HTTP."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from support.web_receiver import Receiver


def spans(got: Receiver) -> list[Any]:
    """Returns all spans so far."""
    found = []
    for call in got.calls:
        assert call.path == "/v1/traces"
        request = ExportTraceServiceRequest.FromString(call.body)
        for resource in request.resource_spans:
            names = {one.key: one.value.string_value for one in resource.resource.attributes}
            assert names["service.name"] == "gossamer"
            found += [span for scope in resource.scope_spans for span in scope.spans]
    return found


def values(span: Any) -> dict[str, Any]:
    """Returns the attributes of a span."""
    return {one.key: getattr(one.value, one.value.WhichOneof("value")) for one in span.attributes}


def visits(found: Iterable[Any]) -> dict[str, Any]:
    """Returns the spans of visits, keyed by URL."""
    return {values(one)["url.full"]: one for one in found if one.name == "crawl.visit"}
