"""Files of items in a fleet. Each file is fetched once and stored in one place, and its row is written once,
even if a worker is killed."""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path

from e2e.item_files.file_server import Web, png, serving
from e2e.item_files.file_site import SITE, item
from support.fleet_workers import Fleet, until

PAGES, EACH = 30, 4


def shop(web: Web) -> dict[str, bytes]:
    """Adds product pages to the web. Each page has files of its own, and all pages share one file. Returns
    the content by URL path."""
    there = {web.put("/all.png", png(20, 20), "image/png"): png(20, 20)}
    for page in range(PAGES):
        names = [f"/img/{page}-{n}.png" for n in range(EACH)]
        for n, name in enumerate(names):
            picture = png(20 + page, 30, n)
            there[web.put(name, picture, "image/png")] = picture
        place, after = (
            f"/{page}" if page else "/",
            f"<a class=next href=/{page + 1}>" if page + 1 < PAGES else "",
        )
        web.put(place, item(f"p{page}", "/all.png", *names) + after)
    return there


def test_files_are_kept_once_by_all_workers(fleet: Fleet, tmp_path: Path) -> None:
    with serving() as web:
        there = shop(web)
        (tmp_path / "shop.py").write_text(SITE.replace("{url}", web.url))
        first = fleet.worker("w", "--sites", ".", processes=2)
        fleet.worker("v", "--sites", ".", processes=2)
        fleet.ready(2)
        words = ("--delay", "0.02", "--allow-private", "127.0.0.0/8", "--quiet")
        fleet.run("submit", "shop.py", "--name", "c", "-o", "out/", "--files", "files/", *words)
        until("files are kept", lambda: len(list((tmp_path / "files").glob("*/*"))) > EACH)
        first.kill()
        assert fleet.json("status", "c")["state"] == "running"
        end = fleet.ended("c")
    assert (end["state"], end["dead"], end["files"]) == ("finished", 0, len(there))
    rows = fleet.rows()
    files = [row for row in rows if row["_kind"] == "file"]
    assert {row["url"]: row["sha256"] for row in files} == {
        url: sha256(body).hexdigest() for url, body in there.items()
    }
    assert len(files) == len(there)
    assert sorted(row["sku"] for row in rows if row["_kind"] == "product") == sorted(
        f"p{n}" for n in range(PAGES)
    )
    kept = {
        path.name: path.read_bytes()
        for path in (tmp_path / "files").glob("*/*")
        if not path.name.startswith(".")
    }
    assert kept.keys() == {sha256(body).hexdigest() for body in there.values()}
    assert all(sha256(body).hexdigest() == name for name, body in kept.items())
