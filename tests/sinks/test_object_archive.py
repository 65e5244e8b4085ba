"""Page archives in real object stores contain each page once, even if a process is killed at any time."""

from __future__ import annotations

import os
import re
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from warcio.archiveiterator import ArchiveIterator

from conftest import seen_in_store
from gossamer.collectors.archive.answers import answer_key
from gossamer.collectors.archive.object_archive import ObjectArchive as KeptObjects
from gossamer.config.optional_deps import install_command
from gossamer.errors import ConfigError, SinkAway, SinkError, UsageError
from gossamer.sinks.object_store import ObjectFolder, error_message
from gossamer.sinks.object_store_archive import ObjectStoreArchive
from sinks.rows_and_commits import Store, crawl
from sinks.test_warc import raw
from support.object_stores import CACHE, STORES, Objects

ROWS = [raw(n) for n in range(40)]


@pytest.fixture(scope="module", params=STORES)
def store(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Objects]:
    """Each of the object stores in turn."""
    kind = STORES[request.param]
    if not list(CACHE.glob(f"{kind.name}-*/ready")):
        if os.environ.get("CI") == "true":
            pytest.fail(f"{kind.name} is missing: ./test brings it")
        pytest.skip(f"{kind.name} is missing: ./test brings it")
    server = kind(tmp_path_factory.mktemp(request.param))
    yield server
    server.kill()


def sink(url: str, path: Path, plain: bool, **options: object) -> ObjectStoreArchive:
    return ObjectStoreArchive(
        url, str(path), plain=plain, **{"owner": f"{path.name}@1", "most": 8000, **options}
    )


def fetched(url: str, path: Path) -> Path:
    """Downloads all objects to the disk."""
    away = ObjectFolder(url)
    for name, size in away.names():
        (path / name).parent.mkdir(parents=True, exist_ok=True)
        away.fetch(name, str(path / name))
        assert (path / name).stat().st_size == size
    return path


def answers(path: Path) -> list[str]:
    """Returns the URLs of all archived answers, after a check of their digests."""
    found = []
    for file in sorted(path.glob("*.warc.gz")):
        with file.open("rb") as opened:
            for record in ArchiveIterator(opened, check_digests="raise"):
                record.content_stream().read()
                if record.rec_type in ("response", "revisit"):
                    found.append(record.rec_headers.get_header("WARC-Target-URI"))
    return found


def test_all_is_there_once_though_the_store_is_killed(
    store: Objects, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """The pages are in WARC files and in plain files. A start of HDFS is costly, so one kill is for both forms."""
    forms = {plain: tmp_path / f"plain-{plain}" for plain in (False, True)}
    urls = {plain: store.url.replace("prefix", f"{tmp_path.name}-{plain}") for plain in forms}
    lengths = {plain: Store() for plain in forms}
    for plain, path in forms.items():
        crawl(sink(urls[plain], path / "a", plain), lengths[plain], ROWS[:10], size=3)
    store.kill()
    for plain, path in forms.items():
        with pytest.raises(SinkAway, match="accepts no uploads"):
            crawl(sink(urls[plain], path / "a", plain, patience=0.3, waiting=4_000), lengths[plain], ROWS)
    store.start()
    for plain, path in forms.items():
        last = sink(urls[plain], path / "a", plain)
        crawl(last, lengths[plain], ROWS, size=3)
        assert [
            name for name in os.listdir(last.folder) if not name.endswith((".sent", ".lock", "objects"))
        ] == []
        there = fetched(urls[plain], path / "there")
        if plain:
            reader = KeptObjects(there)
            found = reader.urls()
            bodies = {row.key: reader.find(answer_key(row.key), 1 << 20) for row in ROWS}
            reader.close()
            assert all(
                kept is not None and kept.body == row.data.exchange.body
                for row, kept in zip(ROWS, bodies.values(), strict=True)
            )
        else:
            found = answers(there)
        assert sorted(found) == sorted(row.key for row in ROWS)
        seen_in_store(request, type(store).__name__, store.version, len(ROWS), len(found))


@pytest.mark.parametrize("store", ["HDFS"], indirect=True)
def test_what_hdfs_forbids_as_its_nodes_begin_may_pass(tmp_path: Path, store: Objects) -> None:
    (tmp_path / "one").write_bytes(b"x")
    store.kill()
    store.words, words = store.words[:1], store.words
    with (store.folder / "log").open("ab") as log:
        store.processes = [
            subprocess.Popen(store.words[0], stdout=log, stderr=log, cwd=store.folder, env=store.env)
        ]
    said, deadline = "", time.monotonic() + 120
    while "WebHdfsError" not in said:
        assert time.monotonic() < deadline, said
        with pytest.raises(OSError) as raised:  # never SinkError, which would end the crawl
            ObjectFolder(store.url).send(str(tmp_path / "one"), "one")
        said = str(raised.value)
    assert "PermissionDenied" in said
    store.kill()
    store.words = words
    store.start()
    ObjectFolder(store.url).send(str(tmp_path / "one"), "one")


def test_what_is_wrong_is_told_in_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UsageError, match="no parameter 'regoin'"):
        ObjectFolder("s3://bucket/p?regoin=x")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "joe")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret-of-joe")
    with pytest.raises(SinkAway, match="s3://bucket/p does not take pages: ") as told:
        ObjectStoreArchive("s3://bucket/p?endpoint=http://127.0.0.1:1", str(tmp_path)).prepare()
    assert "\n" not in str(told.value)
    assert "secret" not in str(told.value)
    monkeypatch.setitem(__import__("sys").modules, "opendal", None)
    with pytest.raises(ConfigError, match=re.escape(install_command("objects"))):
        ObjectFolder("s3://bucket/p")


def test_wrong_credentials_and_no_bucket_are_told(
    tmp_path: Path, store: Objects, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not store.url.startswith("s3:"):
        return
    with pytest.raises(SinkError, match="NoSuchBucket"):
        ObjectStoreArchive(store.url.replace("bucket", "nobody"), str(tmp_path)).prepare()
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "wrong")
    with pytest.raises(SinkError, match="PermissionDenied"):
        ObjectStoreArchive(store.url, str(tmp_path)).prepare()


def test_without_credentials_it_says_what_to_set() -> None:
    error = Exception(
        "Unexpected (persistent) at write => signing http request\n\nSource:\n   failed to load signing credential"
    )
    assert "set AWS_ACCESS_KEY_ID" in error_message(error)
