"""Streams of many rows through a real `gossamer serve`, which keeps few of them in memory."""

from __future__ import annotations

import http.client
import time
from pathlib import Path

import pyarrow.parquet
import pytest

from gossamer import Client
from gossamer.operations.row_streams import PARQUET
from operations.many_rows import FORMATS, children, fill, stream
from operations.service_process import served_folder

BOUND_MB = 100
PAGES, ITEMS = 6, 10_000


@pytest.fixture(scope="module")
def crawled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder: Path = tmp_path_factory.mktemp("crawled")
    fill(folder, PAGES, ITEMS)
    return folder


@pytest.mark.parametrize("form", FORMATS)
def test_a_stream_takes_little_memory_where_a_page_has_ten_thousand_items(crawled: Path, form: str) -> None:
    found = stream(crawled, form)
    assert found.rows == PAGES * ITEMS
    assert found.peak < BOUND_MB, found


def test_a_parquet_stream_that_its_caller_leaves_ends_its_process(crawled: Path) -> None:
    with served_folder(crawled, "--sites", "sites") as server:
        pid = server.process.pid
        others = set(children(pid))
        connection = http.client.HTTPConnection(server.host, server.port, timeout=60)
        connection.request("GET", "/v1/crawls/offers/items", headers={"Accept": PARQUET})
        with connection.getresponse() as answer:
            assert answer.read(4) == b"PAR1"
            assert len(set(children(pid)) - others) == 1
        connection.close()
        while set(children(pid)) - others:
            time.sleep(0.05)


def test_a_secret_of_the_settings_is_masked_in_a_parquet_file(crawled: Path, tmp_path: Path) -> None:
    """The process that writes the file knows the secrets of `serve`."""
    with served_folder(crawled, "-s", f"proxies=http://u:{'x' * 40}@127.0.0.1:1") as server:
        Client(server.url).export("offers", tmp_path / "offers.parquet", where=["n<3"])
    titles = pyarrow.parquet.read_table(tmp_path / "offers.parquet")["title"].to_pylist()
    assert titles == [f"Offer {n} of the shelf ***" for n in range(3)]
