"""Whole price runs through the command line, against shops of eight systems on loopback. Each shop has a wall
that blocks fast clients. The results are compared with the shops' own data."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import time
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from cli.command_line import begin, gossamer
from gossamer.uses.prices.history import History
from support.web_shops import Shop, make_shop, serving, write_list

pytestmark = pytest.mark.timeout(180)


def wrong(url: Path | str, shops: list[Shop]) -> list[tuple[Any, ...]]:
    """Returns the offers of a history (or of `prices.db` in a folder) that differ from the shops' own
    data."""
    found = []
    with History(url if isinstance(url, str) else str(url / "prices.db")) as history:
        offers = {one.target: one for one in history.offers() if not one.variant}
    for shop in shops:
        for product in shop.products.values():
            stock = "InStock" if product.in_stock else "OutOfStock"
            due = (product.price, product.was, shop.currency, stock)
            one = offers.get(product.sku)
            got = None if one is None else (one.price, one.regular_price, one.currency, one.availability)
            if got != due:
                found.append((shop.system, product.sku, due, got))
    return found


def run(folder: Path, *words: str, delay: str = "0.02") -> dict[str, Any]:
    code, out, err = gossamer(folder, "prices", "run", "t.csv", "--delay", delay, "--json", "-q", *words)
    assert code == 0, err
    return json.loads(out)


def changes(done: dict[str, Any]) -> list[tuple[Any, ...]]:
    """Returns the changes that a run reported."""
    return sorted(
        (one["kind"], one.get("target", ""), one.get("before"), one.get("after"))
        for one in done["events"]
        if one["kind"] != "first"
    )


def test_two_thousand_pages_of_forty_shops(tmp_path: Path) -> None:
    shops = [make_shop(number, 50, wall=0.4) for number in range(40)]
    with serving(shops):
        write_list(str(tmp_path / "t.csv"), shops)
        done = run(tmp_path, delay="0.5-0.8")
    assert (done["state"], done["checked"], done["failing"], done["held"]) == ("finished", 2000, 0, 0)
    assert sum(shop.violations for shop in shops) == 0
    assert wrong(tmp_path, shops) == []
    assert done["fresh_share"] == 1.0


def test_second_run_finds_each_change_once_and_asks_on_condition(tmp_path: Path) -> None:
    shops = [make_shop(number, 10) for number in range(8)]
    with serving(shops):
        write_list(str(tmp_path / "t.csv"), shops)
        assert changes(run(tmp_path)) == []
        cheaper, sold = shops[4].products["/p/3"], shops[1].products["/p/5"]
        before, cheaper.price = cheaper.price, cheaper.price - Decimal("1.50")
        sold.in_stock = not sold.in_stock
        done = run(tmp_path)
        found = changes(done)
        assert [one[:2] for one in found] == [("availability", sold.sku), ("price", cheaper.sku)]
        assert Decimal(found[1][2]) == before
        assert Decimal(found[1][3]) == cheaper.price
        assert done["unchanged"] == 4 * 10 - 1  # four of the shops send ETags, and one of their pages changed
        assert wrong(tmp_path, shops) == []
        assert changes(run(tmp_path)) == []


def test_pages_that_were_visited_within_the_time_are_not_visited_again(tmp_path: Path) -> None:
    shops = [make_shop(number, 5) for number in range(3)]
    with serving(shops):
        write_list(str(tmp_path / "t.csv"), shops)
        shops[2].products["/p/2"].is_gone = True
        age = ("--if-older", "24h")
        first = run(tmp_path, *age)
        assert (first["pages"], first["checked"], first["recent"]) == (15, 15, 0)
        old, cheaper = shops[0].products["/p/1"], shops[1].products["/p/3"]
        for product in (old, cheaper):
            product.price -= Decimal("1.50")
        with sqlite3.connect(tmp_path / "prices.db") as base:
            base.execute(
                "UPDATE price_offers SET last_checked = last_checked - 90000 WHERE target = ?", [old.sku]
            )
        second = run(tmp_path, *age)
        assert (second["checked"], second["recent"]) == (2, 13)  # the old one and the one that failed
        assert [one[:2] for one in changes(second)] == [("price", old.sku)]
        (tmp_path / "t.csv").write_text(f"{(tmp_path / 't.csv').read_text()}{shops[1].url}/p/4,another\n")
        third = run(tmp_path, "--if-older", "24h", "--partly")
        assert (third["checked"], third["recent"]) == (2, 13)  # the new target and the one that failed
        fourth = run(tmp_path)
        assert (fourth["checked"], fourth["recent"]) == (15, 0)
        assert [one[:2] for one in changes(fourth)] == [("price", cheaper.sku)]


def test_page_that_is_gone_and_shop_in_maintenance(tmp_path: Path) -> None:
    shops = [make_shop(number, 10) for number in range(3)]
    with serving(shops):
        write_list(str(tmp_path / "t.csv"), shops)
        run(tmp_path)
        shops[0].products["/p/1"].is_gone = True
        shops[2].is_down = True
        done = run(tmp_path)
        assert [one for one in changes(done) if one[0] in ("price", "availability")] == []
        assert ("gone", shops[0].products["/p/1"].sku) in [one[:2] for one in changes(done)]
        shops[2].is_down = False
        again = run(tmp_path)
        assert [one for one in changes(again) if one[0] in ("price", "availability", "gone")] == []


def test_only_permanent_redirects_are_moves(tmp_path: Path) -> None:
    shops = [make_shop(0, 12)]
    shop = shops[0]
    products = shop.products
    with serving(shops):
        write_list(str(tmp_path / "t.csv"), shops)
        run(tmp_path)
        products["/de/p/4"] = products["/p/4"]
        products["/new/1"], products["/new/2"] = products["/p/10"], products["/p/11"]
        shop.redirects = {
            "/p/1": (301, "/new/1"),
            "/p/2": (302, "/new/2"),
            "/p/3": (307, "/p/2"),  # then to /new/2
            "/p/4": (302, "/de/p/4"),
        }
        done = run(tmp_path)
        moved = [one for one in changes(done) if one[0] != "regular-price"]
        assert [one[:2] for one in moved] == [("moved", products["/p/1"].sku)]
        code, out, err = gossamer(tmp_path, "prices", "failing", "--json")
        assert code == 0, err
    rows = [json.loads(line) for line in out.splitlines()]
    found = {row["target"]: row["state"] for row in (rows[0] if isinstance(rows[0], list) else rows)}
    assert found == {
        products["/p/1"].sku: "moved",
        products["/p/2"].sku: "failed",
        products["/p/3"].sku: "failed",
    }
    with History(str(tmp_path / "prices.db")) as history:
        offer = history.last(products["/p/4"].sku)
        assert offer is not None
        assert (offer.state, offer.price) == ("priced", products["/p/4"].price)


def checked(path: Path) -> int:
    """Returns the number of checked pages in a history."""
    try:
        with sqlite3.connect(f"file:{path}?mode=ro", uri=True) as base:
            return int(base.execute("SELECT count(*) FROM price_pages").fetchone()[0])
    except sqlite3.Error:
        return 0


@pytest.mark.parametrize("signal_", [signal.SIGKILL, signal.SIGINT])
def test_killed_run_continues_and_counts_nothing_twice(tmp_path: Path, signal_: signal.Signals) -> None:
    shops = [make_shop(number, 40, wall=0.03) for number in range(8)]
    with serving(shops):
        write_list(str(tmp_path / "t.csv"), shops)
        process = begin(tmp_path, "prices", "run", "t.csv", "--delay", "0.06", "-q")
        while checked(tmp_path / "prices.db") < 60:
            assert process.poll() is None, process.communicate()
            time.sleep(0.01)
        os.kill(process.pid, signal_)
        process.communicate()
        assert process.returncode == (11 if signal_ == signal.SIGINT else -signal_)
        before = checked(tmp_path / "prices.db")
        assert 0 < before < 320
        done = run(tmp_path, delay="0.06")
    assert (done["run"], done["checked"]) == (1, 320)
    assert sum(one["kind"] == "first" for one in done["events"]) == 320
    assert sum(shop.violations for shop in shops) == 0
    assert wrong(tmp_path, shops) == []
    asked = [path for shop in shops for path in shop.paths if path != "/robots.txt"]
    assert len(asked) - 320 <= 2 * 8  # requests in flight at the time of the kill are repeated
