"""Made by `python -m gossamer.client.service_stub` from the table of operations."""

from collections.abc import AsyncIterator, Iterator, Sequence
from typing import Any, Literal

import gossamer.frontier.stats
import gossamer.model.summary
import gossamer.operations.inputs_of_uses
import gossamer.operations.results
import gossamer.operations.results_of_uses
import gossamer.operations.results_of_views
import gossamer.state.action_log
from gossamer.client.service_calls import ServiceCalls

class ServiceMethods(ServiceCalls):
    def version(self) -> gossamer.operations.results.Version:
        """Returns the version of gossamer, and what the caller may do."""
    def crawls(
        self,
        *,
        state: Literal['running', 'paused', 'stopping', 'cancelling', 'ending', 'finished', 'limited', 'stopped', 'cancelled', 'failed'] | None = None,
    ) -> Iterator[gossamer.operations.results.CrawlEntry]:
        """Lists crawls by name, each with its counts and current rates."""
    def start(
        self,
        *targets: str,
        sites: Sequence[str] = (),
        args: dict[str, str] = {},
        name: str | None = None,
        scope: Literal['page', 'prefix', 'host', 'domain', 'any'] | None = None,
        include: Sequence[str] = (),
        exclude: Sequence[str] = (),
        depth: int | None = None,
        limit: int | None = None,
        time_limit: float | None = None,
        size_limit: int | None = None,
        delay: float | None = None,
        per_host: int | None = None,
        concurrency: int | None = None,
        rate: float | None = None,
        priority: int | None = None,
        sitemaps: bool = False,
        text: bool = False,
        markdown: bool = False,
        links: bool = False,
        fail_on: Sequence[str] = (),
        fresh: bool = False,
        refresh: bool = False,
        wait: float = 0.0,
    ) -> gossamer.operations.results.CrawlStatus:
        """Starts a crawl, or resumes the unfinished crawl of this name. The same request with the same
        idempotency key starts one crawl. With `wait`, answers when the crawl has ended, or when the time is
        over."""
    def status(self, crawl: str, *, wait: float = 0.0) -> gossamer.operations.results.CrawlStatus:
        """Shows the state of a crawl: counts, rates, slowest hosts, and why it is idle. With `wait`, answers
        when the crawl has ended, or when the time is over."""
    def outcome(self, crawl: str, *, wait: float = 0.0) -> gossamer.operations.results.CrawlOutcome:
        """Shows how a crawl ended: the exit code that `gossamer crawl` returns, with the counts. With `wait`,
        answers when the crawl has ended, or when the time is over."""
    def pause(self, crawl: str) -> gossamer.operations.results.CrawlHandle:
        """Pauses a crawl. No new pages are fetched, and the queue and all results are kept."""
    def resume(self, crawl: str) -> gossamer.operations.results.CrawlHandle:
        """Continues a paused crawl. To continue a crawl that has ended, start it again with the same name."""
    def finish(self, crawl: str) -> gossamer.operations.results.CrawlHandle:
        """Retries nothing more. URLs that wait for a retry become dead letters, and the others are still
        fetched."""
    def stop(self, crawl: str) -> gossamer.operations.results.CrawlHandle:
        """Ends a crawl gracefully and keeps its queue."""
    def cancel(self, crawl: str) -> gossamer.operations.results.CrawlHandle:
        """Ends a crawl and drops its queue. Fetched pages are kept."""
    def accept(self, crawl: str) -> gossamer.model.summary.Summary:
        """Confirms that a run which is not like the last good runs is right."""
    def add(
        self,
        crawl: str,
        *urls: str,
        priority: int | None = None,
        id: str | None = None,
        use: str | None = None,
        carry: Any = None,
        key: str | None = None,
        again: bool = False,
        if_older: float | None = None,
        as_seeds: bool = False,
    ) -> gossamer.operations.results.AddedUrls:
        """Adds URLs to a crawl that is running, paused or ended."""
    def priority(
        self,
        crawl: str,
        priority: int,
        *,
        host: str | None = None,
        match: str | None = None,
        dry_run: bool = False,
        confirm: str | None = None,
    ) -> gossamer.operations.results.Reprioritized:
        """Changes the priority of waiting URLs."""
    def limits(
        self,
        crawl: str,
        *,
        limit: int | None = None,
        size_limit: int | None = None,
        time_limit: float | None = None,
        exclude: Sequence[str] = (),
        readmit: Sequence[str] = (),
    ) -> gossamer.operations.results.CrawlLimits:
        """Changes the limits and exclusions of a running crawl, which its workers follow within seconds.
        Limits hold until the run ends, exclusions as long as the crawl exists."""
    def weight(
        self,
        crawl: str,
        *,
        weight: int | None = None,
        precedence: int | None = None,
    ) -> gossamer.operations.results.FleetShare:
        """Changes a crawl's share of the fleet, or puts it before other crawls."""
    def hosts(
        self,
        crawl: str,
        *,
        sort: Literal['waiting', 'delay', 'next', 'host', 'in_flight', 'failing'] = 'waiting',
        limit: int = 20,
    ) -> list[gossamer.operations.results.CrawlHost]:
        """Lists the hosts of a crawl with their queues and delays."""
    def items(
        self,
        crawl: str,
        *,
        host: str | None = None,
        since: str | None = None,
        where: Sequence[str] = (),
        kind: str | None = None,
    ) -> Iterator[dict[str, Any]]:
        """Lists the stored items of a crawl. Another media type streams all of them: NDJSON, CSV or Parquet."""
    def pages(
        self,
        crawl: str,
        *,
        host: str | None = None,
        since: str | None = None,
        where: Sequence[str] = (),
    ) -> Iterator[dict[str, Any]]:
        """Lists the page records of a crawl. Another media type streams all of them: NDJSON, CSV or Parquet."""
    def attempts(
        self,
        crawl: str,
        *,
        host: str | None = None,
        since: str | None = None,
        where: Sequence[str] = (),
        status: str | None = None,
        outcome: str | None = None,
    ) -> Iterator[dict[str, Any]]:
        """Lists the requests of a crawl. Another media type streams all of them: NDJSON, CSV or Parquet."""
    def skipped(
        self,
        crawl: str,
        *,
        host: str | None = None,
        since: str | None = None,
        where: Sequence[str] = (),
        reason: Literal['robots', 'scope', 'depth', 'budget', 'trap', 'nofollow', 'private', 'content-type', 'filter'] | None = None,
    ) -> Iterator[dict[str, Any]]:
        """Lists the URLs that a crawl found and did not fetch, each with the reason and the rule that
        decided. Another media type streams all of them: NDJSON, CSV or Parquet."""
    def requeue_skipped(
        self,
        crawl: str,
        *,
        host: str | None = None,
        since: str | None = None,
        where: Sequence[str] = (),
        reason: Literal['robots', 'scope', 'depth', 'budget', 'trap', 'nofollow', 'private', 'content-type', 'filter'] | None = None,
        as_seeds: bool = False,
        dry_run: bool = False,
        confirm: str | None = None,
    ) -> gossamer.operations.results.RequeuedUrls:
        """Requeues skipped URLs. The filters and robots.txt decide again, unless they are taken as seeds.
        Start a crawl that has ended again to fetch them."""
    def dead_letters(
        self,
        crawl: str,
        *,
        host: str | None = None,
        reason: Literal['dns', 'connect', 'tls', 'timeout', 'reset', 'collector', 'http-4xx', 'http-5xx', 'rate-limited', 'blocked', 'too-large', 'redirect-loop', 'proxy', 'login', 'robots-unreachable', 'given-up', 'parse', 'missing', 'too-complex', 'too-slow', 'sink', 'crash', 'expired'] | None = None,
        since: str | None = None,
    ) -> Iterator[gossamer.frontier.stats.Letter]:
        """Lists dead letters, which are URLs that a crawl gave up."""
    def requeue(
        self,
        crawl: str,
        *,
        host: str | None = None,
        reason: Literal['dns', 'connect', 'tls', 'timeout', 'reset', 'collector', 'http-4xx', 'http-5xx', 'rate-limited', 'blocked', 'too-large', 'redirect-loop', 'proxy', 'login', 'robots-unreachable', 'given-up', 'parse', 'missing', 'too-complex', 'too-slow', 'sink', 'crash', 'expired'] | None = None,
        since: str | None = None,
        dry_run: bool = False,
        confirm: str | None = None,
    ) -> gossamer.operations.results.Decided:
        """Requeues dead letters, as if they had never been tried. Start a crawl that has ended again to fetch
        them."""
    def drop(
        self,
        crawl: str,
        *,
        host: str | None = None,
        reason: Literal['dns', 'connect', 'tls', 'timeout', 'reset', 'collector', 'http-4xx', 'http-5xx', 'rate-limited', 'blocked', 'too-large', 'redirect-loop', 'proxy', 'login', 'robots-unreachable', 'given-up', 'parse', 'missing', 'too-complex', 'too-slow', 'sink', 'crash', 'expired'] | None = None,
        since: str | None = None,
        dry_run: bool = False,
        confirm: str | None = None,
    ) -> gossamer.operations.results.Decided:
        """Drops dead letters for good. A dropped dead letter counts as failed."""
    def undo(self, crawl: str) -> gossamer.operations.results.UndoneLetters:
        """Undoes the last requeue or drop of dead letters, if it was made in the last 10 minutes."""
    def actions(
        self,
        *,
        crawl: str | None = None,
        who: str | None = None,
        operation: str | None = None,
        since: str | None = None,
    ) -> Iterator[gossamer.state.action_log.Action]:
        """Lists who changed what and with which outcome, newest first: by commands, the API and the
        dashboard. Secrets are hidden. The last 10,000 actions are kept."""
    def host(self, host: str) -> gossamer.operations.results.HostStatus:
        """Shows a host: robots.txt, pace, circuit breaker, rungs, blocks, and its queue in each crawl."""
    def pause_host(
        self,
        host: str,
        *,
        seconds: float | None = None,
    ) -> gossamer.operations.results.HostChange:
        """Pauses requests to a host in all crawls. Requests that have already begun are completed."""
    def resume_host(self, host: str) -> gossamer.operations.results.HostChange:
        """Ends the pause of a host."""
    def pace_host(
        self,
        host: str,
        *,
        delay: float | None = None,
        per_host: int | None = None,
    ) -> gossamer.operations.results.HostChange:
        """Sets a fixed delay for a host in all crawls. The delay is never shorter than the host's
        Crawl-delay."""
    def workers(self) -> list[dict[str, Any]]:
        """Lists the workers of the fleet: where they run, what they serve, and the crawls on which they do
        not work."""
    def drain_worker(self, worker: str) -> gossamer.operations.results.Ordered:
        """Lets a worker finish its claims and start nothing new."""
    def stop_worker(self, worker: str) -> gossamer.operations.results.Ordered:
        """Stops a worker gracefully. It returns its unfinished URLs."""
    def scrape(
        self,
        url: str,
        *,
        site: str | None = None,
        use: str | None = None,
        text: bool = False,
        markdown: bool = False,
        html: bool = False,
        links: bool = False,
        screenshot: Literal['page', 'full'] | None = None,
    ) -> gossamer.operations.results.ScrapedPage:
        """Fetches and reads one page, and stores nothing. robots.txt, limits and guards apply as in a crawl."""
    def add_webhook(
        self,
        url: str,
        *,
        events: Sequence[Literal['crawl.started', 'crawl.updated', 'crawl.changed', 'crawl.ended', 'items']] = (),
        crawls: str = '',
        secret: str | None = None,
    ) -> gossamer.operations.results.AddedWebhook:
        """Adds a receiver of events. The answer contains the secret, which is never shown again. Events are
        delivered by `gossamer serve`, also after a restart."""
    def webhooks(self) -> list[gossamer.operations.results.WebhookStatus]:
        """Lists the receivers of events, without their secrets."""
    def remove_webhook(self, webhook: str) -> gossamer.operations.results.RemovedWebhook:
        """Removes a receiver of events, with the events that wait for it."""
    def undelivered(self, webhook: str) -> Iterator[gossamer.operations.results.DeadDelivery]:
        """Lists the events whose delivery was given up, each with the reason."""
    def resend(self, webhook: str, *, number: str | None = None) -> gossamer.operations.results.Resent:
        """Delivers events again that were given up: one, or all. Their ids stay the same."""
    def activity(self, crawl: str) -> gossamer.operations.results_of_views.CrawlActivity:
        """Counts the requests of a crawl over time, by the class of their responses, in at most 60 periods."""
    def page(self, crawl: str, url: str) -> gossamer.operations.results_of_views.PageInspection:
        """Shows a page of a crawl beside what was made of it: its record, its items, the requests for it, and
        its stored body, if the crawl stores whole pages."""
    def dead_groups(self, crawl: str) -> gossamer.operations.results_of_views.LetterGroups:
        """Groups the dead letters of a crawl by reason and host, most first. At most 20,000 letters are read."""
    def compare(self, crawl: str, other: str) -> gossamer.operations.results_of_views.CrawlComparison:
        """Compares the counts of two crawls, for example of two runs of the same site."""
    def price_report(
        self,
        *,
        history: str = 'prices',
        days: int = 30,
        shop: str | None = None,
        tag: str | None = None,
        product: str | None = None,
    ) -> str:
        """Returns the report on a price history: the biggest moves with charts, the market, failing and stale
        targets."""
    def rank_report(self, *, history: str = 'ranks', days: int = 30, domain: str | None = None) -> str:
        """Returns the report on a rank history: gains and losses, histories, competitors, features, failed
        checks."""
    def keyword_report(self, *, folder: str = 'keywords', run: str | None = None) -> str:
        """Returns the report on a count of keywords: keywords with contexts, terms, gaps, overlap, trends."""
    def audit_report(self, audit: str) -> str:
        """Returns the report on the last complete audit of a site: findings by check, what is new, what is
        fixed."""
    def price_matches(self, *, history: str = 'prices', skipped: bool = False) -> Iterator[dict[str, Any]]:
        """Lists pairs of offers with similar names that wait for a decision of a person, most similar first."""
    def price_decide(
        self,
        one: str,
        other: str,
        decision: Literal['same', 'different', 'later'],
        *,
        history: str = 'prices',
    ) -> gossamer.operations.results_of_views.MatchDecision:
        """Decides whether two targets offer the same product. `later` keeps the pair aside."""
    def explain(
        self,
        url: str,
        *,
        crawl: str | None = None,
        depth: int | None = None,
        page: str | None = None,
    ) -> gossamer.operations.results_of_uses.Explanation:
        """Explains why a URL was or was not fetched: the verdict of each check, and the rule that decided."""
    def map(
        self,
        url: str,
        *,
        scope: Literal['host', 'domain'] = 'host',
        search: str | None = None,
        sitemaps: bool = True,
        pages: int = 1,
        limit: int = 5000,
    ) -> gossamer.operations.results_of_uses.SiteMap:
        """Lists the URLs of a site: those of its sitemaps, and the links of its first pages. robots.txt and
        guards apply as in a crawl. For all pages of a site, start a crawl."""
    def freshness(self, crawl: str) -> gossamer.operations.results_of_uses.CrawlFreshness:
        """Shows how fresh the copies of a crawl with revisits are."""
    def changed(self, crawl: str, *urls: str) -> gossamer.operations.results_of_uses.ChangedPages:
        """Reports pages as changed. A crawl with revisits visits these pages next."""
    def fix_rung(
        self,
        host: str,
        *,
        rung: Literal['plain', 'impersonated', 'browser', 'unlocker'] | None = None,
    ) -> gossamer.operations.results_of_uses.RungChange:
        """Fetches the pages of a host only with one rung of the ladder, in all crawls whose ladder has it."""
    def rates(self) -> dict[str, float]:
        """Shows the caps on the requests per second of all crawls together."""
    def cap_rate(self, lane: str, *, rate: float | None = None) -> dict[str, float]:
        """Caps the requests per second of a lane or of the whole fleet, while crawls run."""
    def proxies(self) -> Iterator[gossamer.operations.results_of_uses.ProxyEntry]:
        """Lists the proxies of the server's lists, and those that workers have used: whether they work, and
        where they cool down. Credentials are left out."""
    def sessions(self) -> list[dict[str, Any]]:
        """Lists log-ins at sites: account, state, time of the log-in and last use. Cookies and credentials
        are left out."""
    def alerts(
        self,
        *,
        state: Literal['firing', 'pending', 'resolved'] | None = None,
    ) -> gossamer.operations.results_of_uses.AlertList:
        """Lists firing, pending and resolved alerts, and muted rules."""
    def mute_alerts(
        self,
        rule: str,
        *,
        seconds: float = 3600.0,
    ) -> gossamer.operations.results_of_uses.AlertMute:
        """Sends no notifications of alerts for some time."""
    def unmute_alerts(self, rule: str) -> gossamer.operations.results_of_uses.AlertMute:
        """Ends a mute."""
    def metrics(self) -> str:
        """Returns the metrics of all crawls and workers in the text format of Prometheus."""
    def schedules(self) -> gossamer.operations.results_of_uses.ScheduleList:
        """Lists all schedules: the next due time, the last run and its result."""
    def add_schedule(
        self,
        schedule: str,
        cron: str,
        *,
        targets: Sequence[str] = (),
        sites: Sequence[str] = (),
        prices: gossamer.operations.inputs_of_uses.StartPriceRun | None = None,
        ranks: gossamer.operations.inputs_of_uses.StartRankRun | None = None,
        keywords: gossamer.operations.inputs_of_uses.StartKeywordRun | None = None,
        audit: gossamer.operations.inputs_of_uses.StartAudit | None = None,
        tz: str | None = None,
        jitter: float | None = None,
        spread: float | None = None,
        missed: str | None = None,
        overlap: Literal['skip', 'queue'] | None = None,
        scope: Literal['page', 'prefix', 'host', 'domain', 'any'] | None = None,
        include: Sequence[str] = (),
        exclude: Sequence[str] = (),
        depth: int | None = None,
        limit: int | None = None,
        time_limit: float | None = None,
        delay: float | None = None,
        rate: float | None = None,
        sitemaps: bool = False,
        text: bool = False,
        links: bool = False,
        refresh: bool = False,
    ) -> gossamer.operations.results_of_uses.ScheduleChange:
        """Adds a crawl or a run of a use by the clock, or changes the schedule of this name. A `gossamer
        scheduler` starts it."""
    def pause_schedule(self, schedule: str) -> gossamer.operations.results_of_uses.ScheduleChange:
        """Pauses a schedule until it is resumed. Its running crawls are not stopped."""
    def resume_schedule(self, schedule: str) -> gossamer.operations.results_of_uses.ScheduleChange:
        """Resumes a paused schedule. Runs that were due during the pause are skipped."""
    def run_schedule(
        self,
        schedule: str,
        *,
        wait: float = 0.0,
    ) -> gossamer.operations.results_of_uses.CommandRun:
        """Runs a schedule now, as a process of its own. With a shared store, the fleet crawls."""
    def schedule_runs(self, schedule: str, *, limit: int = 20) -> list[dict[str, Any]]:
        """Lists the last runs of a schedule, latest first: when, how they ended, and why."""
    def remove_schedule(self, schedule: str) -> gossamer.operations.results_of_uses.ScheduleChange:
        """Removes a schedule. Its running crawls are not stopped."""
    def runs(
        self,
        *,
        use: Literal['prices', 'ranks', 'keywords', 'audit', 'schedule'] | None = None,
    ) -> Iterator[gossamer.operations.results_of_uses.CommandRun]:
        """Lists the runs that were started by the API, by name: prices, ranks, keywords, audits and
        schedules."""
    def run(self, run: str, *, wait: float = 0.0) -> gossamer.operations.results_of_uses.CommandRun:
        """Shows a run: its state, exit code and summary. With `wait`, answers when the run has ended, or when
        the time is over."""
    def stop_run(self, run: str) -> gossamer.operations.results_of_uses.CommandRun:
        """Stops a run gracefully, like Ctrl-C. The results so far are kept, and the next run continues."""
    def price_list(
        self,
        *,
        history: str = 'prices',
        shop: str | None = None,
        tag: str | None = None,
        product: str | None = None,
    ) -> Iterator[dict[str, Any]]:
        """Lists the current prices, as the table `prices` of `gossamer prices report` does."""
    def price_moves(
        self,
        *,
        history: str = 'prices',
        shop: str | None = None,
        tag: str | None = None,
        product: str | None = None,
        days: int = 30,
    ) -> Iterator[dict[str, Any]]:
        """Lists the biggest changes of price, biggest first. A rise from 2 to 3 counts as much as a fall from
        3 to 2."""
    def price_market(
        self,
        *,
        history: str = 'prices',
        product: str | None = None,
    ) -> Iterator[dict[str, Any]]:
        """Compares the offers of a product, or of all products with several targets, cheapest first."""
    def price_stale(
        self,
        *,
        history: str = 'prices',
        shop: str | None = None,
        tag: str | None = None,
        product: str | None = None,
        days: int = 2,
    ) -> Iterator[dict[str, Any]]:
        """Lists the targets that no visit has found for days, oldest first."""
    def price_failing(
        self,
        *,
        history: str = 'prices',
        state: Literal['gone', 'moved', 'blocked', 'empty', 'failed', 'no-price', 'undecided'] | None = None,
        shop: str | None = None,
        runs: int = 1,
    ) -> Iterator[dict[str, Any]]:
        """Lists the targets that fail: since when, in how many runs, and the last response."""
    def price_shops(self, *, history: str = 'prices') -> Iterator[dict[str, Any]]:
        """Lists the shops with their state: ok, redesigned, away or moved."""
    def price_series(
        self,
        target: str,
        *,
        history: str = 'prices',
        variant: str = '',
        since: str | None = None,
    ) -> Iterator[dict[str, Any]]:
        """Lists the prices of a target, oldest first. Each holds from its time until that of the next row."""
    def price_events(
        self,
        *,
        history: str = 'prices',
        target: str | None = None,
        kind: str | None = None,
        since: str | None = None,
    ) -> Iterator[dict[str, Any]]:
        """Lists the changes of prices, availability, sellers, pages and shops, oldest first."""
    def price_run(
        self,
        *,
        lists: Sequence[str] = (),
        urls: Sequence[str] = (),
        history: str = 'prices',
        delay: float | None = None,
        within: float | None = None,
        spread: float | None = None,
        partly: bool = False,
        if_older: float | None = None,
        wait: float = 0.0,
    ) -> gossamer.operations.results_of_uses.CommandRun:
        """Starts a price run: visits all product pages, and records every change. The lists are files in the
        folder of `serve`. A run that was stopped continues with the next one."""
    def rank_positions(
        self,
        *,
        history: str = 'ranks',
        domain: str | None = None,
        days: int = 7,
        moves: bool = False,
        tag: str | None = None,
    ) -> Iterator[dict[str, Any]]:
        """Lists the current, best and worst positions of the own domains, and the change in some days."""
    def rank_history(
        self,
        keyword: str,
        *,
        history: str = 'ranks',
        domain: str | None = None,
        days: int = 30,
    ) -> Iterator[dict[str, Any]]:
        """Lists the results of all checks of a keyword, including failed checks, oldest first."""
    def rank_competitors(
        self,
        *,
        history: str = 'ranks',
        domain: str | None = None,
        side_by_side: bool = False,
    ) -> Iterator[dict[str, Any]]:
        """Compares domains by share of voice, or side by side for each keyword."""
    def rank_features(self, *, history: str = 'ranks', days: int = 30) -> Iterator[dict[str, Any]]:
        """Lists the features of first result pages, and how often they contain own domains."""
    def rank_volatility(self, *, history: str = 'ranks', days: int = 30) -> Iterator[dict[str, Any]]:
        """Lists how much the first ten results changed from run to run."""
    def rank_competing(self, *, history: str = 'ranks', days: int = 30) -> Iterator[dict[str, Any]]:
        """Lists the keywords for which several own pages compete."""
    def rank_failing(self, *, history: str = 'ranks') -> Iterator[dict[str, Any]]:
        """Lists the searches that were never checked, and those whose last check failed or was skipped."""
    def rank_events(
        self,
        *,
        history: str = 'ranks',
        kind: str | None = None,
        since: str | None = None,
    ) -> Iterator[dict[str, Any]]:
        """Lists the changes that checks found, oldest first."""
    def rank_run(
        self,
        lists: Sequence[str],
        *,
        history: str = 'ranks',
        budget: int | None = None,
        first: int | None = None,
        strategy: Literal['smart', 'custom', 'basic'] | None = None,
        no_fallback: bool = False,
        failed: bool = False,
        domain: str | None = None,
        engine: str | None = None,
        country: str | None = None,
        language: str | None = None,
        device: str | None = None,
        if_older: float | None = None,
        wait: float = 0.0,
    ) -> gossamer.operations.results_of_uses.CommandRun:
        """Starts a rank run by the provider of the server's settings, and records positions. It spends
        credits: `budget` limits those of a day. A run that was stopped continues with the next one, and pays
        for no page twice."""
    def keyword_runs(self, *, folder: str = 'keywords') -> Iterator[dict[str, Any]]:
        """Lists the keyword counts of a folder, oldest first."""
    def keyword_totals(
        self,
        *,
        folder: str = 'keywords',
        run: str | None = None,
        site: str | None = None,
    ) -> Iterator[dict[str, Any]]:
        """Lists the counted keywords, the most frequent first: counts, pages, density, places on the pages."""
    def keyword_terms(
        self,
        *,
        folder: str = 'keywords',
        run: str | None = None,
        site: str | None = None,
        language: str | None = None,
        words: int = 0,
    ) -> Iterator[dict[str, Any]]:
        """Lists the words and phrases that matter on the pages, with count, pages, density and TF-IDF."""
    def keyword_pages(
        self,
        keyword: str,
        *,
        folder: str = 'keywords',
        run: str | None = None,
        site: str | None = None,
    ) -> Iterator[dict[str, Any]]:
        """Lists the pages with a keyword: count, density, where on the page, and the first contexts."""
    def keyword_gaps(
        self,
        mine: str,
        theirs: str,
        *,
        folder: str = 'keywords',
        run: str | None = None,
    ) -> Iterator[dict[str, Any]]:
        """Lists the keywords and terms that a competitor's pages have and the own pages do not have."""
    def keyword_overlap(
        self,
        *,
        folder: str = 'keywords',
        run: str | None = None,
    ) -> Iterator[dict[str, Any]]:
        """Compares the sites of a run pair by pair: the keywords on both sites, and on only one."""
    def keyword_cannibals(
        self,
        *,
        folder: str = 'keywords',
        run: str | None = None,
        site: str | None = None,
    ) -> Iterator[dict[str, Any]]:
        """Lists keywords for which several pages of one site compete."""
    def keyword_trend(
        self,
        keyword: str,
        *,
        folder: str = 'keywords',
        site: str | None = None,
    ) -> Iterator[dict[str, Any]]:
        """Lists how often a keyword was found in each run, oldest first."""
    def keyword_run(
        self,
        *,
        urls: Sequence[str] = (),
        keywords: Sequence[str] = (),
        lists: Sequence[str] = (),
        folder: str = 'keywords',
        stem: str | None = None,
        context: int | None = None,
        limit: int | None = None,
        scope: Literal['page', 'prefix', 'host', 'domain', 'any'] | None = None,
        include: Sequence[str] = (),
        exclude: Sequence[str] = (),
        delay: float | None = None,
        if_older: float | None = None,
        fresh: bool = False,
        wait: float = 0.0,
    ) -> gossamer.operations.results_of_uses.CommandRun:
        """Starts a keyword count: crawls sites, counts keywords in their main texts, and discovers the terms
        that matter. Lists are files in the folder of `serve`."""
    def audits(self) -> Iterator[gossamer.operations.results_of_uses.AuditEntry]:
        """Lists the audited sites by name, each with the counts of its last complete audit."""
    def audit(self, audit: str) -> gossamer.operations.results_of_uses.AuditReport:
        """Shows the last complete audit of a site: counts, and the result of each check."""
    def audit_findings(
        self,
        audit: str,
        *,
        check: str | None = None,
        severity: Literal['error', 'warning', 'notice', 'info'] | None = None,
        new: bool = False,
    ) -> Iterator[dict[str, Any]]:
        """Lists the findings of the last complete audit of a site."""
    def audit_checks(self) -> list[dict[str, Any]]:
        """Lists all checks of an audit: what they find, and how to mend it."""
    def audit_run(
        self,
        url: str,
        *,
        audit: str | None = None,
        crawl: str | None = None,
        limit: int | None = None,
        depth: int | None = None,
        external: int | None = None,
        include: Sequence[str] = (),
        exclude: Sequence[str] = (),
        delay: float | None = None,
        as_host: str | None = None,
        if_older: float | None = None,
        fresh: bool = False,
        wait: float = 0.0,
    ) -> gossamer.operations.results_of_uses.CommandRun:
        """Starts an audit: crawls a site, and reports what is broken in it. The next audit shows which
        findings are new and which are fixed. An interrupted audit continues."""
    def find(
        self,
        query: str,
        *,
        crawl: Sequence[str] = (),
        by_date: bool = False,
        limit: int = 10,
        page: int = 1,
    ) -> gossamer.operations.results_of_uses.FoundPages:
        """Searches the texts of the pages that crawls kept, best first. The index of each crawl is updated
        first, in a process of its own."""

class AsyncServiceMethods:
    async def version(self) -> gossamer.operations.results.Version:
        """Returns the version of gossamer, and what the caller may do."""
    def crawls(
        self,
        *,
        state: Literal['running', 'paused', 'stopping', 'cancelling', 'ending', 'finished', 'limited', 'stopped', 'cancelled', 'failed'] | None = None,
    ) -> AsyncIterator[gossamer.operations.results.CrawlEntry]:
        """Lists crawls by name, each with its counts and current rates."""
    async def start(
        self,
        *targets: str,
        sites: Sequence[str] = (),
        args: dict[str, str] = {},
        name: str | None = None,
        scope: Literal['page', 'prefix', 'host', 'domain', 'any'] | None = None,
        include: Sequence[str] = (),
        exclude: Sequence[str] = (),
        depth: int | None = None,
        limit: int | None = None,
        time_limit: float | None = None,
        size_limit: int | None = None,
        delay: float | None = None,
        per_host: int | None = None,
        concurrency: int | None = None,
        rate: float | None = None,
        priority: int | None = None,
        sitemaps: bool = False,
        text: bool = False,
        markdown: bool = False,
        links: bool = False,
        fail_on: Sequence[str] = (),
        fresh: bool = False,
        refresh: bool = False,
        wait: float = 0.0,
    ) -> gossamer.operations.results.CrawlStatus:
        """Starts a crawl, or resumes the unfinished crawl of this name. The same request with the same
        idempotency key starts one crawl. With `wait`, answers when the crawl has ended, or when the time is
        over."""
    async def status(self, crawl: str, *, wait: float = 0.0) -> gossamer.operations.results.CrawlStatus:
        """Shows the state of a crawl: counts, rates, slowest hosts, and why it is idle. With `wait`, answers
        when the crawl has ended, or when the time is over."""
    async def outcome(self, crawl: str, *, wait: float = 0.0) -> gossamer.operations.results.CrawlOutcome:
        """Shows how a crawl ended: the exit code that `gossamer crawl` returns, with the counts. With `wait`,
        answers when the crawl has ended, or when the time is over."""
    async def pause(self, crawl: str) -> gossamer.operations.results.CrawlHandle:
        """Pauses a crawl. No new pages are fetched, and the queue and all results are kept."""
    async def resume(self, crawl: str) -> gossamer.operations.results.CrawlHandle:
        """Continues a paused crawl. To continue a crawl that has ended, start it again with the same name."""
    async def finish(self, crawl: str) -> gossamer.operations.results.CrawlHandle:
        """Retries nothing more. URLs that wait for a retry become dead letters, and the others are still
        fetched."""
    async def stop(self, crawl: str) -> gossamer.operations.results.CrawlHandle:
        """Ends a crawl gracefully and keeps its queue."""
    async def cancel(self, crawl: str) -> gossamer.operations.results.CrawlHandle:
        """Ends a crawl and drops its queue. Fetched pages are kept."""
    async def accept(self, crawl: str) -> gossamer.model.summary.Summary:
        """Confirms that a run which is not like the last good runs is right."""
    async def add(
        self,
        crawl: str,
        *urls: str,
        priority: int | None = None,
        id: str | None = None,
        use: str | None = None,
        carry: Any = None,
        key: str | None = None,
        again: bool = False,
        if_older: float | None = None,
        as_seeds: bool = False,
    ) -> gossamer.operations.results.AddedUrls:
        """Adds URLs to a crawl that is running, paused or ended."""
    async def priority(
        self,
        crawl: str,
        priority: int,
        *,
        host: str | None = None,
        match: str | None = None,
        dry_run: bool = False,
        confirm: str | None = None,
    ) -> gossamer.operations.results.Reprioritized:
        """Changes the priority of waiting URLs."""
    async def limits(
        self,
        crawl: str,
        *,
        limit: int | None = None,
        size_limit: int | None = None,
        time_limit: float | None = None,
        exclude: Sequence[str] = (),
        readmit: Sequence[str] = (),
    ) -> gossamer.operations.results.CrawlLimits:
        """Changes the limits and exclusions of a running crawl, which its workers follow within seconds.
        Limits hold until the run ends, exclusions as long as the crawl exists."""
    async def weight(
        self,
        crawl: str,
        *,
        weight: int | None = None,
        precedence: int | None = None,
    ) -> gossamer.operations.results.FleetShare:
        """Changes a crawl's share of the fleet, or puts it before other crawls."""
    async def hosts(
        self,
        crawl: str,
        *,
        sort: Literal['waiting', 'delay', 'next', 'host', 'in_flight', 'failing'] = 'waiting',
        limit: int = 20,
    ) -> list[gossamer.operations.results.CrawlHost]:
        """Lists the hosts of a crawl with their queues and delays."""
    def items(
        self,
        crawl: str,
        *,
        host: str | None = None,
        since: str | None = None,
        where: Sequence[str] = (),
        kind: str | None = None,
    ) -> AsyncIterator[dict[str, Any]]:
        """Lists the stored items of a crawl. Another media type streams all of them: NDJSON, CSV or Parquet."""
    def pages(
        self,
        crawl: str,
        *,
        host: str | None = None,
        since: str | None = None,
        where: Sequence[str] = (),
    ) -> AsyncIterator[dict[str, Any]]:
        """Lists the page records of a crawl. Another media type streams all of them: NDJSON, CSV or Parquet."""
    def attempts(
        self,
        crawl: str,
        *,
        host: str | None = None,
        since: str | None = None,
        where: Sequence[str] = (),
        status: str | None = None,
        outcome: str | None = None,
    ) -> AsyncIterator[dict[str, Any]]:
        """Lists the requests of a crawl. Another media type streams all of them: NDJSON, CSV or Parquet."""
    def skipped(
        self,
        crawl: str,
        *,
        host: str | None = None,
        since: str | None = None,
        where: Sequence[str] = (),
        reason: Literal['robots', 'scope', 'depth', 'budget', 'trap', 'nofollow', 'private', 'content-type', 'filter'] | None = None,
    ) -> AsyncIterator[dict[str, Any]]:
        """Lists the URLs that a crawl found and did not fetch, each with the reason and the rule that
        decided. Another media type streams all of them: NDJSON, CSV or Parquet."""
    async def requeue_skipped(
        self,
        crawl: str,
        *,
        host: str | None = None,
        since: str | None = None,
        where: Sequence[str] = (),
        reason: Literal['robots', 'scope', 'depth', 'budget', 'trap', 'nofollow', 'private', 'content-type', 'filter'] | None = None,
        as_seeds: bool = False,
        dry_run: bool = False,
        confirm: str | None = None,
    ) -> gossamer.operations.results.RequeuedUrls:
        """Requeues skipped URLs. The filters and robots.txt decide again, unless they are taken as seeds.
        Start a crawl that has ended again to fetch them."""
    def dead_letters(
        self,
        crawl: str,
        *,
        host: str | None = None,
        reason: Literal['dns', 'connect', 'tls', 'timeout', 'reset', 'collector', 'http-4xx', 'http-5xx', 'rate-limited', 'blocked', 'too-large', 'redirect-loop', 'proxy', 'login', 'robots-unreachable', 'given-up', 'parse', 'missing', 'too-complex', 'too-slow', 'sink', 'crash', 'expired'] | None = None,
        since: str | None = None,
    ) -> AsyncIterator[gossamer.frontier.stats.Letter]:
        """Lists dead letters, which are URLs that a crawl gave up."""
    async def requeue(
        self,
        crawl: str,
        *,
        host: str | None = None,
        reason: Literal['dns', 'connect', 'tls', 'timeout', 'reset', 'collector', 'http-4xx', 'http-5xx', 'rate-limited', 'blocked', 'too-large', 'redirect-loop', 'proxy', 'login', 'robots-unreachable', 'given-up', 'parse', 'missing', 'too-complex', 'too-slow', 'sink', 'crash', 'expired'] | None = None,
        since: str | None = None,
        dry_run: bool = False,
        confirm: str | None = None,
    ) -> gossamer.operations.results.Decided:
        """Requeues dead letters, as if they had never been tried. Start a crawl that has ended again to fetch
        them."""
    async def drop(
        self,
        crawl: str,
        *,
        host: str | None = None,
        reason: Literal['dns', 'connect', 'tls', 'timeout', 'reset', 'collector', 'http-4xx', 'http-5xx', 'rate-limited', 'blocked', 'too-large', 'redirect-loop', 'proxy', 'login', 'robots-unreachable', 'given-up', 'parse', 'missing', 'too-complex', 'too-slow', 'sink', 'crash', 'expired'] | None = None,
        since: str | None = None,
        dry_run: bool = False,
        confirm: str | None = None,
    ) -> gossamer.operations.results.Decided:
        """Drops dead letters for good. A dropped dead letter counts as failed."""
    async def undo(self, crawl: str) -> gossamer.operations.results.UndoneLetters:
        """Undoes the last requeue or drop of dead letters, if it was made in the last 10 minutes."""
    def actions(
        self,
        *,
        crawl: str | None = None,
        who: str | None = None,
        operation: str | None = None,
        since: str | None = None,
    ) -> AsyncIterator[gossamer.state.action_log.Action]:
        """Lists who changed what and with which outcome, newest first: by commands, the API and the
        dashboard. Secrets are hidden. The last 10,000 actions are kept."""
    async def host(self, host: str) -> gossamer.operations.results.HostStatus:
        """Shows a host: robots.txt, pace, circuit breaker, rungs, blocks, and its queue in each crawl."""
    async def pause_host(
        self,
        host: str,
        *,
        seconds: float | None = None,
    ) -> gossamer.operations.results.HostChange:
        """Pauses requests to a host in all crawls. Requests that have already begun are completed."""
    async def resume_host(self, host: str) -> gossamer.operations.results.HostChange:
        """Ends the pause of a host."""
    async def pace_host(
        self,
        host: str,
        *,
        delay: float | None = None,
        per_host: int | None = None,
    ) -> gossamer.operations.results.HostChange:
        """Sets a fixed delay for a host in all crawls. The delay is never shorter than the host's
        Crawl-delay."""
    async def workers(self) -> list[dict[str, Any]]:
        """Lists the workers of the fleet: where they run, what they serve, and the crawls on which they do
        not work."""
    async def drain_worker(self, worker: str) -> gossamer.operations.results.Ordered:
        """Lets a worker finish its claims and start nothing new."""
    async def stop_worker(self, worker: str) -> gossamer.operations.results.Ordered:
        """Stops a worker gracefully. It returns its unfinished URLs."""
    async def scrape(
        self,
        url: str,
        *,
        site: str | None = None,
        use: str | None = None,
        text: bool = False,
        markdown: bool = False,
        html: bool = False,
        links: bool = False,
        screenshot: Literal['page', 'full'] | None = None,
    ) -> gossamer.operations.results.ScrapedPage:
        """Fetches and reads one page, and stores nothing. robots.txt, limits and guards apply as in a crawl."""
    async def add_webhook(
        self,
        url: str,
        *,
        events: Sequence[Literal['crawl.started', 'crawl.updated', 'crawl.changed', 'crawl.ended', 'items']] = (),
        crawls: str = '',
        secret: str | None = None,
    ) -> gossamer.operations.results.AddedWebhook:
        """Adds a receiver of events. The answer contains the secret, which is never shown again. Events are
        delivered by `gossamer serve`, also after a restart."""
    async def webhooks(self) -> list[gossamer.operations.results.WebhookStatus]:
        """Lists the receivers of events, without their secrets."""
    async def remove_webhook(self, webhook: str) -> gossamer.operations.results.RemovedWebhook:
        """Removes a receiver of events, with the events that wait for it."""
    def undelivered(self, webhook: str) -> AsyncIterator[gossamer.operations.results.DeadDelivery]:
        """Lists the events whose delivery was given up, each with the reason."""
    async def resend(self, webhook: str, *, number: str | None = None) -> gossamer.operations.results.Resent:
        """Delivers events again that were given up: one, or all. Their ids stay the same."""
    async def activity(self, crawl: str) -> gossamer.operations.results_of_views.CrawlActivity:
        """Counts the requests of a crawl over time, by the class of their responses, in at most 60 periods."""
    async def page(self, crawl: str, url: str) -> gossamer.operations.results_of_views.PageInspection:
        """Shows a page of a crawl beside what was made of it: its record, its items, the requests for it, and
        its stored body, if the crawl stores whole pages."""
    async def dead_groups(self, crawl: str) -> gossamer.operations.results_of_views.LetterGroups:
        """Groups the dead letters of a crawl by reason and host, most first. At most 20,000 letters are read."""
    async def compare(self, crawl: str, other: str) -> gossamer.operations.results_of_views.CrawlComparison:
        """Compares the counts of two crawls, for example of two runs of the same site."""
    async def price_report(
        self,
        *,
        history: str = 'prices',
        days: int = 30,
        shop: str | None = None,
        tag: str | None = None,
        product: str | None = None,
    ) -> str:
        """Returns the report on a price history: the biggest moves with charts, the market, failing and stale
        targets."""
    async def rank_report(self, *, history: str = 'ranks', days: int = 30, domain: str | None = None) -> str:
        """Returns the report on a rank history: gains and losses, histories, competitors, features, failed
        checks."""
    async def keyword_report(self, *, folder: str = 'keywords', run: str | None = None) -> str:
        """Returns the report on a count of keywords: keywords with contexts, terms, gaps, overlap, trends."""
    async def audit_report(self, audit: str) -> str:
        """Returns the report on the last complete audit of a site: findings by check, what is new, what is
        fixed."""
    def price_matches(
        self,
        *,
        history: str = 'prices',
        skipped: bool = False,
    ) -> AsyncIterator[dict[str, Any]]:
        """Lists pairs of offers with similar names that wait for a decision of a person, most similar first."""
    async def price_decide(
        self,
        one: str,
        other: str,
        decision: Literal['same', 'different', 'later'],
        *,
        history: str = 'prices',
    ) -> gossamer.operations.results_of_views.MatchDecision:
        """Decides whether two targets offer the same product. `later` keeps the pair aside."""
    async def explain(
        self,
        url: str,
        *,
        crawl: str | None = None,
        depth: int | None = None,
        page: str | None = None,
    ) -> gossamer.operations.results_of_uses.Explanation:
        """Explains why a URL was or was not fetched: the verdict of each check, and the rule that decided."""
    async def map(
        self,
        url: str,
        *,
        scope: Literal['host', 'domain'] = 'host',
        search: str | None = None,
        sitemaps: bool = True,
        pages: int = 1,
        limit: int = 5000,
    ) -> gossamer.operations.results_of_uses.SiteMap:
        """Lists the URLs of a site: those of its sitemaps, and the links of its first pages. robots.txt and
        guards apply as in a crawl. For all pages of a site, start a crawl."""
    async def freshness(self, crawl: str) -> gossamer.operations.results_of_uses.CrawlFreshness:
        """Shows how fresh the copies of a crawl with revisits are."""
    async def changed(self, crawl: str, *urls: str) -> gossamer.operations.results_of_uses.ChangedPages:
        """Reports pages as changed. A crawl with revisits visits these pages next."""
    async def fix_rung(
        self,
        host: str,
        *,
        rung: Literal['plain', 'impersonated', 'browser', 'unlocker'] | None = None,
    ) -> gossamer.operations.results_of_uses.RungChange:
        """Fetches the pages of a host only with one rung of the ladder, in all crawls whose ladder has it."""
    async def rates(self) -> dict[str, float]:
        """Shows the caps on the requests per second of all crawls together."""
    async def cap_rate(self, lane: str, *, rate: float | None = None) -> dict[str, float]:
        """Caps the requests per second of a lane or of the whole fleet, while crawls run."""
    def proxies(self) -> AsyncIterator[gossamer.operations.results_of_uses.ProxyEntry]:
        """Lists the proxies of the server's lists, and those that workers have used: whether they work, and
        where they cool down. Credentials are left out."""
    async def sessions(self) -> list[dict[str, Any]]:
        """Lists log-ins at sites: account, state, time of the log-in and last use. Cookies and credentials
        are left out."""
    async def alerts(
        self,
        *,
        state: Literal['firing', 'pending', 'resolved'] | None = None,
    ) -> gossamer.operations.results_of_uses.AlertList:
        """Lists firing, pending and resolved alerts, and muted rules."""
    async def mute_alerts(
        self,
        rule: str,
        *,
        seconds: float = 3600.0,
    ) -> gossamer.operations.results_of_uses.AlertMute:
        """Sends no notifications of alerts for some time."""
    async def unmute_alerts(self, rule: str) -> gossamer.operations.results_of_uses.AlertMute:
        """Ends a mute."""
    async def metrics(self) -> str:
        """Returns the metrics of all crawls and workers in the text format of Prometheus."""
    async def schedules(self) -> gossamer.operations.results_of_uses.ScheduleList:
        """Lists all schedules: the next due time, the last run and its result."""
    async def add_schedule(
        self,
        schedule: str,
        cron: str,
        *,
        targets: Sequence[str] = (),
        sites: Sequence[str] = (),
        prices: gossamer.operations.inputs_of_uses.StartPriceRun | None = None,
        ranks: gossamer.operations.inputs_of_uses.StartRankRun | None = None,
        keywords: gossamer.operations.inputs_of_uses.StartKeywordRun | None = None,
        audit: gossamer.operations.inputs_of_uses.StartAudit | None = None,
        tz: str | None = None,
        jitter: float | None = None,
        spread: float | None = None,
        missed: str | None = None,
        overlap: Literal['skip', 'queue'] | None = None,
        scope: Literal['page', 'prefix', 'host', 'domain', 'any'] | None = None,
        include: Sequence[str] = (),
        exclude: Sequence[str] = (),
        depth: int | None = None,
        limit: int | None = None,
        time_limit: float | None = None,
        delay: float | None = None,
        rate: float | None = None,
        sitemaps: bool = False,
        text: bool = False,
        links: bool = False,
        refresh: bool = False,
    ) -> gossamer.operations.results_of_uses.ScheduleChange:
        """Adds a crawl or a run of a use by the clock, or changes the schedule of this name. A `gossamer
        scheduler` starts it."""
    async def pause_schedule(self, schedule: str) -> gossamer.operations.results_of_uses.ScheduleChange:
        """Pauses a schedule until it is resumed. Its running crawls are not stopped."""
    async def resume_schedule(self, schedule: str) -> gossamer.operations.results_of_uses.ScheduleChange:
        """Resumes a paused schedule. Runs that were due during the pause are skipped."""
    async def run_schedule(
        self,
        schedule: str,
        *,
        wait: float = 0.0,
    ) -> gossamer.operations.results_of_uses.CommandRun:
        """Runs a schedule now, as a process of its own. With a shared store, the fleet crawls."""
    async def schedule_runs(self, schedule: str, *, limit: int = 20) -> list[dict[str, Any]]:
        """Lists the last runs of a schedule, latest first: when, how they ended, and why."""
    async def remove_schedule(self, schedule: str) -> gossamer.operations.results_of_uses.ScheduleChange:
        """Removes a schedule. Its running crawls are not stopped."""
    def runs(
        self,
        *,
        use: Literal['prices', 'ranks', 'keywords', 'audit', 'schedule'] | None = None,
    ) -> AsyncIterator[gossamer.operations.results_of_uses.CommandRun]:
        """Lists the runs that were started by the API, by name: prices, ranks, keywords, audits and
        schedules."""
    async def run(self, run: str, *, wait: float = 0.0) -> gossamer.operations.results_of_uses.CommandRun:
        """Shows a run: its state, exit code and summary. With `wait`, answers when the run has ended, or when
        the time is over."""
    async def stop_run(self, run: str) -> gossamer.operations.results_of_uses.CommandRun:
        """Stops a run gracefully, like Ctrl-C. The results so far are kept, and the next run continues."""
    def price_list(
        self,
        *,
        history: str = 'prices',
        shop: str | None = None,
        tag: str | None = None,
        product: str | None = None,
    ) -> AsyncIterator[dict[str, Any]]:
        """Lists the current prices, as the table `prices` of `gossamer prices report` does."""
    def price_moves(
        self,
        *,
        history: str = 'prices',
        shop: str | None = None,
        tag: str | None = None,
        product: str | None = None,
        days: int = 30,
    ) -> AsyncIterator[dict[str, Any]]:
        """Lists the biggest changes of price, biggest first. A rise from 2 to 3 counts as much as a fall from
        3 to 2."""
    def price_market(
        self,
        *,
        history: str = 'prices',
        product: str | None = None,
    ) -> AsyncIterator[dict[str, Any]]:
        """Compares the offers of a product, or of all products with several targets, cheapest first."""
    def price_stale(
        self,
        *,
        history: str = 'prices',
        shop: str | None = None,
        tag: str | None = None,
        product: str | None = None,
        days: int = 2,
    ) -> AsyncIterator[dict[str, Any]]:
        """Lists the targets that no visit has found for days, oldest first."""
    def price_failing(
        self,
        *,
        history: str = 'prices',
        state: Literal['gone', 'moved', 'blocked', 'empty', 'failed', 'no-price', 'undecided'] | None = None,
        shop: str | None = None,
        runs: int = 1,
    ) -> AsyncIterator[dict[str, Any]]:
        """Lists the targets that fail: since when, in how many runs, and the last response."""
    def price_shops(self, *, history: str = 'prices') -> AsyncIterator[dict[str, Any]]:
        """Lists the shops with their state: ok, redesigned, away or moved."""
    def price_series(
        self,
        target: str,
        *,
        history: str = 'prices',
        variant: str = '',
        since: str | None = None,
    ) -> AsyncIterator[dict[str, Any]]:
        """Lists the prices of a target, oldest first. Each holds from its time until that of the next row."""
    def price_events(
        self,
        *,
        history: str = 'prices',
        target: str | None = None,
        kind: str | None = None,
        since: str | None = None,
    ) -> AsyncIterator[dict[str, Any]]:
        """Lists the changes of prices, availability, sellers, pages and shops, oldest first."""
    async def price_run(
        self,
        *,
        lists: Sequence[str] = (),
        urls: Sequence[str] = (),
        history: str = 'prices',
        delay: float | None = None,
        within: float | None = None,
        spread: float | None = None,
        partly: bool = False,
        if_older: float | None = None,
        wait: float = 0.0,
    ) -> gossamer.operations.results_of_uses.CommandRun:
        """Starts a price run: visits all product pages, and records every change. The lists are files in the
        folder of `serve`. A run that was stopped continues with the next one."""
    def rank_positions(
        self,
        *,
        history: str = 'ranks',
        domain: str | None = None,
        days: int = 7,
        moves: bool = False,
        tag: str | None = None,
    ) -> AsyncIterator[dict[str, Any]]:
        """Lists the current, best and worst positions of the own domains, and the change in some days."""
    def rank_history(
        self,
        keyword: str,
        *,
        history: str = 'ranks',
        domain: str | None = None,
        days: int = 30,
    ) -> AsyncIterator[dict[str, Any]]:
        """Lists the results of all checks of a keyword, including failed checks, oldest first."""
    def rank_competitors(
        self,
        *,
        history: str = 'ranks',
        domain: str | None = None,
        side_by_side: bool = False,
    ) -> AsyncIterator[dict[str, Any]]:
        """Compares domains by share of voice, or side by side for each keyword."""
    def rank_features(self, *, history: str = 'ranks', days: int = 30) -> AsyncIterator[dict[str, Any]]:
        """Lists the features of first result pages, and how often they contain own domains."""
    def rank_volatility(self, *, history: str = 'ranks', days: int = 30) -> AsyncIterator[dict[str, Any]]:
        """Lists how much the first ten results changed from run to run."""
    def rank_competing(self, *, history: str = 'ranks', days: int = 30) -> AsyncIterator[dict[str, Any]]:
        """Lists the keywords for which several own pages compete."""
    def rank_failing(self, *, history: str = 'ranks') -> AsyncIterator[dict[str, Any]]:
        """Lists the searches that were never checked, and those whose last check failed or was skipped."""
    def rank_events(
        self,
        *,
        history: str = 'ranks',
        kind: str | None = None,
        since: str | None = None,
    ) -> AsyncIterator[dict[str, Any]]:
        """Lists the changes that checks found, oldest first."""
    async def rank_run(
        self,
        lists: Sequence[str],
        *,
        history: str = 'ranks',
        budget: int | None = None,
        first: int | None = None,
        strategy: Literal['smart', 'custom', 'basic'] | None = None,
        no_fallback: bool = False,
        failed: bool = False,
        domain: str | None = None,
        engine: str | None = None,
        country: str | None = None,
        language: str | None = None,
        device: str | None = None,
        if_older: float | None = None,
        wait: float = 0.0,
    ) -> gossamer.operations.results_of_uses.CommandRun:
        """Starts a rank run by the provider of the server's settings, and records positions. It spends
        credits: `budget` limits those of a day. A run that was stopped continues with the next one, and pays
        for no page twice."""
    def keyword_runs(self, *, folder: str = 'keywords') -> AsyncIterator[dict[str, Any]]:
        """Lists the keyword counts of a folder, oldest first."""
    def keyword_totals(
        self,
        *,
        folder: str = 'keywords',
        run: str | None = None,
        site: str | None = None,
    ) -> AsyncIterator[dict[str, Any]]:
        """Lists the counted keywords, the most frequent first: counts, pages, density, places on the pages."""
    def keyword_terms(
        self,
        *,
        folder: str = 'keywords',
        run: str | None = None,
        site: str | None = None,
        language: str | None = None,
        words: int = 0,
    ) -> AsyncIterator[dict[str, Any]]:
        """Lists the words and phrases that matter on the pages, with count, pages, density and TF-IDF."""
    def keyword_pages(
        self,
        keyword: str,
        *,
        folder: str = 'keywords',
        run: str | None = None,
        site: str | None = None,
    ) -> AsyncIterator[dict[str, Any]]:
        """Lists the pages with a keyword: count, density, where on the page, and the first contexts."""
    def keyword_gaps(
        self,
        mine: str,
        theirs: str,
        *,
        folder: str = 'keywords',
        run: str | None = None,
    ) -> AsyncIterator[dict[str, Any]]:
        """Lists the keywords and terms that a competitor's pages have and the own pages do not have."""
    def keyword_overlap(
        self,
        *,
        folder: str = 'keywords',
        run: str | None = None,
    ) -> AsyncIterator[dict[str, Any]]:
        """Compares the sites of a run pair by pair: the keywords on both sites, and on only one."""
    def keyword_cannibals(
        self,
        *,
        folder: str = 'keywords',
        run: str | None = None,
        site: str | None = None,
    ) -> AsyncIterator[dict[str, Any]]:
        """Lists keywords for which several pages of one site compete."""
    def keyword_trend(
        self,
        keyword: str,
        *,
        folder: str = 'keywords',
        site: str | None = None,
    ) -> AsyncIterator[dict[str, Any]]:
        """Lists how often a keyword was found in each run, oldest first."""
    async def keyword_run(
        self,
        *,
        urls: Sequence[str] = (),
        keywords: Sequence[str] = (),
        lists: Sequence[str] = (),
        folder: str = 'keywords',
        stem: str | None = None,
        context: int | None = None,
        limit: int | None = None,
        scope: Literal['page', 'prefix', 'host', 'domain', 'any'] | None = None,
        include: Sequence[str] = (),
        exclude: Sequence[str] = (),
        delay: float | None = None,
        if_older: float | None = None,
        fresh: bool = False,
        wait: float = 0.0,
    ) -> gossamer.operations.results_of_uses.CommandRun:
        """Starts a keyword count: crawls sites, counts keywords in their main texts, and discovers the terms
        that matter. Lists are files in the folder of `serve`."""
    def audits(self) -> AsyncIterator[gossamer.operations.results_of_uses.AuditEntry]:
        """Lists the audited sites by name, each with the counts of its last complete audit."""
    async def audit(self, audit: str) -> gossamer.operations.results_of_uses.AuditReport:
        """Shows the last complete audit of a site: counts, and the result of each check."""
    def audit_findings(
        self,
        audit: str,
        *,
        check: str | None = None,
        severity: Literal['error', 'warning', 'notice', 'info'] | None = None,
        new: bool = False,
    ) -> AsyncIterator[dict[str, Any]]:
        """Lists the findings of the last complete audit of a site."""
    async def audit_checks(self) -> list[dict[str, Any]]:
        """Lists all checks of an audit: what they find, and how to mend it."""
    async def audit_run(
        self,
        url: str,
        *,
        audit: str | None = None,
        crawl: str | None = None,
        limit: int | None = None,
        depth: int | None = None,
        external: int | None = None,
        include: Sequence[str] = (),
        exclude: Sequence[str] = (),
        delay: float | None = None,
        as_host: str | None = None,
        if_older: float | None = None,
        fresh: bool = False,
        wait: float = 0.0,
    ) -> gossamer.operations.results_of_uses.CommandRun:
        """Starts an audit: crawls a site, and reports what is broken in it. The next audit shows which
        findings are new and which are fixed. An interrupted audit continues."""
    async def find(
        self,
        query: str,
        *,
        crawl: Sequence[str] = (),
        by_date: bool = False,
        limit: int = 10,
        page: int = 1,
    ) -> gossamer.operations.results_of_uses.FoundPages:
        """Searches the texts of the pages that crawls kept, best first. The index of each crawl is updated
        first, in a process of its own."""
