"""The table of politeness/breaker.py, row by row."""

from __future__ import annotations

import pytest

from gossamer.model.verdict import HostHealth
from gossamer.politeness.breaker import Breaker, HostTrouble, health, is_given_up


@pytest.mark.parametrize(
    ("reason", "status", "more", "said"),
    [
        (None, 200, {}, HostHealth.GOOD),
        (None, 304, {}, HostHealth.GOOD),
        ("http-4xx", 404, {}, HostHealth.GOOD),
        ("http-4xx", 403, {}, HostHealth.BLOCKED),
        ("rate-limited", 429, {}, HostHealth.BLOCKED),
        ("blocked", 200, {}, HostHealth.BLOCKED),
        ("http-5xx", 503, {}, HostHealth.FAULT),
        ("connect", None, {}, HostHealth.FAULT),
        ("tls", None, {"final": True}, ""),
        ("dns", None, {"final": True}, HostHealth.FAULT),
        ("timeout", None, {"again": True}, HostHealth.REPEATED_FAULT),
        ("reset", None, {}, HostHealth.FAULT),
        ("parse", 200, {}, HostHealth.GOOD),
        ("too-large", 200, {"final": True}, HostHealth.GOOD),
        ("too-large", None, {"final": True}, ""),
        ("robots-unreachable", None, {}, ""),
        (None, None, {}, ""),
    ],
)
def test_what_a_visit_says_of_its_host(
    reason: str | None, status: int | None, more: dict[str, bool], said: str
) -> None:
    assert health(reason, status, **more) == said


def told(*said: str, at: int = 1000, **given: int) -> Breaker:
    breaker = Breaker(**given)
    for one in said:
        breaker.felt(at, one, "connect")
    return breaker


def test_ten_faults_in_a_row_open_it_for_thirty_seconds() -> None:
    assert told(*[HostHealth.FAULT] * 9).state(1000) == "closed"
    opened = told(*[HostHealth.FAULT] * 10)
    assert (opened.state(1000), opened.ends) == ("open", 31_000)
    assert opened.state(31_000) == "half-open"


@pytest.mark.parametrize("between", [HostHealth.GOOD, HostHealth.BLOCKED])
def test_an_answer_between_begins_the_row_anew(between: str) -> None:
    assert told(*[HostHealth.FAULT] * 9, between, HostHealth.FAULT).faults == 1
    assert told(*[HostHealth.FAULT] * 12, between).state(1000) == "closed"


def test_a_url_that_failed_before_tells_nothing_new() -> None:
    assert told(*[HostHealth.REPEATED_FAULT] * 50).state(1000) == "closed"
    assert told(*[HostHealth.REPEATED_FAULT] * 50).hard


def test_each_failed_probe_doubles_the_time() -> None:
    breaker, waits = told(*[HostHealth.FAULT] * 10), []
    for _ in range(7):
        at = breaker.ends
        breaker.felt(at, HostHealth.FAULT, "connect")
        waits.append((breaker.ends - at) // 1000)
        breaker.felt(at + 1, HostHealth.FAULT)  # the request was sent before the breaker opened again
    assert waits == [60, 120, 240, 480, 900, 900, 900]
    breaker.felt(breaker.ends, HostHealth.GOOD)
    assert breaker.state(breaker.ends + 1) == "closed"


def test_a_host_is_given_up_after_three_probes_and_probed_again_later() -> None:
    breaker = told(*[HostHealth.FAULT] * 10)
    for state in ("open", "open", "given up"):
        breaker.felt(breaker.ends, HostHealth.LAST_FAULT, "dns")
        assert breaker.state(breaker.ends - 1) == state
    assert breaker.why == "dns"
    at = breaker.ends
    assert breaker.state(at) == "half-open"
    breaker.felt(at, HostHealth.FAULT, "dns")
    assert breaker.state(at) == "open"


def test_when_a_fault_gives_up() -> None:
    assert not is_given_up(HostTrouble(failing=2159), (60, 300, 1800))
    assert is_given_up(HostTrouble(failing=2161), (60, 300, 1800))
    assert is_given_up(HostTrouble(failing=0.1), ())


def test_hard_and_easy_do_not_flutter() -> None:
    hard = told(*[HostHealth.BLOCKED] * 4)
    assert hard.hard
    for said in (HostHealth.GOOD, HostHealth.BLOCKED, HostHealth.GOOD):
        hard.felt(1000, said)
        assert hard.hard
    for _ in range(9):
        hard.felt(1000, HostHealth.GOOD)
    assert not hard.hard
