"""Alerts that a real cause fires and that resolve when the cause ends, both through Prometheus with
Alertmanager and through gossamer's own evaluation of the same rules. All durations of the rules are scaled to
1/60."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any, NamedTuple

import httpx
import redis

from cli.command_line import begin
from e2e.test_found_at_night import SITE, Shop
from gossamer.observability.alert_rules import RULES, Rule
from support.answers import answering
from support.fleet_workers import WAIT, Fleet, Server, until
from support.processes import free_port
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
    "a field is lost": {"GossamerCoverageDrops"},
    "the credits of the day are spent": {"GossamerBudgetSpent"},
    "an output answers 503": {"GossamerOutputAway"},
    "proxies are dead": {"GossamerProxiesLow"},
    "a scheduled crawl fails": {"GossamerScheduleMissed"},
    "the store evicts keys": {"GossamerStoreEvicts"},
}
FIRST, SECOND = list(CAUSES)[:7], list(CAUSES)[7:]
IN_SECONDS = ("GossamerStalled", "GossamerHostsWait")
"""Rules whose limit is a duration."""


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


def dead_urls(hosts: int) -> list[str]:
    """Returns URLs of hosts on which nothing listens. Each host has twelve URLs, because the tenth fault
    opens a breaker."""
    ports = [free_port() for _ in range(hosts)]
    return [f"http://127.0.0.1:{port}/{n}" for port in ports for n in range(12)]


class Watched(NamedTuple):
    """A fleet that both evaluations of the rules watch."""

    fleet: Fleet
    room: Path
    theirs: Receiver
    ours: Receiver
    last: ExitStack
    port: int
    exporters: list[subprocess.Popen[str]]

    def export(self, *settings: str) -> None:
        """Starts the exporter and stops the previous one."""
        while self.exporters:
            old = self.exporters.pop()
            old.kill()
            old.communicate()
        own = ("-s", f"alerts={self.ours.url}/", "-s", "alert_rules=alerts.toml", *settings)
        words = ("metrics", "--port", str(self.port), "--store", self.fleet.store, *own)
        self.exporters.append(begin(self.room, *words))

    def told(
        self, cause: str, status: str, seconds: float = WAIT, meanwhile: Callable[[], object] = lambda: None
    ) -> None:
        """Waits until both evaluations have reported the alerts of a cause. Calls `meanwhile` before each
        check."""

        def missing() -> list[tuple[str, set[str]]]:
            meanwhile()
            names = {
                "Alertmanager": by_alertmanager(self.theirs, status),
                "gossamer": by_gossamer(self.ours, status),
            }
            return [(who, CAUSES[cause] - some) for who, some in names.items() if CAUSES[cause] - some]

        try:
            until(cause, lambda: not missing(), seconds)
        except AssertionError as error:
            raise AssertionError(f"{error}: not {status}: {missing()}") from None


@contextmanager
def watching(fleet: Fleet, room: Path, *settings: str) -> Iterator[Watched]:
    """Watches a fleet through Prometheus with Alertmanager, and through gossamer's own evaluation."""
    rules = 'interval = "500ms"\ngroup_wait = "100ms"\nmax_per_day = 10000\n' + "\n".join(map(scaled, RULES))
    (room / "alerts.toml").write_text(rules)
    with ExitStack() as last:
        theirs, ours = last.enter_context(receiving()), last.enter_context(receiving())
        one = Watched(fleet, room, theirs, ours, last, free_port(), [])
        last.callback(lambda: [(old.kill(), old.communicate()) for old in one.exporters])
        one.export(*settings)
        prometheus = last.enter_context(prometheus_with_alerts(room, one.port, theirs.url))

        def up() -> bool:
            try:
                answer = httpx.get(f"{prometheus}/api/v1/query", params={"query": "gossamer_up == 1"})
            except httpx.HTTPError:
                return False
            return answer.status_code == 200 and bool(answer.json()["data"]["result"])

        until("Prometheus scrapes", up)
        yield one


def site_file(room: Path, name: str, pages: list[str], body: str) -> str:
    """Writes a site file whose page function has the given body."""
    text = (
        SITE.format(url="SEEDS", body=body).replace("['SEEDS']", repr(pages)).replace('"shop"', f'"{name}"')
    )
    (room / f"{name}.py").write_text(text)
    return f"{name}.py"


def nearly_fill(store: redis.Redis) -> None:
    """Sets the memory limit of the store so that about 92 % of the limit is used."""
    store.config_set("maxmemory", round(store.info("memory")["used_memory"] * 1.08))


LOOPBACK = ("--allow-private", "127.0.0.0/8", "--quiet")


@needs_prometheus
def test_alerts_fire_and_resolve_by_real_causes(fleet: Fleet, server: Server, tmp_path: Path) -> None:
    with watching(fleet, tmp_path) as seen:
        shop = seen.last.enter_context(answering(Shop))
        blocks = seen.last.enter_context(answering(Shop, "127.0.0.2"))
        pages = [f"http://127.0.0.1:{shop}/{n}" for n in range(60)]
        site_file(tmp_path, "selector", pages, 'yield Tea(name=page.url, price=page.css("h2::text").get())')
        site_file(tmp_path, "bug", pages, "1 / 0")
        worker = fleet.worker("w", "-s", "metric_domains=127.0.0.2")
        fleet.ready(1)
        fleet.submit(*(f"http://127.0.0.2:{blocks}/blocked/{n}" for n in range(60)), delay="0.1", name="b")
        fleet.run("submit", *dead_urls(6), "--ignore-robots", "--delay", "0", "--name", "d", *LOOPBACK)
        for name in ("selector", "bug"):
            fleet.submit(f"{name}.py", delay="0.1", name=name)
        fleet.submit(f"http://127.0.0.1:{shop}/", lane="elsewhere", name="nobody")
        with redis.Redis(port=server.port) as store:
            seen.told("the store is full", "firing", meanwhile=lambda: nearly_fill(store))
            store.config_set("maxmemory", 0)
        for cause in FIRST[:5]:
            seen.told(cause, "firing")
        worker.kill()
        seen.told("a worker is killed", "firing")
        fleet.worker("w")
        fleet.run("cancel", "nobody")
        for cause in FIRST:
            seen.told(cause, "resolved")


class Api(BaseHTTPRequestHandler):
    """An unlocker that charges five credits per page."""

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("X-Cost", "5")
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", "14")
        self.end_headers()
        self.wfile.write(b"<h1>A page</h1"[:14])

    def log_message(self, *_: Any) -> None:
        """Log nothing."""


def submit_to_an_output_that_fails(fleet: Fleet, pages: list[str], output: str) -> None:
    """Submits a crawl that writes its rows to a webhook."""
    (fleet.folder / "secret").write_text("whsec_c2VjcmV0c2VjcmV0")
    hook = (
        output.replace("http://", "http+webhook://")
        + f"/rows?secret=${{file:{fleet.folder}/secret}}&journal={fleet.folder}/journal"
    )
    fleet.run("submit", *pages[:4], "-o", hook, "--name", "out", *LOOPBACK)


def submit_through_dead_proxies(fleet: Fleet, pages: list[str], good: str) -> list[tuple[str, int]]:
    """Submits a crawl with one good proxy and four dead proxies. Returns the addresses of the dead
    proxies."""
    dead = [(f"127.0.9.{n}", free_port()) for n in range(1, 5)]
    addresses = [*(f"{host}:{port}" for host, port in dead), good]
    (fleet.folder / "proxies.txt").write_text("".join(f"{one} provider=p\n" for one in addresses))
    through = ("--proxies", str(fleet.folder / "proxies.txt"), "--retries", "1h")
    fleet.run("submit", *pages, *through, "--delay", "0.2", "--name", "proxied", *LOOPBACK)
    return dead


def run_a_schedule_that_fails(fleet: Fleet) -> None:
    """Adds a schedule whose gate is not met, and runs it at once."""
    fleet.run(
        "schedule",
        "add",
        "s",
        "0 0 1 1 *",
        *dead_urls(1),
        "--ignore-robots",
        "--retries",
        "none",
        "--fail-on",
        "success<0.9",
        *LOOPBACK,
    )
    fleet.run("schedule", "run", "s")


def evict_keys(port: int) -> None:
    """Makes the store evict keys that no crawl needs."""
    with redis.Redis(port=port) as store:
        store.config_set("maxmemory-policy", "volatile-ttl")
        for n in range(200):
            store.set(f"gossamer:name:dummy{n}", b"x" * 10_000, ex=600)
        store.config_set("maxmemory", store.info("memory")["used_memory"] - 500_000)
        until("the store evicts", lambda: store.ping() and store.info("stats")["evicted_keys"])
        store.config_set("maxmemory", 0)


@needs_prometheus
def test_alerts_about_what_a_crawl_uses_fire_and_resolve_by_real_causes(
    fleet: Fleet, server: Server, tmp_path: Path
) -> None:
    with watching(fleet, tmp_path, "-s", "credits_daily=50") as seen:
        ports = {n: seen.last.enter_context(answering(Shop, f"127.0.0.{n}")) for n in (1, 2, 3, 4)}
        api = seen.last.enter_context(answering(Api))
        output = seen.last.enter_context(receiving([503]))
        pages, paid, proxied, kept = (
            [f"http://127.0.0.{n}:{port}/{page}" for page in range(200)] for n, port in ports.items()
        )
        (tmp_path / "gossamer.toml").write_text(
            f'unlocker = "http://127.0.0.1:{api}/?u={{url}}"\ncredits_daily = 50\n'
            'unlocker_shape = ["credits=header x-cost", "cost=5"]\nallow_private = ["127.0.0.0/8"]\n'
        )
        fleet.worker("w")
        scheduler = begin(tmp_path, "scheduler", "--store", fleet.store, "-s", f"broker={fleet.brokers[0]}")
        seen.last.callback(lambda: (scheduler.kill(), scheduler.communicate()))
        fleet.ready(1)

        few = pages[:40]
        site_file(tmp_path, "shop", few, "yield Tea(name=page.url, price=1.0)")
        fleet.ended(fleet.submit("shop.py", delay="0.02", name="good"))
        text = site_file(tmp_path, "shop", pages, "yield Tea(name=page.url, price=None)")
        (tmp_path / text).write_text(
            (tmp_path / text).read_text().replace("price: float", "price: float | None = None")
        )
        fleet.submit("shop.py", delay="0.1", name="poor")

        fleet.run("submit", *paid[:20], "--ladder", "unlocker", "--name", "paid", *LOOPBACK)

        submit_to_an_output_that_fails(fleet, kept, output.url)
        dead = submit_through_dead_proxies(fleet, proxied, f"127.0.0.3:{ports[3]}")
        run_a_schedule_that_fails(fleet)
        evict_keys(server.port)

        for cause in SECOND:
            seen.told(cause, "firing")
        output.statuses[:] = [200]
        for host, port in dead:
            seen.last.enter_context(answering(Shop, host, port))
        fleet.run("cancel", "poor")
        seen.export("-s", "credits_daily=5000")
        for cause in SECOND:
            seen.told(cause, "resolved", 120)
