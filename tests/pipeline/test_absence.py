"""What a run concludes from what it did not find: the rules as tables, and thirty days of a shop, in SQLite and PostgreSQL."""

from __future__ import annotations

import http.server
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gossamer.api import job_of
from gossamer.door import crawl
from gossamer.job import Job, Output
from servers.answers import answering

SITE = """
from decimal import Decimal
from gossamer import Item, Site
site = Site("shop", seeds=["{url}/"], pace=0, complete=True)
class Product(Item, key="sku"):
    sku: str
    title: str | None = None
    price: Decimal | None = None
    stock: str | None = None
@site.page("^/p/")
def product(page):
    yield Product(
        sku=page.url.rsplit("/", 1)[1], title=page.css("h1::text").get(), price=page.price(".price"), stock=page.css(".stock::text").get()
    )
@site.page()
def listing(page):
    yield from page.follow("a.p")
"""
MAINTENANCE = "<h1>We will be back soon</h1><p>The shop is closed for maintenance.</p>"


@dataclass
class Day:
    """One day of the shop. `listing`, `products`: how those pages are (good, maintenance, empty, half, 503, 403, redesign)."""

    stock: dict[str, str]
    """SKU -> price."""
    listing: str = "good"
    products: str = "good"
    broken: set[str] = field(default_factory=set)
    """SKUs whose pages alone show the maintenance page."""
    priceless: set[str] = field(default_factory=set)
    """SKUs that really have no price."""


class Shop:
    """Serves the day that is set."""

    def __init__(self) -> None:
        self.day, self.url, self.noise = Day({}), "", 0

    def answer(self, path: str) -> tuple[int, str]:
        self.noise += 1
        token = f"<input type=hidden name=csrf value={self.noise}>"
        if path == "/":
            return self._shown(
                self.day.listing, "".join(f'<a class=p href="/p/{sku}">x</a>' for sku in self._listed()) + token
            )
        sku = path.removeprefix("/p/")
        if sku not in self.day.stock:
            return 404, "none"
        if sku in self.day.broken:
            return 200, MAINTENANCE + token
        name = "cost" if self.day.products == "redesign" else "price"
        price = "" if sku in self.day.priceless else f"<b class={name}>{self.day.stock[sku]} EUR</b>"
        return self._shown(self.day.products, f"<h1>Pot {sku}</h1>{price}<i class=stock>yes</i>{token}")

    def _listed(self) -> list[str]:
        skus = sorted(self.day.stock)
        return skus[: len(skus) // 2] if self.day.listing == "half" else skus

    def _shown(self, how: str, body: str) -> tuple[int, str]:
        if how in ("503", "403"):
            return int(how), "no"
        return 200, MAINTENANCE if how == "maintenance" else "<p>nothing</p>" if how == "empty" else body


@contextmanager
def serving() -> Iterator[Shop]:
    shop = Shop()

    class Answers(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            status, body = shop.answer(self.path)
            self.send_response(status)
            self.send_header("Content-Type", "text/html")
            self.send_header("Content-Length", str(len(body.encode())))
            self.end_headers()
            self.wfile.write(body.encode())

        def log_message(self, *_: object) -> None:
            """Keep quiet."""

    with answering(Answers) as port:
        shop.url = f"http://127.0.0.1:{port}"
        yield shop


FULL = {f"{n:02}": f"{n + 10}.50" for n in range(30)}


def without(*skus: str) -> dict[str, str]:
    return {sku: price for sku, price in FULL.items() if sku not in skus}


MANY = [f"{n:02}" for n in range(10)]
# (the day, new, changed, gone, items stored and not gone at its end): written from docs/absence.md
DAYS: list[tuple[str, Day, int, int, int, int]] = [
    ("opens", Day(FULL), 30, 0, 0, 30),
    ("the same", Day(FULL), 0, 0, 0, 30),
    ("a price changes", Day(FULL | {"03": "99.00"}), 0, 1, 0, 30),
    ("and changes back", Day(FULL), 0, 1, 0, 30),
    ("maintenance of all", Day(FULL, "maintenance", "maintenance"), 0, 0, 0, 30),
    ("maintenance of products", Day(FULL, products="maintenance"), 0, 0, 0, 30),
    ("back", Day(FULL), 0, 0, 0, 30),
    ("an empty listing", Day(FULL, "empty"), 0, 0, 0, 30),
    ("half a listing", Day(FULL, "half"), 0, 0, 0, 30),
    ("a listing that fails", Day(FULL, "503"), 0, 0, 0, 30),
    ("a listing that is shut", Day(FULL, "403"), 0, 0, 0, 30),
    ("two are gone", Day(without("05", "06")), 0, 0, 2, 28),
    ("one comes back", Day(without("06")), 0, 1, 0, 29),
    ("and goes", Day(without("05", "06")), 0, 0, 1, 28),
    ("both are back", Day(FULL), 0, 2, 0, 30),
    ("a third is gone", Day(without(*MANY)), 0, 0, 0, 30),
    ("one has no price any more", Day(FULL, priceless={"07"}), 0, 1, 0, 30),
    ("it has one again", Day(FULL), 0, 1, 0, 30),
    ("three pages are in maintenance", Day(FULL, broken={"01", "02", "03"}), 0, 0, 0, 30),
    ("a redesign without prices", Day(FULL, products="redesign"), 0, 0, 0, 30),
    ("mended", Day(FULL), 0, 0, 0, 30),
    ("products are shut", Day(FULL, products="403"), 0, 0, 0, 30),
    ("new ones", Day(FULL | {"30": "1.00", "31": "2.00"}), 2, 0, 0, 32),
    (
        "new, changed, gone in one",
        Day({**without("09"), "00": "1.00", "30": "1.00", "31": "2.00", "32": "3.00"}),
        1,
        1,
        1,
        32,
    ),
    ("the same again", Day({**without("09"), "00": "1.00", "30": "1.00", "31": "2.00", "32": "3.00"}), 0, 0, 0, 32),
    ("maintenance once more", Day(FULL, "maintenance", "maintenance"), 0, 0, 0, 32),
    ("the listing fails once more", Day(FULL, "503"), 0, 0, 0, 32),
    ("three are gone", Day({**FULL, "00": "1.00"}), 0, 1, 3, 30),
    ("the usual", Day({**FULL, "00": "1.00"}), 0, 0, 0, 30),
    ("back to the first price", Day(FULL), 0, 1, 0, 30),
]


def job(folder: Path, output: str) -> Job:
    options: dict[str, Any] = {
        "data": str(folder / "data"),
        "delay": 0,
        "per_host": 16,
        "name": "c",
        "retries": "none",
        "fresh": True,
    }
    made = job_of([str(folder / "shop.py")], options)
    made.outputs = [Output(output)]
    return made


def live(path: Path) -> dict[str, tuple[str, str]]:
    with closing(sqlite3.connect(path)) as base:
        rows = base.execute("SELECT _key, title, CAST(price AS TEXT) FROM product WHERE _deleted_at IS NULL").fetchall()
    return {key: (title, price) for key, title, price in rows}


async def test_thirty_days_of_a_shop_in_sqlite(tmp_path: Path) -> None:
    with serving() as shop:
        (tmp_path / "shop.py").write_text(SITE.format(url=shop.url))
        output = tmp_path / "out.sqlite"
        for said, day, *expected in DAYS:
            shop.day = day
            end = await crawl(job(tmp_path, str(output)))
            assert [end.new, end.changed, end.gone, len(live(output))] == expected, said
            assert all(title.startswith("Pot ") for title, _ in live(output).values()), said
            missing = {key for key, (_, price) in live(output).items() if price is None}
            assert missing == day.priceless, said


async def test_thirty_days_of_a_shop_in_postgresql(tmp_path: Path, postgres: str) -> None:
    import psycopg

    with serving() as shop, psycopg.connect(postgres, autocommit=True) as base:
        (tmp_path / "shop.py").write_text(SITE.format(url=shop.url))
        for said, day, *expected in DAYS:
            shop.day = day
            end = await crawl(job(tmp_path, postgres))
            rows = base.execute("SELECT _key, title, price FROM product WHERE _deleted_at IS NULL").fetchall()
            assert [end.new, end.changed, end.gone, len(rows)] == expected, said
            assert all(title.startswith("Pot ") for _, title, _ in rows), said
            assert {key for key, _, price in rows if price is None} == day.priceless, said
