"""Tests of kills: whichever process is killed, every file, item and reference is written exactly once. The
files are stored in a folder, and in a real object store."""

from __future__ import annotations

import asyncio
import json
import os
import random
import threading
import time
from collections import Counter
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

import msgspec
import pytest

from e2e.item_files.file_server import Web, pdf, png, serving
from e2e.item_files.file_site import SITE, balanced, item, job, lines, rows
from e2e.kill_crawl import fire
from e2e.runs import begin, command, end_all
from gossamer.app.runner import Live, crawl
from gossamer.errors import SinkError
from gossamer.sinks.object_store import ObjectFolder
from support.object_stores import CACHE, Minio

PAGES, EACH = 40, 3


@pytest.fixture
def web(tmp_path: Path) -> Iterator[Web]:
    with serving() as found:
        yield found
    end_all(tmp_path / "data")


def many(web: Web) -> dict[str, bytes]:
    """Set up pages with one item each. Each item has files of its own, and one file that all items share."""
    there = {f"{web.url}/shared.png": png(50, 50)}
    for n in range(PAGES):
        names = [f"/{n}-{m}.png" for m in range(EACH)]
        for m, name in enumerate(names):
            there[web.url + name] = png(20 + m, 20, n)
        web.put(f"/p{n}", item(f"i{n}", *names, "/shared.png") + f"<a class=next href=/p{n + 1}>")
    for url, body in there.items():
        web.put(url.removeprefix(web.url), body, "image/png")
    web.put("/", "".join(f"<a class=next href=/p{n}>" for n in range(PAGES)))
    web.put(f"/p{PAGES}", "<p>the end")
    return there


def test_three_kills_lose_nothing_and_write_nothing_twice(web: Web, tmp_path: Path) -> None:
    there, rng = many(web), random.Random()
    one = msgspec.structs.replace(
        job(web, tmp_path, "out.jsonl", "out.sqlite", retries=(0.1, 0.2), per_host=4, processes=2),
        name="shop",
    )
    words = command(one, "--graph", str(tmp_path / "links.jsonl"))
    door = begin(words)
    for part in sorted(rng.uniform(0.05, 0.9) for _ in range(3)):
        while web.asked.total() < part * len(there):
            assert door.poll() is None, door.communicate()
            time.sleep(0.005)
        fire("all", door, Path(one.settings.data))
        door.communicate()
        door = begin(words)
    out, err = door.communicate(timeout=120)
    assert door.returncode == 0, err
    summary = json.loads(out)
    assert (summary["state"], summary["files"], summary["pages"]) == (
        "finished",
        len(there),
        len(there) + PAGES + 2,
    )
    found = lines(tmp_path / "out.jsonl")
    assert Counter(row["_kind"] for row in found) == {
        "product": PAGES,
        "maker": PAGES,
        "file": len(there),
        "reference": PAGES * (EACH + 2),
    }
    ways = [(row["source"], row["target"]) for row in lines(tmp_path / "links.jsonl")]
    assert len(ways) == len(set(ways)) == 2 * PAGES
    files = rows(tmp_path / "out.jsonl", "file")
    assert {url: row["sha256"] for url, row in files.items()} == {
        url: sha256(body).hexdigest() for url, body in there.items()
    }
    products = {(key, row["_hash"]) for key, row in rows(tmp_path / "out.jsonl", "product").items()}
    references = list(rows(tmp_path / "out.jsonl", "reference").values())
    assert {(row["key"], row["version"]) for row in references if row["kind"] == "product"} == products
    assert {row["to_key"] for row in references if row["to_kind"] == "file"} == files.keys()
    kept = tmp_path / "data" / "shop" / "files"
    assert all((kept / row["path"]).read_bytes() == there[url] for url, row in files.items())


@pytest.fixture(scope="module")
def minio(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Minio]:
    if not list(CACHE.glob("minio-*/ready")):
        if os.environ.get("CI") == "true":
            pytest.fail("minio is missing: ./test brings it")
        pytest.skip("minio is missing: ./test brings it")
    server = Minio(tmp_path_factory.mktemp("minio"))
    yield server
    server.kill()


async def test_files_go_to_a_store_of_objects_each_content_once(
    web: Web, tmp_path: Path, minio: Minio
) -> None:
    large = pdf("much") + bytes(40 << 20)  # this file is too large for a single upload request
    url = minio.url.replace("prefix", "files")
    there = {"/a.png": png(30, 30), "/b.png": png(30, 30), "/large.pdf": large}
    for name, body in there.items():
        web.put(name, body, "application/octet-stream")
    web.put("/", item("a", "/a.png", "/b.png", manual="/large.pdf"))
    one = job(web, tmp_path, "out.jsonl", site=SITE.replace("200k", "100M"), files=url)
    summary = balanced(await crawl(one))
    assert (summary.files, summary.items) == (3, 2)
    away = ObjectFolder(url)
    assert dict(away.names()) == {
        f"{sha256(body).hexdigest()[:2]}/{sha256(body).hexdigest()}": len(body) for body in there.values()
    }
    for row in rows(tmp_path / "out.jsonl", "file").values():
        away.fetch(row["path"], str(tmp_path / "back"))
        assert sha256((tmp_path / "back").read_bytes()).hexdigest() == row["sha256"]
        assert (row["text"] or "much") == "much"
    (tmp_path / "other").mkdir()
    with pytest.raises(SinkError, match=r"cannot write to s3://nowhere/x: "):
        await crawl(
            job(web, tmp_path / "other", "out.jsonl", files=url.replace("bucket/some/files", "nowhere/x"))
        )


async def test_a_store_of_objects_that_is_away_at_first_is_waited_for_and_told(
    web: Web,
    tmp_path: Path,
    minio: Minio,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    there, reasons = {f"{web.url}/{n}.png": png(40, 40, n) for n in range(5)}, set[str]()
    for n, body in enumerate(there.values()):
        web.put(f"/{n}.png", body, "image/png")
    web.put("/", item("a", *there))
    one = job(web, tmp_path, "out.jsonl", files=minio.url.replace("prefix", "late"))
    minio.kill()
    restart = threading.Thread(target=minio.start)

    def watch(live: Live) -> None:
        if live.summary.reason and not reasons:
            restart.start()
        reasons.update((live.summary.reason,) if live.summary.reason else ())

    summary = balanced(await crawl(one, watch))
    await asyncio.to_thread(restart.join)
    assert (summary.state, summary.files, summary.dead, summary.reason) == ("finished", len(there), 0, None)
    assert any("Connection refused" in reason for reason in reasons)
    said = capsys.readouterr().err
    assert [said.count(what) for what in ("waiting for it", "answers again")] == [1, 1]
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "wrong")
    (tmp_path / "other").mkdir()
    with pytest.raises(SinkError, match="SignatureDoesNotMatch"):
        await crawl(job(web, tmp_path / "other", "out.jsonl", files=one.files))


async def test_a_store_of_objects_that_goes_away_is_waited_for(
    web: Web, tmp_path: Path, minio: Minio
) -> None:
    url = minio.url.replace("prefix", "outage")
    away, body = ObjectFolder(url), png(40, 40)
    restarts: list[threading.Thread] = []

    def second() -> tuple[int, dict[str, str], bytes]:
        while not away.names():  # wait until the first file is stored
            time.sleep(0.01)
        minio.kill()
        restarts.append(threading.Timer(1.0, minio.start))
        restarts[-1].start()
        return 200, {"Content-Type": "image/png"}, body

    web.put("/a.png", png(30, 30), "image/png")
    web.there["/b.png"] = second
    web.put("/", item("a", "/a.png", "/b.png"))
    try:
        summary = balanced(await crawl(job(web, tmp_path, "out.jsonl", files=url)))
    finally:
        for restart in restarts:
            restart.join()
    assert (summary.state, summary.files, summary.dead) == ("finished", 2, 0)
    assert {name.partition("/")[2] for name, _ in away.names()} == {
        sha256(one).hexdigest() for one in (png(30, 30), body)
    }
