"""Fixtures of the audit tests. The host names of the audited sites resolve to this machine."""

from __future__ import annotations

import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gossamer.uses.audit.model import AuditSummary
from gossamer.uses.audit.run import AuditOptions, audit
from uses.audit.audited_site import NAME, OTHER, certificate


@pytest.fixture(scope="module")
def keys(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a certificate for both names."""
    folder = tmp_path_factory.mktemp("keys")
    certificate(folder)
    return folder


@pytest.fixture
def run_audit(tmp_path: Path, keys: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., AuditSummary]:
    """A function that audits a site without a delay between requests."""
    asked = socket.getaddrinfo

    def found(host: Any, *more: Any, **rest: Any) -> Any:
        known = host.decode() if isinstance(host, bytes) else host
        if known == NAME.removeprefix("www."):
            raise socket.gaierror(socket.EAI_NONAME, "no such host")
        return asked("127.0.0.1" if known in (NAME, OTHER) else host, *more, **rest)

    monkeypatch.setattr(socket, "getaddrinfo", found)

    def run(url: str, tell: Callable[[str], None] = print, **more: Any) -> AuditSummary:
        crawl = {
            "delay": 0,
            "per_host": 8,
            "data": str(tmp_path / "data"),
            "allow_private": ["127.0.0.0/8"],
            "allow_port": [int(url.rstrip("/").rpartition(":")[2])],
            "ca_file": str(keys / "own.pem"),
            "retries": "none",
        } | more.pop("crawl", {})
        options = AuditOptions(**{"database": str(tmp_path / "audit.db"), "crawl": crawl} | more)
        return audit(url, options, tell)

    return run
