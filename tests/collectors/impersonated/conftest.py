"""A server that records, and collectors that are let to it: every name leads to this machine."""

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
    """An authority's file, a certificate of its for `ADDRESS`, and the key."""
    return certs.make(Plan("tls", hosts=1, pages=1, tls="ok"), tmp_path_factory.mktemp("ca"))


@pytest.fixture(scope="session")
def certified(authority: tuple[Path, Path, Path]) -> tuple[Path, Path]:
    """A certificate and its key."""
    return authority[1], authority[2]


@pytest.fixture
def context(certified: tuple[Path, Path]) -> ssl.SSLContext:
    """A server's context that speaks HTTP/2 where it is offered."""
    made = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    made.load_cert_chain(*certified)
    made.set_alpn_protocols(["h2", "http/1.1"])
    return made


@pytest.fixture
async def recorder(context: ssl.SSLContext) -> AsyncIterator[Recorder]:
    """A server that writes down who comes."""
    async with Recorder(context) as server:
        yield server


ADDRESS = Plan("tls", hosts=1, pages=1, tls="ok").name_of(0)


@pytest.fixture
async def trusted(context: ssl.SSLContext) -> AsyncIterator[Recorder]:
    """The same at the address of its certificate."""
    async with Recorder(context, address=ADDRESS) as server:
        yield server


async def here(_host: str, _port: int) -> list[str]:
    """Every name leads to this machine."""
    return ["127.0.0.1"]


@pytest.fixture
async def collect() -> AsyncIterator[Callable[..., ImpersonatedCollector]]:
    """`collect(**options)`: a collector of the impersonated rung, allowed to this machine."""
    made: list[ImpersonatedCollector] = []

    def make(resolver: Resolver | None = None, **options: object) -> ImpersonatedCollector:
        resolver = resolver or Resolver(["127.0.0.0/8"], lookup=here)
        made.append(ImpersonatedCollector(resolver, **({"verify": False} | options)))
        return made[-1]

    yield make
    for one in made:
        await one.close()


def guise(name: str, session: str = "1", proxy: str | None = None) -> Guise:
    """The guise of a browser by its name."""
    browser = BROWSERS[name]
    return Guise(name, browser.target, browser.http2, session, proxy)
