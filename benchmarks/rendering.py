"""Measures which saved pages climb to the browser because they look empty without scripts, and the CPU cost.

    python benchmarks/rendering.py [--data ../shared/data]

The pages are saved pages of real sites as sent by their servers (`SETS` in `--data`), and the same pages with
an emptied main part. The main part is the largest of `main`, `[role=main]` and `article`. The saved pages
should not climb, except those that are really empty. Each saved page that climbs is printed with the reason.
The emptied pages should climb if they have a script. Many of them contain other text, such as lists of
articles or sidebars.

Three floors judge the same pages in the same run: a page with fewer than 60 visible characters, a page with
fewer than 400 visible characters, and a page with an empty element `#root` or `#app`. The cost is the CPU
time for a page whose links are known, as a share of the time for parsing and finding links.
"""

from __future__ import annotations

import argparse
import base64
import gzip
import json
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "src"))

from gossamer.blocks import block  # noqa: E402
from gossamer.parsing.html import Document, parse  # noqa: E402
from gossamer.parsing.links import find_hrefs  # noqa: E402
from gossamer.parsing.rendering_need import RenderingNeed, long_text  # noqa: E402

SETS = (
    "articles-zyte",
    "articles-trafilatura",
    "articles-news",
    "products",
    "page-dates",
    "structured-recipes",
)
HTML = {"content-type": "text/html"}
_MAINS = ("main", "[role=main]", "article")


class Saved(NamedTuple):
    """A saved page."""

    suite: str
    url: str
    body: bytes


def saved(data: Path) -> Iterator[Saved]:
    """Yields the pages of the sets, except block pages."""
    for name in SETS:
        file = data / f"{name}.jsonl.gz"
        if not file.exists():
            sys.exit(f"there is no {file}")
        for line in gzip.decompress(file.read_bytes()).splitlines():
            row = json.loads(line)
            for value in row.values():
                if isinstance(value, dict) and set(value) == {"b64"}:
                    body, url = base64.b64decode(value["b64"]), row.get("url") or f"https://{row['id']}/"
                    if b"<" in body[:500] and block(200, HTML, body, url) is None:
                        yield Saved(name, url, body)


def emptied(page: Saved) -> Saved | None:
    """Returns the page without the contents of its main part.

    Returns None if the page has no such element or no script.
    """
    document = parse(page.body, "text/html", page.url)
    found = [one for query in _MAINS for one in document.tree.select(query)]
    if not found or not document.tree.select("script"):
        return None
    main = max(found, key=lambda one: len(one.text))
    for inner in [*main.children]:
        inner.extract()
    return page._replace(body=document.tree.html.encode())


def floor(characters: int) -> Callable[[Document], bool]:
    """Returns a rule by which a page with fewer visible characters is empty."""
    return lambda document: len(document.text) < characters


def empty_root(document: Document) -> bool:
    """Returns whether the page has an empty element with one of the usual ids."""
    return any(not one.text.strip() for one in document.tree.select("#root, #app, #__next, #__nuxt"))


FLOORS: dict[str, Callable[[Document], bool]] = {
    "fewer than 60 characters": floor(60),
    "fewer than 400 characters": floor(400),
    "an empty #root or #app": empty_root,
}


def judge(pages: list[Saved], show: bool) -> tuple[dict[str, int], float, float, int]:
    """Judges the pages by each rule.

    Returns the number of pages that each rule treats as empty, the CPU seconds of judging and of parsing, and
    the number of pages without a long text, whose main part is measured.
    """
    need, found = RenderingNeed(), dict.fromkeys(("gossamer", *FLOORS), 0)
    judging = parsing = 0.0
    measured = 0
    for page in pages:
        began = time.process_time()
        document = parse(page.body, "text/html", page.url)
        find_hrefs(document)  # a crawl needs the links anyway, and finding them builds the index of the tree
        parsed = time.process_time()
        why = need.judge(urlsplit(page.url).netloc, document, page.body)
        judging, parsing = judging + time.process_time() - parsed, parsing + parsed - began
        measured += not long_text(document)
        if why:
            found["gossamer"] += 1
            if show:
                print(f"  {page.suite}: {page.url[:100]} ({len(page.body)} bytes): {why}")
        for name, rule in FLOORS.items():
            found[name] += rule(document)
    return found, judging, parsing, measured


def main() -> None:
    """Judges all pages, and prints a table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, default=ROOT / ".." / "shared" / "data")
    parser.add_argument("--show-missed", action="store_true", help="print emptied pages that do not climb")
    options = parser.parse_args()
    pages = list(saved(options.data))
    print(f"{time.strftime('%Y-%m-%d %H:%M', time.gmtime())} UTC\n\nsaved pages that climb:")
    as_sent, judging, parsing, measured = judge(pages, show=True)
    shells = [one for page in pages if (one := emptied(page)) is not None]
    without, *_ = judge(shells, show=False)
    if options.show_missed:
        need = RenderingNeed()
        for page in shells:
            if not need.judge(urlsplit(page.url).netloc, parse(page.body, None, page.url), page.body):
                print(f"  missed: {page.suite}: {page.url[:100]}")
    print("\n| rule | saved pages taken for empty | emptied pages found |\n| --- | ---: | ---: |")
    for name in as_sent:
        share, found = as_sent[name] / len(pages), without[name] / len(shells)
        print(
            f"| {name} | {as_sent[name]} of {len(pages)} ({share:.2%}) | {without[name]} of {len(shells)} ({found:.0%}) |"
        )
    print(
        f"\njudging takes {judging / len(pages) * 1e6:.0f} us a page (the first of their hosts), {judging / parsing:.3f} of "
        f"parsing and finding links; {measured} of {len(pages)} pages have no long text"
    )


if __name__ == "__main__":
    main()
