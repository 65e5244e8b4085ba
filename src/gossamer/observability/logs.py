"""Writes the log of a process to stderr: one event per line, as JSON or as readable text.

Everything that the process writes to stderr goes through one formatter: its events, the records of `logging`
(of Celery, of libraries, of site files), and plain lines. Each line contains those fields of FIELDS that have
a value for the event. Secrets are masked in every text. Control characters are removed from texts, which are
then cut at MAX_TEXT characters. Equal lines are counted instead of repeated.
"""

from __future__ import annotations

import contextlib
import json
import logging
import sys
import threading
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Final, TextIO, cast

import msgspec

from gossamer.config.redaction import mask
from gossamer.model.lazy_pattern import lazy_pattern
from gossamer.sites.site_logs import LoggedPage

FORMATS: Final = ("text", "json")
LEVELS: Final = ("debug", "info", "warning", "error")
EVENTS: Final[dict[str, int]] = {
    "page_fetched": logging.DEBUG,
    "page_failed": logging.INFO,
    "page_retried": logging.INFO,
    "page_blocked": logging.WARNING,
    "page_dead": logging.WARNING,
    "breaker_opened": logging.WARNING,
    "worker_joined": logging.INFO,
    "worker_gone": logging.ERROR,
    "lease_lost": logging.WARNING,
    "sink_away": logging.ERROR,
    "sink_back": logging.INFO,
    "store_away": logging.WARNING,
    "store_back": logging.WARNING,
    "store_went_back": logging.WARNING,
    "budget_spent": logging.WARNING,
    "crawl_state": logging.INFO,
    "concurrency": logging.DEBUG,
    "alert_firing": logging.ERROR,
    "alert_resolved": logging.INFO,
    "alert_failed": logging.ERROR,
    "schedule": logging.INFO,
    "progress": logging.INFO,
    "summary": logging.INFO,
    "message": logging.INFO,
    "repeated": logging.INFO,
}
"""Maps the names of all events to their log levels. Packages below `observability` log through `logging`, and
set the event with `extra={"event": ...}`. A line without an event becomes the event `message`. The event
`repeated` contains the count of equal lines."""
FIELDS: Final = (
    *(
        "ts",
        "level",
        "event",
        "crawl",
        "site",
        "host",
        "url",
        "worker",
        "attempt",
        "rung",
        "collector",
        "status",
    ),
    *("outcome", "ms", "bytes", "block", "error", "text", "logger"),
)
"""The fields of a log line, in the order in which they are written. The other fields of an event are written
after the fields in FIELDS."""
MAX_TEXT: Final = 2048
BURST, WINDOW_S, MAX_KEYS = 20, 60.0, 1000
"""BURST is the maximum number of equal lines that are written within WINDOW_S seconds. MAX_KEYS is the
maximum number of different log lines that are remembered."""
_ORDER = {name: place for place, name in enumerate(FIELDS)}
# control characters, line and paragraph separators, marks that change the direction of text, lone surrogates
_UNSAFE = lazy_pattern("[\x00-\x1f\x7f-\x9f\u2028\u2029\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]+")
_BARE = lazy_pattern(r"[^\s\"'=]+")
_NUMBER = lazy_pattern(r"\d+")
_PREFIX = "gossamer: "
_SAME = ("crawl", "host", "error", "outcome", "worker", "state")
"""The fields that are compared to find equal lines of the same event."""

_events = logging.getLogger("gossamer.events")
_events.disabled = True


def log_event(event: str, **fields: Any) -> None:
    """Logs one of EVENTS. Does nothing if `start_logs` was not called, or if the level is too low."""
    level = EVENTS[event]
    if not _events.disabled and _events.isEnabledFor(level):
        _events.log(level, event, extra={"fields": fields})


def logs_events(event: str) -> bool:
    """Returns whether an event would be written. Callers call this function before they compute costly
    fields."""
    return not _events.disabled and _events.isEnabledFor(EVENTS[event])


def safe_text(text: str) -> str:
    """Converts a text to one line. Replaces control characters by spaces, masks secrets, and cuts the result
    at MAX_TEXT characters.

    >>> safe_text("a\\x1b[31mb\\n  c")
    'a [31mb   c'
    """
    if len(text) > 4 * MAX_TEXT:
        text = text[: 4 * MAX_TEXT]
    text = mask(_UNSAFE.sub(" ", text))
    return text if len(text) <= MAX_TEXT else f"{text[: MAX_TEXT - 1]}…"


def _safe(value: Any) -> Any:
    if isinstance(value, str):
        return safe_text(value)
    if value is None or isinstance(value, bool | int | float):
        return value
    if isinstance(value, Mapping):
        return {safe_text(str(name)): _safe(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [_safe(one) for one in value]
    return safe_text(str(value))


class EventFormatter(logging.Formatter):
    """Formats a record of `logging` as one line."""

    def __init__(self, form: str) -> None:
        super().__init__()
        self._json = form == "json"

    def format(self, record: logging.LogRecord) -> str:
        """Returns the line without a line break at its end."""
        fields = {name: value for name, value in fields_of(record).items() if value not in (None, "")}
        if self._json:
            return msgspec.json.encode(fields).decode()
        at, level, event, *_ = fields.values()
        rest = list(fields.items())[3:]
        words = " ".join(f"{name}={_word(value)}" for name, value in rest if name != "text")
        text = str(fields.get("text", ""))
        head = f"{at} {level:<7} {event}" if event != "message" else f"{at} {level:<7}"
        return " ".join(filter(None, (head, text, words)))


def fields_of(record: logging.LogRecord) -> dict[str, Any]:
    """Returns the fields of a record in their order."""
    own: dict[str, Any] | None = getattr(record, "fields", None)
    if own is not None:
        found = {"event": record.msg, **own}
    else:
        found = {"event": getattr(record, "event", "message"), "text": _text(record), "logger": record.name}
        if LoggedPage.current is not None:
            found["site"], found["url"] = LoggedPage.current
        if record.exc_info or record.exc_text:
            found["error"] = record.exc_text or logging.Formatter().formatException(record.exc_info)  # type: ignore[arg-type]
    at = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    plain = {safe_text(name): _safe(value) for name, value in found.items()}
    ordered = sorted(plain, key=lambda name: _ORDER.get(name, len(_ORDER)))
    return {"ts": at, "level": record.levelname.lower(), **{name: plain[name] for name in ordered}}


def _text(record: logging.LogRecord) -> str:
    try:
        return record.getMessage()
    except (TypeError, ValueError):  # the arguments do not fit the message
        return f"{record.msg} {record.args}"


def _word(value: Any) -> str:
    text = value if isinstance(value, str) else msgspec.json.encode(value).decode()
    return text if _BARE.fullmatch(text) else json.dumps(text, ensure_ascii=False)


class LogHandler(logging.Handler):
    """Writes lines to a stream, and counts equal lines. Errors of the stream are ignored: a full disk or a
    closed pipe must not end a crawl."""

    def __init__(self, form: str, stream: TextIO) -> None:
        super().__init__()
        self.stream = stream
        self.setFormatter(EventFormatter(form))
        self._seen: dict[tuple[Any, ...], list[Any]] = {}

    def emit(self, record: logging.LogRecord) -> None:
        """Writes a record, unless too many equal ones were written recently."""
        try:
            for one in self._counted(record):
                with contextlib.suppress(OSError, ValueError):
                    self.stream.write(f"{self.format(one)}\n")
                    self.stream.flush()
        except Exception:  # noqa: BLE001 - as handlers of `logging` do
            self.handleError(record)

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802 - the name in `logging`
        """If a record could not be formatted, writes one line that reports the fault, instead of the usual
        traceback of many lines."""
        with contextlib.suppress(Exception):
            line = {
                "level": "error",
                "event": "message",
                "text": f"a log record of {record.name} is malformed",
            }
            self.stream.write(json.dumps(line) + "\n")

    def close(self) -> None:
        """Writes the counts of equal lines that were not written yet."""
        for key in list(self._seen):
            self._write_count(key)
        super().close()

    def _counted(self, record: logging.LogRecord) -> list[logging.LogRecord]:
        """Returns the records to write now. The first records contain the counts of repeated lines whose time
        window has ended. The last record is `record`, unless too many lines equal to `record` were
        written."""
        now, key = time.monotonic(), _key_of(record)
        due = [other for other, (since, n, _) in self._seen.items() if now - since >= WINDOW_S and n > BURST]
        counts = [count for other in due if (count := self._count_of(other)) is not None]
        seen = self._seen.get(key)
        if seen is None or now - seen[0] >= WINDOW_S:
            if len(self._seen) >= MAX_KEYS:
                oldest = next(iter(self._seen))
                counts += [count for count in [self._count_of(oldest)] if count is not None]
                self._seen.pop(oldest, None)
            self._seen.pop(key, None)
            self._seen[key] = [now, 1, record]
            return [*counts, record]
        seen[1] += 1
        return [*counts, record] if seen[1] <= BURST else counts

    def _count_of(self, key: tuple[Any, ...]) -> logging.LogRecord | None:
        _, n, last = self._seen.pop(key)
        if n <= BURST:
            return None
        what = getattr(last, "fields", None) or {"text": last.getMessage()}
        fields = {"of": last.msg if hasattr(last, "fields") else "message", "times": n - BURST, **what}
        return logging.makeLogRecord(
            {"msg": "repeated", "levelno": last.levelno, "levelname": last.levelname, "fields": fields}
        )

    def _write_count(self, key: tuple[Any, ...]) -> None:
        record = self._count_of(key)
        if record is not None:
            with contextlib.suppress(OSError, ValueError):
                self.stream.write(f"{self.format(record)}\n")
                self.stream.flush()


def _key_of(record: logging.LogRecord) -> tuple[Any, ...]:
    """Returns a key that is the same for equal lines. Texts that differ only in their numbers have the same
    key."""
    fields = getattr(record, "fields", None)
    if fields is None:
        return record.name, record.levelno, _NUMBER.sub("0", str(record.msg))[:200]
    if record.msg == "message":
        return record.msg, record.levelno, _NUMBER.sub("0", str(fields.get("text", "")))[:200]
    own = fields.get("url") if record.msg == "page_fetched" else None
    return record.msg, own, *(fields.get(name) for name in _SAME)


class LineStream:
    """A replacement for stderr that makes each line an event. If a child process wrote a line that already is
    an event in JSON, the line stays unchanged, except that secrets in the line are masked."""

    def __init__(self, handler: LogHandler) -> None:
        self._handler, self._rest, self._lock = handler, "", threading.RLock()

    def write(self, text: str) -> int:
        """Accepts part of a line, or one or more lines."""
        with self._lock:
            *lines, self._rest = (self._rest + text).split("\n")
            if len(self._rest) > 4 * MAX_TEXT:
                lines, self._rest = [*lines, self._rest], ""
            for line in lines:
                self._line(line)
        return len(text)

    def flush(self) -> None:
        """Does nothing, because whole lines are written at once."""

    def close(self) -> None:
        """Writes the last line, even if it has no line break."""
        rest, self._rest = self._rest, ""
        self._line(rest)

    def isatty(self) -> bool:
        """Returns False, because a log is not a terminal."""
        return False

    def fileno(self) -> int:
        """Returns the descriptor of the real stderr."""
        return self._handler.stream.fileno()

    @property
    def encoding(self) -> str:
        """The encoding of the real stderr."""
        return self._handler.stream.encoding

    def _line(self, line: str) -> None:
        if not line.strip():
            return
        if line.startswith('{"ts":') and line.endswith("}"):
            with contextlib.suppress(OSError, ValueError):
                self._handler.stream.write(f"{mask(line)}\n")
                self._handler.stream.flush()
            return
        level = logging.WARNING if "warning:" in line[:60].lower() else logging.INFO
        record = logging.makeLogRecord(
            {
                "name": _events.name,
                "msg": "message",
                "levelno": level,
                "levelname": logging.getLevelName(level),
                "fields": {"text": line.removeprefix(_PREFIX)},
            }
        )
        if level >= _events.getEffectiveLevel():
            self._handler.handle(record)


def start_logs(form: str, level: str) -> LogHandler:
    """Sends everything that this process logs or writes to stderr through one formatter. Drops events and
    records below `level`. Returns the handler."""
    stream = getattr(sys.stderr, "_handler", None)
    real = stream.stream if stream is not None else sys.stderr
    handler = LogHandler(form, cast(TextIO, real))
    number = logging.getLevelNamesMapping()[level.upper()]
    root = logging.getLogger()
    for old in list(root.handlers):
        root.removeHandler(old)
    root.addHandler(handler)
    root.setLevel(max(number, logging.INFO) if number < logging.INFO else number)
    for name in ("gossamer", _events.name):
        logging.getLogger(name).setLevel(number)
    _events.disabled = False
    logging.captureWarnings(True)
    sys.stderr = cast(TextIO, LineStream(handler))
    return handler


def started() -> tuple[str, str] | None:
    """Returns the format and the level of this process's log, or None if `start_logs` was not called."""
    handler = getattr(sys.stderr, "_handler", None)
    if not isinstance(handler, LogHandler) or not isinstance(handler.formatter, EventFormatter):
        return None
    level = logging.getLevelName(_events.getEffectiveLevel()).lower()
    return ("json" if handler.formatter._json else "text"), level
