"""docs/security.md is accurate: the files and tests that it names exist, and its bounds are the defaults."""

from __future__ import annotations

import inspect
import re

from gossamer.collectors.http import transfer
from gossamer.collectors.http.collector import HttpCollector
from gossamer.config.settings import Settings
from gossamer.egress import resolver
from gossamer.items import assets
from gossamer.parsing import pdf, pdf_process, sitemaps, thumbnail_process, thumbnails
from gossamer.politeness import robots, robots_access
from gossamer.url import scope
from gossamer.worker import asset_download, decide, reader, robots_gate
from house.tree import ROOT, SRC

PAGE = (ROOT / "docs" / "security.md").read_text()
MIB = 1 << 20


def test_every_test_and_file_that_it_names_is_there() -> None:
    named = re.findall(r"`(tests/[\w/]+\.py)(?:::(\w+))?`", PAGE)
    assert len(named) > 30
    for file, function in named:
        assert f"def {function}(" in (ROOT / file).read_text() if function else (ROOT / file).is_file(), (
            file,
            function,
        )
    rows = [line.split(" | ") for line in PAGE.splitlines() if re.match(r"\| \d+ ", line)]
    assert [int(row[0].strip("| ")) for row in rows] == [
        *range(1, 16),
        16,
        17,
        18,
        19,
        20,
        21,
        22,
        25,
        26,
        27,
        28,
    ]
    for row in rows:
        for name in re.findall(r"`([\w./]+)`", row[3]):
            assert (SRC / name).exists(), name


def test_its_bounds_are_the_defaults() -> None:
    defaults = {
        name: given.default for name, given in inspect.signature(HttpCollector.__init__).parameters.items()
    }
    assert (defaults["connect"], defaults["first_byte"], defaults["total"]) == (10, 20, 30)
    assert (defaults["wire"], defaults["decoded"], Settings().max_size, Settings().timeout) == (
        16 * MIB,
        32 * MIB,
        16 * MIB,
        30,
    )
    assert (transfer.MAX_HEADER_BYTES, transfer.MAX_HEADER_LINES, transfer.MAX_CHUNKS) == (
        64 << 10,
        1000,
        200_000,
    )
    assert (transfer.MAX_DRAINED_BYTES, transfer.MAX_ERROR_BODY_BYTES) == (64 << 10, MIB)
    assert (sitemaps.MAX_BYTES, sitemaps.MAX_ENTRIES) == (50 * MIB, 50_000)
    assert (
        robots.MAX_BYTES,
        robots_access.MAX_BYTES,
        robots_access.MAX_AGE_S,
        robots_access.PARK_DELAY_S,
    ) == (
        500 << 10,
        500 << 10,
        86_400,
        300,
    )
    assert (decide.MAX_REDIRECTS, robots_gate.MAX_REDIRECTS, reader.MAX_LINKS) == (10, 5, 5000)
    assert (scope.PORTS, scope.MAX_URL, Settings().depth) == ({80, 443, 8080, 8443}, 2083, 50)
    assert (
        transfer.MAX_MEMORY_BYTES,
        transfer.MIN_FILE_RATE_BYTES,
        asset_download.MAX_FILES_PER_PAGE,
        assets.DEFAULT_MAX_FILES,
    ) == (
        256 << 10,
        256 << 10,
        5000,
        100,
    )
    assert (pdf_process.MAX_MEMORY_BYTES, pdf.MAX_SECONDS) == (1 << 30, 20)
    assert (thumbnail_process.MAX_MEMORY_BYTES, thumbnails.MAX_SECONDS) == (1 << 30, 10)
    assert (thumbnails.MAX_PIXELS, thumbnails.MAX_BYTES) == (64 << 20, 64 * MIB)
    assert (abs(Settings().page_cap), resolver.TTL_S) == (10_000, 60)
