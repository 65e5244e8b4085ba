"""Generates files for Prometheus, Alertmanager and Grafana: alert rules, example settings and dashboards. The
files are made from the rules and metrics that gossamer itself uses."""

from __future__ import annotations

import json
import re
from typing import Any

from gossamer.observability.alert_delivery import RUNBOOKS
from gossamer.observability.alert_rules import SHARES, AlertSettings, Rule

SCHEMA_VERSION = 41
"""The version of Grafana's dashboard schema."""
_PER_COLLECTOR = "sum by (collector) (rate(gossamer_request_duration_seconds_{}[5m]))"
_LABEL = re.compile(r"\{(\w+)\}")


def prometheus_files(settings: AlertSettings) -> dict[str, str]:
    """Returns the contents of the files by name."""
    return {
        "prometheus/gossamer.rules.yml": rules_yaml(settings),
        "prometheus/prometheus.yml": _PROMETHEUS,
        "prometheus/alertmanager.yml": _ALERTMANAGER,
        "grafana/gossamer-fleet.json": _json(fleet_dashboard()),
        "grafana/gossamer-crawls.json": _json(crawls_dashboard()),
    }


def rules_yaml(settings: AlertSettings, scale: float = 1.0) -> str:
    """Returns the alert rules in Prometheus' format. `scale`: a factor for all times of the rules, used by
    tests."""
    found = ["groups:", "  - name: gossamer", "    rules:"]
    for rule in settings.rules:
        if rule.enabled:
            found += _rule(rule, scale)
    return "\n".join(["# Made by `gossamer alerts files`.", *found, ""])


def _rule(rule: Rule, scale: float) -> list[str]:
    expr = rule.expr.replace("{fire}", f"{rule.fire:g}").replace("{window}", _time(rule.window_s * scale))
    if rule.name in ("GossamerStalled", "GossamerHostsWait"):
        expr = expr.replace(f"> {rule.fire:g}", f"> {rule.fire * scale:g}")
    percent = rule.name.removeprefix("Gossamer") in SHARES
    text = _LABEL.sub(
        lambda found: f"{{{{ $labels.{found[1]} }}}}",
        rule.text.replace("{value}", "\0").replace("{details}", ""),
    )
    text = text.replace(
        "\0", "{{ $value | humanizePercentage }}" if percent else '{{ $value | printf "%.0f" }}'
    )
    return [
        f"      - alert: {rule.name}",
        f"        expr: {json.dumps(expr)}",
        f"        for: {_time(rule.for_s * scale)}",
        "        labels:",
        f"          severity: {rule.severity}",
        "        annotations:",
        f"          summary: {json.dumps(text)}",
        f"          runbook_url: {RUNBOOKS}{rule.name.lower()}",
    ]


def _time(seconds: float) -> str:
    return f"{round(seconds)}s" if seconds == round(seconds) else f"{round(seconds * 1000)}ms"


_PROMETHEUS = """# An example. The exporter is `gossamer metrics`; neighbours: redis_exporter for the store, node_exporter for machines.
global:
  scrape_interval: 15s
  evaluation_interval: 15s
rule_files: [gossamer.rules.yml]
alerting:
  alertmanagers:
    - static_configs: [{targets: ["127.0.0.1:9093"]}]
scrape_configs:
  - job_name: gossamer
    static_configs: [{targets: ["127.0.0.1:9464"]}]
"""
_ALERTMANAGER = """# An example: name your receivers.
route:
  receiver: day
  group_by: [alertname]
  group_wait: 1m
  group_interval: 5m
  repeat_interval: 4h
  routes:
    - matchers: ['severity="page"']
      receiver: on-call
      repeat_interval: 1h
inhibit_rules:
  - source_matchers: ['alertname="GossamerStoreDown"']
    target_matchers: ['alertname=~"Gossamer.*"', 'alertname!="GossamerStoreDown"']
receivers:
  - name: day
    webhook_configs: [{url: "http://127.0.0.1:8080/day"}]
  - name: on-call
    webhook_configs: [{url: "http://127.0.0.1:8080/page"}]
"""


def _json(dashboard: dict[str, Any]) -> str:
    return json.dumps(dashboard, indent=2) + "\n"


class _Grid:
    """Places the panels of a dashboard in a grid of 24 columns."""

    def __init__(self) -> None:
        self.panels: list[dict[str, Any]] = []
        self._x = self._y = 0

    def row(self, title: str) -> None:
        """Begins a row of panels."""
        self._y += 8 if self._x else 0
        self._x = 0
        self.panels.append(
            {
                "id": len(self.panels) + 1,
                "type": "row",
                "title": title,
                "collapsed": False,
                "panels": [],
                "gridPos": {"h": 1, "w": 24, "x": 0, "y": self._y},
            }
        )
        self._y += 1

    def panel(
        self,
        title: str,
        *queries: tuple[str, str],
        kind: str = "timeseries",
        unit: str = "short",
        width: int = 8,
        stack: bool = False,
    ) -> None:
        """Adds a panel. `queries`: pairs of a PromQL expression and its legend."""
        if self._x + width > 24:
            self._x, self._y = 0, self._y + 8
        defaults: dict[str, Any] = {"unit": unit}
        if kind == "timeseries" and stack:
            defaults["custom"] = {"stacking": {"mode": "normal"}, "fillOpacity": 30}
        panel: dict[str, Any] = {
            "id": len(self.panels) + 1,
            "type": kind,
            "title": title,
            "datasource": {"type": "prometheus", "uid": "${datasource}"},
            "gridPos": {"h": 8, "w": width, "x": self._x, "y": self._y},
            "fieldConfig": {"defaults": defaults, "overrides": []},
            "options": {},
            "targets": [
                {
                    "refId": chr(65 + n),
                    "datasource": {"type": "prometheus", "uid": "${datasource}"},
                    "expr": expr,
                    "legendFormat": legend,
                    **({"instant": True, "format": "table"} if kind == "table" else {}),
                }
                for n, (expr, legend) in enumerate(queries)
            ],
        }
        self._x += width
        self.panels.append(panel)


def _dashboard(uid: str, title: str, grid: _Grid, crawl: bool = False) -> dict[str, Any]:
    variables: list[dict[str, Any]] = [
        {"name": "datasource", "type": "datasource", "query": "prometheus", "label": "Prometheus"}
    ]
    if crawl:
        variables.append(
            {
                "name": "crawl",
                "type": "query",
                "label": "Crawl",
                "datasource": {"type": "prometheus", "uid": "${datasource}"},
                "query": {"query": "label_values(gossamer_crawl_state, crawl)", "refId": "crawl"},
                "multi": True,
                "includeAll": True,
                "allValue": ".*",
                "refresh": 2,
            }
        )
    return {
        "uid": uid,
        "title": title,
        "tags": ["gossamer"],
        "schemaVersion": SCHEMA_VERSION,
        "editable": True,
        "refresh": "30s",
        "time": {"from": "now-3h", "to": "now"},
        "timezone": "browser",
        "templating": {"list": variables},
        "annotations": {"list": []},
        "panels": grid.panels,
    }


def fleet_dashboard() -> dict[str, Any]:
    """Returns the dashboard of a fleet, which shows its health, its speed, its failures and its cost."""
    g = _Grid()
    g.row("Is it well?")
    ok = 'sum(rate(gossamer_requests_total{outcome=~"ok|http-4xx"}[10m])) / sum(rate(gossamer_requests_total[10m]))'
    g.panel("Requests that succeed", (ok, "share"), kind="stat", unit="percentunit", width=6)
    g.panel(
        "Pages per second",
        ("sum(rate(gossamer_pages_total[5m]))", "pages"),
        kind="stat",
        unit="short",
        width=6,
    )
    g.panel(
        "Age of the last page",
        ("max(gossamer_crawl_last_page_age_seconds)", "oldest"),
        kind="stat",
        unit="s",
        width=6,
    )
    g.panel("Dead letters", ("sum(gossamer_crawl_dead_letters)", "dead letters"), kind="stat", width=6)
    g.row("Throughput")
    g.panel(
        "Pages per second by lane and region",
        ("sum by (lane, region) (rate(gossamer_pages_total[5m]))", "{{lane}} {{region}}"),
        stack=True,
    )
    g.panel(
        "Requests by outcome",
        ("sum by (outcome) (rate(gossamer_requests_total[5m]))", "{{outcome}}"),
        unit="reqps",
        stack=True,
    )
    g.panel(
        "Bytes received",
        ("sum by (collector) (rate(gossamer_wire_bytes_total[5m]))", "{{collector}}"),
        unit="Bps",
        stack=True,
    )
    g.row("Response times")
    for share, name in ((0.5, "median"), (0.95, "95 %")):
        g.panel(
            f"Response time, {name}",
            (
                f"histogram_quantile({share}, sum by (collector, le) (rate(gossamer_request_duration_seconds_bucket[5m])))",
                "{{collector}}",
            ),
            unit="s",
        )
    g.panel(
        "Response time, mean",
        (
            f"{_PER_COLLECTOR.format('sum')} / {_PER_COLLECTOR.format('count')}",
            "{{collector}}",
        ),
        unit="s",
    )
    g.row("Queue")
    g.panel("Pending pages", ("sum by (crawl) (gossamer_crawl_pending)", "{{crawl}}"), stack=True)
    g.panel("Hosts by lane", ("sum by (lane, state) (gossamer_lane_hosts)", "{{lane}} {{state}}"))
    g.panel(
        "Oldest ready host",
        ("max by (lane, region) (gossamer_lane_oldest_ready_seconds)", "{{lane}} {{region}}"),
        unit="s",
    )
    g.row("What fails")
    g.panel(
        "Requests by domain",
        (
            "topk(20, sum by (domain, result) (rate(gossamer_domain_requests_total[10m])))",
            "{{domain}} {{result}}",
        ),
        kind="table",
        width=12,
    )
    g.panel(
        "Retries by reason", ("sum by (reason) (rate(gossamer_retries_total[5m]))", "{{reason}}"), width=6
    )
    g.panel(
        "Dead letters by reason",
        ("sum by (reason) (increase(gossamer_dead_letters_total[15m]))", "{{reason}}"),
        width=6,
    )
    g.panel(
        "Breakers that opened",
        ("sum by (state) (increase(gossamer_breaker_openings_total[15m]))", "{{state}}"),
    )
    g.panel("Skipped URLs", ("sum by (reason) (rate(gossamer_skipped_total[5m]))", "{{reason}}"), stack=True)
    g.panel("Expired leases", ("increase(gossamer_leases_expired_total[15m])", "leases"))
    g.row("Items")
    g.panel(
        "Items by kind",
        ("sum by (kind, valid) (rate(gossamer_items_total[5m]))", "{{kind}} valid={{valid}}"),
        stack=True,
    )
    g.panel(
        "Coverage of fields",
        ("min by (site, kind, field) (gossamer_item_field_coverage_ratio)", "{{site}} {{kind}}.{{field}}"),
        unit="percentunit",
    )
    g.panel(
        "Below the last good runs",
        ("max by (site, what) (gossamer_site_drift_ratio)", "{{site}} {{what}}"),
        unit="percentunit",
    )
    g.row("Cost and proxies")
    g.panel(
        "Credits",
        ("sum by (collector) (rate(gossamer_unlocker_credits_total[1h])) * 3600", "{{collector}} per hour"),
    )
    g.panel("Proxies", ("sum by (provider, state) (gossamer_proxies)", "{{provider}} {{state}}"), stack=True)
    g.panel("Escalations", ("sum by (from, to) (rate(gossamer_escalations_total[5m]))", "{{from}} to {{to}}"))
    g.row("Workers and store")
    g.panel("Workers", ("sum by (lane, region, state) (gossamer_workers)", "{{lane}} {{region}} {{state}}"))
    g.panel("Memory of workers", ("gossamer_worker_memory_bytes", "{{worker}}"), unit="bytes")
    g.panel(
        "Memory of the store",
        ("gossamer_store_memory_bytes", "server {{server}}"),
        ("gossamer_store_memory_max_bytes > 0", "limit {{server}}"),
        unit="bytes",
    )
    g.panel("Commands of the store", ("rate(gossamer_store_commands_total[5m])", "server {{server}}"))
    g.panel(
        "Since the last good run",
        ("time() - (gossamer_schedule_last_success_timestamp_seconds > 0)", "{{schedule}}"),
        unit="s",
    )
    g.panel("Time of a scrape", ("gossamer_snapshot_seconds", "seconds"), unit="s")
    return _dashboard("gossamer-fleet", "gossamer: fleet", g)


def crawls_dashboard() -> dict[str, Any]:
    """Returns the dashboard of single crawls."""
    g = _Grid()
    of = '{crawl=~"$crawl"}'
    g.row("Crawls")
    g.panel("State", (f"gossamer_crawl_state{of}", "{{crawl}} {{state}}"), kind="table", width=12)
    g.panel(
        "Age of the last page", (f"gossamer_crawl_last_page_age_seconds{of}", "{{crawl}}"), unit="s", width=12
    )
    g.panel("Pages", (f"gossamer_crawl_pages{of}", "{{crawl}}"))
    g.panel("Pages per second", (f"gossamer_crawl_pages_per_second{of}", "{{crawl}}"))
    g.panel("Pending", (f"gossamer_crawl_pending{of}", "{{crawl}}"))
    g.panel("Claims in flight", (f"gossamer_crawl_in_flight{of}", "{{crawl}}"))
    g.panel("Dead letters", (f"gossamer_crawl_dead_letters{of}", "{{crawl}}"))
    g.panel(
        "Items",
        (f"gossamer_crawl_items{of}", "{{crawl}}"),
        (f"gossamer_crawl_rejected_items{of}", "{{crawl}} rejected"),
    )
    g.panel(
        "Coverage of fields",
        (f"gossamer_item_field_coverage_ratio{of}", "{{site}} {{kind}}.{{field}}"),
        unit="percentunit",
        width=12,
    )
    g.panel("An output is away", (f"gossamer_crawl_waits_for_output{of}", "{{crawl}}"), width=12)
    return _dashboard("gossamer-crawls", "gossamer: crawls", g, crawl=True)
