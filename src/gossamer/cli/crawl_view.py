"""Formats the lines that a terminal shows about a running crawl. The functions are pure: they depend only on
the crawl's known state and the terminal's width."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from gossamer.app.outcome import RETRYABLE
from gossamer.cli.printing import clean_line
from gossamer.cli.responses import ORDER, Responses
from gossamer.cli.summaries import format_share
from gossamer.cli.terminal import cut_end, cut_middle, text_width
from gossamer.config.value_texts import format_bytes, format_counts, format_duration

if TYPE_CHECKING:
    from gossamer.app.runner import Live
    from gossamer.frontier.stats import HostLine
    from gossamer.model.summary import Summary

LABEL_WIDTH = 11
WIDE = 100
"""Minimum width of the terminal, in columns, at which the view shows three hosts instead of one."""
MIN_BAR = 10
STATUS_STYLES = {
    "200": "green",
    "2xx": "green",
    "304": "cyan",
    "3xx": "cyan",
    "404": "magenta",
    "4xx": "magenta",
}
STATE_STYLES = {"running": "green", "paused": "magenta", "stopping": "magenta", "cancelling": "magenta"}
LONG_WAIT_S = 2.0
"""The view explains why a crawl waits only if every queued host must wait for at least this many seconds."""
Paint = Callable[[str, str], str]
Part = tuple[str, str]
"""A text and the style in which it is painted."""


class Signs:
    """The special characters of the display, or ASCII characters in their place if `plain` is true."""

    def __init__(self, plain: bool = False) -> None:
        self.full, self.empty, self.mark = ("#", "-", "...") if plain else ("━", "─", "…")


def crawl_lines(
    live: Live, responses: Responses, width: int, paint: Paint, signs: Signs | None = None, key: str = ""
) -> list[str]:
    """Returns the lines of the display, each at most `width` columns wide. `key`: the key that ends the wait for
    retries, or '' if no keys are read."""
    signs = signs or Signs()
    s = live.summary
    lines = [
        _head(live, width, paint, signs),
        _bar(live, width, paint, signs),
        _labelled("rate", _rates(live), width, paint),
        _labelled("total", _totals(s), width, paint),
        _labelled("queue", _queue(live), width, paint),
        _labelled("responses", _statuses(responses), width, paint),
    ]
    if errors := errors_of(s, responses):
        lines.append(_labelled("errors", [(f"{name} {n}", "red") for name, n in errors], width, paint))
    if (last := responses.last) is not None:
        lines.append(_last(last.url, last.status, last.seconds, width, paint, signs))
    hosts = [host for host in live.hosts if host.waiting or host.in_flight][: 3 if width >= WIDE else 1]
    for number, host in enumerate(hosts):
        parts = [(host_text(host, width - LABEL_WIDTH, signs), "")]
        lines.append(_labelled("" if number else "slowest", parts, width, paint))
    for style, reason in waits(live, responses, key):
        first, *more = textwrap.wrap(clean_line(reason), max(20, width - LABEL_WIDTH), break_on_hyphens=False)
        lines += [_labelled("waits", [(first, style)], width, paint)]
        lines += [_labelled("", [(line, style)], width, paint) for line in more]
    return lines


def _head(live: Live, width: int, paint: Paint, signs: Signs) -> str:
    s = live.summary
    left = f"about {format_duration(live.left)} left" if live.left is not None and s.pending else ""
    state = f"{s.state} for {format_duration(int(s.elapsed))}"
    name = cut_middle(clean_line(s.crawl), max(8, width - len(state) - len(left) - 4), signs.mark)
    room = width - text_width(name) - len(state) - 2 - len(left)
    shown = f"{paint(name, 'bold')}  {paint(state, STATE_STYLES.get(s.state, 'bold'))}"
    return shown + " " * room + paint(left, "dim") if left and room >= 2 else shown


def _bar(live: Live, width: int, paint: Paint, signs: Signs) -> str:
    done, known, text = progress_of(live)
    text = cut_end(text, width, signs.mark)
    room = width - text_width(text) - 2
    if room < MIN_BAR:
        return text
    filled = bar_length(done, known, room)
    bar = paint(signs.full * filled, "green") + paint(signs.empty * (room - filled), "dim")
    return f"{bar}  {text}"


def progress_of(live: Live) -> tuple[int, int, str]:
    """Returns the number of finished URLs, the number of known URLs, and a text with both numbers. The number
    of known URLs grows while the crawl finds URLs. With `--limit`, if enough URLs are known, returns the
    number of fetched pages, the limit, and a text with both numbers."""
    s = live.summary
    done = s.pages + s.redirected + s.failed + s.dead
    known = done + s.pending
    if live.limit is not None and s.pending >= live.limit - s.pages:
        return s.pages, live.limit, f"{s.pages:,} of {live.limit:,} pages (--limit)"
    return done, known, f"{done:,} of {known:,} known URLs done"


def bar_length(done: int, known: int, room: int) -> int:
    """Returns how many of the bar's `room` characters are filled. The bar is completely filled only if all
    URLs are done.

    >>> bar_length(999, 1000, 20), bar_length(1000, 1000, 20), bar_length(0, 0, 20)
    (19, 20, 0)
    """
    return min(room, done * room // known) if known else 0


def _rates(live: Live) -> list[Part]:
    found = [(f"{live.rate:.1f} pages/s", "bold")]
    if live.summary.items:
        found.append((f"{live.items_rate:.1f} items/s", ""))
    return [*found, (f"{format_bytes(live.bytes_rate)}/s", ""), ("(last 10 s)", "dim")]


def _totals(s: Summary) -> list[Part]:
    items = [(f"{s.items:,} items", "")] if s.items or s.sites else []
    found = [(f"{s.pages:,} pages", ""), *items, (format_bytes(s.bytes), "")]
    if s.rejected:
        found.append((f"{s.rejected:,} items rejected", "red"))
    worst = min((one.quality for one in s.sites.values()), default=1.0)
    return [*found, (f"quality {format_share(worst)}", "magenta")] if worst < 1 else found


def _queue(live: Live) -> list[Part]:
    s = live.summary
    skipped = sum(s.skipped.values())
    return [
        (f"{live.queue:,} queued", ""),
        (f"{live.in_flight} in flight", ""),
        (f"{s.retried:,} retried", "magenta" if s.retried else ""),
        (f"{s.dead:,} dead", "red" if s.dead else ""),
        (f"{skipped:,} skipped", ""),
    ]


def _statuses(responses: Responses) -> list[Part]:
    found = [
        (f"{name}: {n:,}", STATUS_STYLES.get(name, "red"))
        for name in (*ORDER, *sorted(responses.statuses.keys() - set(ORDER)))
        if (n := responses.statuses[name])
    ]
    return found or [("none yet", "dim")]


def errors_of(s: Summary, responses: Responses) -> list[tuple[str, int]]:
    """Returns the errors by reason, most frequent first. HTTP error statuses are left out, because another
    line of the display shows them."""
    names = {name for name in (*s.errors, *responses.errors) if not name.startswith("http-")}
    counts = [(name, max(s.errors.get(name, 0), responses.errors[name])) for name in names]
    return sorted(counts, key=lambda pair: (-pair[1], pair[0]))


def _last(url: str, status: int | None, seconds: float, width: int, paint: Paint, signs: Signs) -> str:
    took = f"{seconds * 1000:.0f} ms" if seconds < 1 else format_duration(round(seconds, 1))
    end = f"  {status or 'no response'} in {took}"
    room = width - LABEL_WIDTH - len(end)
    shown = cut_middle(clean_line(url), room, signs.mark)
    return paint("last".ljust(LABEL_WIDTH), "dim") + shown + paint(end, "dim")


def host_text(host: HostLine, width: int, signs: Signs) -> str:
    """Formats the queue length of a host, its delay, and the reason for the delay."""
    from gossamer.politeness.pace import why_delay

    text = f": {host.waiting:,} waiting"
    if host.delay:
        why = why_delay(host.delay, host.pace, host.fixed_delay, host.crawl_delay)
        every = f", every {host.delay:.3g} s"
        text += next(
            (
                more
                for more in (f"{every}: {why}", every)
                if len(text) + len(more) + min(16, len(host.host)) <= width
            ),
            "",
        )
    return cut_middle(clean_line(host.host), max(8, width - len(text)), signs.mark) + text


def waits(live: Live, responses: Responses, key: str = "") -> list[Part]:
    """Explains why the crawl is stalled and why URLs wait for a long time. Returns pairs of a style and a
    text."""
    s = live.summary
    found: list[Part] = []
    if s.state == "paused":
        found.append(("magenta", f"the crawl is paused; continue with: gossamer resume {s.crawl}"))
    if live.limit is not None and s.pages >= live.limit and live.in_flight:
        found.append(("magenta", f"--limit {live.limit} is reached; visits in flight end"))
    if live.retries.urls:
        found.append(("magenta", waiting_retries(live, responses, key)))
    if not live.in_flight and s.pending and s.state == "running" and live.retries.urls < s.pending:
        found += [("magenta", why) for why in _why_idle(live.hosts)]
    if why := why_no_page(live):
        found.append(("red", why))
    return found


def _why_idle(hosts: Sequence[HostLine]) -> list[str]:
    """Returns the reason why no host with pending URLs is requested now. If several hosts have pending URLs,
    the function explains the wait of the host that is requested next."""
    from gossamer.politeness.pace import why_delay

    queued = [host for host in hosts if host.waiting]
    first = min(queued, key=lambda host: host.next, default=None)
    if first is None or first.next < LONG_WAIT_S:
        return []
    until = f"for {format_duration(first.next)}"
    if first.state == "paused":
        return [f"{first.host} is paused; continue with: gossamer host resume {first.host}"]
    if first.state == "open":
        return [f"{first.host} failed too often: no requests {until} (its circuit breaker is open)"]
    if first.state == "closed":
        return [
            f"robots.txt of {first.host} cannot be read; it is tried again in {format_duration(first.next)}"
        ]
    why = why_delay(first.delay or 0.0, first.pace, first.fixed_delay, first.crawl_delay)
    every = f"every {first.delay:.3g} s: {why}" if first.delay else "the host asked for a pause"
    return [f"next request to {first.host} in {format_duration(first.next)} ({every})"]


def waiting_retries(live: Live, responses: Responses | None = None, key: str = "") -> str:
    """Returns a text with the number of URLs that wait for a retry, the reasons, and the time of the next
    retry."""
    retries = live.retries
    urls = "1 URL waits" if retries.urls == 1 else f"{retries.urls:,} URLs wait"
    reasons = {} if responses is None else responses.waiting()
    why = f" ({format_counts(reasons) if len(reasons) > 1 else next(iter(reasons))})" if reasons else ""
    last = f", last in {format_duration(retries.last)}" if retries.last > retries.next + 1 else ""
    return f"{urls} for a retry{why}, next in {format_duration(round(retries.next))}{last}{end_of_waits(live, key)}"


def end_of_waits(live: Live, key: str = "") -> str:
    """Returns a text with the end of a run of which only retries are left, and with the key or the command that
    ends the wait. Returns '' if something else is left."""
    if not live.only_retries:
        return ""
    how = f"{f'the key {key}' if key else f'gossamer finish {live.summary.crawl}'} ends the wait"
    if live.waits_end is None:
        return f"; {how}"
    return f"; the run ends in at most {format_duration(round(live.waits_end))}, and {how}"


def why_no_page(live: Live) -> str:
    """Returns the reason why the crawl has no page yet. Returns '' if the crawl already has a page, or if the
    reason is unknown."""
    if live.silent is None or not live.summary.pending:
        return ""
    host, error = live.silent
    todo = RETRYABLE.get(error, "see gossamer status")
    return (
        f"no page yet: {clean_line(host)} gives {error}: {todo}; it is retried after the waits of "
        "--retries, and Ctrl-C keeps it for later"
    )


def _labelled(label: str, parts: Sequence[Part], width: int, paint: Paint) -> str:
    """Formats a line that consists of a label and parts. Parts beyond the width of the line are dropped."""
    out, used = paint(label.ljust(LABEL_WIDTH), "dim"), LABEL_WIDTH
    for number, (text, style) in enumerate(parts):
        gap = ("  " if style == "dim" or ":" in text else ", ") if number else ""
        if number and used + len(gap) + text_width(text) > width:
            break
        shown = cut_end(text, width - used) if not number else text
        out += gap + paint(shown, style)
        used += len(gap) + text_width(shown)
    return out
