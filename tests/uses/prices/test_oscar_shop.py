"""A crawl of a real django-oscar (from PyPI) finds its products. Every price and availability is compared
with the shop's database."""

from __future__ import annotations

import csv
import os
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from decimal import ROUND_HALF_EVEN, Decimal
from pathlib import Path

import pytest

from cli.command_line import gossamer
from gossamer.uses.prices.history import History
from support import fork_server
from uses.prices.test_run import changes, run

ROOT = Path(__file__).resolve().parents[3]
OSCAR = ROOT / ".sites" / "django-oscar"
VARIANTS, SOLD_OUT_VARIANT = "rain-jacket_11", "rain-jacket-medium_13"

pytestmark = [
    pytest.mark.skipif(not OSCAR.exists(), reason="django-oscar is not here: ./test gets it from PyPI"),
    pytest.mark.timeout(180),
]


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[tuple[str, Path]]:
    """Yields the shop's URL and the path of its database."""
    path = os.pathsep.join((str(OSCAR), str(ROOT / "tests")))
    with fork_server.Popen(
        [sys.executable, "-m", "support.oscar_shop", str(tmp_path)],
        env={**os.environ, "PYTHONPATH": path},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as server:
        assert server.stdin
        assert server.stdout
        url = server.stdout.readline().strip()
        assert url.startswith("http://127.0.0.1:")
        yield url, tmp_path / "shop.sqlite3"
        server.stdin.close()


def due(database: Path) -> dict[str, tuple[Decimal | None, str | None, str]]:
    """Returns the price with tax, the currency and the availability of each product, keyed by the end of its
    URL."""
    found: dict[str, tuple[Decimal | None, str | None, str]] = {}
    with sqlite3.connect(database) as base:
        rows = base.execute(
            "SELECT p.id, p.slug, s.price, s.price_currency, s.num_in_stock, k.track_stock FROM catalogue_product p "
            "LEFT JOIN partner_stockrecord s ON s.product_id = p.id "
            "LEFT JOIN catalogue_product parent ON parent.id = p.parent_id "
            "JOIN catalogue_productclass k ON k.id = coalesce(p.product_class_id, parent.product_class_id) "
            "WHERE p.structure != 'parent'"
        ).fetchall()
    for number, slug, price, currency, stock, is_tracked in rows:
        amount = None if price is None else Decimal(str(price))
        if amount is not None:
            amount += (amount * Decimal("0.2")).quantize(Decimal("0.01"), ROUND_HALF_EVEN)
        can_be_bought = price is not None and (stock or not is_tracked)
        found[f"{slug}_{number}"] = amount, currency, "InStock" if can_be_bought else "OutOfStock"
    return found


def seen(history: Path) -> dict[str, tuple[Decimal | None, str | None, str | None]]:
    """Returns the same values from the history."""
    with History(str(history)) as base:
        return {
            one.target.rstrip("/").rpartition("/")[2]: (one.price, one.currency, one.availability)
            for one in base.offers()
        }


def test_every_price_and_availability_is_that_of_the_database(shop: tuple[str, Path], tmp_path: Path) -> None:
    url, database = shop
    code, _, err = gossamer(tmp_path, "prices", "targets", f"shop:{url}/", "-o", "t.csv", "--delay", "0")
    assert code == 0, err
    wanted = due(database)
    unpriced = {name for name, (price, _, _) in wanted.items() if price is None}
    sold_out = {SOLD_OUT_VARIANT}  # oscar does not link variants that cannot be bought
    with (tmp_path / "t.csv").open() as file:
        listed = [row["url"] for row in csv.DictReader(file)]
    names = {one.rstrip("/").rpartition("/")[2] for one in listed}
    assert names == wanted.keys() - unpriced - sold_out | {VARIANTS}
    with (tmp_path / "t.csv").open("a") as file:
        for name in unpriced | sold_out:
            file.write(f"{url}/catalogue/{name}/,{url}/catalogue/{name}/,,,,,,,,\n")

    done = run(tmp_path, delay="0")
    assert (done["state"], done["held"]) == ("finished", 0)
    found = seen(tmp_path / "prices.db")
    assert found.pop(VARIANTS)[1:] == ("GBP", "InStock")
    assert {name: one for name, one in found.items() if name not in unpriced} == {
        name: one for name, one in wanted.items() if name not in unpriced
    }
    assert {found[name][0] for name in unpriced} == {None}

    with sqlite3.connect(database) as base:
        base.execute("UPDATE partner_stockrecord SET price = 19.99 WHERE product_id = 1")
        base.execute("UPDATE partner_stockrecord SET num_in_stock = 0 WHERE product_id = 2")
    after = changes(run(tmp_path, delay="0"))
    assert [(kind, old, new) for kind, _, old, new in after] == [
        ("availability", "InStock", "OutOfStock"),
        ("price", "29", "23.99"),
    ]
    assert changes(run(tmp_path, delay="0")) == []
