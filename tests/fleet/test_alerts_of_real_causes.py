"""Alerts that fire by a real cause and resolve with it: through Prometheus and Alertmanager, and through
gossamer's own evaluation of the same rules. All times of the rules are at 1/60."""

from __future__ import annotations

import json
from contextlib import ExitStack
from pathlib import Path

import httpx
import redis

from cli.command_line import begin
from e2e.test_found_at_night import SITE, Shop
from gossamer.observability.alert_rules import RULES, Rule
from support.answers import answering
from support.fleet_workers import Fleet, Server, free_port, until
from support.prometheus import SCALE, needs_prometheus, prometheus_with_alerts
from support.web_receiver import Receiver, receiving

CAUSES = {
    "a site blocks": {"GossamerDomainBlocked"},
    "hosts are dead": {"GossamerHostsFail", "GossamerDeadLettersGrow", "GossamerErrorsHigh"},
    "a selector is broken": {"GossamerItemsRejected"},
    "a site function has a bug": {"GossamerPagesUnread"},
    "no worker has the lane": {"GossamerHostsWait", "GossamerStalled"},
    "the store is full": {"GossamerStoreMemoryHigh"},
    "a worker is killed": {"GossamerWorkerGone"},
}
IN_SECONDS = ("GossamerStalled", "GossamerHostsWait")
"""Rules whose limit is a time."""


def scaled(rule: Rule) -> str:
    lines = [
        f"[rules.{rule.name}]",
        f'for = "{rule.for_s * SCALE:.2f}"',
        f'window = "{rule.window_s * SCALE:.2f}"',
    ]
    if rule.name in IN_SECONDS:
        lines += [f"fire = {rule.fire * SCALE:.2f}", f"clear = {rule.clear * SCALE:.2f}"]
    return "\n".join(lines) + "\n"


def by_alertmanager(got: Receiver, status: str) -> set[str]:
    return {
        one["labels"]["alertname"]
        for call in got.calls
        for one in json.loads(call.body)["alerts"]
        if one["status"] == status
    }


def by_gossamer(got: Receiver, status: str) -> set[str]:
    return {
        one["alert"]
        for call in got.calls
        for one in json.loads(call.body)["alerts"]
        if one["status"] == status
    }


def told(theirs: Receiver, ours: Receiver, cause: str, status: str) -> None:
    """Waits until both evaluations have told of a cause's alerts."""

    def missing() -> list[tuple[str, set[str]]]:
        names = {"Alertmanager": by_alertmanager(theirs, status), "gossamer": by_gossamer(ours, status)}
        return [(who, CAUSES[cause] - some) for who, some in names.items() if CAUSES[cause] - some]

    try:
        until(cause, lambda: not missing())
    except AssertionError as error:
        raise AssertionError(f"{error}: not {status}: {missing()}") from None


def dead_urls(hosts: int) -> list[str]:
    """URLs of hosts at which nothing listens: twelve of each, because the tenth fault opens a breaker."""
    ports = [free_port() for _ in range(hosts)]
    return [f"http://127.0.0.1:{port}/{n}" for port in ports for n in range(12)]


@needs_prometheus
def test_alerts_fire_and_resolve_by_real_causes(fleet: Fleet, server: Server, tmp_path: Path) -> None:
    own = free_port()
    rules = 'interval = "500ms"\ngroup_wait = "100ms"\nmax_per_day = 10000\n' + "\n".join(map(scaled, RULES))
    (tmp_path / "alerts.toml").write_text(rules)
    with ExitStack() as last:
        theirs, ours = last.enter_context(receiving()), last.enter_context(receiving())
        shop, blocks = last.enter_context(answering(Shop)), last.enter_context(answering(Shop, "127.0.0.2"))
        pages = [f"http://127.0.0.1:{shop}/{n}" for n in range(60)]
        for name, body in (
            ("selector", 'yield Tea(name=page.url, price=page.css("h2::text").get())'),
            ("bug", "1 / 0"),
        ):
            text = SITE.format(url="SEEDS", body=body).replace("['SEEDS']", repr(pages))
            text = text.replace('"shop"', f'"{name}"')
            (tmp_path / f"{name}.py").write_text(text)
        settings = ("-s", f"alerts={ours.url}/", "-s", "alert_rules=alerts.toml")
        exporter = begin(tmp_path, "metrics", "--port", str(own), "--store", fleet.store, *settings)
        last.callback(exporter.communicate)
        last.callback(exporter.kill)
        prometheus = last.enter_context(prometheus_with_alerts(tmp_path, own, theirs.url))

        def up() -> bool:
            try:
                answer = httpx.get(f"{prometheus}/api/v1/query", params={"query": "gossamer_up == 1"})
            except httpx.HTTPError:
                return False
            return answer.status_code == 200 and bool(answer.json()["data"]["result"])

        worker = fleet.worker("w", "-s", "metric_domains=127.0.0.2")
        fleet.ready(1)
        until("Prometheus scrapes", up)
        loopback = ("--allow-private", "127.0.0.0/8", "--quiet")
        fleet.submit(*(f"http://127.0.0.2:{blocks}/blocked/{n}" for n in range(60)), delay="0.1", name="b")
        fleet.run("submit", *dead_urls(6), "--ignore-robots", "--delay", "0", "--name", "d", *loopback)
        for name in ("selector", "bug"):
            fleet.submit(f"{name}.py", delay="0.1", name=name)
        fleet.submit(f"http://127.0.0.1:{shop}/", lane="elsewhere", name="nobody")
        with redis.Redis(port=server.port) as store:
            store.config_set("maxmemory", round(store.info("memory")["used_memory"] * 1.08))
            told(theirs, ours, "the store is full", "firing")
            store.config_set("maxmemory", 0)
        for cause in list(CAUSES)[:5]:
            told(theirs, ours, cause, "firing")
        worker.kill()
        told(theirs, ours, "a worker is killed", "firing")
        fleet.worker("w")
        fleet.run("cancel", "nobody")
        for cause in CAUSES:
            told(theirs, ours, cause, "resolved")
