"""Measures how many pages get the right day of publication, and the CPU time per page in milliseconds.

    python benchmarks/page_dates.py [FOLDER]

FOLDER (default `../shared/data`) contains `page-dates.jsonl.gz` and `articles-news.jsonl.gz`. htmldate (extra
`text`) is measured on the same rows in the same run. Each set has two halves. The pages with even numbers
were looked at first. The pages with odd numbers were only scored until 2026-11-25, when the failures of both
halves were sorted by kind. `page_dates_hidden.py` and `page_dates_systems.py` score pages that nobody looked
at. Pages without a known day are left out. The 95 % intervals come from 1,000 draws with replacement.
"""

from __future__ import annotations

import base64
import gzip
import json
import logging
import random
import sys
import time
from collections.abc import Callable
from pathlib import Path

import htmldate

from gossamer.parsing.encodings import decode
from gossamer.parsing.pagedates import dates

Page = tuple[int, bytes, str, str]
"""A page: its number in its set, its content, its URL, and its day of publication."""


def pages(folder: Path, name: str) -> list[Page]:
    with gzip.open(folder / f"{name}.jsonl.gz", "rt") as lines:
        rows = [json.loads(line) for line in lines]
    return [
        (number, base64.b64decode(row["html"]["b64"]), row["url"], row["date"])
        for number, row in enumerate(rows)
        if isinstance(row.get("date"), str)
    ]


def ours(body: bytes, url: str) -> str:
    return (dates(body, url).published or "")[:10]


def theirs(body: bytes, url: str) -> str:
    return htmldate.find_date(decode(body, None), url=url, original_date=True) or ""


def interval(right: list[bool]) -> tuple[float, float]:
    draw = random.Random(2026)
    means = sorted(sum(draw.choices(right, k=len(right))) / len(right) for _ in range(1000))
    return means[25], means[974]


def line(find: Callable[[bytes, str], str], chosen: list[Page]) -> str:
    start = time.process_time()
    found = [find(body, url) for _, body, url, _ in chosen]
    spent = (time.process_time() - start) * 1000 / len(chosen)
    right = [got == wanted for got, (_, _, _, wanted) in zip(found, chosen, strict=True)]
    low, high = interval(right)
    return (
        f"right {sum(right) / len(right):.3f} ({low:.3f} to {high:.3f}), "
        f"none {sum(not got for got in found):3}, {spent:5.2f} ms a page"
    )


def main(folder: Path) -> None:
    logging.disable()
    for name in ("page-dates", "articles-news"):
        every = pages(folder, name)
        seen = [page for page in every if page[0] % 2 == 0]
        scored = [page for page in every if page[0] % 2]
        for label, chosen in (("all", every), ("looked at first", seen), ("scored first", scored)):
            print(f"{name:14} {label:15} {len(chosen):4} pages  gossamer {line(ours, chosen)}")
            print(f"{name:14} {label:15} {len(chosen):4} pages  htmldate {line(theirs, chosen)}")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "../shared/data"))
