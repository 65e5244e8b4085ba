"""Chooses the producer of a target."""

from __future__ import annotations

import os
from pathlib import Path

from gossamer.app.producers.source import SHORT_LIST_BYTES, UrlProducer
from gossamer.app.targets import Target


def is_producer_target(target: Target) -> bool:
    """Returns whether a producer reads the target during the crawl. Other targets are read before the crawl
    begins."""
    if target.lines is not None:
        return False
    if target.kind == "list":
        return target.text.endswith(".gz") or os.path.getsize(target.text) > SHORT_LIST_BYTES
    return target.kind in ("api", "sql", "kafka", "queue")


def producer_of(target: Target, watch: float | None = None) -> UrlProducer:
    """Returns the producer of a target. `watch`: the number of seconds after which the target is read again.
    `watch` has no effect on targets that cannot be read again."""
    if target.kind == "api":
        from gossamer.app.producers.http_api import ApiUrls

        return ApiUrls(target.text, watch)
    if target.kind in ("sitemap", "feed") and watch is not None:
        from gossamer.app.producers.watched_feeds import WatchedFeed

        return WatchedFeed(target.text, watch)
    if target.kind == "sql":
        from gossamer.app.producers.sql import SqlUrls

        return SqlUrls(target.text)
    if target.kind == "kafka":
        from gossamer.app.producers.kafka import KafkaUrls

        return KafkaUrls(target.text, target.fields)
    if target.kind == "queue":
        from gossamer.app.producers.message_queue import QueueUrls

        return QueueUrls(target.text, target.fields)
    from gossamer.app.producers.lines import ListFile

    return ListFile(Path(target.text), target.fields)
