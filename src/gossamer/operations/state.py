"""Operations on the state of a store: why a URL was not fetched, proxies, log-ins, alerts, rates, metrics."""

from __future__ import annotations

import asyncio
from weakref import WeakKeyDictionary

import msgspec

from gossamer.app import alert_watch, explanation
from gossamer.app.host_state import fix_rung, session_values
from gossamer.app.proxy_list import KnownProxy, known_proxies
from gossamer.errors import ConfigError, UnknownName, UsageError
from gossamer.observability.metrics_page import MetricsPage
from gossamer.operations import inputs, inputs_of_uses, results_of_uses
from gossamer.operations.context import OperationContext, need_host
from gossamer.operations.cursors import cursor_after, position_of
from gossamer.operations.guarded_targets import check_target
from gossamer.operations.problems import RequestProblem
from gossamer.recrawl.freshness import read_freshness, report_pages, urls_of_pages
from gossamer.state.rates import Rates
from gossamer.store.store import Store

_pages: WeakKeyDictionary[Store, MetricsPage] = WeakKeyDictionary()
"""The page of metrics of each store. It keeps what it needs to compute rates."""


async def explain(context: OperationContext, given: inputs_of_uses.Explain) -> results_of_uses.Explanation:
    """Explains why a URL was or was not fetched: the verdict of each check, and the rule that decided."""
    if given.page is not None:
        if not context.caller.may("run"):
            raise RequestProblem(
                "forbidden", f"page needs the scope run, the token has {context.caller.scope}"
            )
        check_target(given.page, context.settings, "/page")
    if given.crawl is not None:
        await context.need(given.crawl)
    names = await context.names()
    if given.crawl is None and not names:
        raise UnknownName("there is no crawl yet")
    found = await explanation.explain_url(
        context.store,
        context.settings,
        given.url,
        crawl=given.crawl,
        names=names,
        depth=given.depth,
        page=given.page,
    )
    return msgspec.convert(found, results_of_uses.Explanation)


async def proxy_list(context: OperationContext, given: inputs_of_uses.ListPages) -> results_of_uses.ProxyPage:
    """Lists the proxies of the server's lists, and those that workers have used: whether they work, and where they
    cool down. Credentials are left out."""
    after = position_of(given, str, "")
    known = [one for one in await known_proxies(context.store, context.settings) if one.id > after]
    found = [_entry(one) for one in known[: given.limit]]
    following = cursor_after(given, found[-1].proxy) if len(known) > given.limit else None
    return results_of_uses.ProxyPage(items=found, next=following)


def _entry(one: KnownProxy) -> results_of_uses.ProxyEntry:
    health, proxy = one.health, one.listed
    entry = results_of_uses.ProxyEntry(
        proxy=one.id,
        listed=proxy is not None,
        state="quarantined" if one.quarantine_s else "ok" if health is not None else "unused",
        seconds=one.quarantine_s,
        cooling=one.cooling,
    )
    if proxy is not None:
        entry.scheme, entry.kind = proxy.scheme, proxy.kind
        entry.countries, entry.provider = list(proxy.countries), proxy.provider or None
    if health is not None:
        entry.good, entry.bad, entry.latency = health.good, health.bad, health.latency or None
    return entry


async def session_list(context: OperationContext, given: inputs.NoInput) -> results_of_uses.SessionList:
    """Lists log-ins at sites: account, state, time of the log-in and last use. Cookies and credentials are left out."""
    return results_of_uses.SessionList(items=[one._asdict() for one in await session_values(context.store)])


async def alert_list(
    context: OperationContext, given: inputs_of_uses.ListAlerts
) -> results_of_uses.AlertList:
    """Lists firing, pending and resolved alerts, and muted rules."""
    known = await alert_watch.read_alerts(context.store)
    chosen = [one for one in known.alerts if given.state in (None, one.state)]
    return msgspec.convert(known._replace(alerts=chosen).plain(), results_of_uses.AlertList)


async def alert_mute(
    context: OperationContext, given: inputs_of_uses.MuteAlerts
) -> results_of_uses.AlertMute:
    """Sends no notifications of alerts for some time."""
    alert_watch.check_pattern(given.rule)
    await alert_watch.mute_alerts(context.store, given.rule, given.seconds)
    known = await alert_watch.read_alerts(context.store)
    return results_of_uses.AlertMute(rule=given.rule, until=known.plain()["mutes"].get(given.rule))


async def alert_unmute(
    context: OperationContext, given: inputs_of_uses.UnmuteAlerts
) -> results_of_uses.AlertMute:
    """Ends a mute."""
    alert_watch.check_pattern(given.rule)
    await alert_watch.mute_alerts(context.store, given.rule, None)
    return results_of_uses.AlertMute(rule=given.rule, until=None)


async def rate_list(context: OperationContext, given: inputs.NoInput) -> results_of_uses.RateCaps:
    """Shows the caps on the requests per second of all crawls together."""
    return results_of_uses.RateCaps(caps=dict(sorted((await Rates(context.store).all()).items())))


async def rate_cap(context: OperationContext, given: inputs_of_uses.CapRate) -> results_of_uses.RateCaps:
    """Caps the requests per second of a lane or of the whole fleet, while crawls run."""
    await Rates(context.store).set(given.lane, given.rate)
    return await rate_list(context, inputs.NoInput())


async def host_rung(context: OperationContext, given: inputs_of_uses.FixRung) -> results_of_uses.RungChange:
    """Fetches the pages of a host only with one rung of the ladder, in all crawls whose ladder has it."""
    host = await need_host(context, given.host)
    await fix_rung(context.store, host, given.rung or "")
    return results_of_uses.RungChange(host=host, rung=given.rung)


async def crawl_freshness(
    context: OperationContext, given: inputs.OneCrawl
) -> results_of_uses.CrawlFreshness:
    """Shows how fresh the copies of a crawl with revisits are."""
    record = await context.need(given.crawl)
    found = await read_freshness(context.store, record.name)
    if found is None:
        raise UnknownName(f"crawl {record.name} does not visit its pages again, or has not reported yet")
    return results_of_uses.CrawlFreshness(crawl=record.name, freshness=msgspec.to_builtins(found))


async def crawl_changed(
    context: OperationContext, given: inputs_of_uses.ReportChanged
) -> results_of_uses.ChangedPages:
    """Reports pages as changed. A crawl with revisits visits these pages next."""
    record = await context.need(given.crawl)
    for number, text in enumerate(given.urls):
        check_target(text, context.settings, f"/urls/{number}")
    try:
        count = await report_pages(context.store, record.name, urls_of_pages(given.urls))
    except UsageError as error:  # the crawl does not visit pages again, or has not read earlier reports
        raise ConfigError(str(error)) from None
    return results_of_uses.ChangedPages(crawl=record.name, pages=count)


async def metrics(context: OperationContext, given: inputs.NoInput) -> str:
    """Returns the metrics of all crawls and workers in the text format of Prometheus."""
    page = _pages.get(context.store)
    if page is None:
        page = _pages[context.store] = MetricsPage(context.store, context.settings.credits_daily)
    return await asyncio.shield(page.or_down())
