"""A site's hook for pages that want a person (`@site.captcha`): run beside the crawl, in its own time; its
errors keep the page."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from typing import Any

from gossamer.config import value_parsers
from gossamer.model.page import Page
from gossamer.model.request import Request
from gossamer.parsing.view import View
from gossamer.sites.loading import LoadedSite, match


def solver(
    sites: Sequence[LoadedSite], keep: Callable[[Page, Request, str], None], patience: float
) -> Callable[[Page, Request], Awaitable[Mapping[str, str]]] | None:
    """Asks the hooks of the sites: headers for another try, {} for none; None where no site has one.
    `patience` in seconds: what a hook brings later is not waited for. What fails is told to `keep`."""
    if all(one.site.solver is None for one in sites):
        return None
    return partial(_solve, sites, keep, patience)


async def _solve(
    sites: Sequence[LoadedSite],
    keep: Callable[[Page, Request, str], None],
    patience: float,
    page: Page,
    request: Request,
) -> Mapping[str, str]:
    loaded = match(sites, page.url)
    call: Callable[..., Any] | None = None if loaded is None else loaded.site.solver
    if loaded is None or call is None:
        return {}
    try:
        async with asyncio.timeout(patience):
            return value_parsers.headers(await asyncio.to_thread(call, View(page, request=request)))
    except TimeoutError:
        why = f"it had nothing within {patience:g} s"
    except Exception as error:  # noqa: BLE001 - the user's code may raise anything; it is kept with the page
        why = f"{type(error).__name__}: {error}"
    keep(page, request, f"{loaded.name}: captcha: {why}")
    return {}
