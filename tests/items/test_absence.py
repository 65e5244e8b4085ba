"""The conclusions that a run draws from products that it did not find. Tables test the rules, and thirty days
of a shop test whole runs in SQLite and PostgreSQL."""

from __future__ import annotations

import http.server
import json
import sqlite3
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from gossamer.api import job_of
from gossamer.app.job import Job, JobOutput
from gossamer.app.runner import crawl
from gossamer.cli.crawl import print_end
from gossamer.items.quality_gates import parse as gate
from gossamer.model.absence import judge, not_an_item, too_many, usual_fields
from gossamer.model.quality import GoodRun, Quality, of_counts
from gossamer.model.summary import Summary
from gossamer.model.visit import Row
from support import fork_server
from support.answers import answering
from support.postgres import running_postgres

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
    """One day of the shop. `listing` and `products` give the state of those pages: good, maintenance, empty,
    half, 503, 403 or redesign."""

    stock: dict[str, str]
    """Prices, keyed by SKU."""
    listing: str = "good"
    products: str = "good"
    broken: set[str] = field(default_factory=set)
    """SKUs whose own pages show the maintenance page."""
    priceless: set[str] = field(default_factory=set)
    """SKUs that have no price in reality."""


class Shop:
    """Serves the pages of the current `day`."""

    def __init__(self) -> None:
        self.day, self.url, self.noise = Day({}), "", 0

    def answer(self, path: str) -> tuple[int, str]:
        self.noise += 1
        token = f"<input type=hidden name=csrf value={self.noise}>"
        if path == "/":
            return self._shown(
                self.day.listing,
                "".join(f'<a class=p href="/p/{sku}">x</a>' for sku in self._listed()) + token,
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
            """Log nothing."""

    with answering(Answers) as port:
        shop.url = f"http://127.0.0.1:{port}"
        yield shop


FULL = {f"{n:02}": f"{n + 10}.50" for n in range(30)}


def without(*skus: str) -> dict[str, str]:
    return {sku: price for sku, price in FULL.items() if sku not in skus}


MANY = [f"{n:02}" for n in range(10)]
# (name, day, new, changed, gone, stored items that are not gone at the end of the day), according to
# docs/absence.md
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
    (
        "the same again",
        Day({**without("09"), "00": "1.00", "30": "1.00", "31": "2.00", "32": "3.00"}),
        0,
        0,
        0,
        32,
    ),
    ("maintenance once more", Day(FULL, "maintenance", "maintenance"), 0, 0, 0, 32),
    ("the listing fails once more", Day(FULL, "503"), 0, 0, 0, 32),
    ("three are gone", Day({**FULL, "00": "1.00"}), 0, 1, 3, 30),
    ("the usual", Day({**FULL, "00": "1.00"}), 0, 0, 0, 30),
    ("back to the first price", Day(FULL), 0, 1, 0, 30),
]


# the days that are not like the good days before them (docs/guard.md)
UNLIKE = {
    "maintenance of all",
    "maintenance of products",
    "an empty listing",
    "a listing that is shut",
    "a redesign without prices",
    "products are shut",
    "maintenance once more",
}


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
    made.outputs = [JobOutput(output)]
    return made


def live(path: Path) -> dict[str, tuple[str, str]]:
    with closing(sqlite3.connect(path)) as base:
        rows = base.execute(
            "SELECT _key, title, CAST(price AS TEXT) FROM product WHERE _deleted_at IS NULL"
        ).fetchall()
    return {key: (title, price) for key, title, price in rows}


async def test_thirty_days_of_a_shop_in_sqlite(tmp_path: Path) -> None:
    with serving() as shop:
        (tmp_path / "shop.py").write_text(SITE.format(url=shop.url))
        output = tmp_path / "out.sqlite"
        for said, day, *expected in DAYS:
            shop.day = day
            one = job(tmp_path, str(output))
            end = await crawl(one)
            assert [end.new, end.changed, end.gone, len(live(output))] == expected, said
            code = print_end(end, False, one, {"quiet": True, "json": False, "refresh": False})
            assert code == (9 if day.listing == "503" else 31 if said in UNLIKE else 0), said
            assert all(title.startswith("Pot ") for title, _ in live(output).values()), said
            missing = {key for key, (_, price) in live(output).items() if price is None}
            assert missing == day.priceless, said


@pytest.fixture(scope="module")
def postgres() -> Iterator[str]:
    """Yields the URL of a server of the tests."""
    with running_postgres() as server:
        yield server.url


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


def command(folder: Path, *words: str) -> tuple[int, str, str]:
    """Run a command in the folder. Returns exit code, stdout and stderr."""
    done = fork_server.run(
        [sys.executable, "-m", "gossamer", *words],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    return done.returncode, done.stdout, done.stderr


CRAWL = (
    "crawl",
    "shop.py",
    "--name",
    "c",
    "--delay",
    "0",
    "--per-host",
    "16",
    "-o",
    "out.sqlite",
    "--json",
    "--quiet",
)


def test_what_is_gone_is_confirmed_by_hand(tmp_path: Path) -> None:
    with serving() as shop:
        (tmp_path / "shop.py").write_text(SITE.format(url=shop.url))
        shop.day = Day(FULL)
        assert command(tmp_path, *CRAWL)[0] == 0
        shop.day = Day(without(*MANY))
        code, out, err = command(tmp_path, *CRAWL, "--fresh")
        assert (code, json.loads(out)["gone"]) == (0, 0)
        assert "gossamer items c --confirm-gone" in err
        code, out, _ = command(tmp_path, "items", "c", "--confirm-gone", "--dry-run", "--json")
        assert (code, json.loads(out)["sites"]) == (0, {"shop": {"gone": 10, "stored": 30}})
        assert len(live(tmp_path / "out.sqlite")) == 30
        assert command(tmp_path, "items", "c", "--confirm-gone")[0] == 0
        assert len(live(tmp_path / "out.sqlite")) == 20
        code, out, _ = command(tmp_path, "status", "c", "--json")
        assert (code, json.loads(out)["gone"]) == (0, 10)


def test_a_store_that_refuses_every_row_of_a_kind_ends_with_20(tmp_path: Path) -> None:
    with serving() as shop:
        (tmp_path / "shop.py").write_text(SITE.format(url=shop.url))
        shop.day = Day(FULL)
        assert command(tmp_path, *CRAWL)[0] == 0
        with closing(sqlite3.connect(tmp_path / "out.sqlite")) as base:
            base.execute(
                "CREATE TRIGGER t BEFORE INSERT ON product BEGIN SELECT RAISE(ABORT, 'no room'); END"
            )
            base.commit()
        shop.day = Day(dict.fromkeys(FULL, "77.00"))
        code, out, err = command(tmp_path, *CRAWL, "--fresh")
        told = json.loads(out)
        assert (code, told["refused"], told["refused_kinds"], told["new"], told["changed"]) == (
            20,
            30,
            ["product"],
            0,
            0,
        )
        assert "refused all rows of product" in err
        with closing(sqlite3.connect(tmp_path / "out.sqlite")) as base:
            base.execute("DROP TRIGGER t")
            base.execute(
                "CREATE TRIGGER t BEFORE INSERT ON product WHEN new._key < '05' BEGIN SELECT RAISE(ABORT, 'no room'); END"
            )
            base.commit()
        code, out, _ = command(tmp_path, *CRAWL, "--fresh", "--fail-on", "refused>0")
        told = json.loads(out)
        assert (code, told["refused"], told["refused_kinds"], told["changed"]) == (30, 5, [], 25)


RUNS = {
    "shop": [
        GoodRun(
            "c", "", 30, 1.0, 1.0, {"book.upc": 1.0, "book.title": 1.0, "book.price": 0.96, "book.note": 0.2}
        )
    ]
}


def test_usual_fields_are_those_of_nearly_all_items_but_for_keys() -> None:
    assert usual_fields(RUNS, {"book": "upc"}) == {("shop", "book"): {"price": 0.96, "title": 1.0}}
    few = {"shop": [GoodRun("c", "", 3, 1.0, 1.0, {"book.price": 1.0})]}
    assert usual_fields(few, {}) == {}


@pytest.mark.parametrize(
    ("lacks", "fields", "told"),
    [
        ((), 3, False),
        (("price",), 3, False),
        (("price", "title"), 3, False),
        (("a", "b", "c"), 3, True),
        (("a",), 1, False),
    ],
)
def test_a_page_without_any_usual_field_is_no_item(lacks: tuple[str, ...], fields: int, told: bool) -> None:
    assert bool(not_an_item(lacks, dict.fromkeys("abc"[:fields], 1.0))) is told


@pytest.mark.parametrize(
    ("unseen", "stored", "share", "held"),
    [
        (0, 0, 0.2, False),
        (1, 1, 0.2, True),
        (1, 2, 0.2, False),
        (1, 4, 0.2, False),
        (2, 9, 0.2, True),
        (6, 30, 0.2, False),
        (7, 30, 0.2, True),
        (30, 30, 1.0, True),
        (29, 30, 1.0, False),
        (15, 30, 0.5, False),
        (16, 30, 0.5, True),
    ],
)
def test_how_many_may_go_at_once(unseen: int, stored: int, share: float, held: bool) -> None:
    assert too_many(unseen, stored, share) is held


def row(key: str, lacks: tuple[str, ...], **fields: Any) -> Row:
    return Row("book", key, {"_site": "shop", **fields}, lacks=lacks)


EXPECTED = {("shop", "book"): {"title": 1.0, "price": 1.0}}


def test_held_rows_are_stored_where_the_run_is_as_usual() -> None:
    good = {"shop": Quality(coverage={"book.price": 0.97, "book.title": 1.0})}
    one = row("1", ("price",), title="A")
    assert judge([one, one], good, EXPECTED).apply == [one]
    fallen = {"shop": Quality(coverage={"book.price": 0.4})}
    assert judge([one], fallen, EXPECTED).apply == []
    none = {"shop": Quality(coverage={})}
    assert "price is in 0%" in judge([one], none, EXPECTED).rejected[0][1]
    same = [row("1", ("price",), title="Closed"), row("2", ("price",), title="Closed")]
    assert [reason for _, reason in judge(same, good, EXPECTED).rejected] == [
        "not-an-item: 2 items are equal except for the missing values of price"
    ] * 2


def test_rejected_items_of_all_kinds_lower_the_quality() -> None:
    counts = {"q|shop|p": 40, "q|shop|i|book": 10, "q|shop|i|pen": 10, "q|shop|b|book": 4, "q|shop|b|pen": 1}
    quality = of_counts(counts)["shop"]
    assert (quality.items, quality.rejected, quality.quality) == (20, 5, 0.75)


def test_a_field_that_no_item_has_any_more_has_drifted_by_all_of_it() -> None:
    counts = {"q|shop|p": 40, "q|shop|i|book": 30, "q|shop|f|book|title": 30}
    drift = of_counts(counts, RUNS, 20)["shop"].drift
    assert (drift["book.price"], "book.title" in drift) == (0.96, False)
    assert gate("drift>0.5").test(summary_of(of_counts(counts, RUNS, 20)))


def summary_of(sites: dict[str, Quality]) -> Summary:
    numbers = dict.fromkeys(
        (
            "found",
            "pages",
            "redirected",
            "items",
            "succeeded",
            "failed",
            "retried",
            "dead",
            "pending",
            "bytes",
            "hosts",
        ),
        0,
    )
    return Summary(
        crawl="c",
        state="finished",
        reason=None,
        started_at="",
        elapsed=0.0,
        skipped={},
        pages_per_second=0.0,
        errors={},
        outputs=[],
        sites=sites,
        **numbers,
    )
