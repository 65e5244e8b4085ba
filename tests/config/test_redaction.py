"""Tests of redaction: secrets are masked, and other text stays."""

from __future__ import annotations

import time
from collections.abc import Callable

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.config import redaction
from gossamer.config.redaction import Secret, mask

CANARY = "CANARY42"


@pytest.fixture(autouse=True)
def no_other_secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    """Remove the secrets that other tests registered."""
    monkeypatch.setattr(redaction, "_forms", {})
    monkeypatch.setattr(redaction, "_known", [])


@pytest.mark.parametrize(
    "text",
    [
        "http://joe:CANARY42@example.com/",
        "https://CANARY42@example.com/x",
        "http://joe:CAN@CANARY42@h/",
        "redis://:CANARY42@h:6379/0",
        "redis://:a/CANARY42@h/0",
        "postgresql://u:CANARY42@h/db",
        "proxy socks5h://u:CANARY42@10.0.0.1:1080 refused",
        "https://h/?api_key=CANARY42",
        "https://h/?a=1&apikey=CANARY42&b=2",
        "https://h/?KEY=CANARY42",
        "https://h/?access_token=CANARY42",
        "https://h/?accessToken=CANARY42",
        "https://h/?X-Amz-Signature=CANARY42",
        "https://h/?X-Amz-Security-Token=CANARY42",
        "https://h/?sig=CANARY42",
        "https://h/?client_secret=CANARY42",
        "https://h/?password=CANARY42&x",
        "https://h/?pwd=CANARY42#f",
        "https://h/?PHPSESSID=CANARY42",
        "https://h/;jsessionid=CANARY42?x=1",
        "https://h/?sid=CANARY42",
        "https://h/?session_id=CANARY42",
        "https://h/?auth=CANARY42",
        "https://h/#access_token=CANARY42",
        "https://h/?stripe_key=CANARY42",
        "https://h/?jwt=CANARY42",
        "https://h/?user[password]=CANARY42",
        "https://h/?token[]=CANARY42",
        "https://h/?u=http%3A%2F%2Fx%2F%3Fapi_key%3DCANARY42%26y%3D1",
        "https://h/?api_key%3DCANARY42",
        "api_key=CANARY42",
        "GOSSAMER_API_KEY=CANARY42",
        "cannot open https://h/?token=CANARY42: refused",
        "Authorization: Bearer CANARY42",
        "authorization:CANARY42",
        "Proxy-Authorization: Basic CANARY42==",
        "Cookie: a=CANARY42; b=CANARY42",
        "GET / HTTP/1.1\r\nCookie: a=CANARY42\r\nHost: h",
        "set-cookie: id=CANARY42; Path=/",
        "X-Api-Key: CANARY42",
        "X-Auth-Token: CANARY42",
        "{'Authorization': 'Bearer CANARY42'}",
        '{"cookie": "a=CANARY42"}',
        "[('authorization', 'CANARY42')]",
        '{"api_key": "CANARY42"}',
        '{"password":"a\\"CANARY42"}',
        "[(b'cookie', b'CANARY42')]",
        "sent Bearer CANARY42.abc to it",
        "http://h/\r\nAuthorization:CANARY42",
        "https://h/?secret=${env:A}CANARY42",
        "postgresql://u:${env:A}@CANARY42@h/db",
    ],
)
def test_secrets_are_masked_and_the_rest_is_legible(text: str) -> None:
    masked = mask(text)
    assert CANARY not in masked
    assert "***" in masked
    assert mask(masked) == masked


@pytest.mark.parametrize(
    "text",
    [
        "it requires one, as in redis://USER:PASSWORD@HOST (it was not given)",
        "-o mongodb://h: write mongodb://USER@HOST/DATABASE",
        "postgresql://crawler:${env:PG_PASSWORD}@db/shop?table=x",
        "https+webhook://h/?secret=${env:HOOK}&batch=5",
        "?secret=${file:/etc/key}",
        "https://example.com/",
        "https://example.com/a?page=2&sort=price",
        "https://example.com/?keyword=x&author=y&monkey=z",
        "https://medium.com/@user/post?x=1",
        "https://h/?q=a@b.test",
        "",
        "https://h/?tokenizer=1&assign=2&design=3",
        "connect to h:80 refused",
        "https://h:8080/a/b;c=d?compass=1",
        "https://h/a?passage=1&signal=2&assessment=3",
        "mail joe@example.com",
        "key",
        "https://h/?key",
        "reads redis-zset://h:6379/0?key=scraping_tasks&group=g, the queue",
        "'valkeys-stream://h/?group=a&key=tasks'",
        "-o kafka://h:9092/books?key=item",
    ],
)
def test_what_is_no_secret_stays(text: str) -> None:
    assert mask(text) == text


def test_the_name_of_a_queue_is_not_registered_as_a_secret() -> None:
    redaction.register_in("redis-list://joe:pw-word@h/0?key=tasks")
    redaction.register_in("kafka://h:9092/books?key=host")
    assert mask("tasks of host h, by pw-word") == "tasks of host h, by ***"
    assert mask("redis://h/0?key=tasks") == "redis://h/0?key=***"


def test_only_the_secret_goes() -> None:
    assert mask("https://u:p@h:81/a?b=1&token=2&c=3#d") == "https://***:***@h:81/a?b=1&token=***&c=3#d"
    assert mask("a Cookie: x=1\nHost: h") == "a Cookie: ***\nHost: h"
    assert mask('{"token": "x", "n": 1}') == '{"token": \'***\', "n": 1}'


@given(st.text(alphabet="ab=&?%3D:@/ \n'\"keytokn_-.", max_size=60) | st.text())
def test_masking_ends_and_is_idempotent(text: str) -> None:
    masked = mask(text)
    assert mask(masked) == masked


@pytest.mark.parametrize(
    "text",
    [
        "http://h/?" + "a-" * 40_000 + "key",
        "key" * 30_000 + "=",
        "://" * 30_000 + "@",
        "'key':" * 15_000,
        "api_" * 20_000 + "key =",
        "cookie" * 15_000,
        '"token":"' + "\\" * 80_000,
        "bearer " * 15_000,
        "%26key" * 15_000,
        "access" * 15_000 + "key x=",
        "@" * 80_000,
        "kafka://h/?" + "key=ab&" * 40_000,
    ],
    ids=lambda text: text[:16],
)
def test_hostile_text_takes_linear_time(text: str) -> None:
    start = time.process_time()
    mask(text)
    assert time.process_time() - start < 5  # quadratic time would take minutes


@pytest.mark.parametrize("show", [str, repr, "{}".format, "%s".__mod__, lambda s: f"{[s]}"])
def test_a_secret_prints_as_stars(show: Callable[[Secret], str]) -> None:
    assert show(Secret(CANARY)).strip("[]") == "***"


def test_a_secret_is_not_encoded_or_joined_by_mistake() -> None:
    secret = Secret(CANARY)
    with pytest.raises(TypeError):
        msgspec.json.encode({"a": secret})
    with pytest.raises(TypeError):
        "".join([secret])  # type: ignore[list-item]  # that is the point
    assert secret.reveal() == CANARY
    assert (secret == Secret(CANARY), bool(Secret("")), len({secret, Secret(CANARY)})) == (True, False, 1)


def test_a_secret_that_is_registered_after_the_first_line_is_masked() -> None:
    redaction.register("first-secret-1")
    assert "first-secret-1" not in mask("the password is first-secret-1")
    redaction.register("second-secret-2")
    assert "second-secret-2" not in mask("the password is second-secret-2")


@pytest.mark.parametrize("place", ["postgres@h", "postgres:postgres@h", "postgres:pw4711@h"])
def test_the_user_of_a_database_is_not_a_secret(place: str) -> None:
    redaction.register_in(f"postgresql://{place}/db")
    assert mask("write postgresql://HOST/db or postgres://HOST/db") == (
        "write postgresql://HOST/db or postgres://HOST/db"
    )
    if place != "postgres:postgres@h":
        assert mask('role "postgres" does not exist') == 'role "postgres" does not exist'


def test_a_token_in_place_of_a_user_is_a_secret() -> None:
    redaction.register_in("https://gh0token@git.example/x")
    assert mask("said gh0token") == "said ***"
