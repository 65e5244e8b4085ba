"""Price runs in several processes and on a fleet of real workers, with a history in PostgreSQL. One worker is
killed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from gossamer.uses.prices.history import History
from gossamer.uses.prices.model import EventKind
from support import fork_server
from support.fleet_workers import Fleet, Server, until
from support.postgres import Postgres
from support.web_shops import Shop, make_shop, serving, write_list
from uses.prices.test_run import changes, run, wrong

pytestmark = pytest.mark.timeout(240)


@pytest.fixture
def server(tmp_path: Path) -> Any:
    with Server(tmp_path / "server") as server:
        yield server


@pytest.fixture
def fleet(server: Server, tmp_path: Path) -> Any:
    with Fleet(tmp_path, server.url(0), [server.url(1)]) as fleet:
        yield fleet


@pytest.fixture
def database(postgres: Postgres) -> Postgres:
    postgres.ask("DROP SCHEMA public CASCADE")
    postgres.ask("CREATE SCHEMA public")
    return postgres


def begin(fleet: Fleet, history: str, *words: str) -> subprocess.Popen[str]:
    """Starts a price run on the fleet."""
    return fork_server.Popen(
        [
            *(sys.executable, "-m", "gossamer", "prices", "run", "t.csv", "--fleet", "--history", history),
            *("--delay", "0.2", "--json", "-s", "allow_private=127.0.0.0/8", *words),
        ],
        env={**fleet.env(), "PRICES_DB": history},
        cwd=fleet.folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def ended(process: subprocess.Popen[str], fleet: Fleet, code: int = 0) -> Any:
    out, err = process.communicate(timeout=180)
    assert process.returncode == code, (err[-3000:], *(one.said()[-3000:] for one in fleet.workers))
    return json.loads(out) if code == 0 else err


def checked(url: str) -> int:
    with History(url) as history:
        return int(history.query("SELECT count(*) FROM price_pages")[0][0]) if _has_pages(history) else 0


def _has_pages(history: History) -> bool:
    return history.query("SELECT to_regclass('price_pages')")[0][0] is not None


def pages_of(shops: list[Shop]) -> list[str]:
    return [f"{shop.url}{path}" for shop in shops for path in shop.paths if path != "/robots.txt"]


def test_two_workers_share_a_run_and_each_change_is_found_once(
    fleet: Fleet, database: Postgres, tmp_path: Path
) -> None:
    shops = [make_shop(number, 40, wall=0.1) for number in range(8)]
    with serving(shops):
        write_list(str(tmp_path / "t.csv"), shops)
        one, _ = fleet.worker("one"), fleet.worker("two")
        fleet.ready(2)
        first = begin(fleet, database.url)
        until("pages are checked", lambda: checked(database.url) > 60)
        one.kill()
        done = ended(first, fleet)
        assert (done["run"], done["state"], done["checked"], done["failing"]) == (1, "finished", 320, 0)
        assert sum(event["kind"] == "first" for event in done["events"]) == 320
        assert wrong(database.url, shops) == []
        assert sum(shop.violations for shop in shops) == 0

        cheaper, sold = shops[4].products["/p/3"], shops[1].products["/p/5"]
        before, cheaper.price = cheaper.price, cheaper.price - Decimal("1.50")
        sold.in_stock = not sold.in_stock
        again = ended(begin(fleet, database.url), fleet)
        found = changes(again)
        assert [change[:2] for change in found] == [("availability", sold.sku), ("price", cheaper.sku)]
        assert Decimal(found[1][2]) == before
        # four of the shops send ETags, and one of their pages changed
        assert again["unchanged"] == 4 * 40 - 1
        assert wrong(database.url, shops) == []
    with History(database.url) as history:
        stored = [event for event in history.events() if event.kind != EventKind.FIRST]
    assert len(stored) == 2


def test_a_run_whose_command_is_killed_continues_on_the_fleet(
    fleet: Fleet, database: Postgres, tmp_path: Path
) -> None:
    shops = [make_shop(number, 30, wall=0.1) for number in range(4)]
    with serving(shops):
        write_list(str(tmp_path / "t.csv"), shops)
        fleet.worker("one")
        fleet.ready(1)
        first = begin(fleet, database.url)
        until("pages are checked", lambda: checked(database.url) > 20)
        first.kill()
        first.communicate()
        done = ended(begin(fleet, database.url), fleet)
        assert (done["run"], done["checked"]) == (1, 120)
        assert sum(event["kind"] == "first" for event in done["events"]) == 120
        assert wrong(database.url, shops) == []
        # a page is requested twice only if it was in flight when the crawl of the killed command was stopped
        twice = len(pages_of(shops)) - len(set(pages_of(shops)))
        assert twice <= 4 * 2


def test_what_the_fleet_cannot_do_is_refused(fleet: Fleet, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("url\nhttp://127.0.0.1:9/p\n")
    for history, reason in (
        ("prices.db", "no common file"),
        ("postgresql://me:wordpass@127.0.0.1/prices", "a secret does not travel"),
    ):
        error = ended(begin(fleet, history), fleet, code=4)
        assert reason in error
        assert "wordpass" not in error


def test_several_processes_share_a_history(tmp_path: Path) -> None:
    shops = [make_shop(number, 20) for number in range(8)]
    with serving(shops):
        write_list(str(tmp_path / "t.csv"), shops)
        done = run(tmp_path, "--processes", "2")
        assert (done["state"], done["checked"], done["failing"]) == ("finished", 160, 0)
        assert wrong(str(tmp_path / "prices.db"), shops) == []
        product = shops[3].products["/p/7"]
        product.price += Decimal("2.00")
        again = run(tmp_path, "--processes", "2")
        assert [change[:2] for change in changes(again)] == [("price", product.sku)]
        assert again["unchanged"] == 4 * 20 - 1
        assert wrong(str(tmp_path / "prices.db"), shops) == []


def test_a_run_against_postgresql_in_one_process(
    database: Postgres, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shops = [make_shop(number, 10) for number in range(8)]
    monkeypatch.setitem(os.environ, "PRICES_DB", database.url)
    with serving(shops):
        write_list(str(tmp_path / "t.csv"), shops)
        done = run(tmp_path, "--history", "${env:PRICES_DB}")
        assert (done["state"], done["checked"], done["failing"]) == ("finished", 80, 0)
        shops[2].products["/p/1"].price += Decimal("3.00")
        shops[5].products["/p/2"].is_gone = True
        again = run(tmp_path, "--history", "${env:PRICES_DB}")
        assert sorted(change[0] for change in changes(again)) == ["gone", "price"]
        assert changes(run(tmp_path, "--history", "${env:PRICES_DB}")) == []
        shops[5].products["/p/2"].is_gone = False
        assert [change[0] for change in changes(run(tmp_path, "--history", database.url))] == ["back"]
        assert wrong(database.url, shops) == []
