"""Tests of block sentences in many languages: block notices, and ordinary pages that use the same words.
All texts were written by hand before the detector was first run on them."""

from __future__ import annotations

from pathlib import Path

import pytest

from blocks.block_pages import HTML, URL, either

HERE = Path(__file__).parent
FRAMES = (
    "<!doctype html><html><head><meta charset=utf-8><title>%s</title></head><body>%s</body></html>",
    "<html><head><title>%s</title><style>body{margin:0}</style></head><body><div class=box><img src=/logo.svg alt=''>%s</div></body></html>",
    "<html><head><title>%s</title></head><body><div id=wrap>%s<div class=footer>&copy; 2026</div></div><script>var a=1</script></body></html>",
)


def rows(name: str) -> list[tuple[int, str, str, str]]:
    """Parse each line `status|title|text[|url]` into the status, the title, the text as HTML, and the URL."""
    found = []
    for line in (HERE / name).read_text().splitlines():
        status, title, *text = line.split("|")
        url = text.pop() if text[-1].startswith("https://") else URL
        found.append((int(status), title, "|".join(text), url))
    return found


def judged(status: int, title: str, text: str, url: str) -> set[bool]:
    return {either(status, HTML, (frame % (title, text)).encode(), url) is not None for frame in FRAMES}


@pytest.mark.parametrize("row", rows("sentences_of_blocks.txt"), ids=lambda row: f"{row[0]} {row[1]}")
def test_notices_in_words(row: tuple[int, str, str, str]) -> None:
    assert judged(*row) == {True}


@pytest.mark.parametrize("row", rows("sentences_of_pages.txt"), ids=lambda row: f"{row[0]} {row[1]}")
def test_pages_that_use_such_words(row: tuple[int, str, str, str]) -> None:
    assert judged(*row) == {False}
