"""Explains why a URL was or was not fetched: the verdict of each gate on the URL, the current state of the URL, and
its history. Gates are the checks that a URL passes before it is fetched, such as scope, robots.txt and the host's
budget. Each verdict names the rule that decided. `gossamer explain` and the API show the same values.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from gossamer.app.host_state import format_breaker, format_spent, session_line, session_values
from gossamer.config.value_texts import format_bytes, format_duration
from gossamer.errors import GossamerError, UsageError

if TYPE_CHECKING:
    from gossamer.config.settings import Settings
    from gossamer.frontier.crawls import Record
    from gossamer.frontier.stats import HostView
    from gossamer.frontier.url_lookup import UrlState
    from gossamer.sites import LoadedSite
    from gossamer.state.lane_backlog import HeapLine
    from gossamer.store.store import Store

SCHEME = re.compile(
    r"[a-z][a-z0-9+.-]*://|(?:about|blob|data|file|ftp|javascript|mailto|sms|tel):", re.IGNORECASE
)
ATTEMPTS_SHOWN = 5
STORE_TIMEOUT_S = 5.0
OPEN = ("pass", "wait", "unknown", "known", "duplicate")
"""Verdicts that do not exclude a URL from the crawl."""

PARKED = {
    True: "over its host's page budget; requeued when more domains link to the host",
    False: (
        "its host reached its byte or time limit; requeued by a run with a larger --host-bytes or --host-time"
    ),
}
"""The reasons why the URLs of a host are parked. The key True means that the host has used up its page
budget. The key False means that the host has reached its byte or time limit."""


class GateVerdict(NamedTuple):
    """The verdict of one gate. `verdict`: a word such as `pass` (see `OPEN`), or the reason why the gate
    refuses the URL. `rule`: the rule that led to the verdict."""

    gate: str
    verdict: str
    rule: str


def conclusion(
    place: UrlState, gates: list[GateVerdict], attempts: list[dict[str, Any]], skipped: dict[str, int]
) -> tuple[str, str]:
    """Returns the state of the URL in one or two words, and the reason."""
    barred = next((gate for gate in gates if gate.verdict not in OPEN), None)
    held = "; ".join(gate.rule for gate in gates if gate.verdict == "wait")
    told = {
        "pending": f"at priority {place.level}, {place.position} before it in its host's queue",
        "cold": "in the cold store"
        + (
            f" at priority {place.level}, about {place.position} before it"
            if place.position is not None
            else ""
        ),
        "leased": (
            f"a worker has it, token {place.token}, its lease ends in "
            f"{format_duration(max(place.due or 0, 0))}"
        ),
        "retrying": f"after {place.attempt} failures, due in {format_duration(max(place.due or 0, 0))}",
        "parked": PARKED[place.level is None],
        "dead": f"{place.reason}: {place.detail}; gossamer dead requeue --reason {place.reason}",
    }
    if place.state in told:
        if place.state == "pending" and barred is not None:
            return (
                "pending",
                f"{told['pending']}; when its turn comes, it is skipped ({barred.verdict}): {barred.rule}",
            )
        return place.state, told[place.state] + (f"; {held}" if held else "")
    if place.state == "done":
        last = attempts[-1] if attempts else {}
        if last and last.get("outcome") != "skipped":
            outcome = last.get("outcome")
            return "done" if outcome == "done" else f"done ({outcome})", _said(last)
        if barred is not None:
            return f"done (skipped: {barred.verdict})", barred.rule
        if last:
            return f"done (skipped: {last.get('error')})", f"because of its response: {_said(last)}"
        return "done", "it was settled; the attempts log has no line about it any more"
    if attempts:  # the URL was requested, but was never queued as a page
        said = f"it was requested as a file of an item, or before a --fresh: {_said(attempts[-1])}"
        return f"no page ({attempts[-1].get('outcome')})", said
    if barred is not None:
        return f"skipped ({barred.verdict})", f"{barred.gate}: {barred.rule}"
    maybe = ", ".join(f"{word} {skipped[word]}" for word in ("nofollow", "depth", "trap") if word in skipped)
    return "unknown", "no fetched page links to it" + (
        f"; it may be among the links skipped so far: {maybe}" if maybe else ""
    )


def _said(attempt: dict[str, Any]) -> str:
    """Formats the status and the error of an attempt."""
    said = f"status {attempt['status']}" if attempt.get("status") else ""
    error = f"error {attempt['error']}" if attempt.get("error") else ""
    return ", ".join(filter(None, (said, error))) or "see the attempts"


async def host_gates(store: Store, name: str, view: HostView) -> list[GateVerdict]:
    """Returns the gates that decide whether the host's next request may start now."""
    from gossamer.state.lane_backlog import heap_of_host

    return gate_verdicts(view, await heap_of_host(store, name, view.host))


def gate_verdicts(view: HostView, waits: HeapLine | None) -> list[GateVerdict]:
    """Computes the verdicts of `host_gates` from the host's state. `waits` is the heap in which the host
    waits, or None."""
    from gossamer.politeness.breaker import Breaker

    found = []
    if view.paused:
        found.append(
            GateVerdict("pause", "wait", f"gossamer host pause; {format_duration(view.paused)} left")
        )
    if Breaker.of(view.trouble).state(round(view.now * 1000)) != "closed":
        found.append(GateVerdict("breaker", "wait", f"its host fails: {format_breaker(view)}"))
    if waits is not None and (waits.stranded or waits.lane != "http" or waits.region):
        files = f" with the files of {', '.join(waits.sites)}" if waits.sites else ""
        whose = (
            f"lane {waits.lane.partition('+')[0]}{f', region {waits.region}' if waits.region else ''}{files}"
        )
        if waits.stranded:
            found.append(GateVerdict("lane", "wait", f"waits for a worker of {whose}: none is alive"))
        else:
            found.append(GateVerdict("lane", "pass", f"workers of {whose}"))
    return found


def last_skip_reason(attempts: list[dict[str, Any]]) -> list[GateVerdict]:
    """If the last response was skipped, returns the verdict that explains why. Otherwise returns an empty
    list. The verdict depends on the response's content type or redirect target."""
    from gossamer.collectors.http.transfer import ACCEPT

    last = attempts[-1] if attempts else {}
    if last.get("outcome") != "skipped":
        return []
    if last.get("error") == "content-type":
        return [
            GateVerdict(
                "content type",
                "content-type",
                f"the content type of its response is not one of {', '.join(ACCEPT)}",
            )
        ]
    if last.get("error") == "filter" and 300 <= (last.get("status") or 0) < 400:
        return [GateVerdict("redirect", "filter", "its response redirects to a URL that is not http(s)")]
    return []


async def explain_url(
    store: Store,
    settings: Settings,
    text: str,
    *,
    crawl: str | None = None,
    names: Sequence[str] | None = None,
    depth: int | None = None,
    page: str | None = None,
) -> dict[str, Any]:
    """Returns everything that is known about a URL, as plain values. `crawl`: the crawl to report on. Without it, the
    newest crawl with URLs on the URL's host is chosen from `names`, or from all crawls. `depth`: the URL's distance
    from a seed. `page`: a page that links to the URL. Raises UsageError if the text is not a URL."""
    from gossamer import url as urls
    from gossamer.frontier.crawls import Crawls
    from gossamer.url.routes import seed_with_route

    found = parse_url(text)
    name = await _meant(store, crawl, names, found)
    if found.startswith(urls.WEB):
        return await Explainer(store, settings, name).tell(seed_with_route(found), depth, page)
    state, _reason = await Crawls(store).state(name)
    gate = GateVerdict("form", "scope", f"{found.partition(':')[0]}: is neither http nor https")
    return {
        "url": found,
        "canonical": found,
        "crawl": name,
        "state": state,
        "gates": [gate._asdict()],
        "now": "skipped (scope)",
        "why": gate.rule,
        "attempts": [],
    }


def parse_url(text: str) -> str:
    """Returns the URL that a user typed, with or without a scheme. Raises UsageError."""
    from gossamer import url as urls

    found = urls.parse(text.strip() if SCHEME.match(text.strip()) else f"https://{text.strip()}")
    if found is None:
        raise UsageError(f"{text!r} is not a URL; write it as https://example.com/page")
    return found


async def _meant(store: Store, crawl: str | None, chosen: Sequence[str] | None, url: str) -> str:
    """Returns the name of the crawl to report on."""
    from gossamer import url as urls
    from gossamer.frontier.crawls import Crawls
    from gossamer.frontier.stats import CrawlStatistics

    statistics = CrawlStatistics(store)
    if crawl is not None:
        return (await statistics.crawls.need(crawl)).name
    names = list(chosen) if chosen is not None else await Crawls(store).names()
    if len(names) < 2 or not url.startswith(urls.WEB):
        if len(names) != 1:
            raise UsageError(
                f"several crawls exist: {', '.join(names)}; name one" if names else "there is no crawl yet"
            )
        return names[0]
    met = {held.crawl for held in (await statistics.host(urls.host(url))).crawls if held.crawl in names}
    records = [await statistics.crawls.need(name) for name in names if name in met or not met]
    return max(records, key=lambda record: record.started_at).name


class Explainer:
    """Collects the verdicts that one crawl's gates give on a URL."""

    def __init__(self, store: Store, settings: Settings, name: str) -> None:
        from gossamer.frontier.stats import CrawlStatistics

        self.store, self.settings, self.name = store, settings, name
        self.statistics = CrawlStatistics(store)
        self._typed: list[str] = []
        self._sites: list[LoadedSite] = []

    async def tell(self, typed: str, depth: int | None, page: str | None) -> dict[str, Any]:
        """Returns the gates' verdicts on a URL, the URL's state, and its attempts. `depth` is the URL's
        distance from a seed. `page` is a page that links to the URL."""
        import msgspec

        from gossamer import url as urls
        from gossamer.app.enqueuer import canonical_url_function as key_of
        from gossamer.app.open_store import cold_settings as cold_of
        from gossamer.app.query.attempts_tail import last_attempts
        from gossamer.config.settings import Settings

        url = urls.split_credentials(typed)[0]
        record = await self.statistics.crawls.need(self.name)
        if record.limits:
            self.settings = msgspec.convert(
                {**msgspec.structs.asdict(self.settings), **record.limits}, Settings
            )
        canonical = key_of(record.spec)
        key = canonical(url)
        cold, _ = cold_of(self.settings, self.name)
        place = await self.statistics.locate(
            self.name, url, urls.fingerprint(key, self.store.seed), canonical, cold
        )
        if cold is not None:
            await cold.close()
        if "#" in url and place.state == "unknown":  # the crawl does not visit this route as a page
            return await self.tell(typed.partition("#")[0], depth, page)
        if depth is None and place.request is not None:
            depth = place.request.depth
        attempts = last_attempts(self.settings, self.name, key, canonical, ATTEMPTS_SHOWN)
        gates = [
            *(await self._link(page, key, canonical) if page else ()),
            *await self._filters(record, typed, depth),
            await self._address(url),
            self._duplicate(url, place, attempts),
            await self._budget(url, place),
            await self._robots(url, record.spec.user_agent),
            *await self._session(url),
            *last_skip_reason(attempts),
        ]
        if place.state in ("pending", "retrying"):
            gates += await host_gates(self.store, self.name, await self.statistics.host(place.host))
        now, why = conclusion(place, gates, attempts, (await self.statistics.summary(self.name)).skipped)
        return {
            "url": url,
            "canonical": key,
            "crawl": self.name,
            "state": record.state,
            "gates": [gate._asdict() for gate in gates],
            "now": now,
            "why": why,
            "attempts": attempts,
        }

    async def _filters(self, record: Record, url: str, depth: int | None) -> list[GateVerdict]:
        """Returns the verdicts of the filters that need only the URL. The crawl applies these URL filters
        when it adds new URLs."""
        from gossamer.app.enqueuer import url_filters
        from gossamer.app.job import Job
        from gossamer.app.seeding import prepare
        from gossamer.sites import load_all

        targets = [target for target in record.spec.targets if target != "-"]
        try:
            setup, _ = prepare(Job(targets=targets, settings=self.settings))
            self._sites = load_all(targets)
        except GossamerError as error:
            return [
                GateVerdict("filters", "unknown", f"the crawl's targets cannot be read any more: {error}")
            ]
        self._typed = setup.allowed
        rules = url_filters(record.spec, self.settings, setup.seeds, setup.open).excluding(
            record.live.exclude
        )
        for pair in (await self.statistics.crawls.look(self.name))[1]:
            rules = rules.re_anchored(*pair)
        gates = [GateVerdict(*row) for row in rules.explain(url, depth or 0)]
        if depth is None:
            far = GateVerdict(
                "depth", "unknown", f"not known how far from a seed it is; --depth is {record.spec.depth}"
            )
            gates = [far if gate.gate == "depth" else gate for gate in gates]
        return gates

    async def _link(self, page: str, key: str, canonical: Callable[[str], str]) -> list[GateVerdict]:
        """Fetches the page that links to the URL, and checks whether the page or the link is marked
        nofollow."""
        from gossamer.app.dry_run import try_one
        from gossamer.app.job import Job
        from gossamer.parsing.html import directives
        from gossamer.parsing.links import links

        trial = await try_one(Job(targets=[], settings=self.settings), page)
        if trial.page is None:
            return [GateVerdict("link", "unknown", f"{page} could not be fetched: {', '.join(trial.dead)}")]
        got = trial.page
        if "nofollow" in directives(*(value for name, value in got.headers if name == "x-robots-tag")):
            return [GateVerdict("link", "nofollow", f"X-Robots-Tag of {got.url} has nofollow")]
        for link in links(got.body, got.url, got.read_as):
            if link.url.startswith("http") and canonical(link.url) == key:
                rule = ("has nofollow" if link.nofollow else link.kind) + f" on {got.url}"
                return [GateVerdict("link", "nofollow" if link.nofollow else "pass", rule)]
        return [GateVerdict("link", "unknown", f"{got.url} has no link to it")]

    async def _address(self, url: str) -> GateVerdict:
        """Returns the verdict of the egress guard on the host's current addresses."""
        from gossamer.egress.resolver import Refused, Resolver
        from gossamer.model.request import split

        resolver = Resolver(self.settings.allow_private, self._typed)
        try:
            found = await asyncio.wait_for(resolver.resolve(split(url)[1]), STORE_TIMEOUT_S)
        except TimeoutError:
            return GateVerdict(
                "address", "unknown", f"its name was not resolved within {STORE_TIMEOUT_S:.0f} s"
            )
        finally:
            await resolver.close()
        if isinstance(found, Refused):
            return GateVerdict("address", "private" if found.reason == "private" else "unknown", found.detail)
        return GateVerdict("address", "pass", ", ".join(found.addresses))

    def _duplicate(self, url: str, place: UrlState, attempts: list[dict[str, Any]]) -> GateVerdict:
        from gossamer.config.redaction import mask

        if place.state == "unknown":
            return GateVerdict("seen before", "pass", "no page has linked to its canonical form yet")
        first = place.request.url if place.request is not None else attempts[-1]["url"] if attempts else url
        if first not in (url, mask(url)):
            return GateVerdict(
                "seen before", "duplicate", f"first found as {first}, which has the same canonical form"
            )
        return GateVerdict(
            "seen before", "known", "it was accepted; further links to it are counted as duplicate"
        )

    async def _budget(self, url: str, place: UrlState) -> GateVerdict:
        from gossamer.model.request import split

        view = await self.statistics.host(split(url)[1])
        held = next((one for one in view.crawls if one.crawl == self.name), None)
        cap = self.settings.host_pages or "up to 10,000"
        if place.state == "parked" and place.level is not None:
            return GateVerdict(
                "budget", "budget", f"{format_spent(held) if held else 'parked'}; {self._of_a_host()}"
            )
        if place.state == "parked":
            says = (
                f"{held.accepted} pages taken, {held.vouchers} domains vouch for the host"
                if held
                else "parked"
            )
            return GateVerdict("budget", "budget", f"{says}; cap {cap} (--host-pages)")
        if view.crawl_delay > 300:
            return GateVerdict(
                "budget",
                "budget",
                f"robots.txt asks for a Crawl-delay of {view.crawl_delay:g} s, more than 300 s",
            )
        if held is None or not held.accepted:
            return GateVerdict(
                "budget",
                "pass",
                "a seed's host has no cap" if held else "the crawl does not know this host yet",
            )
        return GateVerdict("budget", "pass", f"{held.accepted} pages taken of {cap}")

    def _of_a_host(self) -> str:
        """Formats the byte and time limits per host."""
        most, longest = self.settings.host_bytes, self.settings.host_time
        said = [f"at most {format_bytes(most)} (--host-bytes)"] if most is not None else []
        said += [f"at most {format_duration(longest)} (--host-time)"] if longest is not None else []
        return ", ".join(said)

    async def _session(self, url: str) -> list[GateVerdict]:
        """Returns the log-in state of the URL's site, if the site has a session."""
        from gossamer.model.request import split
        from gossamer.sites import host_rules
        from gossamer.url.patterns import found

        _, host, path = split(url)
        login = next(
            (
                one.site.session
                for one in self._sites
                if one.name == host_rules.host_needs(self._sites, host).session
            ),
            None,
        )
        if login is None:
            return []
        if found(login.avoid, path, on_timeout=True):
            return [GateVerdict("session", "filter", f"it would log out: avoid={login.avoid.pattern}")]
        known = await session_values(self.store, host)
        level = "wait" if known and all(one.state == "refused" for one in known) else "pass"
        return [
            GateVerdict("session", level, "; ".join(map(session_line, known)) or "nobody has logged in yet")
        ]

    async def _robots(self, url: str, user_agent: str) -> GateVerdict:
        """Checks the URL against the robots.txt rules in the frontier, and returns the verdict. The verdict's
        rule is the line of robots.txt that decided, with its line number."""
        from gossamer.frontier.frontier_client import Frontier
        from gossamer.model.request import split
        from gossamer.politeness import robots_access
        from gossamer.sites import host_rules
        from gossamer.store.keys import bucket_of

        if self.settings.ignore_robots:
            return GateVerdict("robots.txt", "pass", "ignored: --ignore-robots")
        scheme, host, _ = split(url)
        if not host_rules.host_needs(self._sites, host).robots:
            return GateVerdict("robots.txt", "pass", f"not obeyed: {self._lawless(host)} says robots=False")
        known = (await self.statistics.host(host)).robots.get(scheme)
        if known is None:
            return GateVerdict(
                "robots.txt", "unknown", "not read yet; it is read before the host's first page"
            )
        version = int(known["version"])
        if version < 0:
            closed = robots_access.CLOSED.get(version, robots_access.CLOSED[robots_access.UNREACHABLE])
            return GateVerdict("robots.txt", closed.skip or closed.error or "robots", closed.detail)
        if version == robots_access.OPEN:
            return GateVerdict("robots.txt", "pass", "the host has no robots.txt, or it allows everything")
        kept = await Frontier(self.store, self.name).rules(
            bucket_of(host, self.store.buckets), host, scheme[4:] or "h"
        )
        if kept is None:
            return GateVerdict(
                "robots.txt", "unknown", "its rules have expired; they are read again before the next page"
            )
        robots = robots_access.rules(kept)
        agent = (user_agent or self.settings.agent).partition("/")[0].strip()
        line = robots.rule(agent, url) or f"no line matches it for {agent}"
        return GateVerdict("robots.txt", "pass" if robots.allows(agent, url) else "robots", line)

    def _lawless(self, host: str) -> str:
        """Formats the names of a host's site files that ignore its robots.txt."""
        own = [one for one in self._sites if not one.site.robots and (one.default or one.site.claims(host))]
        return "site " + ", ".join(one.name for one in own)
