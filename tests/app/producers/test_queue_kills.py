"""The short form of benchmarks/queues.py: every part is killed, and each message counts once."""

from __future__ import annotations

from typing import Any

import pytest

from support.scripts import script

queues: Any = script("benchmarks/queues.py")


def test_each_message_counts_once_although_each_part_is_killed_twice() -> None:
    assert queues.kills("zset", 600, 20.0, None, 2) == []


def test_higher_priorities_come_first_within_a_host() -> None:
    assert queues.order("zset", 1000, None) == []


@pytest.mark.parametrize("typo", [False, True], ids=["malformed", "field map with a typo"])
def test_a_queue_of_refused_messages_hides_no_good_one(typo: bool) -> None:
    assert queues.bad("list", 6000, typo, None) == []
