"""Measures a price run over many local shops in the markup of eight systems, in scaled time.

    python benchmarks/price_run.py [--pages 50000] [--shops 40] [--delay 0.1-0.15] [--wall 0.08]

A shop blocks visitors whose requests come faster than `--wall` seconds apart. The benchmark prints the plan
at the real delay and at the scaled delay, the time of the run, the pages per second, the CPU seconds, and the
number of requests that came too fast. The benchmark also prints how many products differ from the shops' own
data in price, currency or availability.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests"))

from gossamer.uses.prices.history import History  # noqa: E402
from support.web_shops import Shop, make_shop, serving, write_list  # noqa: E402 - they lie beside the tests


def wrong(path: Path, shops: list[Shop]) -> int:
    """Returns how many products differ from the shops' own data."""
    with History(str(path)) as history:
        offers = {one.target: one for one in history.offers() if not one.variant}
    count = 0
    for shop in shops:
        for product in shop.products.values():
            one = offers.get(product.sku)
            stock = "InStock" if product.in_stock else "OutOfStock"
            got = None if one is None else (one.price, one.currency, one.availability)
            count += got != (product.price, shop.currency, stock)
    return count


def main() -> None:
    """Runs once, and prints the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pages", type=int, default=50_000)
    parser.add_argument("--shops", type=int, default=40)
    parser.add_argument("--delay", default="0.1-0.15")
    parser.add_argument("--wall", type=float, default=0.08)
    options = parser.parse_args()
    shops = [make_shop(n, options.pages // options.shops, wall=options.wall) for n in range(options.shops)]
    command = [sys.executable, "-m", "gossamer", "prices"]
    env = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    with tempfile.TemporaryDirectory() as name, serving(shops):
        folder = Path(name)
        write_list(str(folder / "t.csv"), shops)
        for delay in ("2-8", options.delay):
            plan = [*command, "plan", "t.csv", "--delay", delay, "--json"]
            made = json.loads(
                subprocess.run(plan, cwd=folder, env=env, check=True, capture_output=True).stdout
            )
            print(f"plan with {delay:9} s    {made['hours'] * 3600:10,.0f} s, bound by {made['bound_by']}")
        began = time.monotonic()
        run = [*command, "run", "t.csv", "--delay", options.delay, "--json", "-q"]
        done = json.loads(subprocess.run(run, cwd=folder, env=env, check=True, capture_output=True).stdout)
        seconds = time.monotonic() - began
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        print(
            f"run, {done['checked']:,} pages checked  {seconds:10,.1f} s, {done['checked'] / seconds:,.1f} pages/s"
        )
        print(f"CPU                     {used.ru_utime + used.ru_stime:10,.1f} s")
        print(f"violations of walls     {sum(shop.violations for shop in shops):10,}")
        print(f"wrong products          {wrong(folder / 'prices.db', shops):10,}")
        print(f"failing, held           {done['failing']:10,}, {done['held']:,}")


if __name__ == "__main__":
    main()
