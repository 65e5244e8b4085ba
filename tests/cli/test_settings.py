"""Tests of settings: the notation of values, the precedence of sources, error messages that suggest the
nearest name, and secrets."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest

from gossamer.config import value_parsers
from gossamer.config.settings import ABOUT, GivenSetting, Settings, load, plain_settings, schema
from gossamer.errors import ConfigError, UsageError


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("90s", 90),
        ("5m", 300),
        ("2h", 7200),
        ("1h30m", 5400),
        ("500ms", 0.5),
        ("0.5", 0.5),
        (3, 3),
        ("1.5m", 90),
        ("1d", 86400),
        ("2 h", 7200),
    ],
)
def test_times(text: object, seconds: float) -> None:
    assert value_parsers.seconds(text) == pytest.approx(seconds)


@pytest.mark.parametrize(
    "text", ["", "5x", "m5", "-1", "1e9", "nan", "inf", True, None, [1], "9" * 400, "5m5", "3651d"]
)
def test_what_is_no_time(text: object) -> None:
    with pytest.raises(ValueError):
        value_parsers.seconds(text)


def test_a_bound_of_no_time_is_none() -> None:
    with pytest.raises(ValueError, match="above 0"):
        value_parsers.span("0s")


@pytest.mark.parametrize("name", ["", "a b", "ü", "x" * 41, "unacked", "unacked_index", "gossamer"])
def test_what_is_no_lane(name: str) -> None:
    with pytest.raises(ValueError):
        value_parsers.lane(name)


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("500k", 512000),
        ("10M", 10 << 20),
        ("2G", 2 << 30),
        ("1.5k", 1536),
        (77, 77),
        ("16MiB", 16 << 20),
        ("3kb", 3072),
    ],
)
def test_sizes(text: object, size: int) -> None:
    assert value_parsers.size(text) == size


@pytest.mark.parametrize("text", ["", "k", "-1k", "0", "10X", "1e3", False, []])
def test_what_is_no_size(text: object) -> None:
    with pytest.raises(ValueError):
        value_parsers.size(text)


def read(name: str, value: object) -> object:
    return getattr(load([GivenSetting("-s", name, value)], environ={}), name)


@pytest.mark.parametrize(
    ("name", "value", "wanted"),
    [
        ("delay", "2", (2.0, 2.0)),
        ("delay", "5-10", (5.0, 10.0)),
        ("delay", "500ms-1s", (0.5, 1.0)),
        ("delay", 0, (0.0, 0.0)),
        ("retries", "1m,5m", (60.0, 300.0)),
        ("retries", ["10s", 20], (10.0, 20.0)),
        ("retries", "none", ()),
        ("processes", "auto", "auto"),
        ("processes", "2", 2),
        ("allow_private", "10.0.0.1/8, 127.0.0.1", ("10.0.0.0/8", "127.0.0.1/32")),
        ("allow_private", ["::1"], ("::1/128",)),
        ("allow_port", "81,82", (81, 82)),
        ("include", "a,b", ("a,b",)),
        ("include", ["a", "b"], ("a", "b")),
        ("ignore_robots", "yes", True),
        ("host_pages", "1_000", 1000),
        ("ladder", "plain", ("plain",)),
        ("scope", "domain", "domain"),
    ],
)
def test_values(name: str, value: object, wanted: object) -> None:
    assert read(name, value) == wanted


@pytest.mark.parametrize(
    ("name", "value", "hint"),
    [
        ("delay", "10-5", "smaller"),
        ("delay", "fast", "time"),
        ("depth", "-1", "from 0"),
        ("limit", "0", "from 1"),
        ("limit", 1.5, "whole"),
        ("scope", "domian", "domain"),
        ("seen", "blom", "bloom"),
        ("ladder", "plain,staircase", "no rung 'staircase'"),
        ("allow_private", "10.0.0.0/33", "10.1.0.0/16"),
        ("allow_port", "70000", "65535"),
        ("include", "(", "regular expression"),
        ("rate", "0", "above 0"),
        ("ignore_robots", "maybe", "true or false"),
        ("store", "http://x", "redis"),
        ("ca_file", "/no/such/file", "no such file"),
        ("user_agent", "a\nb", "one line"),
        ("concurrency", True, "number"),
    ],
)
def test_bad_values_name_the_setting_and_what_is_right(name: str, value: object, hint: str) -> None:
    with pytest.raises(ConfigError, match=name) as caught:
        load([GivenSetting("GOSSAMER_X", name, value)], environ={})
    assert hint in str(caught.value)
    with pytest.raises(UsageError):
        load([GivenSetting("--x", name, value)], environ={})


def test_the_later_source_wins(tmp_path: Path) -> None:
    (tmp_path / "gossamer.toml").write_text("depth = 1\nlimit = 1\nrate = 1\nper_host = 1\n")
    env = {
        "GOSSAMER_LIMIT": "2",
        "GOSSAMER_RATE": "2",
        "GOSSAMER_PER_HOST": "2",
        "GOSSAMER_DEPTH": "",
        "HOME": "x",
    }
    found = load(
        [
            GivenSetting("-s rate", "rate", "3"),
            GivenSetting("-s x", "per_host", "3"),
            GivenSetting("--per-host", "per_host", "4"),
        ],
        folder=tmp_path,
        environ=env,
    )
    assert (found.depth, found.limit, found.rate, found.per_host, found.concurrency) == (1, 2, 3.0, 4, "auto")


@pytest.mark.parametrize("where", ["file", "environment", "setting"])
def test_an_unknown_name_is_an_error_that_names_its_source_and_the_nearest(
    tmp_path: Path, where: str
) -> None:
    given, env = [], {}
    if where == "file":
        (tmp_path / "gossamer.toml").write_text("dealy = 1")
    elif where == "environment":
        env = {"GOSSAMER_DEALY": "1"}
    else:
        given = [GivenSetting("-s dealy", "dealy", "1")]
    with pytest.raises(UsageError if where == "setting" else ConfigError) as caught:
        load(given, folder=tmp_path, environ=env)
    assert "did you mean delay?" in str(caught.value)
    assert {"file": "gossamer.toml", "environment": "GOSSAMER_DEALY", "setting": "-s dealy"}[where] in str(
        caught.value
    )


def test_an_unknown_name_with_none_near_says_where_all_are() -> None:
    with pytest.raises(UsageError, match="no setting 'qqq': gossamer config schema names all"):
        load([GivenSetting("-s qqq", "qqq", "1")], environ={})


def test_a_file_that_is_no_toml(tmp_path: Path) -> None:
    (tmp_path / "gossamer.toml").write_text("depth = = 1")
    with pytest.raises(ConfigError, match=r"not TOML.*line 1"):
        load(folder=tmp_path, environ={})
    (tmp_path / "gossamer.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(ConfigError, match="not TOML"):
        load(folder=tmp_path, environ={})


def test_secrets_come_by_reference_and_are_masked(tmp_path: Path) -> None:
    (tmp_path / "gossamer.toml").write_text('store = "redis://me:${env:PW}@store.example:1/0"\n')
    found = load(folder=tmp_path, environ={"PW": "a/b@c"})
    assert found.store == "redis://me:a%2Fb%40c@store.example:1/0"
    assert "a%2Fb" not in json.dumps(plain_settings(found))
    (tmp_path / "secret").write_text("rediss://x:y@z:1\n")
    assert (
        load([GivenSetting("-s", "store", f"${{file:{tmp_path}/secret}}")], environ={}).store
        == "rediss://x:y@z:1"
    )
    for value in ("${env:NOT_THERE}", "${file:/no/such}"):
        with pytest.raises(ConfigError, match=r"NOT_THERE|/no/such"):
            load([GivenSetting("-s", "store", value)], environ={})


@pytest.mark.parametrize(
    "url",
    [
        "redis://me:hunter2@store.example:1",
        "redis+sentinel://a/main?sentinel_password=hunter2",
        "redis+cluster://:hunter2@a,b",
    ],
)
def test_a_secret_in_the_file_itself_is_refused_and_not_shown(tmp_path: Path, url: str) -> None:
    (tmp_path / "gossamer.toml").write_text(f'store = "{url}"\n')
    with pytest.raises(ConfigError, match="secret") as caught:
        load(folder=tmp_path, environ={})
    assert "hunter2" not in str(caught.value)


def test_a_reference_inside_a_secret_is_not_followed() -> None:
    found = load([GivenSetting("-s", "contact", "${env:A}")], environ={"A": "${env:B}", "B": "no"})
    assert found.contact == "${env:B}"


def test_the_user_agent_names_us_and_a_contact() -> None:
    assert load(environ={}).agent.startswith("gossamer/0")
    assert "(+https://" in load(environ={}).agent
    assert "(+me@example.com)" in load([GivenSetting("-s", "contact", "me@example.com")], environ={}).agent
    assert load([GivenSetting("-s", "user_agent", "mine/1")], environ={}).agent == "mine/1"


def test_a_page_cap_that_was_given_is_flat() -> None:
    assert load(environ={}).page_cap == 10_000
    assert load([GivenSetting("-s", "host_pages", 10_000)], environ={}).page_cap == -10_000


def test_settings_are_few_frozen_described_and_survive_json() -> None:
    assert list(ABOUT) == list(Settings.__struct_fields__)
    assert len(ABOUT) < 84
    assert set(schema()["properties"]) == set(ABOUT)
    with pytest.raises(AttributeError):
        Settings().depth = 3  # type: ignore[misc] # frozen is what is tested
    full = load(
        [
            GivenSetting("-s", "delay", "1-2"),
            GivenSetting("-s", "processes", "auto"),
            GivenSetting("-s", "include", "a"),
        ],
        environ={},
    )
    assert msgspec.json.decode(msgspec.json.encode(full), type=Settings) == full


@pytest.mark.parametrize(
    ("text", "rate"), [(2, 2), ("0.5", 0.5), (".5", 0.5), ("2/s", 2), ("30/m", 0.5), ("90 / h", 0.025)]
)
def test_rates_of_a_host(text: object, rate: float) -> None:
    assert value_parsers.host_rate(text) == pytest.approx(rate)


@pytest.mark.parametrize("text", ["", "0", "-1", "2/x", "2/", "/s", "1e3", True, None, "1001"])
def test_what_is_no_rate_of_a_host(text: object) -> None:
    with pytest.raises(ValueError):
        value_parsers.host_rate(text)


def test_a_host_rate_is_a_delay() -> None:
    assert load([GivenSetting("--host-rate", "host_rate", "4")], environ={}).delay == (0.25, 0.25)
    later = [GivenSetting("-s host_rate", "host_rate", "4")]
    assert load(later, environ={"GOSSAMER_DELAY": "9"}).delay == (0.25, 0.25)
    option = [GivenSetting("--delay", "delay", "9")]
    assert load(option, environ={"GOSSAMER_HOST_RATE": "4"}).delay == (9, 9)
    assert load(option, environ={"GOSSAMER_HOST_RATE": "4"}).host_rate is None


def test_a_delay_and_a_host_rate_exclude_one_another() -> None:
    both = [GivenSetting("--delay", "delay", "1"), GivenSetting("--host-rate", "host_rate", "1")]
    with pytest.raises(UsageError, match="--delay and --host-rate: delay and host_rate both set"):
        load(both, environ={})
    with pytest.raises(ConfigError, match="give only one of them"):
        load(environ={"GOSSAMER_DELAY": "1", "GOSSAMER_HOST_RATE": "1"})
