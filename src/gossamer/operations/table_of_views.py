"""The operations that show several things beside each other, and the reports."""

from __future__ import annotations

from typing import Any

from gossamer.operations import inputs, inputs_of_views, results, results_of_views
from gossamer.operations.operation import Operation


def _view(
    name: str,
    path: str,
    given: type[inputs.Input],
    result: type,
    method_of_client: str,
    example: dict[str, Any],
    module: str = "views",
) -> Operation:
    return Operation(
        name=name,
        method="GET",
        path=f"/v1/crawls/{{crawl}}/{path}",
        code=f"{module}:{name}",
        input=given,
        result=result,
        command="",
        method_of_client=method_of_client,
        example=example,
    )


def _report(
    use: str, path: str, given: type[inputs.Input], command: str, example: dict[str, Any]
) -> Operation:
    return Operation(
        name=f"{use}_report",
        method="GET",
        path=path,
        code=f"web.report_operations:{use}_report",
        input=given,
        result=str,
        reach="named",
        command=command,
        method_of_client=f"{use}_report",
        example=example,
        media="text/html; charset=utf-8",
    )


VIEWS = (
    _view(
        "crawl_activity",
        "activity",
        inputs.OneCrawl,
        results_of_views.CrawlActivity,
        "activity",
        {"crawl": "books"},
    ),
    _view(
        "page_show",
        "page",
        inputs_of_views.ShowPage,
        results_of_views.PageInspection,
        "page",
        {"crawl": "books", "url": "https://books.toscrape.com/1"},
        "web.page_operations",
    ),
    _view(
        "dead_groups",
        "dead-letters/groups",
        inputs.OneCrawl,
        results_of_views.LetterGroups,
        "dead_groups",
        {"crawl": "books"},
    ),
    _view(
        "crawl_compare",
        "comparison",
        inputs_of_views.CompareCrawls,
        results_of_views.CrawlComparison,
        "compare",
        {"crawl": "books", "other": "books"},
    ),
    _report(
        "price",
        "/v1/prices/report",
        inputs_of_views.ReportPrices,
        "prices report",
        {"history": "prices", "days": 30},
    ),
    _report(
        "rank",
        "/v1/ranks/report",
        inputs_of_views.ReportRanks,
        "ranks report",
        {"history": "ranks", "days": 30},
    ),
    _report(
        "keyword",
        "/v1/keywords/report",
        inputs_of_views.ReportKeywords,
        "keywords report",
        {"folder": "keywords"},
    ),
    _report(
        "audit",
        "/v1/audits/{audit}/report",
        inputs_of_views.ReportAudit,
        "audit",
        {"audit": "a.example"},
    ),
    Operation(
        name="price_matches",
        method="GET",
        path="/v1/prices/matches",
        code="web.price_operations:price_matches",
        input=inputs_of_views.ListPriceMatches,
        result=results.RowPage,
        reach="named",
        command="prices review",
        method_of_client="price_matches",
        example={"history": "prices"},
    ),
    Operation(
        name="price_decide",
        method="POST",
        path="/v1/prices/matches",
        code="web.price_operations:price_decide",
        input=inputs_of_views.DecidePriceMatch,
        result=results_of_views.MatchDecision,
        scope="run",
        reach="named",
        command="prices review",
        method_of_client="price_decide",
        example={"history": "prices", "one": "kettle", "other": "pot", "decision": "different"},
    ),
)
