"""Compares the records of the plain and of the browser rung on pages that scripts do not change.

    python benchmarks/same_record.py [--pages 200] [--firefox]

Up to half of the pages are a real django-oscar, whose scripts are taken out. The others are PostgreSQL's documentation.
Each page is fetched by both rungs from a local server. The benchmark prints how many pages have equal links, title,
text, canonical URL, robots directives and language, and names the others with what differs. The exit code is 1 if
there are others.
"""

from __future__ import annotations

import argparse
import asyncio
import re
import sys
import threading
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from real_pages import SITES, snapshot

from collectors.browser.conftest import Stage, here
from collectors.browser.test_links_and_noscript import record
from gossamer.collectors.browser.collector import BrowserCollector
from gossamer.egress.resolver import Resolver
from gossamer.model.page import Page
from gossamer.model.rendering import Render
from gossamer.model.request import Request

SCRIPTS = re.compile(rb"<script\b.*?</script>", re.DOTALL | re.IGNORECASE)
HTML = "text/html; charset=utf-8"


def bodies(count: int) -> dict[str, bytes]:
    """Returns pages by path."""
    shop = sorted(snapshot().rglob("*.html"))[: count // 2]
    documentation = sorted((SITES / "postgresql-doc" / "html").rglob("*.html"))
    documentation = documentation[:: len(documentation) // (count - len(shop))][: count - len(shop)]
    files = [("shop", file) for file in shop] + [("docs", file) for file in documentation]
    return {f"/{name}/{n}/": SCRIPTS.sub(b"", file.read_bytes()) for n, (name, file) in enumerate(files)}


async def compare(count: int, program: str | None) -> int:
    """Prints the result, and returns the number of pages that differ."""
    stage = Stage()
    stage.pages |= {path: (200, {"content-type": HTML}, body) for path, body in bodies(count).items()}
    threading.Thread(target=stage.serve_forever, daemon=True).start()
    collector = BrowserCollector(
        Resolver(["127.0.0.0/8"], lookup=here),
        agent="test/1",
        domain=lambda host: host,
        total=60.0,
        render=lambda _: Render(),
        program=program,
    )
    differing = 0
    try:
        for path, (status, _, body) in stage.pages.items():
            url = stage.url(path)
            got = await collector.collect(Request(url), {})
            if not isinstance(got, Page):
                print(f"{path}: {got}")
                differing += 1
                continue
            plain = record(Page(url, status, [("content-type", HTML)], body, 0.0, 0.0, len(body)))
            wrong = [name for name, value in record(got).items() if value != plain[name]]
            differing += bool(wrong)
            if wrong:
                print(f"{path}: {', '.join(wrong)}")
    finally:
        await collector.close()
        stage.shutdown()
        stage.server_close()
    print(
        f"{program or 'chromium'}: {len(stage.pages) - differing} of {len(stage.pages)} pages have one record"
    )
    return differing


def main() -> None:
    """Runs the command."""
    words = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    words.add_argument("--pages", type=int, default=200)
    words.add_argument("--firefox", action="store_true")
    given = words.parse_args()
    sys.exit(bool(asyncio.run(compare(given.pages, "firefox-esr" if given.firefox else None))))


if __name__ == "__main__":
    main()
