"""URLs of stores: their meaning, the errors for invalid ones, and passwords, which are never printed."""

from __future__ import annotations

from pathlib import Path

import pytest

from gossamer.errors import ConfigError, GossamerError, UsageError
from gossamer.store.address import HostPort, parse, printable_url

SECRET = "pa55w0rd"


@pytest.mark.parametrize(
    ("url", "kind", "places", "more"),
    [
        ("redis://", "server", ["localhost:6379"], {}),
        ("valkey://h", "server", ["h:6379"], {"tls": False, "db": 0}),
        ("redis://h:1/2", "server", ["h:1"], {"db": 2}),
        ("redis://h?db=3", "server", ["h:6379"], {"db": 3}),
        ("rediss://h", "server", ["h:6379"], {"tls": True, "verify": True, "check_hostname": True}),
        ("valkeys://h?check_hostname=no", "server", ["h:6379"], {"tls": True, "check_hostname": False}),
        ("rediss://h?ssl_cert_reqs=none", "server", ["h:6379"], {"tls": True, "verify": False}),
        ("redis://h?tls=yes", "server", ["h:6379"], {"tls": True}),
        ("redis://[::1]:7", "server", ["[::1]:7"], {}),
        ("redis://joe:a%40b%2Fc@h", "server", ["h:6379"], {"user": "joe"}),
        ("unix:///tmp/x.sock?db=1", "unix", ["/tmp/x.sock"], {"db": 1}),
        ("unix://joe:p@/tmp/x.sock", "unix", ["/tmp/x.sock"], {"user": "joe"}),
        (
            "redis+sentinel://a:1,b,c:3/main",
            "sentinel",
            ["a:1", "b:26379", "c:3"],
            {"service": "main", "db": 0},
        ),
        (
            "valkey+sentinel://a/main/4?sentinel_user=s&sentinel_password=p&tls=1",
            "sentinel",
            ["a:26379"],
            {"service": "main", "db": 4, "tls": True, "sentinel_user": "s"},
        ),
        ("redis+cluster://a,b:2", "cluster", ["a:6379", "b:2"], {}),
        ("valkeys+cluster://joe:p@a/0", "cluster", ["a:6379"], {"tls": True, "user": "joe"}),
    ],
)
def test_what_a_url_means(url: str, kind: str, places: list[str], more: dict[str, object]) -> None:
    address = parse(url)
    assert (address.kind, [str(place) for place in address.places]) == (kind, places)
    assert {name: getattr(address, name) for name in more} == more


def test_passwords_are_decoded_and_go_to_their_servers_alone() -> None:
    address = parse("redis+sentinel://joe:a%40b%2Fc@h/main?sentinel_password=x%20y")
    assert (address.options()["username"], address.options()["password"]) == ("joe", "a@b/c")
    asked = address.options(sentinel=True)
    assert (asked["username"], asked["password"], "db" in asked) == (None, "x y", False)


def test_certificates_are_files(tmp_path: Path) -> None:
    pem = tmp_path / "ca.pem"
    pem.write_text("")
    options = parse(f"rediss://h?ca_file={pem}&cert_file={pem}&key_file={pem}").options()
    assert [options[name] for name in ("ssl_ca_certs", "ssl_certfile", "ssl_keyfile")] == [str(pem)] * 3
    assert options["ssl_cert_reqs"] == "required"
    assert parse(f"rediss://h?ssl_ca_certs={pem}").ca_file == str(pem)


@pytest.mark.parametrize(
    ("url", "error", "said"),
    [
        ("http://h", UsageError, "redis, rediss, valkey"),
        ("h:6379", UsageError, "redis://"),
        ("redis://h:99999", ConfigError, "not a HOST:PORT"),
        ("redis://h:port", ConfigError, "not a HOST:PORT"),
        ("redis://h/main", ConfigError, "is not a number"),
        ("redis://a,b", ConfigError, "redis+sentinel://"),
        ("redis://h?foo=1", ConfigError, "no parameter 'foo'"),
        ("redis://h?db=one", ConfigError, "db must be a number"),
        ("redis://h?tls=maybe", ConfigError, "tls must be yes or no"),
        ("rediss://h?ca_file=/nowhere", ConfigError, "no file /nowhere"),
        ("redis+sentinel://a,b", ConfigError, "/SERVICE"),
        ("redis+sentinel:///main", ConfigError, "a host is missing"),
        ("redis+sentinel://a,,b/main", ConfigError, "a host is missing"),
        ("redis+cluster://a/1", ConfigError, "no numbered databases"),
        ("redis+cluster://", ConfigError, "a host is missing"),
        ("unix://", ConfigError, "path of the socket"),
        ("redis://joe:pa/ss@h", ConfigError, "%2F"),
    ],
)
def test_what_cannot_be_read_is_told_with_what_to_write(
    url: str, error: type[GossamerError], said: str
) -> None:
    with pytest.raises(error, match="--store") as told:
        parse(url)
    assert said in str(told.value)
    assert "\n" not in str(told.value)


@pytest.mark.parametrize(
    "url",
    [
        f"redis://joe:{SECRET}@h:1/2",
        f"rediss://:{SECRET}@h",
        f"redis+sentinel://joe:{SECRET}@a,b/main",
        f"redis+sentinel://a/main?sentinel_password={SECRET}&db=1",
        f"redis://joe:{SECRET}/x@h",
        f"redis://joe:{SECRET}@h@i:1",
        f"redis://joe:{SECRET}@a,b",
        f"http://joe:{SECRET}@h",
        f"unix://joe:{SECRET}@/tmp/x",
        f"redis+cluster://joe:{SECRET}@a?foo=1",
        f"redis://joe:{SECRET}#@h",
        f"redis://joe:a@{SECRET}@h:1/0",
        f"redis://joe:a@{SECRET}@h:port/0",
    ],
)
def test_no_password_is_printed(url: str) -> None:
    assert SECRET not in printable_url(url)
    assert SECRET not in told(url)


def told(url: str) -> str:
    """Returns the visible result of parsing a URL."""
    try:
        address = parse(url)
    except GossamerError as error:
        return str(error)
    return f"{address!r} {address.shown}"


def test_a_place_prints_as_it_is_written() -> None:
    assert [str(place) for place in (HostPort("h", 1), HostPort("::1", 2), HostPort("/a/b", 0))] == [
        "h:1",
        "[::1]:2",
        "/a/b",
    ]
