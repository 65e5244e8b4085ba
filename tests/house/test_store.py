"""The store that tests share is real and as durable as the embedded one, and it is empty at the start of each
test."""

from __future__ import annotations

import pytest
import redis


@pytest.mark.parametrize("turn", [1, 2])
def test_each_test_gets_an_empty_durable_store(valkey_url: str, turn: int) -> None:
    with redis.Redis.from_url(valkey_url) as client:
        assert client.dbsize() == 0
        assert client.config_get("appendonly") == {"appendonly": "yes"}
        client.set("gossamer:crawls", turn)
