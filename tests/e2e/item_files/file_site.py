"""A site whose items refer to files, the job that crawls the site, and the rows of its outputs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from e2e.item_files.file_server import Web
from gossamer.app.job import Job, JobOutput
from gossamer.config.settings import Settings
from gossamer.model.summary import Summary

SITE = """
from typing import Annotated

from gossamer import File, Image, Item, Ref, Site

site = Site("shop", seeds=["{url}/"])


class Maker(Item, key="name"):
    name: str


class Product(Item, key="sku"):
    sku: str
    maker: Annotated[str | None, Ref(Maker)]
    photos: Annotated[list[str], Image(width=10)]
    manual: Annotated[str | None, File("application/pdf", size="200k", text=True)] = None


@site.page()
def page(page):
    for one in page.css("li"):
        yield Maker(name=one.attrib["data-maker"])
        yield Product(
            sku=one.attrib["id"],
            maker=one.attrib["data-maker"],
            photos=one.css("img::attr(src)").getall(),
            manual=one.css("a.manual::attr(href)").get(),
        )
    yield from page.follow("a.next")
"""


def job(web: Web, folder: Path, *outputs: str, site: str = SITE, **given: Any) -> Job:
    """Create a job that crawls a site of `web`. Keywords that are not fields of a job are settings."""
    (folder / "shop.py").write_text(site.replace("{url}", web.url))
    own = {key: given.pop(key) for key in list(given) if key in Job.__struct_fields__}
    usual: dict[str, Any] = {
        "data": str(folder / "data"),
        "delay": (0.0, 0.0),
        "retries": (),
        "allow_private": ("127.0.0.0/8",),
    }
    return Job(
        targets=[str(folder / "shop.py")],
        settings=Settings(**(usual | given)),
        outputs=[JobOutput(str(folder / one)) for one in outputs],
        **own,
    )


def item(sku: str, *photos: str, manual: str = "", maker: str = "Mott") -> str:
    """Return the HTML of a product on a page of the site."""
    tags = "".join(f"<img src='{one}'>" for one in photos)
    link = f"<a class=manual href='{manual}'>m</a>" if manual else ""
    return f"<li id={sku} data-maker={maker}>{tags}{link}</li>"


def lines(path: Path) -> list[dict[str, Any]]:
    """Return all rows of a JSON lines file."""
    return [json.loads(line) for line in path.read_text().splitlines()]


def rows(path: Path, kind: str) -> dict[str, dict[str, Any]]:
    """Return the rows of a kind. A file's row is keyed by the URL of the file, and the other rows are
    keyed by `_key`."""
    return {row["url" if kind == "file" else "_key"]: row for row in lines(path) if row["_kind"] == kind}


def balanced(summary: Summary) -> Summary:
    """Assert that the counts of the summary add up, and that a finished crawl has no pending URLs. Return
    the summary."""
    assert summary.adds_up(), summary
    assert summary.state != "finished" or not summary.pending, summary
    return summary
