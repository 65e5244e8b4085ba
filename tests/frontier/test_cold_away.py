"""A cold store that is down or full. The outage is logged once, hosts live on their hot entries, and no URL
is lost."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from frontier.claims import A, Beds
from frontier.test_cold import all_claimed
from gossamer.config import value_parsers
from gossamer.errors import ColdError
from gossamer.frontier import cold as spilling
from gossamer.frontier.cold import ColdServer, Spiller, parse_cold, set_hot_limit
from gossamer.store.store import Store, connect
from support.processes import Process


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Process]:
    server = Process(tmp_path, "--appendonly", "yes", "--save", "")
    yield server.ready()
    server.kill()


@pytest.mark.parametrize(
    ("setting", "place"),
    [
        ("off", None),
        ("sqlite:?hot=4000", ("sqlite:", 4000)),
        ("rediss://:p@h?ca_file=a.pem&hot=2", ("rediss://:p@h?ca_file=a.pem", 2)),
        ("redis://h?check_hostname=no", ("redis://h?check_hostname=no", 512)),
        *(
            (text, ValueError)
            for text in (
                "sqlite:?ca_file=a",
                "sqlite:?hot=1",
                "redis://h?hot=4001",
                "redis://h?hot=x",
                "off?hot=4",
            )
        ),
    ],
)
def test_a_cold_store_has_parameters(setting: str, place: object) -> None:
    if place is ValueError:
        with pytest.raises(ValueError, match="hot=N"):
            value_parsers.cold(setting)
        return
    assert value_parsers.cold(setting) == setting
    assert place is None or parse_cold(setting) == place


@pytest.mark.parametrize("how", ["dead", "full"])
async def test_it_is_waited_for_and_told(
    bed: Beds,
    store: Store,
    server: Process,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
    how: str,
) -> None:
    monkeypatch.setattr(spilling, "MAX_COLD_OUTAGE_S", 1.0)
    cold = ColdServer(connect(f"redis://127.0.0.1:{server.port}"), "c")
    await set_hot_limit(store, "c", 4)
    moves = Spiller(store, "c", cold, 4)
    one = bed()
    await one.add(*(f"{A}/{n}" for n in range(30)))
    await moves.round()
    await one.add(*(f"{A}/{n}" for n in range(30, 40)))
    if how == "dead":
        server.kill()
    else:
        with server.client() as client:
            client.config_set("maxmemory", "1mb")
    for _ in range(2):  # two slices, with the outage from the first one on
        with pytest.raises((ColdError, TimeoutError), match=r"cold store|^$"):
            await asyncio.wait_for(moves.run(), 0.7)
    with pytest.raises(ColdError, match=f"the cold store at redis://127.0.0.1:{server.port}"):
        await cold.try_out()
    assert len([one for one in caplog.messages if "in the cold store wait" in one]) == 1
    if how == "dead":
        server.start()
        server.ready()
    else:
        with server.client() as client:
            client.config_set("maxmemory", "0")
    await cold.try_out()
    assert cold.away is None
    assert "accepts rows again" in caplog.messages[-1]
    assert await all_claimed(one, moves) == [f"/{n}" for n in range(40)]
    await cold.close()
