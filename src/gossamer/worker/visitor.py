"""The visitor turns each claim into a visit. For each claim, the visitor checks the gate, fetches the page,
detects blocks, reads the page and decides the verdict. The committer, not the visitor, writes the rows and
settles the claims."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, NamedTuple, Protocol

import msgspec

from gossamer import url as urls
from gossamer.model.page import Failure, Page
from gossamer.model.request import FILE, Request, is_infrastructure, split
from gossamer.model.verdict import (
    REDIRECTED,
    SKIPS,
    ClaimEnd,
    Done,
    Drop,
    HostHealth,
    Later,
    Redirected,
    Retry,
    Verdict,
)
from gossamer.model.visit import Attempt, Claim, Row, Settle, Visit
from gossamer.parsing import pdf
from gossamer.politeness import pace, robots_access
from gossamer.politeness.breaker import FAULTS, HostTrouble, health, is_given_up
from gossamer.worker import conditional_get, records
from gossamer.worker.asset_download import AssetDownloads
from gossamer.worker.crawl_scope import CrawlScope
from gossamer.worker.decide import TEMPORARY_REDIRECTS, retry_delay, seed_count_change
from gossamer.worker.fetching import Fetching
from gossamer.worker.link_intake import ReadResult, TakenLinks
from gossamer.worker.min_depth import MinDepthVisits, read_again
from gossamer.worker.robots_gate import RobotsGate, robots_health
from gossamer.worker.routing import SiteRouter

if TYPE_CHECKING:
    from gossamer.worker.shared_throttle import SharedThrottle

SLOW_DOWN = (429, 503)
ENDS_ITS_READER = "it ended two processes that read it"
MAX_SITEMAPS = 5000
"""Maximum number of sitemaps of one robots.txt that the crawl visits. Sitemaps beyond this number are counted
as skipped with the reason `trap`."""
MAX_FIXED_HOSTS = 100_000
"""Maximum size of the set of hosts whose fixed delay this process has already stored."""


class ReadsPages(Protocol):
    """The interface of an object that reads pages (`worker.reader.Reader`). An error in a site function is
    returned in the result and is not raised. `functions`: whether any site has page functions."""

    functions: bool

    async def reads(self, claim: Claim, page: Page, error: str | None) -> ReadResult: ...

    async def lacks(self, claim: Claim, page: Page) -> str: ...

    def shows(self, claim: Claim, page: Page) -> int: ...

    def failed(
        self, claim: Claim, result: Page | Failure | None, error: str, detail: str = ""
    ) -> ReadResult: ...

    def file(self, claim: Claim, page: Page, row: Row | None, error: str | None) -> ReadResult: ...


class VisitSettings(NamedTuple):
    """The settings that all visits of a crawl share."""

    crawl: str
    worker: str
    sitemaps: bool = False
    """Whether the crawl visits the sitemaps that a robots.txt lists."""
    raw: bool = False
    """Whether an output stores whole responses."""
    by: str | None = None
    """A digest of the site files. For a later recrawl, the digest is stored with the data about each visited
    URL. If the digest is None, the crawl stores no data about visited URLs."""
    revisits: bool = False
    """Whether the crawl visits known pages repeatedly. The seen set does not prevent the repeated visits."""
    rate_limit_wait: float = pace.MAX_RETRY_AFTER_S
    """The longest wait, in seconds, that a host may demand."""
    homes: frozenset[str] = frozenset()
    """The hosts whose home page is a seed of a crawl that uses no sitemaps."""


class VisitSteps(NamedTuple):
    """The steps of a visit that only some crawls have.

    - `min_depth`: visits a page again if a shorter path to the page is found. None if depths need not be exact.
    - `shared_throttle`: the request budgets that several hosts share. None if each host has its own budget.
    - `apart`: requeues the claims of hosts whose site file this worker lacks. None if the worker has all site
      files.
    - `downloads`: stores the files to which items refer. None if the crawl does not download files.
    """

    min_depth: MinDepthVisits | None = None
    shared_throttle: SharedThrottle | None = None
    apart: SiteRouter | None = None
    downloads: AssetDownloads | None = None


NO_STEPS = VisitSteps()


class Visitor:
    """Makes the visits of one crawl.

    - `gate`: decides whether a URL may be visited, according to robots.txt and the treatment of its host.
    - `fetching`: makes the requests of a visit.
    - `reader`: reads pages.
    - `scope`: the crawl's scope, which contains the link intake and grows when a seed is redirected.
    - `steps`: the steps that only some crawls have.
    """

    def __init__(
        self,
        settings: VisitSettings,
        gate: RobotsGate,
        fetching: Fetching,
        reader: ReadsPages,
        scope: CrawlScope,
        steps: VisitSteps = NO_STEPS,
    ) -> None:
        self.crawl, self.worker, self.sitemaps, self.raw, self.by, self.revisits = settings[:6]
        self.longest_wait, self.homes = settings[6:]
        self.gate, self.fetching, self.reader = gate, fetching, reader
        self.scope, self.link_intake = scope, scope.intake
        self.min_depth, self.shared_throttle, self.apart, self.downloads = steps
        self._fixed: set[str] = set()

    async def visit(self, batch: list[Claim], put: Callable[[Visit], None]) -> None:
        """Visits one claim of a batch. In a batch of several claims, the first claim that the gate does not
        refuse is chosen. If a shared budget requires a wait, the chosen claim is requeued instead of visited.
        The claims that come before the chosen claim in the batch are refused, and the claims that come after
        the chosen claim are requeued. Calls `put` once for each claim in the batch, except for a robots.txt
        claim that is requeued."""
        if self.apart is not None and await self.apart.took(batch, put):
            return None
        if batch[0].kind == "robots":
            return await self._robots(batch[0], put)
        chosen: Claim | None = None
        for claim in batch:
            if chosen is not None:
                put(Visit(claim, Settle(claim.token, ClaimEnd.REQUEUED)))
            elif (
                refusal := (self.scope.rules.later and self.scope.refusal(claim))
                or await self.gate.refuse(claim)
            ) is None:
                chosen = claim
            else:
                refused = self._dropped(claim, refusal, None, 0.0)
                if self.by is not None:
                    conditional_get.note_known(refused, None, self.by)
                put(
                    read_again(refused)
                    if self.min_depth is None or claim.request.use == FILE
                    else self.min_depth.ends(refused)
                )
        if chosen is not None:
            go: Callable[[Claim], Awaitable[Visit]] = self._go
            if self.shared_throttle is not None:
                if wait := await self.shared_throttle.enter(chosen):
                    put(Visit(chosen, Settle(chosen.token, ClaimEnd.REQUEUED, host_wait=round(wait * 1000))))
                    return None
                go = self.shared_throttle.wrap(go)
            # the depth of a file does not matter, because a file has no links
            if self.min_depth is None or chosen.request.use == FILE:
                put(read_again(await go(chosen)))
            else:
                put(
                    await self.min_depth.visit(
                        chosen, go, lambda claim, page: self._read(claim, page, Done(), 0.0)
                    )
                )
        return None

    async def _robots(self, claim: Claim, put: Callable[[Visit], None]) -> None:
        if self.shared_throttle is None:
            result, began, found = await self.gate.fetch(claim)
        elif wait := await self.shared_throttle.enter(claim):
            await self.gate.give_back(claim, wait)
            return
        else:
            result, began, found = await self.shared_throttle.robots(claim, self.gate.fetch)
        if isinstance(result, Failure) and result.short:
            self.fetching.short(result.short)
            return
        taken = TakenLinks()
        if self.sitemaps and claim.request.depth == 0:
            for link in found.sitemaps[:MAX_SITEMAPS]:
                if (url := urls.parse(link, claim.request.url)) is None:
                    taken.skip("filter")
                else:
                    self.link_intake.request(Request(url.partition("#")[0], use="@sitemap"), taken, flags="i")
            if beyond := found.sitemaps[MAX_SITEMAPS:]:
                url, rule = claim.request.url, f"a robots.txt may name {MAX_SITEMAPS} sitemaps"
                self.link_intake.close(taken, claim, url, url, beyond, "trap", rule)
        shut = isinstance(result, Failure) and found.version in robots_access.CLOSED
        end = ClaimEnd.RETRY if not found.holds else ClaimEnd.DEAD if shut else ClaimEnd.DONE
        error = result.reason if isinstance(result, Failure) else None
        line = self._attempt(claim, result, end.word, error)
        said, why = robots_health(result)
        settle = Settle(
            claim.token, None, health=said, reason=why, final=isinstance(result, Failure) and result.final
        )
        visit = Visit(claim, settle, began=began, attempts=line, adds=taken.adds, elapsed=result.elapsed)
        visit.skipped = taken.refused
        if taken.skips:
            visit.counts = {
                **{f"skip:{reason}": n for reason, n in taken.skips.items()},
                "found": taken.found,
            }
        if found.sitemaps and claim.host in self.homes:
            visit.counts = {**visit.counts, f"unused-map|{claim.host}": len(found.sitemaps)}
        put(self._kept(visit, result))

    async def _go(self, claim: Claim) -> Visit:
        if (
            claim.request.use != FILE
            and self.link_intake.scope.refuse(claim.request.url, claim.host, 0, "*") == "scope"
        ):
            await self.scope.refresh()  # the redirect that another worker recorded may have widened the scope
        got = await self.fetching.fetch(claim, lambda *one: self._attempt(claim, *one))
        result, verdict = got.result, got.verdict
        visit = self._kept(await self._end(claim, result, verdict, got.began), *got.passed, result)
        if self.by is not None:
            conditional_get.note_known(visit, result, self.by)
        visit.attempts = got.attempts + visit.attempts
        if got.wire:
            visit.counts = {**visit.counts, "bytes": visit.counts.get("bytes", 0) + got.wire}
        if isinstance(verdict, Later):
            return visit
        visit.elapsed = result.elapsed
        self._pace(claim, result, visit)
        visit.settle.health = visit.settle.health or visit_health(claim, result, verdict)
        visit.settle.final = isinstance(result, Failure) and result.final
        return visit

    async def _end(self, claim: Claim, result: Page | Failure, verdict: Verdict, began: float) -> Visit:
        """Builds the visit that results from a verdict."""
        match verdict:
            case Done():
                assert isinstance(result, Page)
                if claim.request.use == FILE and self.downloads is not None:
                    return await self._file(claim, result, verdict, began, self.downloads)
                if self.reader.functions and pdf.is_pdf(result.body) and pdf.available():
                    result.text = await asyncio.to_thread(pdf.text, result.body)
                if self.min_depth is not None and verdict.error is None:
                    self.min_depth.keep(claim.request, result)
                return await self._read(claim, result, verdict, began)
            case Redirected():
                return await self._redirected(claim, result, verdict, began)
            case Retry():
                return self._retry(claim, result, verdict, began)
            case Drop():
                if verdict.skip == "content-type" and claim.request.use == "@sitemap":
                    verdict = Drop(error="parse", detail=verdict.detail)  # not a page that nobody wants
                return self._dropped(claim, verdict, result, began)
            case Later():
                settle = Settle(claim.token, verdict.end, host_wait=round(verdict.after * 1000))
                return Visit(claim, settle, attempts=self._attempt(claim, result, verdict.end.word, None))

    def _kept(self, visit: Visit, *results: Page | Failure) -> Visit:
        """Adds the raw responses to the visit's rows if an output stores whole responses, and returns the
        visit. The last raw response is the response that determined the verdict."""
        if self.raw:
            pages = [result for result in results if isinstance(result, Page)]
            visit.rows = [*visit.rows, *(records.raw_row(visit.claim.request, page) for page in pages)]
            visit.size += sum(page.wire + 2000 for page in pages)
        return visit

    async def _file(
        self, claim: Claim, page: Page, verdict: Done, began: float, downloads: AssetDownloads
    ) -> Visit:
        """Stores a downloaded file instead of reading the response as a page. A file that violates its file
        rule is dropped."""
        row, reason = await downloads.kept(claim.request, page, verdict.error)
        if reason is not None and reason != verdict.error:
            drop = Drop(skip=reason) if reason in SKIPS else Drop(error=reason)
            visit = self._dropped(claim, drop, page, began)
            visit.rows[-1:] = [row] if row is not None else []
            return visit
        visit = self._done(claim, page, verdict, began, self.reader.file(claim, page, row, verdict.error))
        visit.size += len(row.data.get("text") or "") if row is not None and isinstance(row.data, dict) else 0
        return visit

    async def _read(self, claim: Claim, page: Page, verdict: Done, began: float) -> Visit:
        """Reads a page and returns the visit. If the page has killed two page processes, or if it is a sitemap
        that cannot be read, its URL becomes a dead letter. If its page function took too long, or if it lacks
        what its site must have, the page is visited again later."""
        read = await self.reader.reads(claim, page, verdict.error)
        if read.error == "crash":
            return self._dropped(claim, Drop(error="crash", detail=ENDS_ITS_READER), page, began)
        if read.error in ("too-slow", "missing"):
            return self._retry(claim, page, Retry(read.error, read.why), began)
        if read.error and claim.request.use == "@sitemap":
            from gossamer.parsing.sitemaps import why_unreadable

            why = f"HTTP {page.status}" if verdict.error else why_unreadable(page.body)
            return self._dropped(claim, Drop(error=read.error, detail=why), page, began)
        return self._done(claim, page, verdict, began, read)

    def _done(self, claim: Claim, page: Page, verdict: Done, began: float, read: ReadResult) -> Visit:
        error = read.error or verdict.error
        counts = read.taken.skips and {f"skip:{reason}": n for reason, n in read.taken.skips.items()}
        counts = {**counts, **read.counts, "found": read.taken.found, "bytes": page.wire}
        if read.infrastructure:
            counts["infra"] = -1
        else:
            counts |= {
                "pages": 1,
                "items": read.items,
                "succeeded": int(page.status < 300 or page.status == 304),
            }
            counts |= seed_count_change(claim.request)
            if error:
                counts[f"err:{error}"] = 1
                if 400 <= page.status < 500 and page.status not in conditional_get.GONE_STATUSES:
                    counts["shut"] = 1
        size = 2000 + sum(2000 if row.kind == "page" else 500 for row in read.rows)
        return Visit(
            claim,
            Settle(claim.token, verdict.end),
            began,
            rows=read.rows,
            counts=counts,
            is_page=not read.infrastructure,
            is_read=True,
            error=error or "",
            adds=read.taken.adds,
            links=read.taken.links,
            size=size,
            attempts=self._attempt(claim, page, verdict.end.word, error),
            skipped=read.taken.refused,
            gone=records.gone_at(page),
            later=read.later,
            stop=read.stop,
        )

    async def _redirected(
        self, claim: Claim, result: Page | Failure, verdict: Redirected, began: float
    ) -> Visit:
        request, taken = claim.request, TakenLinks()
        hops = (*request.hops, request.url)
        if request.depth == 0:
            await self.scope.redirected(request.url, verdict.target)
        temporary = request.temporary
        if request.key is not None and result.status in TEMPORARY_REDIRECTS:
            # set only if needed, because earlier versions of gossamer cannot read a request with this field
            temporary = True
        child = msgspec.structs.replace(request, url=verdict.target, hops=hops, temporary=temporary)
        if split(verdict.target)[:2] != split(request.url)[:2]:
            # the headers may be sent only to the original origin
            child = msgspec.structs.replace(child, headers=None)
        if request.method not in ("GET", "HEAD") and result.status in (301, 302, 303):
            child = msgspec.structs.replace(child, method="GET", body=None)  # RFC 9110 section 15.4
        flags = "ri" if is_infrastructure(request) else "rf"
        if self.revisits and request.known is not None:
            flags += "v"  # the redirect target of a known page is also visited again
        self.link_intake.request(
            child, taken, self.link_intake.voucher(claim), flags, "*" if request.depth == 0 else claim.host
        )
        counts = {f"skip:{reason}": n for reason, n in taken.skips.items()}
        counts |= {"found": taken.found, "bytes": result.wire}
        counts["infra" if "i" in flags else "redirected"] = -1 if "i" in flags else 1
        return Visit(
            claim,
            Settle(claim.token, verdict.end),
            began,
            counts=counts,
            is_read=True,
            adds=taken.adds,
            attempts=self._attempt(claim, result, REDIRECTED, None),
            skipped=taken.refused,
        )

    def _retry(self, claim: Claim, result: Page | Failure, verdict: Retry, began: float) -> Visit:
        treatment = self.gate.treat(claim.host)
        pause = retry_delay(claim.attempt, treatment.retries)
        last = (
            is_probe(claim)
            and is_given_up(HostTrouble.of(claim.trouble), treatment.retries)
            and verdict.reason in FAULTS
        )
        now_pace = pace.parse(claim.pace)
        if (
            pause is None
            or last
            or pace.is_exhausted(now_pace, treatment.fixed, verdict.after, self.longest_wait)
        ):
            visit = self._dropped(claim, Drop(error=verdict.reason, detail=verdict.detail), result, began)
            visit.settle.health = HostHealth.LAST_FAULT if last else HostHealth.UNKNOWN
            return visit
        settle = Settle(
            claim.token,
            verdict.end,
            wait=round(pause * 1000),
            host_wait=round(verdict.after * 1000),
            reason=verdict.reason,
            detail=verdict.detail,
        )
        return Visit(
            claim,
            settle,
            began,
            counts={"bytes": result.wire},
            attempts=self._attempt(claim, result, verdict.end.word, verdict.reason),
        )

    def _dropped(self, claim: Claim, verdict: Drop, result: Page | Failure | None, began: float) -> Visit:
        sent = result is not None and (isinstance(result, Page) or result.sent)
        # if a request was sent, the gate did not refuse the claim
        end = ClaimEnd.DONE if sent and verdict.end == ClaimEnd.REFUSED else verdict.end
        visit = Visit(
            claim,
            Settle(
                claim.token, end, reason=verdict.error or "", detail=verdict.detail if verdict.error else ""
            ),
            began if sent else 0.0,
        )
        infra = is_infrastructure(claim.request)
        if verdict.error:
            read = self.reader.failed(claim, result, verdict.error, verdict.detail)
            visit.rows, visit.adds, visit.stop, visit.later, visit.skipped = (
                read.rows,
                read.taken.adds,
                read.stop,
                read.later,
                read.taken.refused,
            )
            if read.counts or read.taken.found or read.items:
                visit.counts = {f"skip:{reason}": n for reason, n in read.taken.skips.items()}
                visit.counts |= {**read.counts, "found": read.taken.found, "items": read.items}
        elif claim.request.use == "@sitemap":
            visit.counts = {"infra": -1, "found": 1, f"skip:{verdict.skip}": 1}
        elif infra:
            visit.counts = {"infra": -1}
        else:
            visit.counts = {f"skip:{verdict.skip}": 1}
        if verdict.skip and self.link_intake.lists_skipped:
            taken, request = TakenLinks(), claim.request
            rule = verdict.detail or "the content type of its response"
            self.link_intake.list_skipped(
                taken, request.url, verdict.skip, rule, request.depth, request.referrer
            )
            visit.skipped = taken.refused
        if not infra:
            visit.counts |= seed_count_change(claim.request)
        if claim.request.use == FILE and self.downloads is not None:
            visit.rows = [*visit.rows, self.downloads.refused(claim.request, result, verdict)]
        if result is not None:
            visit.counts["bytes"] = result.wire
            visit.attempts = self._attempt(claim, result, verdict.end.word, verdict.error or verdict.skip)
        return visit

    def _pace(self, claim: Claim, result: Page | Failure, visit: Visit) -> None:
        """Computes the host's new pace after this response, and the delay until the host's next request.
        Stores the pace and the delay in the visit's settle record."""
        slow = isinstance(result, Page) and (
            result.status in SLOW_DOWN or " rate-limit " in (result.block or "")
        )
        before = pace.parse(claim.pace)
        fixed = self.gate.treat(claim.host).fixed
        if fixed is None or slow or before.doublings:
            before = pace.after(before, result.elapsed, slow)
            visit.settle.pace = before.text()
        elif claim.host not in self._fixed:  # the pace is stored only once per host
            if len(self._fixed) >= MAX_FIXED_HOSTS:
                self._fixed.clear()
            self._fixed.add(claim.host)
            visit.settle.pace = before.text()
        seconds = claim.rate if claim.rate is not None else pace.delay(before, fixed)
        visit.settle.delay = round(max(seconds, claim.floor) * 1000)

    def _attempt(
        self, claim: Claim, result: Page | Failure, outcome: str, error: str | None
    ) -> list[Attempt]:
        made = records.earlier_tries(result)
        if isinstance(result, Page) or (not result.noted and records.is_attempt(result)):
            made.append((result, outcome, error))
        return [records.attempt(self.crawl, self.worker, claim, *one) for one in made]


def visit_health(claim: Claim, result: Page | Failure, verdict: Verdict) -> HostHealth:
    """Returns the health of a host (`politeness.breaker`), derived from the result of a visit."""
    reason = verdict.reason if isinstance(verdict, Retry) else getattr(verdict, "error", None)
    status = result.status if isinstance(result, Page) else None
    final = isinstance(result, Failure) and result.final
    return health(reason, status, final=final, again=claim.attempt > 0 and not is_probe(claim))


def is_probe(claim: Claim) -> bool:
    """Returns whether a claim is a probe of a host whose circuit breaker is half-open."""
    return bool(claim.trouble) and HostTrouble.of(claim.trouble).failing > 0
