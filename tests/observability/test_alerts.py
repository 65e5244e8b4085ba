"""Alerts: their conditions, their receivers, and receivers that fail without harm to the others."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
import time
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any, cast

import msgspec
import pytest
from standardwebhooks import Webhook

from cli.command_line import gossamer
from gossamer.app.alert_watch import AlertWatch
from gossamer.config.settings import Settings
from gossamer.errors import ConfigError
from gossamer.frontier.recent_rates import RecentRates
from gossamer.model.quality import Quality
from gossamer.observability.alert_delivery import payload, receivers_of
from gossamer.observability.alert_rules import (
    RULES,
    STORE_RULES,
    AlertSettings,
    SnapshotHistory,
    read_alert_settings,
)
from gossamer.observability.alert_states import Alert, AlertStates, alert_key, evaluate, is_muted
from gossamer.observability.snapshot import (
    CrawlNow,
    DeadCount,
    LaneNow,
    ReplicaLag,
    ScheduleNow,
    ServerNow,
    Snapshot,
)
from gossamer.state.workers import WorkerRecord
from gossamer.store.store import Store, connect
from support.mail_server import mail_server
from support.processes import Process, followers
from support.processes import until as wait_for
from support.web_receiver import receiving
from worker.worker_parts import until


def snapshot(now: float = 0.0, **changes: Any) -> Snapshot:
    found = Snapshot(
        now=now,
        totals=Counter(),
        crawls=[],
        lanes=[],
        workers=[],
        servers=[],
        schedules=[],
        proxies={},
        credits={},
    )
    return msgspec.structs.replace(found, **changes)


def crawl(**changes: Any) -> CrawlNow:
    one = CrawlNow("c", "running", "", False, 0.0, {"open": 5}, 0, RecentRates(), {})
    return msgspec.structs.replace(one, **changes)


def worker(state: str) -> WorkerRecord:
    return WorkerRecord(name="w", host="h", pid=1, lanes=["http"], processes=1, version="1", state=state)


GOOD = snapshot(
    crawls=[crawl(recent=RecentRates(last=9_999.0))],
    workers=[worker("running")],
    servers=[ServerNow("0", 1, 10, 0, 1, 1, "")],
    lanes=[LaneNow("http", "", 1, 1, 2.0)],
    schedules=[ScheduleNow("s", False, None, {"missed": 0})],
    proxies={("pool", "up"): 9, ("pool", "quarantined"): 1},
    credits={"zyte": 10},
    credits_daily=100,
    totals=Counter(
        {"requests|http|ok": 100, "domain|a.example|ok": 100, "items|book|i": 100, "lane|http|": 100}
    ),
)
BAD: dict[str, dict[str, Any]] = {
    "GossamerStalled": {"crawls": [crawl(recent=RecentRates(last=1.0))]},
    "GossamerErrorsHigh": {"totals": GOOD.totals + Counter({"requests|http|timeout": 30})},
    "GossamerDomainBlocked": {"totals": GOOD.totals + Counter({"domain|a.example|blocked": 40})},
    "GossamerDeadLettersGrow": {
        "crawls": [crawl(recent=RecentRates(last=9_999.0), counts={"open": 5, "letter": 30})],
        "totals": GOOD.totals + Counter({"dead|timeout": 30}),
    },
    "GossamerHostsFail": {"totals": GOOD.totals + Counter({"breaker|open": 3})},
    "GossamerCoverageDrops": {
        "crawls": [
            crawl(recent=RecentRates(last=9_999.0), sites={"shop": Quality(drift={"book.price": 0.5})})
        ]
    },
    "GossamerItemsRejected": {"totals": GOOD.totals + Counter({"items|book|i": 40, "items|book|b": 20})},
    "GossamerPagesUnread": {"totals": GOOD.totals + Counter({"lane|http|": 40, "err:parse": 20})},
    "GossamerBudgetSpent": {"credits": {"zyte": 95}},
    "GossamerStoreMemoryHigh": {"servers": [ServerNow("0", 95, 100, 0, 1, 1, "")]},
    "GossamerStoreFull": {"servers": [ServerNow("0", 1, 10, 0, 1, 1, "", disk_full=True)]},
    "GossamerStoreBehind": {"servers": [ServerNow("0", 1, 10, 0, 1, 1, "", behind=90.0)]},
    "GossamerStoreWentBack": {"totals": GOOD.totals + Counter({"went_back": 1})},
    "GossamerStoreEvicts": {"servers": [ServerNow("0", 1, 10, 4, 1, 1, "")]},
    "GossamerBrokerDown": {"broker_error": "Connection refused"},
    "GossamerWorkerGone": {"workers": [worker("gone")]},
    "GossamerClockWrong": {"workers": [msgspec.structs.replace(worker("running"), clock_off=-7200.0)]},
    "GossamerWorkerMemoryHigh": {
        "workers": [msgspec.structs.replace(worker("running"), memory=95, memory_limit=100)]
    },
    "GossamerHostsWait": {"lanes": [LaneNow("http", "", 1, 1, 400.0)]},
    "GossamerScheduleMissed": {"schedules": [ScheduleNow("s", False, None, {"missed": 1})]},
    "GossamerOutputAway": {"crawls": [crawl(recent=RecentRates(last=9_999.0), reason="db: waiting for it")]},
    "GossamerProxiesLow": {"proxies": {("pool", "up"): 1, ("pool", "quarantined"): 9}},
}


def judged(
    known: dict[str, Alert], history: SnapshotHistory, found: Snapshot, settings: AlertSettings
) -> dict[str, Alert]:
    """Evaluates one snapshot and returns the alerts afterwards."""
    history.add(found)
    after = dict(known)
    for key, alert in evaluate(settings, known, history, ["r"], found.now).items():
        if alert is None:
            after.pop(key, None)
        else:
            after[key] = alert
    return after


@pytest.mark.parametrize("name", [rule.name for rule in RULES if rule.name not in STORE_RULES.values()])
def test_each_rule_fires_after_its_time_and_clears(name: str) -> None:
    rule = next(one for one in RULES if one.name == name)
    settings, history = AlertSettings(), SnapshotHistory(AlertSettings().longest)
    start = 10_000.0
    alerts = judged({}, history, msgspec.structs.replace(GOOD, now=start), settings)
    assert alerts == {}
    bad = msgspec.structs.replace(GOOD, **BAD[name])
    alerts = judged(alerts, history, msgspec.structs.replace(bad, now=start + 15), settings)
    (alert,) = alerts.values()
    assert alert.rule == name
    assert alert.state == ("pending" if rule.for_s else "firing")
    alerts = judged(alerts, history, msgspec.structs.replace(bad, now=start + 15 + rule.for_s), settings)
    (alert,) = alerts.values()
    assert (alert.state, alert.unsent) == ("firing", ["r"])
    assert "{" not in alert.text
    known = {alert.key: msgspec.structs.replace(alert, unsent=[], knows=["r"])}
    evicted = bad.servers if name == "GossamerStoreEvicts" else GOOD.servers
    for step in (1, 2):
        later = start + step * (settings.longest + rule.for_s + 16)
        well = msgspec.structs.replace(
            GOOD,
            now=later,
            totals=bad.totals,
            servers=evicted,
            schedules=bad.schedules,
            crawls=[crawl(recent=RecentRates(last=later - 1))],
        )
        known = judged(known, history, well, settings)
    (alert,) = known.values()
    assert (alert.state, alert.unsent) == ("resolved", ["r"])


def test_a_store_that_is_older_than_before_went_back_though_no_worker_noticed() -> None:
    settings, history = AlertSettings(), SnapshotHistory(AlertSettings().longest)
    before = msgspec.structs.replace(GOOD, now=10_000.0)
    alerts = judged({}, history, before, settings)
    older = before.totals - Counter({"requests|http|ok": 30})
    alerts = judged(alerts, history, msgspec.structs.replace(GOOD, now=10_015.0, totals=older), settings)
    assert [one.rule for one in alerts.values()] == ["GossamerStoreWentBack"]


def test_a_replica_that_lags_is_behind(tmp_path: Path) -> None:
    server = Process(tmp_path).ready()
    replica = Process(tmp_path, "--replicaof", "127.0.0.1", str(server.port)).ready()
    try:
        with server.client() as client:
            wait_for(lambda: followers(client) == 1)
            lag, at = ReplicaLag(), itertools.count(0.0, 15.0)

            def look() -> float:
                return lag.look(next(at), cast(Any, client.info()))

            wait_for(lambda: look() == 0.0)
            replica.halt()
            client.set("a", "b")
            behind = look()
            assert look() == behind + 15.0
            replica.kill()
            client.set("a", "b")
            assert look() == behind + 30.0  # a replica that vanished is behind, too
            replica.start()
            wait_for(lambda: followers(client) == 1 and look() == 0.0)
    finally:
        replica.kill()
        server.kill()


def test_a_reading_between_the_limits_changes_nothing() -> None:
    """The alert fires above 90 % of the memory and clears at 80 % or less."""
    settings = read_alert_settings(None)
    history, known = SnapshotHistory(900), dict[str, Alert]()
    states = []
    for n, memory in enumerate((85, 95, 95, 85, 95, 75, 85)):
        known = judged(
            known, history, snapshot(60.0 * n, servers=[ServerNow("0", memory, 100, 0, 1, 1, "")]), settings
        )
        states.append([one.state for one in known.values()])
    assert states == [[], ["pending"], ["firing"], ["firing"], ["firing"], ["resolved"], ["resolved"]]


def test_an_alert_that_nobody_heard_of_is_not_resolved_to_anybody() -> None:
    settings, history = AlertSettings(), SnapshotHistory(900)
    known = judged({}, history, snapshot(0.0, lanes=[LaneNow("http", "", 1, 1, 400.0)]), settings)
    known = judged(known, history, snapshot(100.0, lanes=[LaneNow("http", "", 1, 1, 400.0)]), settings)
    known = judged(known, history, snapshot(200.0), settings)
    (alert,) = known.values()
    assert (alert.state, alert.unsent) == ("resolved", [])


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("repeat = [", "line 1"),
        ('\nrepeet = "1h"', "line 2, column 1: there is no repeet (did you mean repeat?)"),
        (
            "[rules.GossamerStaled]",
            "line 1, column 8: there is no rule GossamerStaled (did you mean GossamerStalled?)",
        ),
        ("[rules.GossamerStalled]\nfir = 3", "line 2, column 1: a rule has no fir (did you mean fire?)"),
        ("[rules.GossamerStalled]\nfire = 'x'", "line 2, column 1: fire is a number"),
        ("[rules.GossamerStalled]\nclear = 900", "clear (900) is above fire (600)"),
        ('quiet_hours = "22-7x"', 'quiet_hours is written "22:00-07:00"'),
        ('zone = "Mars/One"', "there is no time zone 'Mars/One'"),
        ("max_per_day = 0", "max_per_day is a whole number from 1"),
    ],
)
def test_a_broken_file_of_rules_is_named_with_its_line(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "alerts.toml"
    path.write_text(text)
    with pytest.raises(ConfigError) as caught:
        read_alert_settings(str(path))
    assert said in str(caught.value)


def test_rules_are_changed_by_the_file(tmp_path: Path) -> None:
    path = tmp_path / "alerts.toml"
    path.write_text(
        'interval = "1s"\nquiet_hours = "22:00-07:00"\nzone = "Europe/Berlin"\n'
        '[rules.GossamerStalled]\nfire = 5\nfor = "2m"\nseverity = "warn"\n[rules.GossamerWorkerGone]\nenabled = false\n'
    )
    found = read_alert_settings(str(path))
    rules = {rule.name: rule for rule in found.rules}
    stalled = rules["GossamerStalled"]
    assert (stalled.fire, stalled.clear, stalled.for_s, stalled.severity) == (5, 5, 120, "warn")
    assert not rules["GossamerWorkerGone"].enabled
    assert (found.interval, found.quiet_hours) == (1.0, (1320, 420))


ALERT = Alert(
    rule="GossamerWorkerGone",
    labels=(("worker", "w\n<1>"),),
    severity="warn",
    state="firing",
    since=0.0,
    value=1.0,
    text="worker w <1> & co sends no heartbeat",
)


async def test_a_webhook_is_signed() -> None:
    with receiving() as web:
        (receiver,) = receivers_of([f"{web.url}/hook?team=a&secret=whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"])
        await receiver.send([ALERT], 0)
    (call,) = web.calls
    assert call.path == "/hook?team=a"
    Webhook("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw").verify(call.body, call.headers)
    told = json.loads(call.body)
    assert told["status"] == "firing"
    assert told["alerts"][0]["labels"] == {"worker": "w\n<1>"}
    assert told["alerts"][0]["runbook"].endswith("#gossamerworkergone")


async def test_slack_gets_a_text() -> None:
    with receiving() as web:
        (receiver,) = receivers_of([f"slack+{web.url}/x"])
        await receiver.send([ALERT], 3)
    text = json.loads(web.calls[0].body)["text"]
    assert text.startswith("FIRING warn: worker w &lt;1&gt; &amp; co sends no heartbeat")
    assert "3 notifications were left out" in text


async def test_mail_is_sent() -> None:
    with mail_server() as mail:
        (receiver,) = receivers_of(
            [f"mailto:ops@a.example,two@a.example?smtp=smtp://127.0.0.1:{mail.port}&from=g@a.example"]
        )
        await receiver.send([ALERT], 0)
    (letter,) = mail.letters
    assert letter.recipients == ["ops@a.example", "two@a.example"]
    assert "Subject: gossamer: FIRING warn: worker w <1> & co" in letter.text


async def test_a_command_gets_json(tmp_path: Path) -> None:
    script = tmp_path / "note.sh"
    script.write_text(f"#!/bin/sh\ncat > {tmp_path}/told\n")
    script.chmod(0o755)
    (receiver,) = receivers_of([f"command:{script}"])
    await receiver.send([ALERT], 0)
    assert json.loads((tmp_path / "told").read_text())["alerts"][0]["alert"] == "GossamerWorkerGone"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("ftp://h/", "write https://HOST/PATH"),
        ("https://h/?secret=whsec_x!", "a secret after whsec_ is base64"),
        ("mailto:nobody", "write mailto:ADDRESS?smtp="),
        ("https://h:99999/", "the port is not a number"),
        ("command:", "write https://HOST/PATH"),
        ("command:/nope --now", "there is no program /nope"),
        ("https://localhost/x", "localhost is a private name"),
        ("https://a b/", "there is no valid host"),
        ("https://999.1.1.1/", "there is no valid host"),
        ("https://[::1/", "Invalid IPv6 URL"),
        ("mailto:a@b.example?smtp=smtp://h:99999", "the port is not a number"),
        ("mailto:@?smtp=smtp://h", "write mailto:ADDRESS?smtp="),
    ],
)
def test_a_receiver_that_is_none_is_named(text: str, said: str) -> None:
    with pytest.raises(ConfigError, match="alerts "):
        receivers_of([text])
    with pytest.raises(ConfigError) as caught:
        receivers_of([text])
    assert said in str(caught.value)


def test_a_private_name_is_allowed_with_its_network() -> None:
    (receiver,) = receivers_of(["http://localhost:9093/x"], ["127.0.0.0/8"])
    assert receiver.name == "http://localhost:9093"


@pytest.mark.parametrize(
    "words",
    [
        ("crawl", "http://127.0.0.1:9/"),
        ("submit", "http://127.0.0.1:9/", "--store", "valkey://127.0.0.1:9"),
        ("try", "http://127.0.0.1:9/"),
        ("scheduler",),
        ("schedule", "list"),
        ("metrics", "--once"),
        ("alerts", "list"),
        ("worker", "--store", "valkey://127.0.0.1:9"),
        ("config", "show"),
    ],
)
def test_every_command_refuses_wrong_receivers_and_rules(tmp_path: Path, words: tuple[str, ...]) -> None:
    (tmp_path / "rules.toml").write_text("[rules.GossamerNothing]\nfire = 1\n")
    wrong = {
        "alerts=https://h:99999/": "the port is not a number",
        "alert_rules=rules.toml": "there is no rule",
    }
    for setting, said in wrong.items():
        code, _, err = gossamer(tmp_path, *words, "-s", setting)
        assert (code, said in err) == (4, True), (words, setting, err)


@pytest.mark.parametrize("words", [("crawl", "http://127.0.0.1:9/"), ("scheduler",)])
def test_what_sends_alerts_refuses_a_program_that_is_not_there(
    tmp_path: Path, words: tuple[str, ...]
) -> None:
    code, _, err = gossamer(tmp_path, *words, "-s", "alerts=command:/nope")
    assert (code, "there is no program /nope" in err) == (4, True), err


async def test_a_private_address_behind_a_name_is_refused() -> None:
    from gossamer.errors import DeliveryError

    (receiver,) = receivers_of(["http://169.254.169.254.nip.invalid/"])
    with pytest.raises(DeliveryError):
        await receiver.send([ALERT], 0)


@pytest.fixture
def opened(valkey_url: str) -> Iterator[Any]:
    async def make() -> Store:
        store = connect(valkey_url, patience=0.0, embedded=False)
        await store.open(1, "psl")
        return store

    return make


def watch_settings(tmp_path: Path, *receivers: str, more: str = "") -> Settings:
    rules = tmp_path / "alerts.toml"
    rules.write_text(
        f'interval = "10ms"\ngroup_wait = "0s"\n{more}\n[rules.GossamerWorkerGone]\nfor = "0s"\n'
    )
    return Settings(alerts=receivers, alert_rules=str(rules))


async def gone(store: Store) -> None:
    """Registers a worker whose last heartbeat is old."""
    await store.client.hset("gossamer:workers", "w", msgspec.json.encode(worker("running")))


async def looks(watch: AlertWatch, what: Any) -> None:
    end = time.monotonic() + 10
    while not what():
        await watch.look()
        await asyncio.sleep(0.01)
        assert time.monotonic() < end
    await watch.finish()
    await watch.look()


async def test_an_alert_is_told_once_and_its_end_too(tmp_path: Path, opened: Any) -> None:
    store = await opened()
    with receiving() as web:
        await gone(store)
        watch = AlertWatch(watch_settings(tmp_path, f"{web.url}/"), store)
        await looks(watch, lambda: web.calls)
        again = AlertWatch(watch_settings(tmp_path, f"{web.url}/"), store)  # a restart
        for _ in range(5):
            await again.look()
        assert len(web.calls) == 1
        await store.client.hdel("gossamer:workers", "w")
        await looks(again, lambda: len(web.calls) > 1)
        for _ in range(5):
            await again.look()
    told = [json.loads(call.body)["alerts"][0] for call in web.calls]
    assert [(one["alert"], one["status"]) for one in told] == [
        ("GossamerWorkerGone", "firing"),
        ("GossamerWorkerGone", "resolved"),
    ]
    await store.close()


async def test_a_receiver_that_fails_is_tried_again_and_does_not_hold_up_others(
    tmp_path: Path, opened: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gossamer.app.alert_watch.FIRST_RETRY_S", 0.05)
    store = await opened()
    with receiving() as good, receiving([500, 503, 200]) as bad, receiving(hang=True) as stuck:
        await gone(store)
        watch = AlertWatch(watch_settings(tmp_path, f"{bad.url}/", f"{stuck.url}/", f"{good.url}/"), store)
        began = time.monotonic()
        while len(bad.calls) < 3 or not good.calls:
            await watch.look()
            await asyncio.sleep(0.01)
            assert time.monotonic() - began < 9, "a receiver that hangs must not hold up the others"
        left = (await AlertStates(store).load())[alert_key("GossamerWorkerGone", (("worker", "w"),))].unsent
        stuck.release()
        await watch.finish()
    assert len(good.calls) == 1
    assert stuck.url.removesuffix("/") in left
    await store.close()


async def test_mutes_quiet_hours_and_the_daily_cap_hold_notifications_back(
    tmp_path: Path, opened: Any
) -> None:
    store = await opened()
    with receiving() as web:
        await gone(store)
        await AlertStates(store).mute("GossamerWorker*", await AlertStates(store).now() + 60)
        watch = AlertWatch(watch_settings(tmp_path, f"{web.url}/"), store)
        for _ in range(5):
            await watch.look()
        assert not web.calls
        await AlertStates(store).mute("GossamerWorker*", None)
        quiet = AlertWatch(watch_settings(tmp_path, f"{web.url}/", more='quiet_hours = "00:00-23:59"'), store)
        for _ in range(5):
            await quiet.look()
        assert not web.calls
        few = AlertWatch(
            watch_settings(tmp_path, f"{web.url}/", more="max_per_day = 1\nrepeat = '10ms'"), store
        )
        for _ in range(30):
            await few.look()
            await asyncio.sleep(0.01)
        await few.finish()
    assert [json.loads(call.body)["suppressed"] for call in web.calls] == [0, 1]
    await store.close()


@contextlib.asynccontextmanager
async def watching(tmp_path: Path, url: str, *watchers: str) -> AsyncIterator[list[AlertWatch]]:
    """Yields one running watch for each receiver. The first watch leads."""
    watches, tasks, stores = list[AlertWatch](), list[asyncio.Task[None]](), list[Store]()
    for receiver in watchers:
        stores.append(store := connect(url, patience=0.0, embedded=False))
        await store.open(1, "psl")
        soon = "\n".join(f'[rules.{name}]\nfor = "0s"' for name in STORE_RULES.values())
        watches.append(AlertWatch(watch_settings(tmp_path, receiver, more=soon), store))
        tasks.append(asyncio.create_task(watches[-1].run()))
        await until(lambda: watches[0]._leads)
    yield watches
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    for store in stores:
        await store.close()


def told(web: Any) -> list[tuple[str, str]]:
    """Returns the rule and the state of each alert that a receiver got."""
    found = [one for call in list(web.calls) for one in json.loads(call.body)["alerts"]]
    return [(one["alert"], one["status"]) for one in found]


async def test_only_the_watch_that_leads_reports_on_the_store(tmp_path: Path) -> None:
    server = Process(tmp_path).ready()
    try:
        with receiving() as first, receiving() as second:
            url = f"redis://127.0.0.1:{server.port}"
            async with watching(tmp_path, url, f"{first.url}/", f"{second.url}/") as (leads, waits):
                checks = Counter[str]()
                monkey = waits._note_store

                async def counted(name: str, bad: bool) -> None:
                    checks[name] += 1
                    await monkey(name, bad)

                waits._note_store = counted  # type: ignore[method-assign]
                await until(lambda: checks["GossamerStoreDown"] > 3)
                assert not told(first)
                assert not told(second)
                server.kill()
                await until(lambda: told(first))
                assert told(first) == [("GossamerStoreDown", "firing")]
                server.start()
                server.ready()
                await until(lambda: len(told(first)) > 1)
                assert told(first)[1] == ("GossamerStoreDown", "resolved")
                assert leads._leads != waits._leads or not leads._leads
            assert not told(second)
    finally:
        server.kill()


async def test_a_store_that_refuses_the_user_is_not_down(tmp_path: Path) -> None:
    server = Process(tmp_path).ready()
    try:
        with receiving() as web, server.client() as client:
            client.execute_command("ACL", "SETUSER", "w", "on", ">secretword", "~*", "&*", "+@all")
            url = f"redis://w:secretword@127.0.0.1:{server.port}"
            async with watching(tmp_path, url, f"{web.url}/"):
                client.execute_command("ACL", "SETUSER", "w", "-hgetall")
                await until(lambda: told(web))
                client.execute_command("ACL", "SETUSER", "w", "+hgetall")
                await until(lambda: len(told(web)) > 1)
            assert told(web) == [("GossamerStoreRefuses", "firing"), ("GossamerStoreRefuses", "resolved")]
    finally:
        server.kill()


async def test_a_full_store_alerts_as_full_though_it_takes_no_states(tmp_path: Path) -> None:
    server = Process(tmp_path).ready()
    try:
        with receiving() as web, server.client() as client:
            client.config_set("maxmemory-policy", "noeviction")
            async with watching(tmp_path, f"redis://127.0.0.1:{server.port}", f"{web.url}/"):
                client.config_set("maxmemory", int(client.info("memory")["used_memory"]) - 1000)
                await until(lambda: told(web))
                assert {one for one, _ in told(web)} == {"GossamerStoreFull"}
                client.config_set("maxmemory", 0)
                await until(lambda: ("GossamerStoreFull", "resolved") in told(web))
            # a watch that starts while the store is full elects no leader, but reports
            client.config_set("maxmemory", int(client.info("memory")["used_memory"]) - 1000)
            before = len(told(web))
            async with watching_full(tmp_path, f"redis://127.0.0.1:{server.port}", f"{web.url}/"):
                await until(lambda: len(told(web)) > before)
            assert told(web)[-1] == ("GossamerStoreFull", "firing")
    finally:
        server.kill()


@contextlib.asynccontextmanager
async def watching_full(tmp_path: Path, url: str, receiver: str) -> AsyncIterator[None]:
    """Runs a watch over a store that was opened before it became full."""
    store = connect(url, patience=0.0, embedded=False)
    task = asyncio.create_task(AlertWatch(watch_settings(tmp_path, receiver), store).run())
    yield
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    await store.close()


def test_patterns_of_mutes() -> None:
    assert is_muted(ALERT, {"GossamerWorkerGone": 1.0})
    assert is_muted(ALERT, {"Gossamer*": 1.0})
    assert is_muted(ALERT, {"GossamerWorkerGone{worker=w*}": 1.0})
    assert not is_muted(ALERT, {"GossamerStalled": 1.0})


def test_the_commands(tmp_path: Path, valkey_url: str) -> None:
    with receiving() as web:
        own = ("-s", f"alerts={web.url}/?secret=canary-secret", "--store", valkey_url)
        code, out, err = gossamer(tmp_path, "alerts", "test", *own, "--json")
        assert (code, json.loads(out)[0]["error"]) == (0, None), err
        assert "canary" not in out + err
    assert gossamer(tmp_path, "alerts", "test", *own)[0] == 9
    assert gossamer(tmp_path, "alerts", "test")[0] == 4
    assert gossamer(tmp_path, "alerts", "mute", "GossamerStalled", "--for", "5m", *own)[0] == 0
    assert "GossamerStalled" in json.loads(gossamer(tmp_path, "alerts", "list", *own, "--json")[1])["mutes"]
    assert gossamer(tmp_path, "alerts", "unmute", "GossamerStalled", *own)[0] == 0
    assert gossamer(tmp_path, "alerts", "unmute", "GossamerStalled", *own)[0] == 2
    code, out, err = gossamer(tmp_path, "alerts", "mute", "Nothing", *own)
    assert (code, "no rule is called Nothing" in err) == (2, True)


def test_growing_dead_letters_name_their_crawl_site_and_reasons() -> None:
    settings, history = AlertSettings(), SnapshotHistory(AlertSettings().longest)
    calm = crawl(name="shop", recent=RecentRates(last=9_999.0))
    dead = [DeadCount("a.example", "timeout", 20), DeadCount("b.example", "timeout", 6)]
    dead += [DeadCount("a.example", "http-5xx", 5), DeadCount("c.example", "dns", 2)]
    bad = msgspec.structs.replace(calm, counts={"open": 5, "letter": 33}, dead=dead)
    totals = GOOD.totals + Counter({"dead|timeout": 33})
    judged({}, history, msgspec.structs.replace(GOOD, now=10_000.0, crawls=[calm]), settings)
    found = msgspec.structs.replace(GOOD, now=10_015.0, crawls=[bad], totals=totals)
    alerts = judged({}, history, found, settings)
    alerts = judged(alerts, history, msgspec.structs.replace(found, now=10_090.0), settings)
    (alert,) = alerts.values()
    assert alert.key == "GossamerDeadLettersGrow{crawl=shop}"
    assert alert.text == (
        "33 requests of crawl shop were given up in a short time (timeout 26, http-5xx 5, dns 2; "
        "a.example 25, b.example 6, c.example 2)"
    )
    (sent,) = payload([alert])["alerts"]
    assert sent["labels"] == {"crawl": "shop", "site": "a.example", "reason": "timeout"}


def test_few_dead_letters_of_many_crawls_are_one_alert() -> None:
    settings, history = AlertSettings(), SnapshotHistory(AlertSettings().longest)
    calm = [crawl(name=f"c{n}", recent=RecentRates(last=9_999.0)) for n in range(5)]
    dead = [DeadCount("a.example", "timeout", 6)]
    bad = [msgspec.structs.replace(one, counts={"open": 5, "letter": 6}, dead=dead) for one in calm]
    totals = GOOD.totals + Counter({"dead|timeout": 30})
    judged({}, history, msgspec.structs.replace(GOOD, now=10_000.0, crawls=calm), settings)
    found = msgspec.structs.replace(GOOD, now=10_015.0, crawls=bad, totals=totals)
    alerts = judged({}, history, found, settings)
    (alert,) = judged(alerts, history, msgspec.structs.replace(found, now=10_090.0), settings).values()
    assert alert.key == "GossamerDeadLettersGrow{crawl=several}"
    assert "timeout 30; a.example 30; c0 6, c1 6, c2 6, 2 more" in alert.text
