"""Measures the CPU time of block detection in microseconds per page.

python benchmarks/blocks.py [--pages FILE...]

The pages are generated. `--pages FILE.jsonl.gz ...` also measures saved pages.
"""

from __future__ import annotations

import argparse
import base64
import gzip
import json
import statistics
import time
from pathlib import Path

from gossamer.blocks import block

HEADERS = [
    ("content-type", "text/html; charset=utf-8"),
    *((f"x-{n}", "value") for n in range(10)),
    ("set-cookie", "a=b"),
]
LINE = b"<p>Lorem ipsum dolor sit amet, consectetur <a href='/x/1'>adipiscing</a> elit.</p>\n"
USUAL = (
    b"<!doctype html><html><head><title>A page of forty-five KB</title></head><body>"
    + LINE * 540
    + b"</body></html>"
)
PAGES = {
    "45 KB, no sign": (200, USUAL),
    "45 KB, with a captcha's script": (
        200,
        USUAL.replace(b"<body>", b"<body><script src=https://www.google.com/recaptcha/api.js></script>"),
    ),
    "1 KB, no sign": (200, USUAL[:1000]),
    "plain 403": (
        403,
        b"<html><head><title>403 Forbidden</title></head><body><center><h1>403 Forbidden</h1></center></body></html>",
    ),
    "a challenge": (
        403,
        b"<html><head><title>Just a moment...</title></head><body><script>window._cf_chl_opt={}</script></body></html>",
    ),
    "hostile, 112 KB of `<`, 403": (403, b"<" * (112 << 10)),
}


def cost(status: int, body: bytes, rounds: int = 7, times: int = 40) -> float:
    """Returns the mean time of one call in the fastest of several rounds, in microseconds."""
    best = 1e9
    for _ in range(rounds):
        began = time.process_time()
        for _ in range(times):
            block(status, HEADERS, body, "https://example.com/a/b")
        best = min(best, (time.process_time() - began) / times)
    return best * 1e6


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pages", nargs="*", default=[])
    options = parser.parse_args()
    for name, (status, body) in PAGES.items():
        print(f"{name:40} {cost(status, body, 3 if 'hostile' in name else 7):10.1f} us")
    saved = []
    for file in options.pages:
        for line in gzip.decompress(Path(file).read_bytes()).splitlines():
            row = json.loads(line)
            if not row.get("blocked") and isinstance(row.get("html"), dict):
                saved.append(cost(200, base64.b64decode(row["html"]["b64"]), 3, 10))
    if saved:
        deciles = statistics.quantiles(saved, n=10)
        print(
            f"{len(saved)} saved pages: median {statistics.median(saved):.1f} us, 90 % under {deciles[8]:.1f} us, most {max(saved):.1f} us"
        )


if __name__ == "__main__":
    main()
