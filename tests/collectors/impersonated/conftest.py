"""Fixtures: a server that records its connections, and collectors that may connect to it. Every host name
resolves to this machine."""

from __future__ import annotations

import ssl
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from collectors.impersonated.recording_server import Recorder
from gossamer.collectors.impersonated import ImpersonatedCollector
from gossamer.egress.resolver import Resolver
from gossamer.identity.browsers import BROWSERS
from gossamer.model.browser_profile import Guise
from web import Plan, certs


@pytest.fixture(scope="session")
def authority(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path, Path]:
    """The CA certificate, a certificate for `ADDRESS` that this CA signed, and its key."""
    return certs.make(Plan("tls", hosts=1, pages=1, tls="ok"), tmp_path_factory.mktemp("ca"))


@pytest.fixture(scope="session")
def certified(authority: tuple[Path, Path, Path]) -> tuple[Path, Path]:
    """A certificate and its key."""
    return authority[1], authority[2]


@pytest.fixture
def context(certified: tuple[Path, Path]) -> ssl.SSLContext:
    """A server context that offers HTTP/2 and HTTP/1.1."""
    made = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    made.load_cert_chain(*certified)
    made.set_alpn_protocols(["h2", "http/1.1"])
    return made


@pytest.fixture
async def recorder(context: ssl.SSLContext) -> AsyncIterator[Recorder]:
    """A server that records its connections."""
    async with Recorder(context) as server:
        yield server


ADDRESS = Plan("tls", hosts=1, pages=1, tls="ok").name_of(0)


@pytest.fixture
async def trusted(context: ssl.SSLContext) -> AsyncIterator[Recorder]:
    """A recording server whose address matches its certificate."""
    async with Recorder(context, address=ADDRESS) as server:
        yield server


async def here(_host: str, _port: int) -> list[str]:
    """Resolve every host name to this machine."""
    return ["127.0.0.1"]


@pytest.fixture
async def collect() -> AsyncIterator[Callable[..., ImpersonatedCollector]]:
    """Yield `collect(**options)`, which creates a collector of the impersonated rung that may connect to
    this machine."""
    made: list[ImpersonatedCollector] = []

    def make(resolver: Resolver | None = None, **options: object) -> ImpersonatedCollector:
        resolver = resolver or Resolver(["127.0.0.0/8"], lookup=here)
        made.append(ImpersonatedCollector(resolver, **({"verify": False} | options)))
        return made[-1]

    yield make
    for one in made:
        await one.close()


def guise(name: str, session: str = "1", proxy: str | None = None) -> Guise:
    """Return the `Guise` of a browser, given the browser's name."""
    browser = BROWSERS[name]
    return Guise(name, browser.target, browser.http2, session, proxy)
