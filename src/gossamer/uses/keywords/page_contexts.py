"""Finds the contexts of each keyword on each page again, in the stored texts of a run. A count stores only a
few contexts of each keyword, because the contexts of all pages would take more room than the texts."""

from __future__ import annotations

import itertools
import os
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import msgspec

from gossamer.parsing.words import tokens
from gossamer.uses.keywords.arrow_columns import integers, table, texts
from gossamer.uses.keywords.matching import CONTEXT_CHARS, MAX_CONTEXTS, KeywordMatcher, cut_contexts
from gossamer.uses.keywords.texts import read_line

COUNTED: Final = "texts.json"
CONTEXTS: Final = "contexts.parquet"
"""The file with the contexts of all pages. The file is made when an export needs it, and removed by the next
count."""
BETWEEN: Final = "\x1f"
"""The separator between the contexts of a page in `contexts.parquet`."""
_ROWS: Final = 5_000
PageRow = tuple[int, int, int, int, int]
"""A keyword on a page: the page, the number of the page's file, the start and the length of its line, and the
number of the keyword."""


class CountedTexts(msgspec.Struct, frozen=True, kw_only=True):
    """The texts that a count has read, and the options by which contexts are found in them."""

    files: list[str]
    stem: str = ""
    context: int = CONTEXT_CHARS


def write_counted(folder: Path, counted: CountedTexts) -> None:
    """Stores the texts of a count. Removes the contexts of an earlier count."""
    (folder / CONTEXTS).unlink(missing_ok=True)
    new = folder / f"{COUNTED}.new"
    new.write_bytes(msgspec.json.encode(counted))
    os.replace(new, folder / COUNTED)


def read_counted(folder: Path) -> CountedTexts:
    """Returns the texts of a run."""
    try:
        return msgspec.json.decode((folder / COUNTED).read_bytes(), type=CountedTexts)
    except FileNotFoundError:
        return CountedTexts(files=[])


def contexts_on(
    matcher: KeywordMatcher, counted: CountedTexts, file: int, start: int, length: int
) -> dict[int, list[str]]:
    """Returns the first contexts of each keyword in the main text of a page. The result is empty if the text
    is no longer there."""
    page = read_line(counted.files[file], start, length) if file < len(counted.files) else None
    if page is None:
        return {}
    shown: dict[int, int] = defaultdict(int)
    chosen: list[tuple[int, int]] = []
    for place, keyword in matcher.find(tokens(page.body), page.code):
        if shown[keyword] < MAX_CONTEXTS:
            shown[keyword] += 1
            chosen.append((place, keyword))
    places = [(place, matcher.width(keyword)) for place, keyword in chosen]
    found: dict[int, list[str]] = defaultdict(list)
    for (_, keyword), context in zip(chosen, cut_contexts(page.body, places, counted.context), strict=True):
        found[keyword].append(context)
    return found


def write_contexts(
    folder: Path, counted: CountedTexts, keywords: Sequence[str], rows: Iterable[PageRow]
) -> None:
    """Writes `contexts.parquet`. `rows`: the keywords on each page, in the order of the pages."""
    import pyarrow.parquet as pq

    new, writer = folder / f"{CONTEXTS}.new", None
    found = _contexts(counted, keywords, rows)
    try:
        while part := list(itertools.islice(found, _ROWS)):
            made = _table(part)
            writer = writer or pq.ParquetWriter(new, made.schema, compression="zstd")
            writer.write_table(made)
        writer = writer or pq.ParquetWriter(new, _table([]).schema)
    finally:
        if writer is not None:
            writer.close()
    os.replace(new, folder / CONTEXTS)


def _contexts(
    counted: CountedTexts, keywords: Sequence[str], rows: Iterable[PageRow]
) -> Iterator[tuple[int, int, str]]:
    matcher = KeywordMatcher(keywords, counted.stem)
    for (page, *line), group in itertools.groupby(rows, key=lambda row: row[:4]):
        contexts = contexts_on(matcher, counted, *line)
        for *_, keyword in group:
            if keyword in contexts:
                yield page, keyword, BETWEEN.join(contexts[keyword])


def _table(rows: Sequence[tuple[int, int, str]]) -> Any:
    return table(
        {
            "page": integers(page for page, _, _ in rows),
            "keyword": integers(keyword for _, keyword, _ in rows),
            "contexts": texts(shown for _, _, shown in rows),
        }
    )
