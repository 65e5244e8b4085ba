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


def tokens(landed: UncommittedVisits, most: int = 10) -> list[int]:
    return [settle.token for some in landed.take(most).values() for settle in some]


def test_a_fast_host_is_freed_at_once_and_once() -> None:
    landed = UncommittedVisits()
    landed.add(visit(1, ago=0.02))
    assert tokens(landed) == [1]
    assert tokens(landed) == []
    assert landed.freed == {(0, 1)}
    landed.settled(visit(1))
    assert landed.freed == set()


def test_a_host_with_a_delay_is_due_when_its_delay_is_over() -> None:
    landed, now = UncommittedVisits(), time.monotonic()
    landed.add(visit(1, ago=1.0, delay=5000))
    assert tokens(landed) == []
    assert landed.next_at - now == pytest.approx(4 + 5 * MAX_DELAY_SHARE, abs=0.2)


def test_calls_for_slow_hosts_wait_for_company() -> None:
    landed, now = UncommittedVisits(), time.monotonic()
    landed.add(visit(1, ago=10.0))
    assert landed.next_at - now == pytest.approx(10 * MAX_DELAY_SHARE, abs=0.1)


@pytest.mark.parametrize("end", [ClaimEnd.REQUEUED, ClaimEnd.REFUSED])
def test_what_made_no_request_waits_for_its_commit(end: ClaimEnd) -> None:
    landed = UncommittedVisits()
    landed.add(visit(1, end, ago=0.02))
    landed.add(visit(2))
    assert landed.next_at == float("inf")


def test_what_is_settled_needs_no_call() -> None:
    landed = UncommittedVisits()
    landed.add(one := visit(1, ago=0.02))
    landed.settled(one)
    assert (tokens(landed), landed.next_at) == ([], float("inf"))


def test_no_more_buckets_are_freed_than_are_claimed_from() -> None:
    landed = UncommittedVisits()
    for token in range(6):
        landed.add(visit(token, ago=0.02, bucket=token % 3))
    assert sorted(landed.take(2)) == [0, 1]
    assert len(landed.take(2)) == 2
    left = {token for _, token in landed.freed}
    while found := tokens(landed, 2):
        left |= set(found)
    assert left == set(range(6))
