"""The values that a visit adds to the totals, and the bounded number of labels."""

from __future__ import annotations

from gossamer.model.request import Request
from gossamer.model.verdict import ClaimEnd
from gossamer.model.visit import Attempt, Claim, Settle, Visit
from gossamer.worker.visit_totals import MAX_COLLECTORS, MIN_REQUESTS, OTHER, TotalsOfVisits


def attempt(outcome: str = "done", error: str | None = None, **more: object) -> Attempt:
    fields = {
        "ts": "2026-01-01T00:00:00.000Z",
        "crawl": "c",
        "url": "http://a.example/",
        "host": "a.example",
        "attempt": 1,
        "rung": "plain",
        "collector": "http",
        "status": 200,
        "outcome": outcome,
        "seconds": 0.3,
        "bytes_wire": 10,
        "bytes_decoded": 30,
        "proxy": None,
        "session": None,
        "worker": "w",
        "block": None,
        "credits": None,
        "error": error,
        **more,
    }
    return Attempt(**fields)  # type: ignore[arg-type]


def visit(
    *attempts: Attempt, host: str = "a.example", end: ClaimEnd | None = ClaimEnd.DONE, **more: str
) -> Visit:
    claim = Claim(1, 0, host, Request(f"http://{host}/"), more.get("kind", "page"))
    return Visit(claim, Settle(1, end, reason=more.get("reason", "")), attempts=list(attempts))


def test_requests_are_counted_by_outcome_and_time() -> None:
    counts = {"pages": 1, "q|shop|i|book": 3, "q|shop|b|book": 1, "q|shop|f|book|price": 2}
    found = TotalsOfVisits("http", "eu", {"a.example"})([visit(attempt())], counts)
    assert counts["requests"] == 1
    assert found == {
        "requests|http|ok": 1,
        "le|http|4": 1,
        "seconds|http": 3000,
        "wire|http": 10,
        "decoded|http": 30,
        "domain|a.example|ok": 1,
        "lane|http|eu": 1,
        "items|book|i": 3,
        "items|book|b": 1,
    }


def test_a_visit_that_climbs_counts_each_request() -> None:
    low = attempt("climbed", None, block="vendor x", proxy="pool/1")
    high = attempt("done", None, rung="browser", collector="browser", credits=5)
    found = TotalsOfVisits("http", "")([visit(low, high)], {})
    assert found["requests|http|blocked"] == found["requests|browser|ok"] == 1
    assert found["climbed|plain|browser"] == 1
    assert found["proxy|pool|blocked"] == 1
    assert found["credits|browser"] == 5
    assert found["domain|other|blocked"] == found["domain|other|ok"] == 1


def test_retries_and_robots_are_counted() -> None:
    totals = TotalsOfVisits("http", "")
    found = totals([visit(attempt("retry", "timeout"), end=ClaimEnd.RETRY, reason="timeout")], {})
    assert found["retried|timeout"] == found["requests|http|timeout"] == 1
    assert totals([visit(attempt(), end=None, kind="robots")], {})["robots|ok"] == 1


def test_labels_are_bounded() -> None:
    asked: list[str] = []
    totals = TotalsOfVisits("http", "", set(), asked.append)
    for n in range(3 * MIN_REQUESTS):
        totals([visit(attempt(collector=f"own{n}"), host="www.busy.example")], {})
        totals([visit(attempt(), host=f"h{n}.org")], {})
    assert asked == ["busy.example"]
    last = totals([visit(attempt(collector="another"))], {})
    assert last[f"requests|{OTHER}|ok"] == 1
    assert len(totals._collector._known) == MAX_COLLECTORS
    assert totals([visit(attempt(collector="a|b"))], {})["requests|other|ok"] == 1
