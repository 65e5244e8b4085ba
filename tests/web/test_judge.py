"""Tests of the judge: the violations that it reports, and the accuracy of the record that it reads."""

from __future__ import annotations

import http.client
import os
import signal
import socket
import threading
import time

import pytest

from web import Hit, judge, preset, serve
from web.reference import get

HOST = "127.0.1.1:80"


def hit(start: float, end: float, path: str = "/", host: str = HOST, lag: float = 0.0, **more: object) -> Hit:
    """Returns a hit whose times are given in seconds."""
    made = Hit(
        1, 1, host, "GET", path, 200, int(start * 1e9), int(end * 1e9), 0.0, int(lag * 1e9), 100, "page", {}
    )
    return made._replace(**more)  # type: ignore[arg-type]  # a test's own fields


def test_gaps_are_between_starts() -> None:
    log = [hit(1.0, 1.4), hit(0.0, 0.1), hit(0.5, 9.0, host="other"), hit(1.5, 2.0)]
    assert judge.gaps(log, HOST) == [1.0, 0.5]
    assert judge.gaps([], HOST) == []


@pytest.mark.parametrize(
    ("delay", "gap", "right"),
    [
        (0.5, 0.481, True),
        (0.5, 0.479, False),
        (5.0, 4.901, True),
        (5.0, 4.899, False),
        (0.0, 0.0, True),
        (0.25, 0.231, True),
    ],
)
def test_tolerance_is_20_ms_or_2_percent(delay: float, gap: float, right: bool) -> None:
    log = [hit(1.0, 1.0), hit(1.0 + gap, 1.0 + gap)]
    found = judge.violations(log, {HOST: delay}, per_host=2)
    assert (found == []) is right
    if not right:
        assert (found[0].kind, found[0].asked, round(found[0].found, 3)) == ("gap", delay, gap)


def test_a_host_is_judged_by_its_own_delay() -> None:
    log = [hit(0, 0.01), hit(0.3, 0.31), hit(0, 0.01, host="b"), hit(0.3, 0.31, host="b")]
    assert [found.host for found in judge.violations(log, {HOST: 0.2, "b": 1.0})] == ["b"]


def test_at_once() -> None:
    assert judge.at_once([hit(0, 1), hit(1, 2), hit(1.99, 3)], HOST) == 1
    assert judge.at_once([hit(0, 1), hit(0.5, 2), hit(0.6, 0.7)], HOST) == 3
    assert judge.at_once([hit(0, 1), hit(5, 6)._replace(end=0), hit(9, 10)], HOST) == 2
    log = [hit(0, 1), hit(0.5, 2)]
    assert [found.kind for found in judge.violations(log, {})] == ["at-once"]
    assert judge.violations(log, {}, per_host=2) == []


def test_what_the_server_was_late_is_nobodys_fault() -> None:
    late = [hit(1.0, 1.31, lag=0.3), hit(1.5, 1.51)]
    assert judge.gaps(late, HOST) == [0.5]
    assert judge.gaps([hit(1.0, 1.01), hit(1.3, 1.8, lag=0.2)], HOST) == [0.5]


def test_a_stall_excuses_what_it_held_up_and_no_more() -> None:
    # with a delay of 0.25 s, where the first request arrived 60 ms late
    log = [hit(1.06, 1.07), hit(1.25, 1.26)]

    def judged(begin: float, end: float) -> list[judge.Violation]:
        return judge.violations(log, {HOST: 0.25}, stalls=[judge.Stall(int(begin * 1e9), int(end * 1e9))])

    assert judged(1.0, 1.06) == []
    assert judged(1.03, 1.06), "too short for what is missing"
    assert judged(0.8, 0.9), "long before it"
    assert judged(1.1, 1.2), "after it"


def test_a_closed_kept_connection_can_be_left_out() -> None:
    log = [hit(0, 0.01), hit(1, 1.01, kind="close-kept", status=0), hit(1.02, 1.03, kind="close-kept")]
    assert judge.violations(log, {HOST: 1.0})
    assert judge.violations(log, {HOST: 1.0}, closed=False) == []


def test_robots_first() -> None:
    plan = preset("tiny", port=80, robots=("part",))
    first = [hit(0, 0.1, "/robots.txt"), hit(1, 1.1)]
    assert judge.robots_first(first, plan) == []
    assert "before robots.txt" in judge.robots_first([hit(0, 0.1), hit(1, 1.1, "/robots.txt")], plan)[0]
    assert "2 times" in judge.robots_first([*first, hit(2, 2.1, "/robots.txt")], plan)[0]
    assert judge.robots_first([*first, hit(2, 2.1, "/robots.txt")], plan, crawls=2) == []
    assert "before the answer" in judge.robots_first([hit(0, 3, "/robots.txt"), hit(1, 1.1)], plan)[0]


def test_wasted_counts_traps_and_spam_hosts() -> None:
    plan = preset("traps", port=80)
    log = [
        hit(0, 1, "/"),
        hit(0, 1, "/cal/2024/06/"),
        hit(0, 1, "/shop/item-3.html"),
        hit(0, 1, "/", plan.authority(-5)),
    ]
    assert judge.wasted(log, plan) == 0.5
    assert judge.wasted([], plan) == 0


def test_fetched_counts_a_page_once_for_all_its_writings() -> None:
    log = [
        hit(0, 1, "/a?b=1&a=2"),
        hit(0, 1, "/a?a=2&b=1&utm_source=x"),
        hit(0, 1, "/robots.txt"),
        hit(0, 1, "/sitemap.xml"),
    ]
    assert judge.fetched(log) == {f"http://{HOST}/a?a=2&b=1": 2}


def test_the_record_has_starts_and_ends() -> None:
    with serve(preset("tiny", latency=0.5)) as web:
        began = time.monotonic_ns()
        threads = [threading.Thread(target=get, args=(web.url(),)) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        get(web.url())
        ended = time.monotonic_ns()
        log = web.log()
        host = web.plan.authority(0)
        assert len(log) == 4
        assert judge.at_once(log, host) == 3
        assert all(began - 20_000_000 <= one.start < one.end <= ended for one in log)
        assert all(one.end - one.start >= 400_000_000 for one in log)
        assert abs(log[0].wall - time.time()) < 30
        assert judge.gaps(log, host)[-1] >= 0.4


def test_the_record_keeps_what_was_sent_with_a_request() -> None:
    with serve(preset("tiny")) as web:
        get(
            web.url(0, "/nothing?x=1"),
            {"User-Agent": "me", "Referer": "http://r/", "X-Other": "1", "Authorization": "s"},
        )
        (one,) = web.log()
        assert (one.method, one.path, one.status, one.kind) == ("GET", "/nothing?x=1", 404, "missing")
        assert one.headers == {
            "user-agent": "me",
            "referer": "http://r/",
            "authorization": "s",
            "accept-encoding": "identity",
        }


def test_an_answer_that_nobody_waited_for() -> None:
    with serve(preset("tiny", features=("hang",))) as web:
        with socket.create_connection((web.plan.name_of(0), web.plan.port)) as sock:
            sock.sendall(f"GET /h/hang.html HTTP/1.1\r\nHost: {web.plan.authority(0)}\r\n\r\n".encode())
            while web.stats()["open"] != 1:
                time.sleep(0.01)
            assert web.log()[0].end == 0
        while web.stats()["open"] != 0:
            time.sleep(0.01)
        (one,) = web.log()
        assert (one.status, one.kind) == (0, "left")
        assert one.end > one.start


def test_a_stalled_server_knows_when_a_request_came() -> None:
    with serve(preset("tiny")) as web:
        connection = http.client.HTTPConnection(web.plan.authority(0))
        connection.request("GET", "/")
        connection.getresponse().read()
        time.sleep(0.1)
        os.kill(web.pid, signal.SIGSTOP)
        try:
            sent = time.monotonic_ns()
            connection.request("GET", "/")
            time.sleep(0.5)
        finally:
            os.kill(web.pid, signal.SIGCONT)
        connection.getresponse().read()
        connection.close()
        first, second = web.log()
        assert second.lag > 400_000_000
        assert abs(second.start - sent) < 100_000_000
        assert second.start > first.end


def test_pipelined_requests_are_answered_in_order() -> None:
    with serve(preset("tiny")) as web, socket.create_connection((web.plan.name_of(0), web.plan.port)) as sock:
        line = f" HTTP/1.1\r\nHost: {web.plan.authority(0)}\r\n"
        sock.sendall(f"GET /x{line}\r\nHEAD /{line}\r\nGET /y{line}Connection: close\r\n\r\n".encode())
        got = b""
        while data := sock.recv(65536):
            got += data
        assert got.count(b"HTTP/1.1 404") == 2
        assert got.count(b"HTTP/1.1 200") == 1
        assert b"<html" not in got
        assert [one.path for one in web.log()] == ["/x", "/", "/y"]
