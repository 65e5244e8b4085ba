"""A run of which some pages keep failing: the prices of the other pages are recorded at once, and the run ends
soon."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from gossamer.app import runner
from gossamer.config import settings
from gossamer.uses.prices import run as price_run
from gossamer.uses.prices.history import History
from gossamer.uses.prices.model import PriceTarget
from gossamer.uses.prices.run import PriceRunSummary, RunOptions, run
from support.web_shops import make_shop, serving


def test_failing_pages_hold_no_other_price_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runner, "LOOK_INTERVAL_S", 0.2)
    monkeypatch.setattr(settings, "RETRY_TIME_S", 40.0)
    monkeypatch.setattr(settings, "DEFAULT_RETRIES", (5.0, 600.0))
    shop = make_shop(0, 10)
    shop.redirects = {f"/p/{n}": (500, "/") for n in range(0, 10, 2)}
    history = str(tmp_path / "prices.db")
    options = RunOptions(history=history, delay="0.01", crawl={"data": str(tmp_path / "data")})
    with serving([shop]), ThreadPoolExecutor(1) as pool:
        targets = [
            PriceTarget(url=shop.address(path), key=one.sku, shop="s", currency=shop.currency)
            for path, one in shop.products.items()
        ]
        work = pool.submit(run, targets, options, lambda _: None, lambda _: None)
        recorded = 0
        while recorded < 5 and not work.done():
            time.sleep(0.1)
            recorded = prices_in(history)
        assert not work.done(), "the prices are recorded while the other pages wait for a retry"
        done: PriceRunSummary = work.result(60)
    assert (done.state, done.checked, done.first_prices, done.failing) == ("finished", 10, 5, 5)


def test_confirming_visits_that_fail_end_the_run_soon(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The price of a page changes, and the page fails when the run visits it again. Another page always
    fails."""
    monkeypatch.setattr(settings, "DEFAULT_RETRIES", (0.1, 0.1, 0.1))
    monkeypatch.setattr(price_run, "CONFIRMING_RETRIES", "100ms")
    shop = make_shop(0, 10)
    history = str(tmp_path / "prices.db")
    options = RunOptions(history=history, delay="0.01", crawl={"data": str(tmp_path / "data")})
    with serving([shop]):
        targets = [
            PriceTarget(url=shop.address(path), key=one.sku, shop="s", currency=shop.currency)
            for path, one in shop.products.items()
        ]
        run(targets, options, lambda _: None, lambda _: None)
        shop.paths.clear()
        shop.products["/p/1"].price += 1
        answer = shop.answer

        def fails(path: str, headers: dict[str, str]) -> tuple[int, str, bytes]:
            found = answer(path, headers)
            is_down = path == "/p/0" or (path == "/p/1" and shop.paths.count(path) > 1)
            return (500, "", b"") if is_down else found

        shop.answer = fails  # type: ignore[method-assign]
        done = run(targets, options, lambda _: None, lambda _: None)
    assert (done.state, done.checked, done.changes, done.failing) == ("finished", 10, 0, 2)
    assert (shop.paths.count("/p/0"), shop.paths.count("/p/1")) == (4 + 2, 1 + 2)


def prices_in(history: str) -> int:
    if not Path(history).exists():
        return 0
    with History(history) as kept:
        return sum(offer.price is not None for offer in kept.offers())
