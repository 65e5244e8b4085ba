"""`gossamer explain URL`: why a URL was or was not fetched."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Annotated, Any

from gossamer.cli.options import (
    Argument,
    Data,
    Json,
    Option,
    Setting,
    StoreUrl,
    open_existing_store,
    read_settings,
)

if TYPE_CHECKING:
    from gossamer.config.settings import Settings

Url = Annotated[str, Argument(metavar="URL", help="As a page links to it.")]
Meant = Annotated[
    str | None,
    Option("--crawl", metavar="CRAWL", help="Its name (default: the newest crawl with this host)."),
]
Depth = Annotated[
    int | None, Option("--depth", metavar="N", help="Assume this distance from a seed, in links.", least=0)
]
From = Annotated[
    str | None, Option("--from", metavar="URL", help="A page with a link to it, fetched to see it.")
]


def explain(
    url: Url,
    crawl: Meant = None,
    depth: Depth = None,
    page: From = None,
    data: Data = None,
    store: StoreUrl = None,
    setting: Setting = None,
    as_json: Json = False,
) -> int:
    """Show the verdict of each check on a URL, the rule that decided, and the URL's current state and
    history."""
    from gossamer.cli.printing import put_json, put_table

    told = asyncio.run(explain_url(read_settings(data, store, setting), crawl, url, depth, page))
    if as_json:
        put_json(told)
        return 0
    put_table(
        (),
        [
            ("url", told["url"]),
            ("counts as", told["canonical"]),
            ("crawl", f"{told['crawl']} ({told['state']})"),
        ],
    )
    print()
    put_table(("gate", "verdict", "rule"), [tuple(gate.values()) for gate in told["gates"]], long=("rule",))
    print()
    put_table((), [("now", told["now"]), ("why", told["why"])])
    if told["attempts"]:
        print()
        heads = ("ts", "attempt", "status", "outcome", "seconds", "error", "block")
        put_table(heads, [[line.get(head) for head in heads] for line in told["attempts"]], least=("block",))
    return 0


async def explain_url(
    settings: Settings, crawl: str | None, text: str, depth: int | None, page: str | None = None
) -> dict[str, Any]:
    """Returns everything that is known about a URL, as plain values."""
    from gossamer.app import explanation

    explanation.parse_url(text)
    async with open_existing_store(settings) as store:
        return await explanation.explain_url(store, settings, text, crawl=crawl, depth=depth, page=page)
