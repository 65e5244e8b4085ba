"""Metrics, rules and dashboards with the real tools: Prometheus 3, promtool, Alertmanager, amtool and the
types of Grafana. No Grafana server is available here, so the tests check the types of each dashboard and the
result of each of its queries."""

from __future__ import annotations

import json
import re
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx
import pytest

from cli.command_line import begin
from gossamer.observability.alert_rules import RULES, read_alert_settings
from gossamer.observability.prometheus_files import prometheus_files, rules_yaml
from house.tree import ROOT
from support.fleet_workers import Server
from support.processes import free_port
from support.prometheus import BIN, SERVERS, needs_prometheus, prometheus_with_alerts, running
from support.web_receiver import receiving
from web import preset, serve

TYPES = SERVERS / "grafana-types-13" / "node_modules"
needs_types = pytest.mark.skipif(
    not (SERVERS / "grafana-types-13" / "ready").exists(), reason="./test gets Grafana's types"
)


def tool(name: str, *words: str, text: str = "", code: int = 0) -> str:
    """Runs a tool and returns its output."""
    done = subprocess.run([BIN / name, *words], input=text, capture_output=True, text=True, timeout=60)
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout + done.stderr


def until(what: str, look: Callable[[], Any], seconds: float = 60) -> Any:
    end = time.monotonic() + seconds
    while True:
        try:
            if found := look():
                return found
        except (httpx.HTTPError, ValueError):  # the server is not ready yet
            pass
        assert time.monotonic() < end, f"{what}: not within {seconds} s"
        time.sleep(0.1)


def end(process: subprocess.Popen[str]) -> None:
    """Sends SIGKILL and closes the pipes of the process."""
    process.kill()
    process.communicate()


def test_the_shipped_files_are_those_of_the_rules() -> None:
    for name, text in prometheus_files(read_alert_settings(None)).items():
        assert (ROOT / "deploy" / name).read_text() == text, "run: gossamer alerts files deploy/"


def test_each_rule_has_a_runbook() -> None:
    page = (ROOT / "docs" / "operations.md").read_text()
    assert [rule.name for rule in RULES if f"### {rule.name}\n" not in page] == []


@needs_prometheus
def test_promtool_takes_the_rules_and_amtool_the_routes() -> None:
    deploy = ROOT / "deploy" / "prometheus"
    assert f"{len(RULES)} rules found" in tool(
        "promtool", "check", "rules", str(deploy / "gossamer.rules.yml")
    )
    tool("promtool", "check", "config", "--syntax-only", str(deploy / "prometheus.yml"))
    config = ("--config.file", str(deploy / "alertmanager.yml"))
    assert tool("amtool", "config", "routes", "test", *config, "severity=page").split()[0] == "on-call"
    assert tool("amtool", "config", "routes", "test", *config, "severity=warn").split()[0] == "day"


SERIES = {
    "GossamerStalled": [
        ('gossamer_crawl_last_page_age_seconds{crawl="c"}', "700x40"),
        ('gossamer_crawl_pending{crawl="c"}', "5x40"),
        ('gossamer_crawl_state{crawl="c",state="running"}', "1x40"),
    ],
    "GossamerErrorsHigh": [
        ('gossamer_requests_total{collector="http",outcome="ok"}', "0+60x40"),
        ('gossamer_requests_total{collector="http",outcome="timeout"}', "0+30x40"),
    ],
    "GossamerDomainBlocked": [
        ('gossamer_domain_requests_total{domain="a.example",result="ok"}', "0+60x40"),
        ('gossamer_domain_requests_total{domain="a.example",result="blocked"}', "0+60x40"),
    ],
    "GossamerDeadLettersGrow": [
        ('gossamer_crawl_given_up{crawl="c"}', "0+5x40"),
        ('gossamer_crawl_pages{crawl="c"}', "0+60x40"),
    ],
    "GossamerHostsFail": [('gossamer_breaker_openings_total{state="open"}', "0+1x40")],
    "GossamerCoverageDrops": [('gossamer_site_drift_ratio{crawl="c",site="s",what="book.price"}', "0.5x40")],
    "GossamerItemsRejected": [
        ('gossamer_items_total{kind="book",valid="true"}', "0+60x40"),
        ('gossamer_items_total{kind="book",valid="false"}', "0+60x40"),
    ],
    "GossamerPagesUnread": [
        ('gossamer_page_errors_total{reason="parse"}', "0+30x40"),
        ('gossamer_pages_total{lane="http",region=""}', "0+60x40"),
    ],
    "GossamerBudgetSpent": [
        ('gossamer_unlocker_credits_today{unlocker="zyte"}', "95x40"),
        ("gossamer_unlocker_credits_daily_max", "100x40"),
    ],
    "GossamerStoreMemoryHigh": [
        ('gossamer_store_memory_bytes{server="0"}', "95x40"),
        ('gossamer_store_memory_max_bytes{server="0"}', "100x40"),
    ],
    "GossamerStoreFull": [('gossamer_store_full{server="0"}', "1x40")],
    "GossamerBrokerDown": [("gossamer_broker_up", "0x40")],
    "GossamerStoreBehind": [('gossamer_store_replica_behind_seconds{server="0"}', "90x40")],
    "GossamerStoreWentBack": [("gossamer_store_went_back_total", "0+1x40")],
    "GossamerStoreEvicts": [('gossamer_store_evicted_keys_total{server="0"}', "0+1x40")],
    "GossamerWorkerGone": [('gossamer_worker_up{worker="w",region=""}', "0x40")],
    "GossamerClockWrong": [('gossamer_worker_clock_offset_seconds{worker="w"}', "7200x40")],
    "GossamerWorkerMemoryHigh": [
        ('gossamer_worker_memory_bytes{worker="w"}', "95x40"),
        ('gossamer_worker_memory_limit_bytes{worker="w"}', "100x40"),
    ],
    "GossamerHostsWait": [('gossamer_lane_oldest_ready_seconds{lane="http",region=""}', "400x40")],
    "GossamerScheduleMissed": [('gossamer_schedule_runs_total{schedule="s",result="missed"}', "0+1x40")],
    "GossamerOutputAway": [('gossamer_crawl_waits_for_output{crawl="c"}', "1x40")],
    "GossamerProxiesLow": [
        ('gossamer_proxies{provider="p",state="up"}', "1x40"),
        ('gossamer_proxies{provider="p",state="quarantined"}', "9x40"),
    ],
    "GossamerStoreDown": [("gossamer_up", "0x40")],
    "GossamerStoreRefuses": [("gossamer_store_refuses", "1x40"), ("gossamer_up", "0x40")],
}


_UP = ("gossamer_up", "gossamer_worker_up", "gossamer_broker_up")


def still(values: str) -> str:
    """Returns the start of a healthy series: constant for a counter, 0 for a gauge."""
    return "0+0" if "+" in values else "0"


@needs_prometheus
def test_promtool_sees_each_rule_fire_and_not_fire(tmp_path: Path) -> None:
    assert SERIES.keys() == {rule.name for rule in RULES}
    (tmp_path / "rules.yml").write_text(rules_yaml(read_alert_settings(None)))
    tests = []
    for name, series in SERIES.items():
        bad = [{"series": one, "values": values} for one, values in series]
        tests.append(
            {
                "interval": "1m",
                "input_series": bad,
                "promql_expr_test": [
                    {
                        "expr": f'count(ALERTS{{alertname="{name}",alertstate="firing"}}) > bool 0',
                        "eval_time": "35m",
                        "exp_samples": [{"labels": "{}", "value": 1}],
                    }
                ],
            }
        )
        good = [
            {
                "series": one,
                "values": "1x40" if one.startswith(_UP) else re.sub(r"^.*?(?=x)", still(values), values),
            }
            for one, values in series
        ]
        tests.append(
            {
                "interval": "1m",
                "input_series": good,
                "promql_expr_test": [
                    {"expr": f'ALERTS{{alertname="{name}"}}', "eval_time": "35m", "exp_samples": []}
                ],
            }
        )
    (tmp_path / "tests.yml").write_text(json.dumps({"rule_files": ["rules.yml"], "tests": tests}))
    assert "SUCCESS" in tool("promtool", "test", "rules", str(tmp_path / "tests.yml"))


@needs_types
@pytest.mark.parametrize("name", ["fleet", "crawls"])
def test_dashboards_have_grafanas_types(tmp_path: Path, name: str) -> None:
    text = (ROOT / "deploy" / "grafana" / f"gossamer-{name}.json").read_text()

    def checked(dashboard: str) -> subprocess.CompletedProcess[str]:
        (tmp_path / "d.ts").write_text(
            f'import type {{ Dashboard }} from "@grafana/schema";\nexport const d: Partial<Dashboard> = {dashboard};\n'
        )
        link = tmp_path / "node_modules"
        if not link.exists():
            link.symlink_to(TYPES)
        words = [
            "--noEmit",
            "--strict",
            "--skipLibCheck",
            "--moduleResolution",
            "bundler",
            "--module",
            "esnext",
        ]
        return subprocess.run(
            ["node", TYPES / "typescript" / "bin" / "tsc", *words, "d.ts"],
            cwd=tmp_path,
            capture_output=True,
            text=True,
        )

    good = checked(text)
    assert good.returncode == 0, good.stdout
    assert checked(text.replace('"schemaVersion": 41', '"schemaVersion": "41"')).returncode != 0


def queries() -> Iterator[tuple[str, str]]:
    """Yields (title, PromQL) of all panels."""
    for path in sorted((ROOT / "deploy" / "grafana").glob("*.json")):
        for panel in json.loads(path.read_text())["panels"]:
            for target in panel.get("targets", ()):
                yield panel["title"], target["expr"].replace("$crawl", ".*")


SITE = """
from gossamer import Item, Site
site = Site("shop", seeds={seeds!r})
class Book(Item, key="name"):
    name: str
    price: int | None = None
@site.page()
def page(page):
    yield Book(name=page.url, price=1)
    yield {{"no": "key"}}
    yield from page.follow("a")
"""
# Panels without data in a small crawl, because they need proxies, unlockers, schedules or a fleet.
ELSEWHERE = {
    "Credits",
    "Proxies",
    "Escalations",
    "Workers",
    "Memory of workers",
    "Since the last good run",
    "Below the last good runs",
    "Breakers that opened",
    "Dead letters by reason",
    "Retries by reason",
}


@needs_prometheus
def test_a_real_prometheus_scrapes_a_real_crawl_and_each_panel_has_data(tmp_path: Path) -> None:
    port, own = free_port(), free_port()
    (tmp_path / "prometheus.yml").write_text(
        f"global: {{scrape_interval: 1s}}\nscrape_configs: [{{job_name: gossamer, static_configs: [{{targets: ['127.0.0.1:{own}']}}]}}]\n"
    )
    with ExitStack() as last:
        web = last.enter_context(serve(preset("tiny", hosts=2, pages=30, latency=0.01)))
        (tmp_path / "shop.py").write_text(SITE.format(seeds=web.plan.seeds()))
        crawl = begin(
            tmp_path,
            "crawl",
            "shop.py",
            "-o",
            "out.jsonl",
            "--allow-private",
            "127.0.0.0/8",
            "--delay",
            "0.4",
            "--quiet",
        )
        last.callback(end, crawl)
        until("the crawl has a store", (tmp_path / "out.jsonl").exists)
        exporter = begin(tmp_path, "metrics", "--port", str(own))
        last.callback(end, exporter)
        last.enter_context(
            running(
                BIN / "prometheus",
                f"--config.file={tmp_path}/prometheus.yml",
                f"--storage.tsdb.path={tmp_path}/tsdb",
                f"--web.listen-address=127.0.0.1:{port}",
                log=tmp_path / "log",
            )
        )

        def ask(query: str) -> list[Any]:
            told = httpx.get(f"http://127.0.0.1:{port}/api/v1/query", params={"query": query}).json()
            assert told["status"] == "success", (query, told)
            found: list[Any] = told["data"]["result"]
            return found

        until("ten pages are seen", lambda: ask("sum(gossamer_pages_total) > 10"))
        until("rates are known", lambda: ask("sum(rate(gossamer_pages_total[5m])) > 0"))
        page = httpx.get(f"http://127.0.0.1:{own}/metrics").text
        assert tool("promtool", "check", "metrics", text=page).strip() == ""
        empty = {title for title, _ in queries()} - ELSEWHERE

        def each_had_data() -> bool:  # not all at once: a host is ready only now and then
            empty.difference_update([title for title, query in queries() if title in empty and ask(query)])
            return not empty

        until(f"each panel has data: {empty}", each_had_data)
        assert ask('ALERTS{alertstate="firing"}') == []


@needs_prometheus
def test_a_store_that_goes_away_fires_through_alertmanager_and_is_resolved(tmp_path: Path) -> None:
    """All durations of the rules are scaled to 1/60."""
    own = free_port()
    with ExitStack() as last:
        got = last.enter_context(receiving())
        server = last.enter_context(Server(tmp_path / "server"))
        exporter = begin(tmp_path, "metrics", "--port", str(own), "--store", server.url(0))
        last.callback(end, exporter)
        prometheus = last.enter_context(prometheus_with_alerts(tmp_path, own, got.url))

        def told(status: str) -> bool:
            return any(
                one["status"] == status and one["labels"]["alertname"] == "GossamerStoreDown"
                for call in got.calls
                for one in json.loads(call.body)["alerts"]
            )

        def up(value: int) -> bool:
            query = {"query": f"gossamer_up == {value}"}
            answer = httpx.get(f"{prometheus}/api/v1/query", params=query).json()
            return bool(answer["data"]["result"])

        until("the store is up", lambda: up(1))
        server.kill()
        until("the alert fires", lambda: told("firing"))
        server.start()
        until("the alert is resolved", lambda: told("resolved"))
