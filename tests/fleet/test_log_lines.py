"""A worker logs a problem in one line, and does not repeat that line every second."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from gossamer.app.process_tuning import _broken
from gossamer.errors import StoreError
from gossamer.fleet import brokers
from gossamer.fleet.worker_keeper import WorkerKeeper


async def test_a_keeper_tells_of_the_same_trouble_once(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def nothing(*_: object) -> Any: ...

    keeper = WorkerKeeper(
        "redis://h", nothing(), "", send=nothing, weigh=lambda: 0, drain=nothing, stop=nothing
    )
    troubles = ["full", "full", "full", "away", "full"]

    async def breaks() -> None:
        said = troubles.pop(0)
        if not troubles:
            keeper._over.set()
        raise ExceptionGroup("", [StoreError(said)])

    async def rest(_: float) -> None: ...

    monkeypatch.setattr(keeper, "_until_it_breaks", breaks)
    monkeypatch.setattr(keeper, "_rest", rest)
    await keeper._keep()
    assert caplog.messages == [f"{said}; trying again" for said in ("full", "away", "full")]


def test_a_broken_tls_connection_needs_no_traceback() -> None:
    def record(text: str) -> logging.LogRecord:
        return logging.LogRecord("asyncio", logging.ERROR, "", 0, text, (), None)

    assert not _broken(record("Fatal error on SSL protocol\nprotocol: <...>"))
    assert _broken(record("Task exception was never retrieved"))


def test_a_broker_s_sentinels_that_name_no_master() -> None:
    said = brokers.format_error(RuntimeError("No master found for 'main'"))
    assert "are service, sentinel_user and sentinel_password right" in said
