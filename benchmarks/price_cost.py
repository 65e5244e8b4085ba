"""Instructions per product of a price run, against a bare crawl with the same extraction (Linux, valgrind).

    python benchmarks/price_cost.py [--pages 80,240] [--menu 300] [--rounds 2]

Both crawl the pages of the same eight local shops (tests/support/web_shops.py), one of each system. The bare
crawl is a site file whose page function makes the same observation, written to a JSON lines file. The price
run writes it into a price history, and compares it with what is known. The difference of two sizes
is the cost per product, so starts are left out. Counted are all processes, the embedded store included.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests"))

from support.web_shops import SYSTEMS, make_shop, serving, write_list  # noqa: E402 - they lie beside the tests

_COUNTED = re.compile(r"I +refs: +([\d,]+)")
SITE = """
import msgspec

from gossamer import Site
from gossamer.uses.prices.model import PriceTarget
from gossamer.uses.prices.observe import observations_of, see_page
from gossamer.uses.prices.selector_table import SelectorTable

default, table = Site("bare", follow=False), SelectorTable()


@default.page()
def product(page):
    seen = observations_of(see_page(page, page.url, table), [PriceTarget(key=page.url, url=page.url)])
    yield {"seen": msgspec.json.encode(seen).decode()}
"""


def count(folder: Path, words: list[str]) -> int:
    """Instructions of one command, in all of its processes."""
    log = folder / "valgrind"
    shutil.rmtree(log, ignore_errors=True)
    log.mkdir()
    valgrind = [
        *("valgrind", "--tool=cachegrind", "--cache-sim=no", "--trace-children=yes"),
        *("--cachegrind-out-file=/dev/null", f"--log-file={log}/%p"),
    ]
    env = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "PYTHONHASHSEED": "0"}
    subprocess.run(
        [*valgrind, sys.executable, "-m", "gossamer", *words],
        cwd=folder,
        env=env,
        check=True,
        capture_output=True,
    )
    return sum(
        int(found[1].replace(",", ""))
        for one in log.iterdir()
        if (found := _COUNTED.search(one.read_text())) is not None
    )


def measure(pages: int, menu: int) -> tuple[int, int]:
    """Instructions of the bare crawl and of the price run for a number of pages."""
    shops = [make_shop(number, pages // len(SYSTEMS)) for number in range(len(SYSTEMS))]
    for shop in shops:
        shop.menu = menu
    with tempfile.TemporaryDirectory() as name, serving(shops):
        folder = Path(name)
        write_list(str(folder / "t.csv"), shops)
        urls = [shop.address(path) for shop in shops for path in shop.products]
        (folder / "urls.txt").write_text("\n".join(urls))
        (folder / "bare.py").write_text(SITE)
        bare = ["crawl", "bare.py", "urls.txt", "--scope", "page", "--delay", "0", "-q", "-o", "out.jsonl"]
        run = ["prices", "run", "t.csv", "--delay", "0", "-q", "--data", "run"]
        return count(folder, bare), count(folder, run)


def main() -> None:
    """Prints the cost per product of both, and their ratio."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pages", default="80,240")
    parser.add_argument("--menu", type=int, default=300, help="links in the menu of each page (300: 30 KB)")
    parser.add_argument("--rounds", type=int, default=2)
    options = parser.parse_args()
    few, many = map(int, options.pages.split(","))
    bare, run = [], []
    for _ in range(options.rounds):
        small, large = measure(few, options.menu), measure(many, options.menu)
        bare.append((large[0] - small[0]) / (many - few))
        run.append((large[1] - small[1]) / (many - few))
    one, other = statistics.median(bare), statistics.median(run)
    print(f"bare crawl, same extraction    {one / 1e6:6.2f} million instructions a product")
    print(f"price run                      {other / 1e6:6.2f} million instructions a product")
    print(f"ratio                          {other / one:6.3f}")


if __name__ == "__main__":
    main()
