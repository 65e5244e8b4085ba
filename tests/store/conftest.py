"""The fixtures of a frontier on a real store: see `support.frontiers`."""

from __future__ import annotations

from support.frontiers import (  # noqa: F401 - fixtures
    any_url,
    bed,
    cluster_url,
    key_checks,
    other_server,
    store,
    whole_cluster,
)
