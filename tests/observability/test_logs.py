"""Each event is one log line: hostile texts, secrets, records of other libraries and plain lines."""

from __future__ import annotations

import io
import json
import logging
import sys
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.config.redaction import register
from gossamer.observability import logs
from gossamer.observability.logs import BURST, EVENTS, FIELDS, LogHandler, log_event, start_logs
from support import fork_server


@pytest.fixture
def begin(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., io.StringIO]]:
    """Yields a function that starts a log into a string. Restores `logging` and stderr afterwards."""
    root, real = logging.getLogger(), sys.stderr
    before, level = list(root.handlers), root.level
    stream = io.StringIO()

    def do(form: str = "json", level: str = "debug") -> io.StringIO:
        sys.stderr = stream
        start_logs(form, level)
        return stream

    yield do
    logging.captureWarnings(False)
    sys.stderr, root.handlers[:], logs._events.disabled = real, before, True
    root.setLevel(level)


def lines(stream: io.StringIO) -> list[dict[str, Any]]:
    return [json.loads(line) for line in stream.getvalue().splitlines()]


def test_an_event_has_its_fields_in_order(begin: Any) -> None:
    stream = begin()
    log_event("page_dead", url="http://a.example/", crawl="c", error="timeout", more=3, block=None)
    (line,) = lines(stream)
    assert list(line) == ["ts", "level", "event", "crawl", "url", "error", "more"]
    assert line["level"] == "warning"
    assert line["ts"].endswith("Z")


def test_text_is_readable(begin: Any) -> None:
    stream = begin("text")
    log_event("page_dead", crawl="c", host="a.example", text="no answer", why="a b")
    assert stream.getvalue()[24:] == ' warning page_dead no answer crawl=c host=a.example why="a b"\n'


def test_levels_decide(begin: Any) -> None:
    stream = begin("json", "warning")
    log_event("page_retried", crawl="c")
    log_event("page_dead", crawl="c")
    logging.getLogger("celery.worker").info("hello")
    print("gossamer: a remark", file=sys.stderr)
    assert [line["event"] for line in lines(stream)] == ["page_dead"]


def test_without_a_log_an_event_is_nothing() -> None:
    log_event("page_dead", crawl="c")
    assert not logs.logs_events("page_dead")
    with pytest.raises(KeyError):
        log_event("no_such_event")


def test_all_that_is_written_becomes_an_event(begin: Any) -> None:
    stream = begin()
    logging.getLogger("celery.worker").error("lost %s", "broker")
    logging.getLogger("other").warning("%d", "not a number")
    print("gossamer: a remark\nand\n", end="", file=sys.stderr)
    print('{"ts":"2026-01-01T00:00:00.000Z","level":"info","event":"message"}', file=sys.stderr)
    try:
        1 / 0  # noqa: B018
    except ZeroDivisionError:
        logging.getLogger("gossamer").exception("a bug")
    found = lines(stream)
    assert [line.get("text") for line in found] == [
        "lost broker",
        "%d ('not a number',)",
        "a remark",
        "and",
        None,
        "a bug",
    ]
    assert found[0]["logger"] == "celery.worker"
    assert "ZeroDivisionError" in found[-1]["error"]


HOSTILE = [
    "a\nb\rc\x0bd\x85e\u2028f",
    "\x1b[2J\x1b]0;title\x07",
    "\u202egpj.exe",
    "x" * 1_000_000,
    "\ud800 lone",
    "\x00",
    '{"ts": "forged"}',
    'a=b c="d"',
    "%s %d",
]


@pytest.mark.parametrize("form", ["json", "text"])
@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_texts_are_one_line(begin: Any, form: str, text: str) -> None:
    stream = begin(form)
    log_event("page_dead", crawl="c", url=text, text=text, error=text)
    logging.getLogger("x").warning("%s", text)
    written = stream.getvalue()
    assert len(written.splitlines()) == 2
    assert len(written) < 20_000
    assert all(one.isprintable() for one in written if one != "\n")
    written.encode()
    if form == "json":
        assert [line["event"] for line in lines(stream)] == ["page_dead", "message"]


@given(st.text(max_size=300), st.text(max_size=300))
def test_any_text_is_one_valid_line(one: str, other: str) -> None:
    stream = io.StringIO()
    handler = LogHandler("json", stream)
    record = logging.makeLogRecord(
        {"msg": "page_dead", "levelname": "WARNING", "fields": {"url": one, other or "x": other}}
    )
    handler.emit(record)
    (line,) = stream.getvalue().splitlines()
    assert json.loads(line)["event"] == "page_dead" or other == "event"


def test_a_record_of_a_lower_package_names_its_event(begin: Any) -> None:
    stream = begin()
    logging.getLogger("gossamer.store").warning("the store does not answer", extra={"event": "store_away"})
    assert lines(stream)[0]["event"] == "store_away"


def test_secrets_are_masked(begin: Any) -> None:
    register("canary-in-the-mine")
    for form in ("json", "text"):
        stream = begin(form)
        log_event(
            "page_dead",
            url="http://u:canary-in-the-mine@a.example/?api_key=abc12345",
            text="canary-in-the-mine",
        )
        logging.getLogger("x").error("Authorization: Bearer canary-in-the-mine")
        print("the canary-in-the-mine sings", file=sys.stderr)
        assert "canary" not in stream.getvalue()
        assert "abc12345" not in stream.getvalue()


def test_equal_lines_are_counted(begin: Any) -> None:
    stream = begin()
    for n in range(3 * BURST):
        log_event("page_retried", crawl="c", host="a.example", url=f"http://a.example/{n}", error="timeout")
    log_event("page_retried", crawl="c", host="b.example", url="http://b.example/", error="timeout")
    assert len(lines(stream)) == BURST + 1
    for handler in logging.getLogger().handlers:
        handler.close()
    last = lines(stream)[-1]
    assert (last["event"], last["of"], last["times"], last["host"]) == (
        "repeated",
        "page_retried",
        2 * BURST,
        "a.example",
    )


def test_the_lists_are_documented() -> None:
    from house.tree import ROOT

    page = (ROOT / "docs" / "logs.md").read_text()
    assert [name for name in (*EVENTS, *FIELDS) if f"`{name}`" not in page] == []


def test_a_closed_stderr_ends_nothing() -> None:
    code = (
        "import os, sys; os.close(2)\n"
        "from gossamer.observability.logs import start_logs, log_event\n"
        "sys.stderr = open(os.open('/dev/full', os.O_WRONLY), 'w')\n"
        "start_logs('json', 'info'); log_event('page_dead', crawl='c'); print('lived')"
    )
    assert fork_server.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "lived\n"
