"""Which producer serves a target."""

from __future__ import annotations

import os
from pathlib import Path

from gossamer.app.producers.source import SHORT, Source
from gossamer.app.targets import Target


def streams(target: Target) -> bool:
    """Whether a target is a producer's, and not read whole."""
    if target.kind == "list":
        return target.text.endswith(".gz") or os.path.getsize(target.text) > SHORT
    return target.kind in ("sql", "kafka")


def of(target: Target) -> Source:
    """The producer of a target that streams."""
    if target.kind == "sql":
        from gossamer.app.producers.sql import Query

        return Query(target.text)
    if target.kind == "kafka":
        from gossamer.app.producers.kafka import KafkaUrls

        return KafkaUrls(target.text)
    from gossamer.app.producers.lines import List

    return List(Path(target.text))
