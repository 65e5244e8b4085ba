"""Measures how many pages of two suites are read in their encoding.

    python benchmarks/encodings.py [FOLDER]

FOLDER (default `../shared/data`) contains `encoding-chardet` (pages that declare no encoding, from the suite of chardet) and
`encoding-html5lib` (pages that declare one) as `.jsonl.gz`. A page of the first suite is right if its text is right, whatever
the encoding is called. A page of the second suite is right if the name of its encoding is right. The program fails below 92 % of the
first suite and below all pages of the second.
"""

from __future__ import annotations

import base64
import gzip
import json
import sys
from collections import Counter
from pathlib import Path
from typing import Any

sys.path[:0] = [str(Path(__file__).parents[1] / "src")]

from gossamer.parsing.encodings import decode, encoding  # noqa: E402

MIN_DETECTED = 0.92
NO_CODEC = "euc-tw"
"""An encoding of the first suite that Python cannot decode. Its pages count as wrong."""


def rows(path: Path) -> list[dict[str, Any]]:
    """Returns the rows of a file of JSON lines."""
    with gzip.open(path) as lines:
        return [json.loads(line) for line in lines]


def is_detected(row: dict[str, Any]) -> bool:
    """Whether the text of a page that declares no encoding is right."""
    body, wanted = base64.b64decode(row["body"]["b64"]), row["encoding"]
    return wanted != NO_CODEC and decode(body) == body.decode(wanted, "replace").lstrip("\ufeff")


def main() -> int:
    """Prints the shares of right pages. Returns the exit code."""
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).parents[2] / "shared" / "data")
    undeclared = rows(folder / "encoding-chardet.jsonl.gz")
    wrong = [row for row in undeclared if not is_detected(row)]
    right = len(undeclared) - len(wrong)
    print(
        f"undeclared, chardet's suite   {right} of {len(undeclared)} texts right ({right / len(undeclared):.1%})"
    )
    said = Counter(f"{row['encoding']} as {encoding(base64.b64decode(row['body']['b64']))}" for row in wrong)
    print(f"wrong                         {', '.join(f'{name} ({n})' for name, n in sorted(said.items()))}")
    declared = rows(folder / "encoding-html5lib.jsonl.gz")
    named = sum(
        encoding(base64.b64decode(row["body"]["b64"]), row["content_type"]) == row["encoding"]
        for row in declared
    )
    print(f"declared, html5lib's suite    {named} of {len(declared)} encodings right")
    return int(right < MIN_DETECTED * len(undeclared) or named < len(declared))


if __name__ == "__main__":
    sys.exit(main())
