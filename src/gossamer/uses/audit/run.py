"""Runs a whole audit. The audit requests the first page, robots.txt and the sitemaps, crawls the site, checks
links, derives the link graph, runs the checks, and compares the findings with those of the previous audit."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import msgspec

import gossamer
from gossamer.errors import ConfigError, FetchFailed, NothingFound, UsageError
from gossamer.uses.audit.database import AuditDatabase, AuditRecord, host_of
from gossamer.uses.audit.findings import UNRENDERED, CheckScope, run_checks, total
from gossamer.uses.audit.host_probe import probe_hosts
from gossamer.uses.audit.link_checks import CheckedLinks, check_links, is_offline
from gossamer.uses.audit.link_graph import FAILED, build_graph
from gossamer.uses.audit.model import AuditSummary, CheckOutcome, HostAlias, Severity, to_json
from gossamer.uses.audit.recent_pages import (
    copy_recent,
    forget_unreached,
    is_last_of_crawl,
    mark_crawl,
)
from gossamer.uses.audit.registry import CHECKS
from gossamer.uses.audit.single_requests import NOT_STORED, request
from gossamer.uses.audit.site_crawl import AuditWriter, make_site, run_crawl
from gossamer.uses.audit.site_files import find_blocked, origin_of, read_site_files, sitemap_seeds

MAX_SITEMAP_SEEDS: Final = 1_000_000
PAUSE_S: Final = 0.25
HIDING_SKIPS: Final = {
    "depth": "{n} links lead deeper than --depth",
    "budget": "{n} URLs are over the budget of their host",
    "trap": "{n} links look like a trap of endless pages",
    "private": "{n} URLs lead to private addresses",
    "content-type": "",
}
"""Maps reasons for skipped links to messages. A link that is skipped for one of these reasons may cause the
audit to miss pages. Links that robots.txt or nofollow excludes are not listed here, because search engines
skip these links too."""
_FETCH: Final = (
    *("setting", "user_agent", "header", "proxies", "allow_private", "ca_file", "timeout", "ladder"),
)
"""The names of the crawl options that also apply to requests that an audit sends outside of its crawl."""
_BESIDE: Final = ("progress", "data", "delay", "per_host", "processes", "retries", "store")
"""The names of the crawl options that do not change what an audit sees on a page."""


class AuditOptions(msgspec.Struct, kw_only=True):
    """The options of an audit."""

    database: str
    external: int | None = 500
    """Maximum number of links to other sites that the audit checks. The audit also checks at most this number
    of embedded files and unvisited pages of the site. If `external` is None, the audit checks all links, and
    if `external` is 0, the audit checks no links."""
    limit: int | None = None
    depth: int | None = None
    if_older: float | None = None
    """Seconds. If not None, pages and links whose last good visit by the previous audit is younger are not requested,
    and count as the previous audit saw them. If the previous audit had other options or did not finish, all pages
    are requested."""
    fresh: bool = False
    """Whether an interrupted audit is deleted instead of being continued."""
    archive: str | None = None
    """The path of stored pages that the audit reads instead of sending requests, or None."""
    http_port: int | None = None
    """The port at which the site serves http, if the site does not serve https at port 443. The audit checks
    that the http port redirects to https."""
    as_host: str | None = None
    """The host for which the audited site is meant, if the site is a copy: URLs of this host count as URLs of
    the copy."""
    crawl: dict[str, Any] = {}
    """Additional arguments of `gossamer.run`."""

    def identity(self) -> dict[str, Any]:
        """Returns the options that must not change when an audit is continued."""
        found: dict[str, Any] = {"limit": self.limit, "depth": self.depth, "external": self.external}
        found |= {"as": self.as_host} if self.as_host is not None else {}
        return found | ({"archive": self.archive} if self.archive is not None else {})

    def view(self) -> str:
        """Returns a hash of the options that decide what an audit sees on a page. It contains no secrets."""
        crawl = {
            name: value for name, value in self.crawl.items() if name not in _BESIDE and value is not None
        }
        told = repr((gossamer.__version__, self.identity(), sorted(crawl.items())))
        return hashlib.blake2b(told.encode("utf-8", "replace"), digest_size=8).hexdigest()

    def alias(self, start: str) -> HostAlias | None:
        """Returns the host that the audited site stands for, or None. `start`: the first page of the site."""
        return HostAlias(self.as_host, origin_of(start)) if self.as_host is not None else None


def database_path(url: str, data: str | None) -> str:
    """Returns the default path of the database of a site."""
    name = host_of(url).replace(":", "-")
    return str(Path(data or ".gossamer") / "audits" / f"{name}.db")


def start_url(text: str) -> str:
    """Returns the URL of a site from the text that a user typed. Raises UsageError.

    >>> start_url("example.com")
    'https://example.com/'
    """
    url = gossamer.url.parse(text if "://" in text else f"https://{text}")
    if url is None or not url.startswith(("http://", "https://")) or not host_of(url):
        raise UsageError(f"{text!r} is not an address of a site: write it as https://example.com/")
    return url.partition("#")[0]


def host_name(text: str) -> str:
    """Returns the host that a user typed, with or without a scheme. Raises UsageError.

    >>> host_name("www.example.com"), host_name("https://www.example.com/")
    ('www.example.com', 'www.example.com')
    """
    return host_of(start_url(text))


def without_credentials(url: str) -> str:
    """Returns a URL without user name and password.

    >>> without_credentials("https://me:secret@example.com/a@b")
    'https://example.com/a@b'
    """
    scheme, _, rest = url.partition("://")
    authority, slash, path = rest.partition("/")
    return f"{scheme}://{authority.rpartition('@')[2]}{slash}{path}"


def audit(url: str, options: AuditOptions, tell: Callable[[str], None]) -> AuditSummary:
    """Audits a site. `url`: the first page of the site. `tell`: called with messages for the user. An
    interrupted audit is continued. Raises GossamerError. After a KeyboardInterrupt, the next call continues
    the audit."""
    began = time.time()
    with AuditDatabase(options.database) as database:
        record = _begin(database, url, options, tell)
        if record.stage == "site-files":
            _first_steps(database, record, options, tell)
            record = _staged(database, record, "crawl")
        crawl_state: dict[str, Any] = record.summary
        if record.stage == "crawl":
            crawl_state = _crawl(database, record, url, options, tell)
            if crawl_state["state"] == "stopped":
                raise KeyboardInterrupt
            record = _staged(database, record, "links", crawl_state)
        return _evaluate(database, record, options, crawl_state, began, tell)


def _staged(
    database: AuditDatabase, record: AuditRecord, stage: str, summary: Mapping[str, Any] | None = None
) -> AuditRecord:
    more = {} if summary is None else {"summary": to_json(summary)}
    database.update(record.number, stage=stage, **more)
    return database.audits()[-1]


def _begin(
    database: AuditDatabase, url: str, options: AuditOptions, tell: Callable[[str], None]
) -> AuditRecord:
    """Continues an unfinished audit. If there is no unfinished audit, requests the first page and then begins
    a new audit."""
    audits = database.audits()
    if audits and host_of(audits[-1].url) != host_of(url):
        raise ConfigError(
            f"{options.database} has the audits of {audits[-1].url}: give another --database for {url}"
        )
    if audits and audits[-1].ended is None and audits[-1].stage and not options.fresh:
        record = audits[-1]
        if record.options.get("identity") != options.identity():
            raise ConfigError(
                f"audit {record.number} of {url} was interrupted and has other options "
                f"({_shown(record.options.get('identity', {}))}): give the same ones, or --fresh for a new audit"
            )
        tell(f"audit {record.number} continues")
        return record
    first = _first_page(url, options)
    given: dict[str, Any] = {"identity": options.identity(), "view": options.view(), "start": first}
    reuse = False
    if audits and options.if_older is not None and not options.fresh:
        reason = reason_to_visit_all(database, audits[-1], crawl_folder(url, options), given)
        if reason:
            tell(f"all pages are visited, because {reason}")
        else:
            reuse = True
            given |= {"since": time.time() - options.if_older, "skipped": audits[-1].options["skipped"]}
    record = database.begin(without_credentials(url), given, reuse=reuse)
    with database.transaction() as base:
        hosts = {host_of(url), host_of(first)}
        base.executemany("INSERT OR IGNORE INTO hosts VALUES (?)", [(host,) for host in hosts])
    return _staged(database, record, "site-files")


def reason_to_visit_all(
    database: AuditDatabase, last: AuditRecord, folder: Path, given: Mapping[str, Any]
) -> str:
    """Returns the reason why an audit may not use the pages of the last one again, or ''. `folder`: the folder of the
    crawl. `given`: the options of the new audit, as its record contains them."""
    if last.state != "finished":
        return f"audit {last.number} did not finish"
    if any(last.options[name] != given[name] for name in ("view", "start")):
        return f"audit {last.number} had other options"
    if not is_last_of_crawl(folder, database):
        return f"another audit has crawled the site since audit {last.number}"
    return ""


def _rfc3339(seconds: float) -> str:
    """Returns a time as the attempts of a crawl contain it."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S.%f")[:-3] + "Z"


def _shown(identity: Mapping[str, Any]) -> str:
    return ", ".join(f"--{name} {value}" for name, value in identity.items() if value is not None) or "none"


def _first_page(url: str, options: AuditOptions) -> str:
    """Returns the URL of the first page after redirects. Raises FetchFailed and NothingFound, because a site
    that does not answer cannot be audited."""
    try:
        page = request(url, _fetch_options(options))
    except FetchFailed as error:
        if error.reason == "robots":
            raise NothingFound(
                f"{url}: {_without_url(error, url)}; to audit your own site all the same, give --ignore-robots"
            ) from error
        if error.reason == NOT_STORED:
            raise NothingFound(str(error)) from error
        raise
    if page.status is not None and page.status >= 400:
        raise NothingFound(f"{url}: HTTP {page.status}: give the address of a page that works")
    return page.url


def _without_url(error: FetchFailed, url: str) -> str:
    return str(error).removeprefix(f"{url}: ")


def _fetch_options(options: AuditOptions) -> dict[str, Any]:
    found = {name: value for name, value in options.crawl.items() if name in _FETCH}
    if options.crawl.get("ignore_robots"):
        found["ignore_robots"] = True
    return found | ({"archive": options.archive} if options.archive is not None else {})


def _pause(options: AuditOptions) -> float:
    if options.archive is not None:
        return 0.0
    text = str(options.crawl.get("delay") or "").partition("-")[0].rstrip("s")
    try:
        return min(float(text), 10.0)
    except ValueError:
        return PAUSE_S


def _first_steps(
    database: AuditDatabase, record: AuditRecord, options: AuditOptions, tell: Callable[[str], None]
) -> None:
    tell("robots.txt and sitemaps are read")
    start, fetch = record.options["start"], _fetch_options(options)
    read_site_files(database, start, fetch, _pause(options), tell, options.alias(start))
    if not unasked_reason(options):
        probe_hosts(database, start, fetch, options.http_port, _pause(options), tell)


def unasked_reason(options: AuditOptions) -> str:
    """Returns the reason why this machine must not send requests to the site's hosts directly, or '' if
    direct requests are allowed."""
    if options.archive is not None:
        return "stored pages are audited, so nothing is requested"
    return "the crawl goes through proxies" if options.crawl.get("proxies") else ""


def crawl_name(url: str) -> str:
    """Returns the name of the crawl of a site."""
    return f"audit-{host_of(url).replace(':', '-')}"[:60]


def crawl_folder(url: str, options: AuditOptions) -> Path:
    """Returns the folder of the crawl of a site."""
    return Path(options.crawl.get("data") or ".gossamer") / crawl_name(without_credentials(url))


def _crawl_options(database: AuditDatabase, record: AuditRecord, options: AuditOptions) -> dict[str, Any]:
    """Returns the options of the crawl of the site."""
    given = {
        "keep": "off",
        "files": "off",
        "guard": "off",
        "scope": "host",
        "name": crawl_name(record.url),
    } | options.crawl
    if options.archive is not None:
        given |= {"archive": options.archive, "delay": 0}
    for name in ("limit", "depth"):
        if getattr(options, name) is not None:
            given[name] = getattr(options, name)
    if (since := record.options.get("since")) is not None:
        given |= {"if_older": time.time() - since, "per_pass": True, "reread": True}
    elif not database.value("SELECT count(*) FROM responses"):
        given["fresh"] = True
    return given


def _use_recent(
    database: AuditDatabase, record: AuditRecord, summary: Any, tell: Callable[[str], None]
) -> tuple[dict[str, int], dict[str, int]]:
    """With `--if-older`, copies the pages that the crawl did not request. Returns the numbers of skipped links that
    may hide pages, and of pages that failed, by the reason. `summary`: the summary of the crawl, or None."""
    counts = {} if summary is None else summary.skipped
    skipped = {name: n for name in HIDING_SKIPS if (n := counts.get(name, 0))}
    failed = failed_visits(summary)
    if (since := record.options.get("since")) is not None:
        # the crawl did not see the links of the pages that it skipped
        skipped = {**record.options["skipped"], **skipped}
        if recent := copy_recent(database, _rfc3339(since)):
            tell(f"{recent:,} pages were visited within --if-older, and count as the previous audit saw them")
        unlinked = forget_unreached(database, record.url, record.options["start"])
        failed = {name: n - unlinked[name] for name, n in failed.items() if n > unlinked[name]}
    database.update(record.number, options=to_json(record.options | {"skipped": skipped}))
    return skipped, failed


def _crawl(
    database: AuditDatabase,
    record: AuditRecord,
    url: str,
    options: AuditOptions,
    tell: Callable[[str], None],
) -> dict[str, Any]:
    """Crawls the site. `url`: the first page of the site, with any credentials. Returns the state of the
    crawl, and the reasons why the crawl may have missed pages."""
    hosts = {host for (host,) in database.rows("SELECT host FROM hosts")}
    seeds: list[Any] = [{"url": url, "priority": 10}]
    if options.limit is None or options.limit > 1:
        listed = sitemap_seeds(database, hosts)
        seeds += [{"url": one} for one, _ in zip(listed, range(MAX_SITEMAP_SEEDS), strict=False)]
    tell(f"the site is crawled, from {len(seeds):,} addresses")
    writer = AuditWriter(database)
    given = _crawl_options(database, record, options)
    site_options = {name: given.pop(name) for name in ("ladder", "retries") if name in given}
    mark_crawl(crawl_folder(url, options), database)
    site = make_site(
        "default",
        writer,
        options.alias(record.options["start"]),
        hosts if options.archive is None else (),
        follow=True,
        hosts=sorted(hosts),
        **site_options,
    )
    state, summary = run_crawl(site, writer, seeds, given)
    skipped, failed = _use_recent(database, record, summary, tell)
    reasons = incomplete_reasons(state, summary, skipped)
    if lost := database.forget_unstored():
        reasons.append(f"{lost:,} linked URLs of the site are not among the stored pages")
    return {"state": state, "reasons": reasons, "failed": failed}


def incomplete_reasons(state: str, summary: Any, skipped: Mapping[str, int]) -> list[str]:
    """Returns the reasons why a crawl may have missed pages of the site, except pages that failed. The list is
    empty if the crawl certainly requested all pages that it found. `skipped`: the number of skipped links, by the
    reason."""
    reasons = []
    if state == "limited":
        reasons.append("a limit ended the crawl")
    elif state != "finished":
        reasons.append(f"the crawl is {state}")
    if summary is None:
        return [*reasons, "the crawl has no summary"]
    for skip, text in HIDING_SKIPS.items():
        if text and (n := skipped.get(skip, 0)):
            reasons.append(text.format(n=f"{n:,}"))
    if summary.pending:
        reasons.append(f"{summary.pending:,} URLs were not visited")
    return reasons


def failed_visits(summary: Any) -> dict[str, int]:
    """Returns the number of pages that failed and may have links, by the reason."""
    errors = {} if summary is None else summary.errors
    return {
        name: n
        for name, n in sorted(errors.items())
        if n and name not in ("http-4xx", "redirect-loop", "robots-unreachable")
    }


def unrendered_reasons(database: AuditDatabase) -> list[str]:
    """Returns a list of at most one message. The message reports that some pages of the site need JavaScript,
    because the crawl may have missed the links of these pages."""
    urls = [url for (url,) in database.rows(UNRENDERED)]
    if not urls:
        return []
    shown = f"{urls[0]} is" if len(urls) == 1 else f"{len(urls):,} pages, such as {urls[0]}, are"
    return [f"{shown} empty without JavaScript and may have links: give --ladder browser"]


def split_reasons(database: AuditDatabase, crawl_state: Mapping[str, Any]) -> tuple[list[str], list[str]]:
    """Returns the reasons why the crawl may have missed any page, and those that concern only pages of the table
    `unread`. A failed page whose URL is not known belongs to the former."""
    hiding, failed = list(crawl_state["reasons"]), crawl_state.get("failed")
    if not failed:
        return hiding, []
    text = "pages failed: " + ", ".join(f"{name} {n:,}" for name, n in failed.items())
    named = database.value(f"SELECT count(*) FROM targets t WHERE {FAILED}") >= sum(failed.values())
    return (hiding, [text]) if named else ([*hiding, text], [])


def copy_hint(database: AuditDatabase) -> str:
    """Returns a message if the site looks like a copy of another site, or ''. Most pages of a copy name the
    other site in their canonical URLs."""
    query = (
        "SELECT c.host, count(*) AS n FROM targets t LEFT JOIN urls c ON c.id = t.canonical "
        "AND c.host NOT IN (SELECT host FROM hosts) WHERE t.internal AND t.is_page AND t.status = 200 "
        "GROUP BY c.host ORDER BY n DESC"
    )
    counts = dict(database.rows(query))
    pages, host = sum(counts.values()), next(iter(counts), None)
    if host is None or 2 * counts[host] <= pages:
        return ""
    return (
        f"{counts[host]:,} of {pages:,} pages have a canonical URL of {host}, so many checks leave them out: "
        f"if this site is a copy of {host}, give --as {host}"
    )


def _evaluate(
    database: AuditDatabase,
    record: AuditRecord,
    options: AuditOptions,
    crawl_state: Mapping[str, Any],
    began: float,
    tell: Callable[[str], None],
) -> AuditSummary:
    find_blocked(database)
    checked = CheckedLinks(0, 0, 0, 0)
    is_checking = options.external != 0 and options.archive is None
    if is_checking:
        tell("links to other sites and embedded files are checked")
        given = {"keep": "off", "files": "off"} | options.crawl
        checked = check_links(database, crawl_name(record.url), given, options.external)
    tell("the link graph is built")
    build_graph(database, record.options["start"])
    if options.as_host is None and (hint := copy_hint(database)):
        tell(hint)
    hiding, failing = split_reasons(database, crawl_state)
    reasons = [*hiding, *failing, *unrendered_reasons(database)]
    unread = [url for (url,) in database.rows("SELECT url FROM unread JOIN urls USING (id) ORDER BY url")]
    before = next((one for one in reversed(database.audits()) if one.number < record.number), None)
    scope = check_scope(database, hiding, is_checking, checked)
    scope = scope._replace(unread=unread, unasked=unasked_reason(options), stored=options.archive is not None)
    results = evaluate_checks(database, record.number, before, scope, tell)
    summary = summarize(
        database, record, before, crawl_state["state"], reasons, checked, results, options.database
    )
    summary.seconds = round(time.time() - began, 1)
    database.update(
        record.number,
        ended=time.time(),
        state=crawl_state["state"],
        whole=not reasons,
        reasons=to_json(reasons),
        stage="done",
        summary=to_json(summary),
    )
    return summary


def check_scope(
    database: AuditDatabase, reasons: Sequence[str], links: bool, checked: CheckedLinks
) -> CheckScope:
    """Returns the data that determine the states of the checks. `reasons`: the reasons why the crawl did not
    see the whole site. `links`: whether links were checked."""
    unchecked = checked.all_external - checked.external + checked.all_resources - checked.resources
    has_sitemap = bool(database.value("SELECT EXISTS (SELECT 1 FROM sitemap_urls)"))
    return CheckScope(reasons, has_sitemap, links, max(0, unchecked), offline=is_offline(database))


def evaluate_checks(
    database: AuditDatabase,
    number: int,
    before: AuditRecord | None,
    scope: CheckScope,
    tell: Callable[[str], None],
) -> list[CheckOutcome]:
    """Runs the checks of an audit. The link graph must have been built."""
    states = {one["id"]: one["state"] for one in before.summary.get("checks", [])} if before else {}
    return run_checks(database, number, before.number if before else None, CHECKS, scope, states, tell)


def summarize(
    database: AuditDatabase,
    record: AuditRecord,
    before: AuditRecord | None,
    state: str,
    reasons: Sequence[str],
    checked: CheckedLinks,
    results: list[CheckOutcome],
    path: str,
) -> AuditSummary:
    """Returns the summary of an audit whose checks have run."""
    return AuditSummary(
        url=record.url,
        audit=record.number,
        before=before.number if before else None,
        state=state,
        whole=not reasons,
        reasons=list(reasons),
        pages=database.value(
            "SELECT count(*) FROM targets t JOIN pages p ON p.id = t.id WHERE t.internal "
            "AND p.is_html AND p.status = 200"
        ),
        recent=database.value("SELECT count(*) FROM pages WHERE id IN (SELECT id FROM recent)"),
        indexable=database.value("SELECT count(*) FROM targets WHERE indexable"),
        links=database.value("SELECT count(*) FROM links"),
        external_checked=checked.external,
        external=checked.all_external,
        errors=total(results, Severity.ERROR),
        warnings=total(results, Severity.WARNING),
        notices=total(results, Severity.NOTICE),
        infos=total(results, Severity.INFO),
        new=sum(one.new for one in results if one.severity != Severity.INFO),
        fixed=sum(one.fixed for one in results if one.severity != Severity.INFO),
        seconds=0.0,
        database=path,
        checks=results,
    )


def stored_summary(path: str) -> AuditSummary:
    """Returns the summary of the last audit of a database. Raises UsageError if no audit has ended."""
    if not Path(path).is_file():
        raise UsageError(f"there is no database {path}: run gossamer audit URL first")
    with AuditDatabase(path) as database:
        for record in reversed(database.audits()):
            if record.ended is not None:
                found: AuditSummary = msgspec.convert(record.summary, AuditSummary)
                return found
    raise UsageError(f"{path}: no audit has ended: run gossamer audit URL to continue it")
