"""Stores that cannot be written. If waiting is useless, the crawl ends at once with one clear line. Otherwise
the crawl waits and logs that."""

from __future__ import annotations

import http.server
import json
import signal
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from collectors.http.http2_server import ADDRESS, made
from e2e.runs import begin, command, job
from gossamer.app.job import JobOutput
from gossamer.app.job_payload import check_shareable, part_of_output
from gossamer.errors import SinkAway, SinkError, UsageError
from gossamer.sinks.columns import item_columns, page_columns
from gossamer.sinks.output_spec import open_output
from gossamer.sinks.sink_url import bare_secret, kind_of
from gossamer.sinks.sink_url import parse_sink_url as read
from sinks.databases.database_servers import PostgresPlace, Valkey, Webhook, running
from sinks.databases.kill_crawl import web_key
from sinks.rows_and_commits import Book, book, page
from support.processes import until
from web import preset, serve

COLUMNS = {"page": page_columns(), **item_columns([Book])}


@pytest.fixture(scope="module")
def base() -> Iterator[PostgresPlace]:
    """A PostgreSQL server for these tests."""
    with running("postgresql") as found:
        assert isinstance(found, PostgresPlace)
        yield found


def opened(spec: str, folder: Path) -> Any:
    sink: Any = open_output(spec, COLUMNS, folder=str(folder), owner="c@1")
    return sink if hasattr(sink, "upsert") else sink.sink("")


@pytest.mark.parametrize(
    ("setup", "user", "error", "says"),
    [
        ("", "nobody", SinkError, 'role "nobody" does not exist'),
        ("CREATE USER poor", "poor", SinkError, "permission denied for schema public"),
        (
            "DROP TABLE IF EXISTS book; CREATE TABLE book (_key text PRIMARY KEY, price boolean)",
            "u",
            SinkError,
            "column price of .* is boolean, the rows' is numeric",
        ),
        (
            "DROP TABLE IF EXISTS book; CREATE TABLE book (_key text)",
            "u",
            SinkError,
            "no unique or exclusion constraint",
        ),
        ("DROP TABLE IF EXISTS book; CREATE TABLE book (id int)", "u", UsageError, "is not gossamer's"),
        (
            "DROP TABLE IF EXISTS book; DROP TABLE IF EXISTS _history; CREATE TABLE _history (x int)",
            "u",
            UsageError,
            "table _history of .* is not gossamer's",
        ),
        (
            "CREATE USER r SUPERUSER; ALTER USER r SET default_transaction_read_only = on; DROP TABLE IF EXISTS _history",
            "r",
            SinkAway,
            "read-only",
        ),
    ],
)
def test_a_postgresql_that_will_not_do(
    base: PostgresPlace, tmp_path: Path, setup: str, user: str, error: type[Exception], says: str
) -> None:
    if setup:
        base.server.ask(setup)
    sink = opened(base.spec.replace("//u@", f"//{user}@"), tmp_path)
    with pytest.raises(error, match=says):
        sink.prepare()
    sink.close()


def test_a_row_that_is_refused_leaves_its_batch_alone(base: PostgresPlace, tmp_path: Path) -> None:
    base.server.ask(
        "CREATE TABLE shop_book (_key text PRIMARY KEY, title varchar(10), upc text CHECK (upc <> '7'))"
    )
    sink = opened(f"{base.spec}?table=shop_{{kind}}", tmp_path)
    sink.prepare()
    sink.upsert([book(n) for n in range(40)] + [book(90, title="x" * 11), page(1, title="t" * 10_000_000)])
    sink.close()
    assert base.server.ask("SELECT count(*) FROM shop_book") == [(39,)]
    assert base.server.ask("SELECT length(title) FROM shop_page") == [(10_000_000,)]
    aside = [json.loads(line) for line in (tmp_path / "refused.jsonl").read_text().splitlines()]
    assert sorted((one["key"], one["row"]["upc"]) for one in aside) == [("7", "7"), ("90", "90")]
    assert {one["reason"].split(" ")[0] for one in aside} == {"value", "new"}


def test_a_wrong_password_of_valkey_and_a_key_that_is_something_else(tmp_path: Path) -> None:
    with running("hash") as found:
        assert isinstance(found, Valkey)
        with found.server.client() as client:
            client.set("page", "x")
            sink = opened(found.spec, tmp_path)
            sink.prepare()
            with pytest.raises(SinkError, match="has another type"):
                sink.upsert([page(1)])
            client.config_set("maxmemory", "1")
            with pytest.raises(SinkAway, match="maxmemory"):
                sink.upsert([book(1)])
            sink.close()
            client.config_set("requirepass", "x")
        with pytest.raises(SinkError, match="uthenticat"):
            opened(found.spec, tmp_path).prepare()


def test_what_a_receiver_of_webhooks_may_answer(tmp_path: Path) -> None:
    with running("webhook") as found:
        assert isinstance(found, Webhook)
        for spec, says in (
            (found.spec.replace("whsec_", "whsec_AAAA"), "status 401"),
            (found.spec.replace("/?", "/gone?"), "status 404"),
        ):
            sink = opened(spec, tmp_path / says)
            sink.prepare()
            length = sink.append(0, [book(1)])
            with pytest.raises(SinkError, match=says):
                sink.ship(length)
            sink.drop()
        refused = book(2)
        refused.kind = "refused"
        sink = opened(found.spec, tmp_path)
        sink.prepare()
        sink.ship(sink.append(0, [book(1), refused, book(3)]))
        assert [row.kind for row in sink.refused] == ["refused"], "the crawl counts it"
        sink.drop()
        assert sorted(row["upc"] for row in found.found("book")) == ["1", "3"]
        assert json.loads((tmp_path / "refused.jsonl").read_text())["reason"] == "status 422"


def test_a_receiver_whose_certificate_nobody_vouches_for_is_told_at_once(tmp_path: Path) -> None:
    context, ca = made(tmp_path / "certs", "ok")
    server = http.server.HTTPServer((ADDRESS, 0), http.server.BaseHTTPRequestHandler)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    answering = threading.Thread(target=server.serve_forever, args=(0.05,))
    answering.start()
    try:
        spec = f"https+webhook://{ADDRESS}:{server.server_port}/?secret=x"
        for given, error, says in (
            ("", SinkError, "certificate"),
            (f"&ca_file={tmp_path}/none", SinkError, "none|CA"),
            (f"&ca_file={ca}", SinkAway, "status 501"),
        ):
            sink = opened(spec + given, tmp_path)
            sink.prepare()
            length = sink.append(0, [book(1)])
            with pytest.raises(error, match=says):
                sink.ship(length)
            sink.drop()
    finally:
        server.shutdown()
        answering.join()
        server.server_close()


def test_a_crawl_waits_for_its_store_says_so_and_obeys_a_stop(base: PostgresPlace, tmp_path: Path) -> None:
    with serve(preset("tiny", hosts=4, pages=50, latency=0.005)) as web:
        one = job(web.plan.seeds(), tmp_path, per_host=4)
        one.outputs = [JobOutput(f"{base.spec}?table=waited")]
        base.server.kill()
        door = begin(command(one))
        status = ["status", "c", "--data", one.settings.data, "--json"]

        def told() -> bool:
            said, _ = begin(status).communicate(timeout=60)
            return bool(said) and "does not accept rows" in (json.loads(said).get("reason") or "")

        until(told, 60)
        door.send_signal(signal.SIGINT)
        _, said = door.communicate(timeout=60)
        assert "does not accept rows" in said
        assert "waiting for it" in said
        door = begin(command(one))
        until(told, 60)
        base.server.start()
        out, said = door.communicate(timeout=120)
        assert door.returncode == 0, said
        summary = json.loads(out)
        assert (summary["state"], summary["pages"], summary["reason"]) == ("finished", 200, None)
        want = {web_key(page) for page in web.plan.must_fetch(sitemaps=False)}
    assert {web_key(row["requested_url"]) for row in base.found("waited")} == want


def test_what_is_no_store() -> None:
    for spec, says in {
        "postgres1://h/d": "no store postgres1://; |did you mean postgres",
        "kafka://h/": "write kafka://HOST:9092/TOPIC",
        "kafka://h/t?x=1": "no parameter x",
        "valkey://h/0": "hash=NAME",
        "valkey://h/0?hash=a&list=b": "hash=NAME",
        "https+webhook://h/": "rows are signed",
        "mongodb://h/": "write mongodb://USER@HOST/DATABASE",
        "s4://b/k": "no store s4",
    }.items():
        with pytest.raises(UsageError, match=says):
            read(spec)


def test_a_postgresql_on_a_socket_of_this_machine(base: PostgresPlace, tmp_path: Path) -> None:
    sink = opened(
        f"postgresql:///postgres?host={base.server.folder}&port={base.server.port}&user=u&table=near_{{kind}}",
        tmp_path,
    )
    sink.prepare()
    sink.upsert([book(1)])
    sink.close()
    assert base.server.ask("SELECT count(*) FROM near_book") == [(1,)]
    assert read("postgresql:///db?table=t").where == "postgresql:///db?table=t"


def test_secrets_are_references_and_never_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PW", "a/b@c")
    found = read("postgresql://joe:${env:PW}@h/db?table=t&sslmode=require")
    assert found.url == "postgresql://joe:a%2Fb%40c@h/db?sslmode=require"
    assert found.where == "postgresql://h/db?table=t"
    assert bare_secret("postgresql://joe:x@h/db")
    assert not bare_secret("postgresql://joe:${env:PW}@h/db")
    assert kind_of("https://h/x.jsonl") is None


def test_what_a_fleet_can_share() -> None:
    check_shareable(
        ["postgresql://joe:${env:PW}@h/db", "kafka://h/t?journal=/shared/out", "valkey://h/0?hash=x"]
    )
    for spec, says in (
        ("postgresql://joe:x@h/db", "secrets are not sent to workers"),
        ("kafka://h/t", "for example [?]journal=/shared/out"),
    ):
        with pytest.raises(UsageError, match=says):
            check_shareable([spec])
    assert (
        part_of_output("kafka://h/t?journal=/shared/out", "0123456789ab")
        == "kafka://h/t?journal=/shared/out/part-0123456789ab"
    )
    assert part_of_output("postgresql://h/db", "0123456789ab") == "postgresql://h/db"
