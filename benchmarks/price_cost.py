"""Measures the instructions per product of a price run, relative to a bare crawl (Linux, valgrind).

    python benchmarks/price_cost.py [--pages 80,240] [--menu 300 | --real] [--again] [--rounds 2]

Both crawls read the pages of the same eight local shops, one of each system (tests/support/web_shops.py). The
bare crawl is a site file, whose page function extracts the same observation and writes the observation to a
JSON lines file. The price run writes the observation into a price history, and compares it with the known
values. The cost per product is the difference between two numbers of pages, so starts do not count. The
instructions are those of all processes, including the embedded store.

With `--menu 0`, a page has 1.5 KB. With `--real`, a page has 40 to 80 KB and contains the usual parts of a
shop page: styles, scripts, a menu of three levels, icons, a gallery, reviews, offers of other products, and a
footer. With `--again`, the second run of the history is measured. In that run, no price has changed, but the
server sends every page again.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests"))

from support.web_shops import (  # noqa: E402 - they lie beside the tests
    SYSTEMS,
    WORDS,
    make_shop,
    page_of,
    serving,
    write_list,
)

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

ICON = '<svg class="icon" viewBox="0 0 24 24"><path d="M3 3h18v2H3zM5 7l2 12h10l2-12M9 10v6M12 10v6M15 10v6"/></svg>'
CARD = (
    '<div class="card"><a href="/p/{n}"><img src="/media/t{n}.jpg" alt=""></a><a href="/p/{n}">{name}</a>'
    '<span class="price">{n}.50</span><button>{icon}</button></div>'
)


def breadcrumbs(words: Callable[[int], str]) -> dict[str, object]:
    """Returns the structured data of breadcrumbs."""
    items = [{"@type": "ListItem", "position": n, "name": words(1), "item": f"/c/{n}"} for n in range(4)]
    return {"@context": "https://schema.org", "@type": "BreadcrumbList", "itemListElement": items}


def surroundings(number: int) -> tuple[str, str, str]:
    """Returns the parts of a shop page around a product: in the head, before the product, and after the
    product."""
    chance = random.Random(number)
    size = chance.uniform(0.75, 1.4)

    def words(count: int) -> str:
        return " ".join(chance.choice(WORDS).lower() for _ in range(count))

    def repeat(count: int, make: Callable[[int], str]) -> str:
        return "".join(make(n) for n in range(int(count * size)))

    styles = repeat(
        90, lambda n: f".block-{n}>.row{{margin:{n}px auto;padding:0 {n % 9}px;color:#{n:03}abc}}"
    )
    metas = repeat(
        12, lambda n: f'<link rel="preload" as="script" href="/static/js/chunk-{n}.{n * 7919}.js">'
    )
    config = json.dumps({f"module/{n}": {"enabled": bool(n % 2), "path": f"/static/{n}/"} for n in range(70)})
    head = (
        f'<meta name="viewport" content="width=device-width">{metas}<style>{styles}</style>'
        f'<script>window.config = {config};</script><script type="application/ld+json">{json.dumps(breadcrumbs(words))}</script>'
    )

    def group(n: int) -> str:
        links = repeat(
            16, lambda m: f'<li class="level-2"><a href="/c/{n}/{m}/"><span>{words(2)}</span></a></li>'
        )
        return (
            f'<li class="level-1 has-children"><a href="/c/{n}/">{words(2)} {ICON}</a><ul>{links}</ul></li>'
        )

    before = (
        f'<header><form action="/search"><input type="search" name="q"><button>{ICON}</button></form>'
        f'<div class="mini-cart">{ICON}<span class="count">0</span></div>'
        f'<ul class="menu">{repeat(14, group)}</ul></header><div class="gallery">'
        + repeat(
            6,
            lambda n: (
                f'<img src="/media/{n}.jpg" srcset="/media/{n}-2x.jpg 2x" alt="{words(3)}" loading="lazy">'
            ),
        )
        + "</div>"
    )
    after = (
        "<section><h2>Description</h2>"
        + repeat(8, lambda n: f"<p>{words(60)}.</p>")
        + "</section><table>"
        + repeat(14, lambda n: f"<tr><th>{words(1)}</th><td>{words(3)}</td></tr>")
        + "</table><section><h2>Reviews</h2>"
        + repeat(15, lambda n: f'<div class="review">{ICON * 5}<b>{words(2)}</b><p>{words(40)}</p></div>')
        + '</section><div class="carousel">'
        + repeat(12, lambda n: CARD.format(n=900 + n, name=words(3), icon=ICON))
        + "</div><footer>"
        + repeat(40, lambda n: f'<a href="/pages/{n}">{words(2)}</a>')
        + f"{ICON * 8}</footer>"
    )
    return head, before, after


def count(folder: Path, words: list[str]) -> int:
    """Returns the instructions of one command in all of its processes."""
    log = folder / "valgrind"
    shutil.rmtree(log, ignore_errors=True)
    log.mkdir()
    valgrind = [
        *("valgrind", "--tool=cachegrind", "--cache-sim=no", "--trace-children=yes"),
        *("--cachegrind-out-file=/dev/null", f"--log-file={log}/%p"),
    ]
    gossamer(folder, words, valgrind)
    return sum(
        int(found[1].replace(",", ""))
        for one in log.iterdir()
        if (found := _COUNTED.search(one.read_text())) is not None
    )


def gossamer(folder: Path, words: list[str], wrapper: Sequence[str] = ()) -> None:
    """Runs one command of gossamer."""
    env = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "PYTHONHASHSEED": "0"}
    subprocess.run(
        [*wrapper, sys.executable, "-m", "gossamer", *words],
        cwd=folder,
        env=env,
        check=True,
        capture_output=True,
    )


def measure(pages: int, options: argparse.Namespace) -> tuple[int, int]:
    """Returns the instructions of the bare crawl and of the price run for a number of pages."""
    shops = [make_shop(number, pages // len(SYSTEMS)) for number in range(len(SYSTEMS))]
    for number, shop in enumerate(shops):
        shop.menu = options.menu
        if options.real:
            shop.menu, shop.surroundings = 0, surroundings(number)
        # without ETags, the server never reports a page as unchanged
        shop.has_tags = shop.has_tags and not options.again
    with tempfile.TemporaryDirectory() as name, serving(shops):
        folder = Path(name)
        write_list(str(folder / "t.csv"), shops)
        urls = [shop.address(path) for shop in shops for path in shop.products]
        (folder / "urls.txt").write_text("\n".join(urls))
        (folder / "bare.py").write_text(SITE)
        bare = ["crawl", "bare.py", "urls.txt", "--scope", "page", "--delay", "0", "-q", "-o", "out.jsonl"]
        run = ["prices", "run", "t.csv", "--delay", "0", "-q", "--data", "run"]
        if options.again:
            gossamer(folder, run)
        return count(folder, bare), count(folder, run)


def main() -> None:
    """Prints the size of the pages, the cost per product of both crawls, and the ratio."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--pages", default="80,240")
    parser.add_argument("--menu", type=int, default=300, help="links in the menu of each page (300: 30 KB)")
    parser.add_argument("--real", action="store_true", help="pages of 40 to 80 KB")
    parser.add_argument("--again", action="store_true", help="count the second run of the history")
    parser.add_argument("--rounds", type=int, default=2)
    options = parser.parse_args()
    few, many = map(int, options.pages.split(","))
    bare, run = [], []
    for _ in range(options.rounds):
        small, large = measure(few, options), measure(many, options)
        bare.append((large[0] - small[0]) / (many - few))
        run.append((large[1] - small[1]) / (many - few))
    one, other = statistics.median(bare), statistics.median(run)
    print(f"pages                          {' to '.join(page_sizes(options))} KB")
    print(f"bare crawl, same extraction    {one / 1e6:6.2f} million instructions a product")
    print(f"price run                      {other / 1e6:6.2f} million instructions a product")
    print(f"ratio                          {other / one:6.3f}")


def page_sizes(options: argparse.Namespace) -> list[str]:
    """Returns the sizes of the smallest and the largest page, in KB."""
    sizes = []
    for number in range(len(SYSTEMS)):
        shop = make_shop(number, 1)
        shop.menu = 0 if options.real else options.menu
        if options.real:
            shop.surroundings = surroundings(number)
        sizes.append(len(page_of(shop, shop.products["/p/0"]).encode()) / 1000)
    return [f"{min(sizes):.1f}", f"{max(sizes):.1f}"]


if __name__ == "__main__":
    main()
