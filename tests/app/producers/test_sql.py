"""Tests of SQL queries as a source, on SQLite and a real PostgreSQL server."""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import sqlite3
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from app.producers.feed_crawl import fed
from e2e.runs import job, rows
from gossamer.app.producers import sql
from gossamer.app.producers.sql import SqlUrls
from gossamer.app.targets import target_kind
from gossamer.collectors.archive.collector import archive_collector
from gossamer.config.optional_deps import install_command
from gossamer.errors import ConfigError, GossamerError, StoreError, UsageError

BIN = next(iter(sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)), None)


@pytest.fixture(scope="session")
def postgres() -> Iterator[str]:
    """Start a PostgreSQL server that listens on a socket in a private folder, and yield its URL."""
    if BIN is None:
        pytest.skip("PostgreSQL is not here: ./test gets it where apt-get is")
    own = ["runuser", "-u", "nobody", "--"] if os.geteuid() == 0 else []  # PostgreSQL refuses to run as root
    with tempfile.TemporaryDirectory(prefix="gt-", dir="/tmp") as folder:
        if own:
            shutil.chown(folder, "nobody")
        quiet: dict[str, Any] = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "cwd": folder}
        subprocess.run(
            [*own, str(BIN / "initdb"), "-D", f"{folder}/d", "-A", "trust", "-U", "u", "-N"],
            check=True,
            **quiet,
        )
        words = ["-D", f"{folder}/d", "-k", folder, "-c", "listen_addresses=", "-c", "fsync=off"]
        server = subprocess.Popen([*own, str(BIN / "postgres"), *words], **quiet)
        try:
            ready = [str(BIN / "pg_isready"), "-h", folder, "-q"]
            for _ in range(200):
                if subprocess.run(ready, check=False).returncode == 0:
                    break
                subprocess.run(["sleep", "0.05"], check=True)
            yield f"postgresql://u@/postgres?host={folder}"
        finally:
            subprocess.run(
                [*own, str(BIN / "pg_ctl"), "-D", f"{folder}/d", "-m", "immediate", "stop"],
                check=False,
                **quiet,
            )
            server.wait()


ROWS = [(n, f"https://h{n % 9}.example/{n}", n % 3) for n in range(1, 12_001)]


@pytest.fixture(params=["sqlite", "postgresql"])
def shop(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Return the URL of a database that contains a table of pages."""
    table = "CREATE TABLE page (id INTEGER, url TEXT, priority INTEGER)"
    if request.param == "sqlite":
        base = sqlite3.connect(tmp_path / "shop.db")
        base.execute(table)
        base.executemany("INSERT INTO page VALUES (?, ?, ?)", ROWS)
        base.commit()
        base.close()
        return f"sqlite:{tmp_path / 'shop.db'}"
    import psycopg

    url: str = request.getfixturevalue("postgres")
    with psycopg.connect(url) as server:
        server.execute("DROP TABLE IF EXISTS page")
        server.execute(table)
        with server.cursor().copy("COPY page FROM STDIN") as copy:
            for row in ROWS:
                copy.write_row(row)
    return url


async def test_rows_are_streamed_with_their_priorities(tmp_path: Path, shop: str) -> None:
    n = await fed(job([f"sql:{shop} SELECT url, priority FROM page WHERE url LIKE '%example%'"], tmp_path))
    assert (n["added"], n["found"]) == (12_000, 12_000)


async def test_a_query_goes_on_behind_the_last_row(tmp_path: Path, shop: str) -> None:
    text = f"sql:{shop} SELECT id AS after, url FROM page WHERE id > :after AND id <= 7000 ORDER BY id"
    one = job([text], tmp_path)
    assert (await fed(one))["added"] == 7000
    more = SqlUrls(text[4:].replace("7000", "9000"))
    try:
        await more.open(archive_collector("."))
        found = [batch async for batch in more.batches({"after": 7000})]
    finally:
        await more.close()
    assert sum(len(batch.requests) for batch in found) == 2000
    assert found[-1].position == {"after": 9000}


async def test_rows_that_share_a_value_are_not_lost_between_two_batches(
    tmp_path: Path, shop: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After a kill that follows any batch, the stored position leads to all rows that no earlier batch
    contained."""
    monkeypatch.setattr(sql, "BATCH_URLS", 7)
    query = f"{shop} SELECT nullif(id / 5, 30) AS after, url FROM page WHERE id / 5 > :after AND id < 160 ORDER BY id"

    async def read_from(position: Any) -> list[tuple[set[str], Any]]:
        one = SqlUrls(query)
        try:
            await one.open(archive_collector("."))
            return [
                ({str(r.url) for r in batch.requests}, batch.position)
                async for batch in one.batches(position)
            ]
        finally:
            await one.close()

    batches = await read_from(None)
    everything = set().union(*(urls for urls, _ in batches))
    assert len(everything) == 155
    assert batches[-1][1] == {"after": 31}
    before: set[str] = set()
    for urls, position in batches[:-1]:
        before |= urls
        assert before | set().union(*(urls for urls, _ in await read_from(position))) == everything


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        ("timestamptz", "to_timestamp(id)"),
        ("date", "date '2026-01-01' + id / 4"),
        ("numeric", "id / 8.0"),
        ("uuid", "md5(id::text)::uuid"),
        ("bytea", "decode(md5(id::text), 'hex')"),
        ("text", "md5(id::text)"),
        ("double precision", "id / 7.0"),
        ("interval", "make_interval(secs => id)"),
    ],
)
async def test_the_value_behind_which_it_goes_on_may_be_of_any_type(
    tmp_path: Path, postgres: str, kind: str, value: str
) -> None:
    import json

    import psycopg

    with psycopg.connect(postgres) as server:
        server.execute("DROP TABLE IF EXISTS typed")
        server.execute(
            f"CREATE TABLE typed AS SELECT ({value})::{kind} AS k, 'https://a.example/' || id AS url FROM generate_series(1, 40) id"
        )

    async def read_from(position: Any, where: str) -> list[Any]:
        one = SqlUrls(f"{postgres} SELECT k AS after, url FROM typed WHERE {where} ORDER BY k")
        try:
            await one.open(archive_collector("."))
            return [batch async for batch in one.batches(position)]
        finally:
            await one.close()

    first = await read_from(None, "k <= (SELECT k FROM typed ORDER BY k LIMIT 1 OFFSET 24) AND :after = 0")
    position = json.loads(json.dumps(first[-1].position))
    rest = await read_from(position, "k > :after")
    found = [request.url for batch in (*first, *rest) for request in batch.requests]
    assert len(found) == len(set(found)) == 40


async def test_a_time_has_no_zero(tmp_path: Path, postgres: str) -> None:
    query = "SELECT now() AS after, 'https://a.example/' AS url WHERE now() > :after"
    with pytest.raises(ConfigError, match=re.escape("extract(epoch FROM ...)")):
        await fed(job([f"sql:{postgres} {query}"], tmp_path))
    query = "SELECT extract(epoch FROM now()) AS after, 'https://a.example/' AS url WHERE extract(epoch FROM now()) > :after"
    one = job([f"sql:{postgres} {query}"], tmp_path, name="d")
    assert (await fed(one))["added"] == (await fed(one))["added"] == 1


async def test_a_blob_and_a_number_as_id(tmp_path: Path) -> None:
    base = sqlite3.connect(tmp_path / "b.db")
    base.execute("CREATE TABLE page (id INTEGER, k BLOB, url TEXT)")
    base.executemany(
        "INSERT INTO page VALUES (?, ?, ?)", [(n, b"k%04d" % n, f"https://a.example/{n}") for n in range(50)]
    )
    base.commit()
    base.close()
    one = job(
        [f"sql:sqlite:{tmp_path / 'b.db'} SELECT id, k AS after, url FROM page WHERE k > :after ORDER BY k"],
        tmp_path,
    )
    assert (await fed(one))["added"] == 50
    assert (await fed(one))["added"] == 50
    assert not (tmp_path / "data" / "c" / "rejected.jsonl").exists()


async def test_rows_that_are_no_requests_are_rejected(tmp_path: Path, shop: str) -> None:
    text = f"sql:{shop} SELECT CASE WHEN id = 5 THEN 'no url' ELSE url END AS url FROM page WHERE id < 9"
    assert (await fed(job([text], tmp_path)))["added"] == 7
    (bad,) = rows(tmp_path / "data" / "c" / "rejected.jsonl")
    assert (bad["source"], bad["text"]) == ("sql", "no url")


@pytest.mark.parametrize(
    ("query", "says"),
    [
        ("SELECT nothing FROM page", "nothing"),
        ("SELEC url FROM page", "SELEC"),
        ("SELECT id FROM page", "no column `url`"),
        ("SELECT url, id AS strange FROM page", "column `strange`"),
        ("SELECT url FROM page WHERE id > :after", "SELECT id AS after"),
        ("SELECT url FROM nowhere", "nowhere"),
    ],
)
async def test_what_is_wrong_with_a_query_is_said_in_one_line(
    tmp_path: Path, shop: str, query: str, says: str
) -> None:
    with pytest.raises(ConfigError, match=re.escape(says)) as error:
        await fed(job([f"sql:{shop} {query}"], tmp_path))
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("target", "kind", "says"),
    [
        ("sql:sqlite:/nowhere/shop.db SELECT url FROM t", ConfigError, "/nowhere/shop.db: unable to open"),
        ("sql:postgresql://u:secret@127.0.0.1:1/x SELECT url FROM t", StoreError, "does not answer"),
        (
            "sql:${env:GOSSAMER_TEST_NOTHING} SELECT url FROM t",
            ConfigError,
            "the environment has no GOSSAMER_TEST_NOTHING",
        ),
        ("sql:${file:/nowhere/url} SELECT url FROM t", ConfigError, "/nowhere/url cannot be read"),
    ],
)
async def test_a_database_that_is_not_there(
    tmp_path: Path, target: str, kind: type[GossamerError], says: str
) -> None:
    with pytest.raises(kind) as error:
        await fed(job([target], tmp_path))
    assert says in str(error.value)
    assert "secret" not in str(error.value)


async def test_the_url_may_be_a_secret(tmp_path: Path, shop: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHOP", shop)
    assert (await fed(job(["sql:${env:SHOP} SELECT url FROM page WHERE id < 5"], tmp_path)))["added"] == 4


async def test_a_password_that_was_typed_is_not_shown(
    tmp_path: Path, postgres: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from gossamer.app import producer_runner
    from gossamer.app.open_store import open_store
    from gossamer.frontier.producer_positions import unread_producers

    heard: list[str] = []
    monkeypatch.setattr(
        producer_runner.Feeder, "run", lambda self: heard.append(self._line()) or asyncio.sleep(0)
    )
    one = job([f"sql:{postgres.replace('u@', 'u:secret@')} SELECT 'https://a.example/' AS url"], tmp_path)
    await fed(one)
    store, embedded = await open_store(one.settings)
    heard += await unread_producers(store, "c")
    await store.close()
    assert embedded is not None
    embedded.leave()
    assert len(heard) == 2
    assert all("sql postgresql://***:***@" in line and "secret" not in line for line in heard), heard


async def test_a_missing_driver_names_the_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(ConfigError, match=re.escape(install_command("postgres"))):
        await fed(job(["sql:postgresql://u@127.0.0.1:1/x SELECT url FROM t"], tmp_path))


@pytest.mark.parametrize("text", ["sql:", "sql:SELECT url FROM t", "sql:mysql://x SELECT 1", "sql:sqlite:x"])
def test_what_is_no_query(text: str) -> None:
    with pytest.raises(UsageError, match="sql:DATABASE QUERY"):
        target_kind(text)


def test_batches_are_small() -> None:
    assert sql.BATCH_URLS <= 10_000
