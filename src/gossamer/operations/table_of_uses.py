"""The operations on prices, ranks, keywords, audits and texts."""

from __future__ import annotations

from typing import Any

from gossamer.operations import inputs, inputs_of_uses, results, results_of_uses
from gossamer.operations.operation import Operation


def _table(
    name: str, path: str, given: type[inputs.Input], command: str, example: dict[str, Any] | None = None
) -> Operation:
    """Returns the operation that returns the rows of a table. `name`: the name of the use and of the table."""
    return Operation(
        name=name,
        method="GET",
        path=path,
        code=f"web.{name.partition('_')[0]}_operations:{name}",
        input=given,
        result=results.RowPage,
        reach="named",
        command=command,
        method_of_client=name,
        example=example or {},
    )


def _run(name: str, path: str, given: type[inputs.Input], command: str, example: dict[str, Any]) -> Operation:
    return Operation(
        name=name,
        method="POST",
        path=path,
        code=f"web.{name.partition('_')[0]}_operations:{name}",
        input=given,
        result=results_of_uses.CommandRun,
        scope="run",
        reach="named",
        command=command,
        method_of_client=name,
        example=example,
        status=202,
    )


USES = (
    _table(
        "price_list",
        "/v1/prices/current",
        inputs_of_uses.ChoosePrices,
        "",
        {"history": "prices", "limit": 10},
    ),
    _table(
        "price_moves",
        "/v1/prices/moves",
        inputs_of_uses.ListPriceMoves,
        "prices moves",
        {"history": "prices", "days": 7},
    ),
    _table("price_market", "/v1/prices/market", inputs_of_uses.ListMarket, "prices market"),
    _table("price_stale", "/v1/prices/stale", inputs_of_uses.ListStalePrices, "prices stale", {"days": 3}),
    _table(
        "price_failing",
        "/v1/prices/failing",
        inputs_of_uses.ListFailingPrices,
        "prices failing",
        {"state": "gone"},
    ),
    _table("price_shops", "/v1/prices/shops", inputs_of_uses.ListShops, "prices shops"),
    _table("price_series", "/v1/prices/series", inputs_of_uses.PriceSeries, "", {"target": "kettle"}),
    _table(
        "price_events",
        "/v1/prices/events",
        inputs_of_uses.ListPriceEvents,
        "",
        {"kind": "price", "since": "30d"},
    ),
    _run(
        "price_run",
        "/v1/prices/runs",
        inputs_of_uses.StartPriceRun,
        "prices run",
        {"lists": ["targets.csv"], "delay": 5.0, "wait": 1.0},
    ),
    _table(
        "rank_positions",
        "/v1/ranks/positions",
        inputs_of_uses.ListPositions,
        "ranks positions",
        {"history": "ranks", "days": 7},
    ),
    _table(
        "rank_history", "/v1/ranks/history", inputs_of_uses.RankSeries, "ranks history", {"keyword": "kettle"}
    ),
    _table("rank_competitors", "/v1/ranks/competitors", inputs_of_uses.ListCompetitors, "ranks competitors"),
    _table(
        "rank_features", "/v1/ranks/features", inputs_of_uses.ListRankDays, "ranks features", {"days": 30}
    ),
    _table("rank_volatility", "/v1/ranks/volatility", inputs_of_uses.ListRankDays, "ranks volatility"),
    _table("rank_competing", "/v1/ranks/competing", inputs_of_uses.ListRankDays, "ranks competing"),
    _table("rank_failing", "/v1/ranks/failing", inputs_of_uses.ListRanks, "ranks failing"),
    _table("rank_events", "/v1/ranks/events", inputs_of_uses.ListRankEvents, "", {"kind": "rank"}),
    _run(
        "rank_run",
        "/v1/ranks/runs",
        inputs_of_uses.StartRankRun,
        "ranks run",
        {"lists": ["keywords.csv"], "budget": 100, "domain": "books.toscrape.com"},
    ),
    _table("keyword_runs", "/v1/keywords", inputs_of_uses.ListKeywordRuns, "keywords runs"),
    _table(
        "keyword_totals",
        "/v1/keywords/totals",
        inputs_of_uses.ListKeywordTotals,
        "keywords count",
        {"folder": "keywords"},
    ),
    _table(
        "keyword_terms",
        "/v1/keywords/terms",
        inputs_of_uses.ListKeywordTerms,
        "keywords discover",
        {"words": 2},
    ),
    _table(
        "keyword_pages",
        "/v1/keywords/pages",
        inputs_of_uses.ListKeywordPages,
        "keywords pages",
        {"keyword": "kettle"},
    ),
    _table(
        "keyword_gaps",
        "/v1/keywords/gaps",
        inputs_of_uses.ListKeywordGaps,
        "keywords gaps",
        {"mine": "a.example", "theirs": "b.example"},
    ),
    _table("keyword_overlap", "/v1/keywords/overlap", inputs_of_uses.CompareKeywordSites, "keywords overlap"),
    _table("keyword_cannibals", "/v1/keywords/cannibals", inputs_of_uses.ListCannibals, "keywords cannibals"),
    _table(
        "keyword_trend",
        "/v1/keywords/trend",
        inputs_of_uses.KeywordTrend,
        "keywords trend",
        {"keyword": "kettle"},
    ),
    _run(
        "keyword_run",
        "/v1/keywords/runs",
        inputs_of_uses.StartKeywordRun,
        "keywords count",
        {"urls": ["https://books.toscrape.com/"], "keywords": ["travel"], "limit": 10},
    ),
    Operation(
        name="audit_list",
        method="GET",
        path="/v1/audits",
        code="web.audit_operations:audit_list",
        input=inputs_of_uses.ListPages,
        result=results_of_uses.AuditPage,
        reach="named",
        command="",
        method_of_client="audits",
        example={"limit": 10},
    ),
    Operation(
        name="audit_show",
        method="GET",
        path="/v1/audits/{audit}",
        code="web.audit_operations:audit_show",
        input=inputs_of_uses.OneAudit,
        result=results_of_uses.AuditReport,
        reach="named",
        command="audit",
        method_of_client="audit",
        example={"audit": "a.example"},
    ),
    _table(
        "audit_findings",
        "/v1/audits/{audit}/findings",
        inputs_of_uses.ListAuditFindings,
        "audit",
        {"audit": "a.example", "severity": "error"},
    ),
    Operation(
        name="audit_checks",
        method="GET",
        path="/v1/audit-checks",
        code="web.audit_operations:audit_checks",
        input=inputs.NoInput,
        result=results.RowPage,
        reach="none",
        command="audit",
        method_of_client="audit_checks",
    ),
    _run(
        "audit_run",
        "/v1/audits",
        inputs_of_uses.StartAudit,
        "audit",
        {"url": "https://books.toscrape.com/", "limit": 10, "external": 0},
    ),
    Operation(
        name="find",
        method="GET",
        path="/v1/find",
        code="web.find_operation:find",
        input=inputs_of_uses.Find,
        result=results_of_uses.FoundPages,
        reach="crawls",
        command="find",
        method_of_client="find",
        example={"query": "travel", "crawl": ["books"]},
    ),
)
"""Part of `operations.table.OPERATIONS`."""
