"""An object store that is unreachable when a crawl begins or ends. The crawl waits for it, as for a store of
rows, and still reacts to a stop."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import time
from pathlib import Path

import pytest

from e2e.runs import begin, command, job
from gossamer.app.job import JobOutput
from gossamer.errors import SinkAway
from gossamer.sinks import object_store
from gossamer.sinks.object_store_archive import ObjectStoreArchive
from sinks.test_object_archive import answers, fetched, store  # noqa: F401 - the fixture
from support.object_stores import Minio, Objects
from support.processes import free_port
from web import preset, serve

PAGES = 12


def said_so(door: subprocess.Popen[str]) -> str:
    """Waits for the log line that names the store that the crawl waits for."""
    assert door.stderr is not None
    while "waiting for it" not in (line := door.stderr.readline()):
        assert line, "it ended"
    return line


@pytest.mark.parametrize("store", ["S3"], indirect=True)
def test_one_that_is_down_at_the_beginning_or_the_end_is_waited_for(store: Objects, tmp_path: Path) -> None:  # noqa: F811
    assert isinstance(store, Minio)
    url = store.url.replace("prefix", tmp_path.name)
    with serve(preset("tiny", hosts=1, pages=PAGES, latency=0.2)) as web:
        one = job([web.plan.seeds()[0]], tmp_path, per_host=1)
        one.outputs.append(JobOutput(url))
        store.kill()
        door = begin(command(one))
        assert f"s3://bucket/some/{tmp_path.name} does not take pages" in said_so(door)
        store.start()
        while (
            not (tmp_path / "out.jsonl").exists()
            or len((tmp_path / "out.jsonl").read_bytes().splitlines()) < 3
        ):
            time.sleep(0.05)
        store.kill()
        assert "accepts no uploads" in said_so(door)
        store.start()
        out, err = door.communicate(timeout=60)
    assert (door.returncode, json.loads(out)["state"]) == (0, "finished"), err
    found = [line for line in answers(fetched(url, tmp_path / "there")) if not line.endswith("robots.txt")]
    assert len(found) == len(set(found)) == PAGES


@pytest.mark.parametrize(
    "kind",
    [
        "s3://b/p?endpoint=http://127.0.0.1:{}",
        "hdfs://127.0.0.1:{}/p",
        "gs://b/p?endpoint=http://127.0.0.1:{}&anonymous=yes",
        "postgresql://joe@127.0.0.1:{}/x",
        "mongodb://127.0.0.1:{}/x",
        "valkey://127.0.0.1:{}/0?hash=x",
    ],
)
def test_a_wrong_address_is_told_and_a_stop_ends_it(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "joe")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    one = job(["http://127.0.0.1:1/"], tmp_path)
    one.outputs.append(JobOutput(kind.format(free_port())))
    door = begin(command(one))
    assert f"{kind.partition(':')[0]}://" in said_so(door)
    began = time.monotonic()
    door.send_signal(signal.SIGINT)
    _, err = door.communicate(timeout=30)
    assert time.monotonic() - began < 10
    assert door.returncode == 20, err
    assert "nothing is lost: run the same command again" in err.splitlines()[-1]


def test_a_time_limit_ends_the_waiting(tmp_path: Path) -> None:
    one = job(["http://127.0.0.1:1/"], tmp_path)
    one.outputs.append(JobOutput(f"postgresql://joe@127.0.0.1:{free_port()}/x"))
    _, err = (door := begin(command(one, "--time-limit", "2s"))).communicate(timeout=20)
    assert door.returncode == 20, err
    assert "nothing is lost: run the same command again" in err.splitlines()[-1]


def test_one_that_never_answers_is_away(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(object_store, "CHECK_TIMEOUT_S", 0.5)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "joe")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    with socket.create_server(("127.0.0.1", 0)) as deaf:
        url = f"s3://bucket/p?endpoint=http://127.0.0.1:{deaf.getsockname()[1]}"
        with pytest.raises(SinkAway, match="timeout"):
            ObjectStoreArchive(url, str(tmp_path)).prepare()
