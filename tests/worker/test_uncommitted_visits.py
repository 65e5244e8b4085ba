"""Visits that free the slots of their hosts before their commit, and the time at which they do so."""

from __future__ import annotations

import time

import pytest

from gossamer.model.request import Request
from gossamer.model.verdict import ClaimEnd
from gossamer.model.visit import Claim, Settle, Visit
from gossamer.worker.uncommitted_visits import MAX_DELAY_SHARE, UncommittedVisits


def visit(
    token: int, end: ClaimEnd = ClaimEnd.DONE, *, ago: float = 0.0, delay: int = 0, bucket: int = 0
) -> Visit:
    claim = Claim(token, bucket, "a.example", Request(f"http://a.example/{token}"))
    return Visit(claim, Settle(token, end, delay=delay), time.monotonic() - ago if ago else 0.0)


def tokens(uncommitted: UncommittedVisits, most: int = 10) -> list[int]:
    return [settle.token for some in uncommitted.take(most).values() for settle in some]


def test_a_fast_host_is_freed_at_once_and_once() -> None:
    uncommitted = UncommittedVisits()
    uncommitted.add(visit(1, ago=0.02))
    assert tokens(uncommitted) == [1]
    assert tokens(uncommitted) == []
    assert uncommitted.freed == {(0, 1)}
    uncommitted.settled(visit(1))
    assert uncommitted.freed == set()


def test_a_host_with_a_delay_is_due_when_its_delay_is_over() -> None:
    uncommitted, now = UncommittedVisits(), time.monotonic()
    uncommitted.add(visit(1, ago=1.0, delay=5000))
    assert tokens(uncommitted) == []
    assert uncommitted.next_at - now == pytest.approx(4 + 5 * MAX_DELAY_SHARE, abs=0.2)


def test_calls_for_slow_hosts_wait_for_company() -> None:
    uncommitted, now = UncommittedVisits(), time.monotonic()
    uncommitted.add(visit(1, ago=10.0))
    assert uncommitted.next_at - now == pytest.approx(10 * MAX_DELAY_SHARE, abs=0.1)


@pytest.mark.parametrize("end", [ClaimEnd.REQUEUED, ClaimEnd.REFUSED])
def test_what_made_no_request_waits_for_its_commit(end: ClaimEnd) -> None:
    uncommitted = UncommittedVisits()
    uncommitted.add(visit(1, end, ago=0.02))
    uncommitted.add(visit(2))
    assert uncommitted.next_at == float("inf")


def test_what_is_settled_needs_no_call() -> None:
    uncommitted = UncommittedVisits()
    uncommitted.add(one := visit(1, ago=0.02))
    uncommitted.settled(one)
    assert (tokens(uncommitted), uncommitted.next_at) == ([], float("inf"))


def test_no_more_buckets_are_freed_than_are_claimed_from() -> None:
    uncommitted = UncommittedVisits()
    for token in range(6):
        uncommitted.add(visit(token, ago=0.02, bucket=token % 3))
    assert sorted(uncommitted.take(2)) == [0, 1]
    assert len(uncommitted.take(2)) == 2
    left = {token for _, token in uncommitted.freed}
    while found := tokens(uncommitted, 2):
        left |= set(found)
    assert left == set(range(6))
