"""Tests of thumbnails of an item's images: a thumbnail is stored by its hash beside the file, and named in
the file's row."""

from __future__ import annotations

import csv
import io
import json
import random
import sqlite3
import time
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

import msgspec
import pytest
from PIL import Image as Pillow

from e2e.item_files.file_server import Web, pdf, png, serving
from e2e.item_files.file_site import SITE, balanced, item, job, lines, rows
from e2e.kill_crawl import fire
from e2e.runs import begin, command, end_all
from gossamer import File, Image
from gossamer.app.runner import crawl
from gossamer.errors import ConfigError
from gossamer.items.assets import key_of
from gossamer.parsing import thumbnails

BOXES = 'thumbnails={"small": (40, 40), "wide": (200, 20)}'
THUMBS = SITE.replace("Image(width=10)", f"Image(width=10, {BOXES})")
CAT, BOMB, BOOK = png(400, 300, 90), png(9000, 9000), pdf("How to feed a cat")


@pytest.fixture
def web(tmp_path: Path) -> Iterator[Web]:
    with serving() as found:
        yield found
    end_all(tmp_path / "data")


async def test_thumbnails_lie_beside_the_file_and_its_row_names_them(web: Web, tmp_path: Path) -> None:
    web.put("/cat.png", CAT, "image/png")
    web.put("/", item("a", "/cat.png"))
    summary = balanced(await crawl(job(web, tmp_path, "out.jsonl", "out.sqlite", "out.csv", site=THUMBS)))
    (row,) = rows(tmp_path / "out.jsonl", "file").values()
    stored = tmp_path / "data" / "shop" / "files"
    assert (summary.files, row["error"], row["thumbnail_error"]) == (1, None, None)
    assert row["limits"] == "image/*, 10x0 pixels, thumbnail small 40x40, thumbnail wide 200x20"
    assert (stored / row["path"]).read_bytes() == CAT
    sizes = {}
    for name, path in row["thumbnails"].items():
        body = (stored / path).read_bytes()
        digest = sha256(body).hexdigest()
        assert path == f"{digest[:2]}/{digest}"
        sizes[name] = Pillow.open(io.BytesIO(body)).size
    assert sizes == {"small": (40, 30), "wide": (27, 20)}
    assert len([path for path in stored.rglob("*") if path.is_file()]) == 3
    base = sqlite3.connect(tmp_path / "out.sqlite")
    ((told,),) = base.execute("SELECT thumbnails FROM file").fetchall()
    base.close()
    (line,) = csv.DictReader((tmp_path / "out.file.csv").read_text().splitlines())
    assert json.loads(told) == json.loads(line["thumbnails"]) == row["thumbnails"]


async def test_a_file_without_thumbnails_is_kept_and_its_row_says_why(web: Web, tmp_path: Path) -> None:
    web.put("/bomb.png", BOMB, "image/png")
    web.put("/cut.png", CAT[:-60], "image/png")
    web.put("/a.svg", "<svg xmlns='http://www.w3.org/2000/svg'/>", "image/svg+xml")
    web.put("/tiny.png", png(5, 5), "image/png")
    web.put("/b.pdf", BOOK, "application/pdf")
    web.put("/", item("a", "/bomb.png", "/cut.png", "/a.svg", "/tiny.png", manual="/b.pdf"))
    site = THUMBS.replace("text=True", BOXES)
    summary = balanced(await crawl(job(web, tmp_path, "out.jsonl", site=site)))
    found = {url.removeprefix(web.url): row for url, row in rows(tmp_path / "out.jsonl", "file").items()}
    assert (summary.files, summary.errors, summary.skipped) == (4, {}, {"filter": 1})
    stored = tmp_path / "data" / "shop" / "files"
    assert all((stored / row["path"]).is_file() for url, row in found.items() if url != "/tiny.png")
    assert {row["thumbnails"] for row in found.values()} == {None}
    why = {url: row["thumbnail_error"] for url, row in found.items()}
    assert why.pop("/cut.png").startswith("it is broken: ")
    assert why == {
        "/bomb.png": "it has more than 67108864 pixels",
        "/a.svg": "there are no thumbnails of image/svg+xml",
        "/tiny.png": None,
        "/b.pdf": "there are no thumbnails of application/pdf",
    }
    assert (found["/tiny.png"]["error"], found["/tiny.png"]["detail"]) == ("filter", "it has 5x5 pixels")


async def test_a_second_run_stores_and_changes_nothing(web: Web, tmp_path: Path) -> None:
    """Equal images have equal thumbnails, so a second run creates no new version of their rows."""
    web.put("/cat.png", CAT, "image/png")
    web.put("/cut.png", CAT[:-60], "image/png")
    web.put("/", item("a", "/cat.png", "/cut.png"))
    one = job(web, tmp_path, "out.sqlite", site=THUMBS)
    assert (await crawl(one)).files == 2
    stored = tmp_path / "data" / "shop" / "files"
    before = {path.name for path in stored.rglob("*")}
    thumbnails._PROCESS._close()  # the second run starts its own thumbnail process
    summary = balanced(await crawl(msgspec.structs.replace(one, refresh=True)))
    base = sqlite3.connect(tmp_path / "out.sqlite")
    changed = base.execute("SELECT _data FROM _history WHERE _kind = 'file'").fetchall()
    base.close()
    assert (summary.files, changed, {path.name for path in stored.rglob("*")}) == (2, [], before)


async def test_a_missing_extra_is_named_before_the_crawl(
    web: Web, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(thumbnails, "available", lambda: False)
    with pytest.raises(ConfigError, match=r"File\(thumbnails=...\) needs Pillow: .*images"):
        await crawl(job(web, tmp_path, "out.jsonl", site=THUMBS))
    (tmp_path / "without").mkdir()
    balanced(await crawl(job(web, tmp_path / "without", "out.jsonl", files="off", site=THUMBS)))


async def test_wrong_thumbnails_are_refused_with_their_line(web: Web, tmp_path: Path) -> None:
    site = SITE.replace("Image(width=10)", 'Image(thumbnails={"small": 100})')
    with pytest.raises(
        ConfigError, match=r"shop.py:\d+: .*small: write the largest width and height: \(100, 100\)"
    ):
        await crawl(job(web, tmp_path, "out.jsonl", site=site))
    for wrong in (
        {"small": (0, 1)},
        {"small": (1, 70_000)},
        {"": (1, 1)},
        {"small": (1, 1, 1)},
        {"a": ("x", 1)},
        [1],
    ):
        with pytest.raises(ValueError, match="thumbnails"):
            File(thumbnails=wrong)  # type: ignore[arg-type]


async def test_files_without_thumbnails_keep_their_keys_and_columns(web: Web, tmp_path: Path) -> None:
    """Rows and keys of files without thumbnails are the same as in versions that had no thumbnails."""
    url = "http://a.example/x.png"
    assert key_of(url, Image(width=10).rule) == f"{url}#5393e8ab"
    assert key_of(url, File("application/pdf", size="200k", text=True).rule) == f"{url}#0f141580"
    web.put("/cat.png", CAT, "image/png")
    web.put("/", item("a", "/cat.png"))
    balanced(await crawl(job(web, tmp_path, "out.jsonl", "out.csv")))
    (row,) = (row for row in lines(tmp_path / "out.jsonl") if row["_kind"] == "file")
    header = (tmp_path / "out.file.csv").read_text().splitlines()[0].split(",")
    assert not {"thumbnails", "thumbnail_error"} & {*row, *header}


def test_kills_leave_no_row_without_its_thumbnails(web: Web, tmp_path: Path) -> None:
    names, rng = [f"/{n}.png" for n in range(60)], random.Random()
    for n, name in enumerate(names):
        web.put(name, png(100 + n, 100, n), "image/png")
    web.put("/", item("a", *names))
    words = command(job(web, tmp_path, "out.jsonl", retries=(0.1, 0.2), per_host=4, site=THUMBS, name="shop"))
    door = begin(words)
    for part in sorted(rng.uniform(0.1, 0.8) for _ in range(2)):
        while web.asked.total() < part * len(names):
            assert door.poll() is None, door.communicate()
            time.sleep(0.005)
        fire("all", door, tmp_path / "data")
        door.communicate()
        door = begin(words)
    out, err = door.communicate(timeout=120)
    assert (door.returncode, json.loads(out)["files"]) == (0, len(names)), err
    found = [row for row in lines(tmp_path / "out.jsonl") if row["_kind"] == "file"]
    assert sorted(row["url"] for row in found) == sorted(web.url + name for name in names)
    for row in found:
        assert row["thumbnails"].keys() == {"small", "wide"}, row
        for path in row["thumbnails"].values():
            body = (tmp_path / "data" / "shop" / "files" / path).read_bytes()
            assert sha256(body).hexdigest() == path[3:]
