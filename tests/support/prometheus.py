"""Runs Prometheus and Alertmanager as processes, with the durations of the rules scaled to 1/60."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from gossamer.observability.alert_rules import read_alert_settings
from gossamer.observability.prometheus_files import rules_yaml
from support.processes import free_port

SERVERS = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "gossamer-servers"
BIN = SERVERS / "prometheus-3" / "usr" / "bin"
SCALE = 1 / 60
needs_prometheus = pytest.mark.skipif(
    not (SERVERS / "prometheus-3" / "ready").exists(), reason="./test gets Prometheus"
)


@contextmanager
def running(*words: str | Path, log: Path) -> Iterator[None]:
    """Runs a program for the duration of the block."""
    with log.open("w") as file:
        process = subprocess.Popen(list(map(str, words)), stdout=file, stderr=file)
    try:
        yield
    finally:
        process.terminate()
        process.wait(20)


@contextmanager
def prometheus_with_alerts(room: Path, exporter: int, receiver: str) -> Iterator[str]:
    """Runs Prometheus, which scrapes the exporter's port, and Alertmanager, which sends alerts to a receiver.
    Yields the URL of Prometheus."""
    port, manager = free_port(), free_port()
    (room / "rules.yml").write_text(rules_yaml(read_alert_settings(None), scale=SCALE))
    (room / "prometheus.yml").write_text(
        "global: {scrape_interval: 500ms, scrape_timeout: 500ms, evaluation_interval: 500ms}\nrule_files: [rules.yml]\n"
        f"alerting: {{alertmanagers: [{{static_configs: [{{targets: ['127.0.0.1:{manager}']}}]}}]}}\n"
        f"scrape_configs: [{{job_name: gossamer, static_configs: [{{targets: ['127.0.0.1:{exporter}']}}]}}]\n"
    )
    (room / "alertmanager.yml").write_text(
        "route: {receiver: r, group_wait: 100ms, group_interval: 500ms}\n"
        f"receivers: [{{name: r, webhook_configs: [{{url: '{receiver}/'}}]}}]\n"
    )
    with ExitStack() as last:
        last.enter_context(
            running(
                BIN / "prometheus-alertmanager",
                f"--config.file={room}/alertmanager.yml",
                f"--storage.path={room}/am",
                f"--web.listen-address=127.0.0.1:{manager}",
                "--cluster.listen-address=",
                log=room / "alertmanager.log",
            )
        )
        last.enter_context(
            running(
                BIN / "prometheus",
                f"--config.file={room}/prometheus.yml",
                f"--storage.tsdb.path={room}/tsdb",
                f"--web.listen-address=127.0.0.1:{port}",
                log=room / "prometheus.log",
            )
        )
        yield f"http://127.0.0.1:{port}"
