"""A collector that calls a local stub of a provider, and a real store that counts its credits."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from typing import Any

from collectors.unlocker.provider_servers import KEY, Stub
from gossamer.collectors.http.collector import HttpCollector
from gossamer.collectors.unlocker.collector import UnlockerCollector
from gossamer.collectors.unlocker.providers import PROVIDERS, chosen_unlocker
from gossamer.config.redaction import Secret
from gossamer.egress.resolver import Resolver
from gossamer.model.page import Failure, Page
from gossamer.model.request import Request
from gossamer.state.credits import CreditLimits, Credits
from gossamer.store.keys import tag
from gossamer.store.store import connect
from support.byte_servers import LOOPBACK, serving

URL = "http://192.0.2.1/shop?a=1&b=%C3%A9"
ZONE = {"brightdata": "zone=z1"}
SHAPE = (
    "header=X-Api-Key: {key}",
    "status=json http.code",
    "body=json http.html",
    "url=json http.at",
    "credits=json price",
    "forward=true",
    "errors=403:credit,418:banned",
    "cost=4",
)
ALL = [*PROVIDERS, "generic"]


class Desk:
    """A collector that calls the stub of a provider, with a credit account in a real store."""

    def __init__(self, stub: Stub, collector: UnlockerCollector, purse: Credits) -> None:
        self.stub, self.collector, self.purse, self.said = stub, collector, purse, list[str]()

    async def get(self, url: str = URL, **needs: Any) -> Page | Failure:
        headers = needs.pop("headers", {})
        return await self.collector.collect(Request(url, **needs), headers)

    async def probe(self) -> None:
        """Change the state of the circuit breaker as if its open time had expired."""
        client, key = self.purse._store.client, f"{tag(0)}@unlocker:{self.collector.name}"
        text = (await client.get(key)).decode().split(",")
        await client.set(key, ",".join([*text[:3], "1", *text[4:]]))

    async def spent(self) -> int:
        return (await self.purse.spent()).crawl


@contextlib.asynccontextmanager
async def desk(
    stub: Stub, valkey_url: str, options: str = "", *, most: int | None = None, hold: float = 60
) -> AsyncIterator[Desk]:
    async with serving(stub) as server:
        if stub.provider == "generic":
            one = chosen_unlocker(
                server.url("/v2?u={url}&geo={country}&js={render}"),
                (*SHAPE, *options.split("&")) if options else SHAPE,
            )
        else:
            given = "&".join(
                filter(None, [f"endpoint={server.url('/api')}", ZONE.get(stub.provider, ""), options])
            )
            one = chosen_unlocker(f"{stub.provider}?{given}")
        resolver = Resolver((*LOOPBACK, "192.0.2.0/24"))
        http = HttpCollector(
            resolver,
            user_agent="",
            total=one.timeout,
            first_byte=one.timeout,
            accept=None,
            http2=False,
            once=True,
        )
        store = connect(valkey_url)
        await store.open(1, "test")
        purse = Credits(store, "c", one.provider.name, CreditLimits(one.at_once, None, most), hold)
        made = Desk(stub, UnlockerCollector(one, Secret(KEY), http, purse, resolver), purse)
        made.collector._say = made.said.append
        try:
            yield made
        finally:
            await made.collector.close()
            await resolver.close()
            await store.close()
