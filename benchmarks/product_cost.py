"""Compares `gossamer.parsing.products.product` with another revision by instructions per page (Linux,
valgrind).

    python benchmarks/product_cost.py --against REVISION [--pages FOLDER] [--generated 60]

The pages are the saved product pages of FOLDER (default `../shared/data`), the same pages without their
structured data, and pages generated in the markup of shop systems (`shop_kinds.py`), half of them without
structured data. The cost is the difference between three rounds and one round, so imports and the compilation
of patterns do not count. REVISION is `862052ba^` for the extractor before price monitoring.
"""

from __future__ import annotations

import argparse
import base64
import gzip
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
_COUNTED = re.compile(r"I +refs: +([\d,]+)")
_LD = re.compile(
    rb"<script[^>]*ld\+json.*?</script>|<meta\b[^>]*(?:price|availability|currency)[^>]*>", re.DOTALL
)
_MICRODATA = re.compile(rb"\sitem(?:prop|scope|type)(?:=(?:\"[^\"]*\"|'[^']*'|[^\s>]+))?")
WORK = """
import base64, json, sys
from gossamer.parsing.products import product

pages = [(base64.b64decode(body), url) for body, url in json.load(open(sys.argv[1]))]
for _ in range(int(sys.argv[2])):
    for body, url in pages:
        product(body, url)
"""


def count(source: Path, pages: Path, rounds: int) -> int:
    """Returns the instructions of a process that reads all pages in some number of rounds."""
    log = pages.with_suffix(".log")
    tool = [
        "valgrind",
        "--tool=cachegrind",
        "--cache-sim=no",
        "--cachegrind-out-file=/dev/null",
        f"--log-file={log}",
    ]
    env = {**os.environ, "PYTHONPATH": str(source), "PYTHONHASHSEED": "0"}
    subprocess.run(
        [*tool, sys.executable, "-c", WORK, str(pages), str(rounds)], env=env, check=True, cwd=pages.parent
    )
    found = _COUNTED.search(log.read_text())
    assert found
    return int(found[1].replace(",", ""))


def samples(folder: Path, generated: int) -> dict[str, list[tuple[bytes, str]]]:
    """Returns the pages of each sample, with their URLs."""
    found: dict[str, list[tuple[bytes, str]]] = {}
    if (folder / "products.jsonl.gz").exists():
        with gzip.open(folder / "products.jsonl.gz", "rt") as lines:
            saved = [(base64.b64decode(row["html"]["b64"]), row["url"]) for row in map(json.loads, lines)]
        found["saved pages"] = saved
        found["the same without structured data"] = [
            (_MICRODATA.sub(b"", _LD.sub(b"", body)), url) for body, url in saved
        ]
    from shop_kinds import drawn

    made = drawn(5, generated // 2, hard=False) + drawn(6, generated // 2, hard=True)
    found["generated pages"] = [(body, f"https://shop.example/{n}") for n, (_, _, body, _) in enumerate(made)]
    return found


def main() -> None:
    asked = argparse.ArgumentParser()
    asked.add_argument("--against", required=True)
    asked.add_argument("--pages", type=Path, default=ROOT.parent / "shared" / "data")
    asked.add_argument("--generated", type=int, default=60)
    options = asked.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        packed = subprocess.run(
            ["git", "archive", options.against, "src"], cwd=ROOT, check=True, capture_output=True
        )
        subprocess.run(["tar", "-x", "-C", name], input=packed.stdout, check=True)
        shutil.copytree(ROOT / "src", folder / "now", ignore=shutil.ignore_patterns("__pycache__"))
        for sample, pages in samples(options.pages, options.generated).items():
            file = folder / "pages.json"
            file.write_text(json.dumps([(base64.b64encode(body).decode(), url) for body, url in pages]))
            cost = [
                (count(source, file, 3) - count(source, file, 1)) / 2 / len(pages) / 1e6
                for source in (folder / "src", folder / "now")
            ]
            print(
                f"{sample:34} {len(pages):4} pages, million instructions a page: before {cost[0]:.2f}, now {cost[1]:.2f}, "
                f"ratio {cost[1] / cost[0]:.3f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
