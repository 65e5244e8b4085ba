"""Webhooks of a real `gossamer serve`: signatures, repeated deliveries, the dead list, kills, secrets, and settings."""

from __future__ import annotations

import json
import stat
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from standardwebhooks.webhooks import Webhook, WebhookVerificationError

import gossamer
from cli.command_line import gossamer as run
from gossamer.egress.guarded_post import GuardedPost
from gossamer.errors import DeliveryError, InvalidField, UnknownName
from operations.conftest import web
from operations.service_process import Serving, served_folder, serving
from support.web_receiver import Call, Receiver, receiving

__all__ = ["web"]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    with served_folder(tmp_path_factory.mktemp("hooked")) as one:
        yield one


def until(is_true: Callable[[], Any], seconds: float = 40.0) -> None:
    deadline = time.monotonic() + seconds
    while not is_true():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.1)


def ids(got: Receiver) -> list[str]:
    return [call.headers["webhook-id"] for call in got.calls]


def verified(call: Call, secret: str) -> Any:
    """Verifies a message with the library of Standard Webhooks. Returns its body."""
    Webhook(secret).verify(call.body.decode(), call.headers)
    return json.loads(call.body)


def test_a_webhook_gets_the_events_signed(server: Serving, web: str) -> None:
    client = gossamer.Client(server.url)
    with receiving() as got:
        hook = client.add_webhook(f"{got.url}/hook?key=1", crawls="signed")
        assert hook.secret is not None
        server.crawl(f"{web}/1", "signed", scope="page")
        server.crawl(f"{web}/1", "other", scope="page")
        until(lambda: b"crawl.ended" in b"".join(call.body for call in got.calls))
        events = [verified(call, hook.secret) for call in got.calls]
        with pytest.raises(WebhookVerificationError):
            verified(got.calls[0], "whsec_" + "A" * 32)
        assert got.calls[0].path == "/hook?key=1"
    assert [(one["crawl"], one["type"]) for one in events][-1] == ("signed", "crawl.ended")
    assert {one["crawl"] for one in events} == {"signed"}
    assert len(set(ids(got))) == len(got.calls)
    streamed = {
        f"evt_{number}": event
        for number, event in first(client.events(after="0-1", crawl="signed"), "crawl.ended")
    }
    for call in got.calls:
        assert gossamer_json(streamed[call.headers["webhook-id"]]) == json.loads(call.body)
    client.remove_webhook(hook.id)
    assert hook.id not in [one.id for one in client.webhooks()]


def gossamer_json(event: Any) -> Any:
    return {name: getattr(event, name) for name in event.__struct_fields__}


def first(events: Iterator[tuple[str, Any]], kind: str) -> list[tuple[str, Any]]:
    """Returns the events up to the first of a type."""
    found = []
    for number, event in events:
        found.append((number, event))
        if event.type == kind:
            return found
    raise AssertionError


def test_a_delivery_is_repeated_with_the_same_id(server: Serving, web: str) -> None:
    client = gossamer.Client(server.url)
    with receiving([503, 200]) as got:
        hook = client.add_webhook(got.url, events=["crawl.ended"])
        server.crawl(f"{web}/1", "repeated", scope="page")
        until(lambda: len(got.calls) == 2)
        until(lambda: client.webhooks()[-1].waiting == 0)
    assert ids(got)[0] == ids(got)[1]
    assert got.calls[0].body == got.calls[1].body
    client.remove_webhook(hook.id)


def test_events_that_were_given_up_are_listed_and_sent_again(server: Serving, web: str) -> None:
    client = gossamer.Client(server.url)
    with receiving([410, 200]) as got:
        hook = client.add_webhook(got.url, events=["crawl.ended"])
        server.crawl(f"{web}/1", "given-up", scope="page")
        until(lambda: client.webhooks()[-1].dead == 1)
        (dead,) = client.undelivered(hook.id)
        assert (dead.attempts, dead.event["crawl"], dead.event["type"]) == (1, "given-up", "crawl.ended")
        assert "answers 410" in dead.error
        code, out, err = run(server.folder, "webhooks", "dead", hook.id, "--json")
        assert (code, json.loads(out)[0]["number"]) == (0, dead.number), err
        with pytest.raises(UnknownName, match="no event 1-1 was given up"):
            client.resend(hook.id, number="1-1")
        assert client.resend(hook.id, number=dead.number).events == 1
        until(lambda: len(got.calls) == 2)
        until(lambda: client.webhooks()[-1].waiting == 0)
    assert list(client.undelivered(hook.id)) == []
    assert ids(got) == [f"evt_{dead.number}"] * 2
    client.remove_webhook(hook.id)


def test_items_are_events_that_a_webhook_can_select(server: Serving, web: str) -> None:
    client = gossamer.Client(server.url)
    with receiving() as got:
        hook = client.add_webhook(got.url, events=["items"])
        done = client.wait(client.start(f"{web}/", name="rows").crawl, 60)
        until(lambda: sum(json.loads(call.body)["new_items"] for call in got.calls) >= done.items)
    assert all(json.loads(call.body)["new_items"] > 0 for call in got.calls)
    for call in got.calls:
        event = json.loads(call.body)
        listed = server.ask("GET", event["new_items_at"] + "&limit=1000").json["items"]
        assert len(listed) >= event["new_items"]
    client.remove_webhook(hook.id)


def test_a_killed_server_delivers_after_its_restart(tmp_path: Path, web: str) -> None:
    with receiving(hang=True) as got, served_folder(tmp_path) as one:
        client = gossamer.Client(one.url)
        hook = client.add_webhook(got.url, events=["crawl.ended"])
        assert hook.secret is not None
        one.crawl(f"{web}/1", "killed", scope="page")
        until(lambda: got.calls)
        one.kill()
        got.release()
        with serving(tmp_path) as again:
            until(lambda: len(got.calls) == 2)
            until(lambda: gossamer.Client(again.url).webhooks()[0].waiting == 0)
        assert ids(got)[0] == ids(got)[1]
        assert verified(got.calls[1], hook.secret)["crawl"] == "killed"


def test_two_servers_deliver_an_event_once(server: Serving, web: str) -> None:
    client = gossamer.Client(server.url)
    with receiving() as got, serving(server.folder) as second:
        hook = gossamer.Client(second.url).add_webhook(got.url, events=["crawl.ended"])
        second.crawl(f"{web}/1", "twice", scope="page")
        until(lambda: got.calls)
        time.sleep(3)
        assert len(got.calls) == 1
    client.remove_webhook(hook.id)


def test_a_secret_is_shown_once_and_no_other_user_can_read_it(server: Serving) -> None:
    given = {"url": "https://hook.invalid/x?token=abcdefgh"}
    first = server.ask("POST", "/v1/webhooks", given, Idempotency_Key='"hook"')
    again = server.ask("POST", "/v1/webhooks", given, Idempotency_Key='"hook"')
    secret, number = first.json["secret"], first.json["id"]
    assert secret.startswith("whsec_")
    assert again.json == {**first.json, "secret": None}
    assert first.json["url"] == "https://hook.invalid/x?***"
    listed = server.ask("GET", "/v1/webhooks").body.decode()
    assert number in listed
    assert not any(text in listed for text in (secret, "abcdefgh"))
    data = server.folder / ".gossamer"
    for path in data.rglob("*"):
        open_to_others = path.stat().st_mode & (stat.S_IRWXG | stat.S_IRWXO)
        if path.is_file() and secret.removeprefix("whsec_").encode() in path.read_bytes():
            assert not open_to_others, path
    gossamer.Client(server.url).remove_webhook(number)


@pytest.mark.parametrize(
    ("body", "status", "said"),
    [
        ({"url": "http://10.0.0.1/"}, 403, "10.0.0.0/8"),
        ({"url": "http://169.254.169.254/latest"}, 403, "169.254"),
        ({"url": "ftp://a.example/"}, 400, "match"),
        ({"url": "https://a.example/", "events": ["crawl.endet"]}, 400, "crawl.endet"),
        ({"url": "https://a.example/", "secret": "short"}, 400, "match"),
        ({"url": "https://a.example/", "evnts": []}, 400, "did you mean events?"),
    ],
)
def test_a_wrong_webhook_is_refused(server: Serving, body: Any, status: int, said: str) -> None:
    answer = server.ask("POST", "/v1/webhooks", body)
    assert (answer.status, said in answer.json["detail"]) == (status, True), answer.body


async def test_no_message_goes_to_a_private_address() -> None:
    """A name may lead to a private address later, so the guard checks each delivery."""
    with receiving() as got:
        port = int(got.url.rpartition(":")[2])
        for allow in ((), ("127.0.0.0/8",)):
            post = GuardedPost(got.url, "127.0.0.1", port, got.url, allow, is_typed=False)
            if allow:
                assert await post(b"{}") == 200
            else:
                with pytest.raises(DeliveryError, match="allow_private"):
                    await post(b"{}")
    assert len(got.calls) == 1
    for allow, said in (((), "allow_private"), (("::1/128",), "connect")):
        post = GuardedPost("http://[::1]:9/", "::1", 9, "http://[::1]:9", allow, is_typed=False)
        with pytest.raises(DeliveryError, match=rf"(?i){said}"):
            await post(b"{}")


def test_a_token_with_a_prefix_sees_its_own_webhooks(tmp_path: Path, web: str) -> None:
    _, out, _ = run(tmp_path, "tokens", "add", "--scope", "admin", "--prefix", "shop-", "--json")
    _, all_of_it, _ = run(tmp_path, "tokens", "add", "--scope", "admin", "--json")
    with receiving() as got, served_folder(tmp_path, "--token-file", "tokens.jsonl") as one:
        shop = gossamer.Client(one.url, json.loads(out)["token"])
        boss = gossamer.Client(one.url, json.loads(all_of_it)["token"])
        foreign = boss.add_webhook(f"{got.url}/boss", events=["crawl.updated"])
        mine = shop.add_webhook(f"{got.url}/shop", events=["crawl.ended"])
        assert ([hook.id for hook in shop.webhooks()], mine.crawls) == ([mine.id], "shop-")
        for call in (shop.remove_webhook, shop.resend):
            with pytest.raises(UnknownName):
                call(foreign.id)
        with pytest.raises(InvalidField, match="only crawls that begin with 'shop-'"):
            shop.add_webhook(got.url, crawls="sho")
        boss.wait(boss.start(f"{web}/1", name="secret", scope="page").crawl)
        shop.wait(shop.start(f"{web}/1", name="shop-1", scope="page").crawl)
        until(lambda: "/shop" in [call.path for call in got.calls])
        assert {json.loads(call.body)["crawl"] for call in got.calls if call.path == "/shop"} == {"shop-1"}


def test_the_setting_makes_webhooks_and_removes_them(
    tmp_path: Path, web: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
    monkeypatch.setenv("HOOK_SECRET", secret)
    with receiving() as got:
        entry = f"{got.url}/x?a=1&secret=${{env:HOOK_SECRET}}&events=crawl.ended&crawls=set"
        settings = tmp_path / "gossamer.toml"
        settings.write_text(f"webhooks = ['{entry}']\n")
        with served_folder(tmp_path) as one:
            client = gossamer.Client(one.url)
            (hook,) = client.webhooks()
            assert (hook.is_setting, hook.events, hook.crawls) == (True, ["crawl.ended"], "set")
            with pytest.raises(gossamer.errors.ConfigError, match="in the setting webhooks"):
                client.remove_webhook(hook.id)
            one.crawl(f"{web}/1", "set-1", scope="page")
            until(lambda: got.calls)
            assert verified(got.calls[0], secret)["crawl"] == "set-1"
            assert got.calls[0].path == "/x?a=1"
            code, out, _ = run(tmp_path, "config", "show")
            assert (code, secret in out) == (0, False)
            settings.write_text("")
            with serving(tmp_path) as later:
                assert gossamer.Client(later.url).webhooks() == []


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        ("https://a.example/?secret=plain-text-secret", "write ?secret=${env:NAME}"),
        ("https://a.example/?secret=${env:NOT_SET_AT_ALL}", "the environment has no NOT_SET_AT_ALL"),
        ("https://a.example/?secret=${env:HOME}&events=crawl.endet", "did you mean crawl.ended?"),
        ("http://10.0.0.1/?secret=${env:HOME}", "10.0.0.0/8"),
    ],
)
def test_a_wrong_setting_is_refused(tmp_path: Path, entry: str, said: str) -> None:
    (tmp_path / "gossamer.toml").write_text(f"webhooks = ['{entry}']\n")
    code, _, err = run(tmp_path, "serve", "--port", "0")
    assert (code, said in err) == (4, True), err
    assert "plain-text-secret" not in err


def test_the_commands(tmp_path: Path) -> None:
    code, out, err = run(tmp_path, "webhooks", "add", "https://a.example/hook", "--crawls", "shop-")
    assert (code, out.startswith("whsec_"), "gossamer serve runs" in err) == (0, True, True), err
    code, out, _ = run(tmp_path, "webhooks", "list", "--json")
    (one,) = json.loads(out)
    assert (code, one["crawls"], one["waiting"]) == (0, "shop-", 0)
    assert run(tmp_path, "webhooks", "resend", one["id"])[0] == 0
    assert run(tmp_path, "webhooks", "remove", one["id"])[0] == 0
    code, _, err = run(tmp_path, "webhooks", "remove", one["id"])
    assert (code, "no webhook has the id" in err) == (2, True)
    code, _, err = run(tmp_path, "webhooks", "add", "https://a.example/", "--secret", "plain")
    assert (code, "${env:NAME}" in err) == (2, True)


def test_nothing_went_wrong_in_the_server(server: Serving) -> None:
    """The last test of the file: no request of the others met a bug."""
    assert "a bug" not in server.said
    assert "Traceback" not in server.said
