"""Runs a site's `@site.captcha` hook for pages that only a person can solve. The hook runs in a separate
thread, with a time limit. If the hook fails, the page is kept with the error."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from typing import Any

from gossamer.config import value_parsers
from gossamer.model.page import Page
from gossamer.model.request import Request
from gossamer.parsing.page_view import PageView
from gossamer.sites.loaded_site import LoadedSite
from gossamer.sites.loading import match


def solver(
    sites: Sequence[LoadedSite], keep: Callable[[Page, Request, str], None], patience: float
) -> Callable[[Page, Request], Awaitable[Mapping[str, str]]] | None:
    """Returns the function that runs the hook of a page's site, or None if no site has a hook. The returned
    function returns the headers for the next attempt, or {} if no further attempt should be made.

    `patience` is the time limit in seconds. `keep(page, request, reason)` is called if the hook fails or
    exceeds the limit.
    """
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
            return value_parsers.headers(await asyncio.to_thread(call, PageView(page, request=request)))
    except TimeoutError:
        why = f"the hook returned nothing within {patience:g} s"
    except Exception as error:  # noqa: BLE001 - the user's code may raise anything; it is kept with the page
        why = f"{type(error).__name__}: {error}"
    keep(page, request, f"{loaded.name}: captcha: {why}")
    return {}
