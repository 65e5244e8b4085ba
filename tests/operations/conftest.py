"""Fixtures: a small local web, and one `gossamer serve` that has crawled it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from cli.command_line import Pages
from operations.service_process import Serving, served_folder
from operations.stored_uses import fill_folder
from support.answers import answering


@pytest.fixture(scope="module")
def web() -> Iterator[str]:
    with answering(Pages) as port:
        yield f"http://127.0.0.1:{port}"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory, web: str) -> Iterator[Serving]:
    folder = tmp_path_factory.mktemp("served")
    (folder / "sites").mkdir()
    (folder / "sites" / "shop.py").write_text(SITE.replace("WEB", web))
    fill_folder(folder, web)
    with served_folder(folder, "--sites", "sites") as one:
        one.crawl(f"{web}/", "books", text=True)
        yield one


SITE = r"""
import gossamer


class Book(gossamer.Item, key="n"):
    n: str
    title: str


site = gossamer.Site("shop", seeds=["WEB/"])


@site.page(r"/$")
def home(page):
    yield from page.follow("a")


@site.page(r"/\d+$")
def book(page):
    yield Book(n=page.url.rpartition("/")[2], title=page.title)
    yield from page.follow("a")
"""
