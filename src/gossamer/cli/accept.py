"""`gossamer accept` confirms that a run which is not like the last good runs is right."""

from __future__ import annotations

import asyncio

from gossamer.cli.options import Crawl, Data, Json, Quiet, Setting, StoreUrl, read_settings


def accept(
    crawl: Crawl,
    data: Data = None,
    store: StoreUrl = None,
    setting: Setting = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> int:
    """Confirm that a run which ended with exit code 31 is right. What the run showed is then concluded, and
    later runs are compared with it, too."""
    from gossamer.app.accept import accept as accept_run
    from gossamer.cli.printing import put_json, remark

    summary = asyncio.run(accept_run(read_settings(data, store, setting), crawl))
    if as_json:
        put_json(summary)
    remark(
        f"{crawl}: the run counts as good: {summary.new} new, {summary.changed} changed, {summary.gone} gone",
        quiet or as_json,
    )
    return 0
