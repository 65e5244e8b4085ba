"""The embedded store in trouble: it is adopted and ended whatever its disk says, and none is left behind."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import pytest
import redis

from gossamer.errors import ConfigError, StoreError
from gossamer.frontier.embedded import RESTARTS, Embedded


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "t").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "t"))
    return tmp_path / "data"


def servers(data: Path) -> list[int]:
    """Processes that work in the store's folder."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and os.readlink(entry / "cwd") == str((data / "store").resolve()):
                found.append(int(entry.name))
        except OSError:
            continue
    return found


def until(what: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 20
    while not what():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def refuse_writes(url: str, data: Path) -> None:
    """Make the store say MISCONF, as it does when its disk is full: its snapshot cannot be put in place."""
    (data / "store" / "dump.rdb").mkdir()
    with redis.Redis.from_url(url, retry=None) as client:
        client.config_set("save", "3600 1")
        client.config_set("shutdown-on-sigterm", "force")
        client.set("a", 1)
        client.bgsave()
        until(lambda: client.info("persistence")["rdb_last_bgsave_status"] == "err")
        with pytest.raises(redis.ResponseError, match="MISCONF"):
            client.ping()


def test_a_store_that_refuses_writes_is_adopted_and_ended(data: Path) -> None:
    first, second = Embedded(data), Embedded(data)
    url = first.start()
    try:
        refuse_writes(url, data)
        assert second.start() == url
        assert len(servers(data)) == 1
    finally:
        second.leave()
        first.leave()
    assert servers(data) == []
    assert not (data / "store" / "run.json").exists()


def test_none_is_left_when_its_whereabouts_cannot_be_written(data: Path) -> None:
    (data / "store" / "run.json").mkdir(parents=True)
    with pytest.raises(ConfigError, match=r"run\.json is not a regular file"):
        Embedded(data).start()
    assert servers(data) == []
    assert list((data.parent / "t").iterdir()) == []


def test_files_that_are_broken_are_named_in_plain_words(data: Path) -> None:
    one = Embedded(data)
    with redis.Redis.from_url(one.start()) as client:
        client.mset({f"key{n}": n for n in range(100)})
    one.leave()
    broken = next((data / "store" / "appendonlydir").glob("*.incr.aof"))
    raw = broken.read_bytes()
    broken.write_bytes(raw[: len(raw) // 2] + b"X" * 40 + raw[len(raw) // 2 + 40 :])
    with pytest.raises(StoreError, match=r"did not start: Bad file format .*incr\.aof.*valkey\.log"):
        Embedded(data).start()
    assert servers(data) == []


def test_one_that_dies_again_and_again_is_given_up(data: Path) -> None:
    one = Embedded(data)
    one.start()
    try:
        for _ in range(RESTARTS):
            os.kill(servers(data)[0], 9)
            one.again()
        os.kill(servers(data)[0], 9)
        with pytest.raises(StoreError, match=r"valkey\.log, then run the same command again"):
            one.again()
    finally:
        one.leave()
    until(lambda: servers(data) == [])
