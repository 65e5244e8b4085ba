"""Compares outputs with the expected pages: missing pages, duplicate pages, and unreadable rows."""

from __future__ import annotations

import csv
import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from e2e.kill_crawl import answers, kept
from gossamer import url as urls
from web import Plan

FOREIGN = "written by another program"
"""A line that contains these words comes from another program."""


@dataclass
class Verdict:
    """The differences between the outputs and the expected pages, by format. `broken`: unreadable outputs
    and rows. `failed`: pages whose row contains an error or a status other than 200."""

    missing: dict[str, set[str]] = field(default_factory=dict)
    double: dict[str, Counter[str]] = field(default_factory=dict)
    broken: list[str] = field(default_factory=list)
    failed: dict[str, str] = field(default_factory=dict)

    def exact(self) -> bool:
        return not (self.broken or self.failed or any(self.missing.values()) or any(self.double.values()))

    def lost(self) -> set[str]:
        """Return the pages that are missing in at least one format."""
        return set().union(*self.missing.values()) | set(self.failed)

    def twice(self) -> Counter[str]:
        """Return the number of surplus rows per page, which is the maximum over all formats."""
        found: Counter[str] = Counter()
        for more in self.double.values():
            found |= more
        return found

    def __str__(self) -> str:
        words = [f"{name}: {len(pages)} missing" for name, pages in self.missing.items() if pages]
        words += [f"{name}: {sum(pages.values())} double" for name, pages in self.double.items() if pages]
        words += [f"{len(self.failed)} failed ({min(self.failed.values())})"] if self.failed else []
        return "; ".join([*words, *self.broken]) or "exact"


def judge(folder: Path, formats: list[str], plan: Plan) -> Verdict:
    """Compare `out.*` in a folder with the plan of the web, in which every page has status 200."""
    verdict = Verdict()
    want = {str(urls.canonical(page)) for page in plan.must_fetch(sitemaps=False)}
    for ending in formats:
        try:
            found = list(pages(folder / f"out.{ending}", ending, verdict))
        except Exception as error:  # noqa: BLE001 - an output that its usual reader refuses, whatever it raises, is broken
            verdict.broken.append(f"{ending} cannot be read: {type(error).__name__}: {str(error)[:80]}")
            found = []
        counts = Counter(page for page in found if page in want or ending != "warc.gz")
        verdict.missing[ending] = want - set(counts)
        verdict.double[ending] = Counter({page: n - 1 for page, n in counts.items() if n > 1})
        if odd := set(counts) - want:
            verdict.broken.append(f"{ending}: {len(odd)} pages that the web does not have, as {min(odd)}")
    return verdict


def pages(path: Path, ending: str, verdict: Verdict, *, torn: bool = False) -> Iterator[str]:
    """Yield the page of each row. With `torn`, the last row may be incomplete."""
    if ending == "warc.gz":
        yield from (str(page) for page in answers(path))
        return
    rows: Iterator[dict[str, str]]
    if ending == "jsonl":
        rows = lines(path, verdict, torn=torn)
    elif ending == "csv":
        rows = cells(path, verdict)
    elif ending == "parquet":
        rows = iter(parts(path))
    else:
        rows = iter(kept(path))
    for row in rows:
        page = str(urls.canonical(row["requested_url"]))
        if str(row["status"]) != "200":
            verdict.failed[page] = f"{row['status']} {row['error']}"
        yield page


def parts(path: Path) -> list[dict[str, str]]:
    """Return the rows of a Parquet output, read by pyarrow."""
    import pyarrow.parquet

    found: list[dict[str, str]] = pyarrow.parquet.read_table(path).to_pylist()
    return found


def lines(path: Path, verdict: Verdict, *, torn: bool = False) -> Iterator[dict[str, str]]:
    """Yield the rows of a JSON lines output. With `torn`, the last row may be incomplete."""
    text = path.read_bytes().decode("utf-8", "replace").split("\n")
    if text[-1] and not torn:
        verdict.broken.append("jsonl: the last line does not end")
    for number, line in enumerate(text[:-1], 1):
        if FOREIGN in line:
            continue
        try:
            yield json.loads(line)
        except ValueError:
            verdict.broken.append(f"jsonl: line {number} is broken")


def cells(path: Path, verdict: Verdict) -> Iterator[dict[str, str]]:
    """Yield the rows of a CSV output."""
    with path.open(encoding="utf-8", newline="") as file:
        head, *body = list(csv.reader(file))
    for number, row in enumerate(body, 2):
        if any(FOREIGN in cell for cell in row):
            continue
        if len(row) != len(head):
            verdict.broken.append(f"csv: row {number} is broken")
        else:
            yield dict(zip(head, row, strict=True))
