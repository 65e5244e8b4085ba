"""Operations that return the reports of uses, as the commands `... report` write them."""

from __future__ import annotations

import asyncio
import time

from gossamer.errors import UnknownName, UsageError
from gossamer.operations import inputs_of_views as inputs
from gossamer.operations.context import OperationContext
from gossamer.uses.audit import report_html as audit_html
from gossamer.uses.audit.database import AuditDatabase
from gossamer.uses.keywords.report import render_report as keyword_html
from gossamer.uses.keywords.run import done_run, list_runs
from gossamer.uses.keywords.views import RunTables
from gossamer.uses.prices import report as prices
from gossamer.uses.prices.history import History
from gossamer.uses.prices.report_html import render_report as price_html
from gossamer.uses.ranks import report as ranks
from gossamer.uses.ranks.history import RankHistory
from gossamer.uses.ranks.measures import read_curve
from gossamer.uses.ranks.report_html import render_report as rank_html
from gossamer.web.audit_operations import audit_path, audit_summary
from gossamer.web.keyword_operations import keyword_folder
from gossamer.web.rank_operations import followed_domain
from gossamer.web.use_tables import history_of, need_name


async def price_report(context: OperationContext, given: inputs.ReportPrices) -> str:
    """Returns the report on a price history: the biggest moves with charts, the market, failing and stale targets."""
    url = await asyncio.to_thread(history_of, context, given.history, "price_meta", "price history")

    def read() -> str:
        with History(url) as base:
            need_name(given.shop, (one.shop for one in base.shops()), "shop")
            chosen = prices.choose_targets(base, given.shop, given.tag, given.product)
            return price_html(prices.read_report(base, now=time.time(), days=given.days, chosen=chosen))

    return await asyncio.to_thread(read)


async def rank_report(context: OperationContext, given: inputs.ReportRanks) -> str:
    """Returns the report on a rank history: gains and losses, histories, competitors, features, failed checks."""
    url = await asyncio.to_thread(history_of, context, given.history, "rank_meta", "rank history")

    def read() -> str:
        with RankHistory(url) as base:
            domain = followed_domain(base, given.domain)
            try:
                found = ranks.read_report(
                    base, now=time.time(), days=given.days, domain=domain, curve=read_curve(None)
                )
            except UsageError as error:  # nothing is followed yet
                raise UnknownName(str(error)) from None
            return rank_html(found._replace(page=None))

    return await asyncio.to_thread(read)


async def keyword_report(context: OperationContext, given: inputs.ReportKeywords) -> str:
    """Returns the report on a count of keywords: keywords with contexts, terms, gaps, overlap, trends."""
    folder = keyword_folder(context, given.folder)

    def read() -> str:
        need_name(given.run, (one.id for one in list_runs(folder) if one.state == "done"), "run that is done")
        try:
            run, place = done_run(folder, given.run)
        except UsageError as error:
            raise UnknownName(str(error)) from None
        with RunTables(place) as tables:
            return keyword_html(tables, run, folder)

    return await asyncio.to_thread(read)


async def audit_report(context: OperationContext, given: inputs.ReportAudit) -> str:
    """Returns the report on the last complete audit of a site: findings by check, what is new, what is fixed."""
    path = audit_path(context, given.audit)

    def read() -> str:
        summary = audit_summary(path)
        with AuditDatabase(path) as database:
            return "".join(audit_html.render_report(database, summary))

    return await asyncio.to_thread(read)
