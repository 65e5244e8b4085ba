"""What many verbs share: their options, the settings read from them, the store they open."""

from __future__ import annotations

import contextlib
import os
from collections.abc import AsyncIterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from gossamer.cli.parameters import Argument, Option
from gossamer.errors import UsageError

if TYPE_CHECKING:
    from gossamer.config.settings import Given, Settings
    from gossamer.store.store import Store

Data = Annotated[str | None, Option("--data", metavar="DIR", help="The data folder (default .gossamer).")]
StoreUrl = Annotated[
    str | None, Option("--store", metavar="URL", help="A shared store instead of the folder's.")
]
Setting = Annotated[list[str] | None, Option("-s", "--setting", metavar="NAME=VALUE", help="Any setting.")]
Json = Annotated[bool, Option("--json", help="JSON on stdout.")]
Quiet = Annotated[bool, Option("--quiet", help="No progress, no remarks.")]
Crawl = Annotated[str, Argument(metavar="CRAWL", help="Its name; `gossamer status` lists them.")]
MaybeCrawl = Annotated[
    str | None, Argument(metavar="[CRAWL]", help="Its name; without: all, or the only one.")
]
OfCrawl = Annotated[
    str | None, Option("--crawl", metavar="CRAWL", help="Its name; needed where there are several.")
]
Host = Annotated[str, Argument(metavar="HOST", help="As in the URL: example.com or example.com:8080.")]


def read_settings(
    data: str | None = None,
    store: str | None = None,
    pairs: list[str] | None = None,
    more: list[Given] | None = None,
    folder: str | Path = ".",
) -> Settings:
    """The settings in force for a verb."""
    from gossamer.config.settings import Given, load

    given = [parse_pair(pair) for pair in pairs or ()]
    given += [
        Given(f"--{name}", name, value)
        for name, value in (("data", data), ("store", store))
        if value is not None
    ]
    return load([*given, *(more or ())], folder=folder)


def parse_pair(text: str) -> Given:
    """`-s name=value`."""
    from gossamer.config.settings import Given

    name, equals, value = text.partition("=")
    if not equals or not name:
        raise UsageError(f"-s {text!r}: write it as -s setting=value")
    return Given(f"-s {name}", name.strip().replace("-", "_"), value)


def authority(text: str) -> str:
    """The host of a URL, or the host as typed, in the form that the frontier knows."""
    from gossamer import url
    from gossamer.model.request import split

    found = url.parse(text if "://" in text else f"http://{text}/")
    host = split(found)[1].rpartition("@")[2] if found and found.startswith(("http://", "https://")) else "*"
    if "*" in host:
        raise UsageError(f"{text!r} is no host; write example.com or example.com:8080")
    return host


def hosts_of(text: str) -> list[str]:
    """The hosts that a site file names, or the one host that is typed."""
    if not text.endswith(".py") or "://" in text:
        return [authority(text)]
    if not os.path.isfile(text):
        raise UsageError(f"there is no site file {text}; a host of such a name is written https://{text}")
    from gossamer.sites import load_all
    from gossamer.sites.host_rules import hosts

    if not (found := [host for site in load_all([text]) for host in hosts(site)]):
        raise UsageError(f"{text} names no host: give it hosts=[...] or seeds=[...]")
    return found


def only_of(host: str | None) -> str | None:
    """The host of a `--host`, if there is one."""
    return None if host is None else authority(host)


@contextlib.asynccontextmanager
async def opened(settings: Settings) -> AsyncIterator[Store]:
    """The store of crawls that were made already."""
    if settings.store is None and not (Path(settings.data) / "store").is_dir():
        raise UsageError(
            f"no crawl was made in {settings.data} yet: begin one with gossamer crawl URL, or name its --data DIR"
        )
    from gossamer.app.wiring import open_store

    store, embedded = await open_store(settings)
    try:
        yield store
    finally:
        await store.close()
        if embedded is not None:
            embedded.leave()


async def only(store: Store, name: str | None) -> str:
    """The crawl meant: the one named, else the only one there is."""
    from gossamer.frontier.crawls import Crawls

    if name is not None:
        return (await Crawls(store).need(name)).name
    names = await Crawls(store).names()
    if len(names) != 1:
        raise UsageError(
            f"which crawl? there are {', '.join(names)}: name one" if names else "there is no crawl yet"
        )
    return names[0]
