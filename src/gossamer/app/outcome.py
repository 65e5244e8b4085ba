"""Decides from the summary of an ended crawl whether it failed, and why."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gossamer.errors import (
    CrawlFailed,
    GateNotMet,
    GossamerError,
    NoProxyLeft,
    NothingFound,
    SinkError,
    UnlikeGoodRuns,
)
from gossamer.model.summary import Summary

if TYPE_CHECKING:
    from gossamer.app.job import Job

RETRYABLE = {
    "dns": "check the host's name and this machine's network",
    "connect": "check whether the server is up",
    "tls": (
        "see whether the certificate is right (http:// where the host has none), or name its "
        "authority with -s ca_file=FILE"
    ),
    "timeout": "give it more time with -s timeout=60s",
    "reset": "wait for the server",
    "http-5xx": "wait for the server",
    "rate-limited": "go slower with --delay",
    "blocked": "go slower with --delay",
    "proxy": "see gossamer doctor, or give other proxies",
    "missing": (
        "see whether must_have and render of the site file fit its pages (gossamer check SITE.py, "
        "gossamer try --site SITE.py --ladder browser --show URL)"
    ),
    "given-up": "gossamer host resume HOST closes the breaker of the host that failed before",
    "robots-unreachable": "check whether the server is up and its robots.txt can be read (gossamer dead list shows why it was not)",
}
"""Errors that may disappear if the crawl is run again later, each with advice."""


STOPPED_CODE = 11
"""The exit code of a crawl that was stopped gracefully."""
STOPPED = ("stopped", "cancelled", "stopping", "cancelling")
"""The states of a crawl that a user, a gate or the site ended."""


def error_of(job: Job, summary: Summary) -> GossamerError | None:
    """Returns an error if an ended crawl was not successful. The field `summary` of the error contains the
    crawl's summary. Returns None if the crawl succeeded, or if a user stopped it. The exit code of the error
    becomes the exit code of `gossamer crawl`."""
    error = _error_of(job, summary)
    if error is not None:
        error.summary = summary
    return error


def exit_code_of(job: Job, summary: Summary, stopped: bool = False) -> tuple[int, GossamerError | None]:
    """Returns the exit code of an ended crawl, and its error (`error_of`). `stopped`: whether a signal stopped the
    crawl."""
    from gossamer.app.quality_gate_setup import STOPPED_BY_SITE

    error = error_of(job, summary)
    if error is not None and (summary.state in STOPPED or not stopped):
        return error.exit_code, error
    if stopped or summary.state in STOPPED:
        by_site = summary.state == "stopped" and (summary.reason or "").startswith(STOPPED_BY_SITE)
        return (0 if by_site and not stopped else STOPPED_CODE), error
    return 0, error


def _error_of(job: Job, summary: Summary) -> GossamerError | None:
    from gossamer.app.quality_gate_setup import missed_gates
    from gossamer.app.run_comparison import is_unlike

    reason = summary.reason or ""
    if summary.state == "stopped" and reason.startswith("gate "):
        return GateNotMet(f"the crawl was stopped: {reason}")
    no_proxy = reason.startswith(
        "no proxy left"
    )  # a crawl of one machine is then stopped, one of a fleet has failed
    if summary.state in STOPPED and not no_proxy:
        return None
    if summary.state in ("failed", *STOPPED):
        kind = NoProxyLeft if no_proxy else CrawlFailed
        return kind(f"the crawl failed: {reason}")
    if bad := missed_gates(job, summary):
        return GateNotMet(f"the gate is not met: {'; '.join(bad)}")
    if summary.refused_kinds:
        return SinkError(
            f"the output refused all rows of {', '.join(summary.refused_kinds)}: refused.jsonl in "
            "the crawl's folder has rows and reasons"
        )
    worth = {name: count for name, count in summary.errors.items() if name in RETRYABLE}
    if not summary.succeeded and worth:
        most = max(worth, key=worth.__getitem__)
        return CrawlFailed(
            f"no page was received ({_counts(worth)}): {RETRYABLE[most]}, then run it again with --fresh (in Python: fresh=True)"
        )
    why = came_to_nothing(summary) if summary.state == "finished" else ""
    if why:
        return NothingFound(why)
    if summary.state == "finished" and is_unlike(reason):
        return UnlikeGoodRuns(unlike_text(summary))
    return None


def unlike_text(summary: Summary) -> str:
    """Returns the line about a finished run that is not like the last good runs."""
    return f"{summary.reason}. Nothing is concluded; if the run is right: gossamer accept {summary.crawl}"


def came_to_nothing(summary: Summary) -> str:
    """Returns the reason why a finished crawl has no pages or no items. Returns '' if the crawl has pages and
    items. Returns '' if the cause is not certain."""
    robots = summary.skipped.get("robots", 0)
    if not summary.pages and robots and robots == summary.found - summary.redirected:
        return (
            "nothing was fetched: robots.txt does not allow "
            f"{'the URL' if robots == 1 else f'any of {robots} URLs'}; "
            f"gossamer explain URL shows the rule"
        )
    if summary.dead and not summary.pages:
        return (
            f"no page was received, and a retry would not help ({_counts(summary.errors)}): gossamer dead list {summary.crawl} "
            "shows why"
        )
    parse = summary.errors.get("parse", 0)
    if parse and parse >= summary.pages and not summary.items:
        return (
            "no items were found: the site file cannot parse "
            f"{'the page' if parse == 1 else f'any of {parse} pages'}"
        )
    if summary.rejected and not summary.items:
        return f"no items were stored: all {summary.rejected} items were rejected"
    return ""


def _counts(errors: dict[str, int]) -> str:
    """Formats counts as `timeout 3, dns 1`, largest first."""
    return ", ".join(f"{name} {n}" for name, n in sorted(errors.items(), key=lambda pair: -pair[1]))
