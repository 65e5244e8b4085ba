"""File outputs and archives in object stores, in the form of a `Place`. For files, the second process that a
test strikes is the crawl's own store."""

from __future__ import annotations

import contextlib
import json
import sqlite3
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path
from typing import Any

from warcio.archiveiterator import ArchiveIterator

from e2e.runs import kill, store_pid
from gossamer.sinks.object_store import ObjectFolder
from sinks.databases.database_servers import Place
from support.object_stores import CACHE, Gcs, Hdfs, Minio
from support.object_stores import Objects as Stored
from support.processes import until

SMALL = "; ".join(
    f"from gossamer.sinks.{room} import {name}; {name}.__init__.__kwdefaults__['{what}'] = 200_000"
    for room, name, what in (
        ("parquet", "Parquet", "part_bytes"),
        ("archived", "Archived", "most"),
        ("warc", "Warc", "most"),
        ("objects", "Objects", "most"),
    )
)
"""Code that a driver process runs first. It limits parts to 200 KB, so that many of them are closed within a
crawl."""


class FilePlace(Place):
    """A file output of a crawl. `ending` is the suffix of the file name."""

    ending = ""
    server = None
    code = SMALL

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.spec = f"{folder}/out{self.ending}"

    def strike(self, data: Path, pause: float) -> None:
        until(lambda: kill(store_pid(data)), 60)

    def stop(self) -> None:
        """Does nothing, because there is no server."""


class Jsonl(FilePlace):
    name, ending = "JSON lines", ".jsonl"

    def found(self, kind: str) -> list[dict[str, Any]]:
        rows = [json.loads(line) for line in Path(self.spec).read_bytes().splitlines()]
        return [row for row in rows if row.get("_kind", "page") == kind]

    def version(self) -> str:
        return "-"


class Sqlite(FilePlace):
    name, ending = "SQLite", ".sqlite"

    def found(self, kind: str) -> list[dict[str, Any]]:
        with contextlib.closing(sqlite3.connect(self.spec)) as base:
            assert base.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
            base.row_factory = sqlite3.Row
            return [dict(row) for row in base.execute(f'SELECT * FROM "{kind}"')]  # noqa: S608 - ours

    def version(self) -> str:
        return sqlite3.sqlite_version


class Parquet(FilePlace):
    name, ending = "Parquet", ".parquet"

    def found(self, kind: str) -> list[dict[str, Any]]:
        import duckdb

        found = duckdb.sql(f"SELECT * FROM '{self.folder}/out.{kind}.parquet/*.parquet'")  # noqa: S608 - ours
        return [dict(zip(found.columns, row, strict=True)) for row in found.fetchall()]

    def version(self) -> str:
        return f"pyarrow {version('pyarrow')}, read by duckdb"


class Warc(FilePlace):
    name, ending = "WARC", ".warc.gz"

    def found(self, kind: str) -> list[dict[str, Any]]:
        """Returns all answers except robots.txt, after a check of their digests."""
        return [{"url": url} for url in answers(self.folder) if not url.endswith("/robots.txt")]

    def version(self) -> str:
        return f"read by warcio {version('warcio')}"


class Objects(FilePlace):
    """Whole answers as plain files, named by the hash of their content."""

    name = "plain objects"

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.spec = f"objects:{folder}/out"

    def found(self, kind: str) -> list[dict[str, Any]]:
        lines = [
            json.loads(line) for part in Path(self.folder, "out").glob("part-*.jsonl") for line in part.open()
        ]
        for line in lines:
            body = Path(self.folder, "out", "objects", line["object"][:2], line["object"]).read_bytes()
            assert (len(body), sha256(body).hexdigest()) == (line["size"], line["object"])
        return [{"url": line["url"]} for line in lines if not line["url"].endswith("/robots.txt")]

    def version(self) -> str:
        return "-"


class AwayPlace(Place):
    """WARC files in an object store."""

    code = SMALL
    store: type[Stored]

    def __init__(self, folder: Path) -> None:
        self.folder, self.server = folder, self.store(folder)
        self.spec = self.server.url

    def found(self, kind: str) -> list[dict[str, Any]]:
        away, there = ObjectFolder(self.spec), self.folder / "there"
        there.mkdir()
        for name, size in away.names():
            away.fetch(name, str(there / name))
            assert (there / name).stat().st_size == size
        return [{"url": url} for url in answers(there) if not url.endswith("/robots.txt")]

    def version(self) -> str:
        return str(self.server.version)


class S3(AwayPlace):
    name, store = "S3, MinIO", Minio


class Google(AwayPlace):
    name, store = "Google Cloud Storage, fake-gcs-server", Gcs


class Hadoop(AwayPlace):
    name, store = "HDFS, Hadoop", Hdfs


def answers(folder: Path) -> list[str]:
    """Returns the URLs of all answers in a folder of WARC files, after a check of their digests."""
    found = []
    for file in sorted(folder.glob("*.warc.gz")):
        with file.open("rb") as opened:
            for record in ArchiveIterator(opened, check_digests="raise"):
                record.content_stream().read()
                if record.rec_type in ("response", "revisit"):
                    found.append(record.rec_headers.get_header("WARC-Target-URI"))
    return found


FILES: dict[str, tuple[type[Place], Path]] = {
    "jsonl": (Jsonl, Path("/")),
    "sqlite": (Sqlite, Path("/")),
    "parquet": (Parquet, Path("/")),
    "warc": (Warc, Path("/")),
    "objects": (Objects, Path("/")),
    "s3": (S3, next(iter(CACHE.glob("minio-*/ready")), CACHE / "minio")),
    "gcs": (Google, next(iter(CACHE.glob("gcs-*/ready")), CACHE / "gcs")),
    "hdfs": (Hadoop, next(iter(CACHE.glob("hdfs-*/ready")), CACHE / "hdfs")),
}
"""The file outputs by short name, each with the path that must exist for its tests."""
