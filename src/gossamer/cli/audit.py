"""`gossamer audit`: crawls a site and reports the site's problems."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from gossamer.cli.options import Argument, IfOlder, Json, Option, Quiet, StoreUrl, read_settings
from gossamer.errors import GateNotMet, GossamerError, UsageError

if TYPE_CHECKING:
    from gossamer.uses.audit.model import AuditSummary
    from gossamer.uses.audit.run import AuditOptions

FAIL_ON = ("error", "warning", "notice", "new-error", "new-warning", "new")
MAX_LISTED_REASONS = 5
Target = Annotated[
    str | None,
    Argument(
        metavar="[URL]", help="The first page of the site, or a database of audits (.db) to report on again."
    ),
]
Outputs = Annotated[
    list[str] | None,
    Option(
        "-o",
        "--output",
        metavar="FILE",
        help=(
            "report.html (default audit-HOST.html), .xlsx, .csv, FOLDER/ (a CSV file per check), .gexf (the "
            "link graph), .xml or .xml.gz (a sitemap), .jsonl, .parquet, .sqlite or a store such as mongodb://... "
            "(records); repeatable."
        ),
    ),
]
Crawl = Annotated[
    str | None,
    Option(
        "--crawl",
        metavar="NAME",
        help="Audit the pages that a crawl stored (-o pages.warc.gz; of a fleet: -o raw/:warc) instead of requesting any.",
    ),
]
Archive = Annotated[
    str | None, Option("--archive", metavar="PATH", help="Audit stored pages: a WARC, or a folder of them.")
]
As = Annotated[
    str | None,
    Option(
        "--as",
        metavar="HOST",
        help="Audit a copy of a site, such as staging: URLs of HOST in its pages count as URLs of the copy.",
    ),
]
Database = Annotated[
    str | None,
    Option("--database", metavar="FILE", help="The audits of the site (default .gossamer/audits/HOST.db)."),
]
External = Annotated[
    str,
    Option(
        "--external",
        metavar="N",
        help="The most links to other sites, and embedded files, that are checked: a number, or all (default 500).",
    ),
]
FailOn = Annotated[
    str | None,
    Option(
        "--fail-on",
        metavar="WHAT",
        help="Exit with 30 if there is an error, warning, notice, new-error, new-warning or new.",
    ),
]
Limit = Annotated[
    int | None, Option("--limit", metavar="N", help="The most pages that are crawled.", least=1)
]
Depth = Annotated[int | None, Option("--depth", metavar="N", help="The most links from the first page.")]
Delay = Annotated[str | None, Option("--delay", metavar="SECONDS", help="Between two requests to a host.")]
Include = Annotated[
    list[str] | None,
    Option("--include", metavar="REGEX", help="Only URLs that match one of these; repeatable."),
]
Exclude = Annotated[
    list[str] | None,
    Option("--exclude", metavar="REGEX", help="No URLs that match one of these; repeatable."),
]
Ladder = Annotated[
    str | None, Option("--ladder", metavar="RUNGS", help="plain (default), impersonated, browser.")
]
DataFolder = Annotated[
    str | None, Option("--data", metavar="DIR", help="The data folder (default .gossamer).")
]
IgnoreRobots = Annotated[bool, Option("--ignore-robots", help="Visit what robots.txt forbids, too.")]
Setting = Annotated[
    list[str] | None, Option("-s", "--setting", metavar="NAME=VALUE", help="Any setting of a crawl.")
]
Fresh = Annotated[bool, Option("--fresh", help="Start over instead of continuing an interrupted audit.")]
ListChecks = Annotated[bool, Option("--checks", help="List all checks.")]


def audit(
    target: Target = None,
    output: Outputs = None,
    crawl: Crawl = None,
    archive: Archive = None,
    as_host: As = None,
    database: Database = None,
    limit: Limit = None,
    depth: Depth = None,
    external: External = "500",
    fail_on: FailOn = None,
    delay: Delay = None,
    include: Include = None,
    exclude: Exclude = None,
    ladder: Ladder = None,
    ignore_robots: IgnoreRobots = False,
    data: DataFolder = None,
    store: StoreUrl = None,
    if_older: IfOlder = None,
    fresh: Fresh = False,
    setting: Setting = None,
    checks: ListChecks = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> int:
    """Crawl a site and report what is broken in it: links, redirects, titles, duplicates, indexability and more.

    The next audit shows which problems are new and which are fixed. An interrupted audit continues.
    """
    from gossamer.cli.printing import hush_remarks
    from gossamer.cli.scheduled_commands import end_of_checks
    from gossamer.uses.audit.exports import check_outputs
    from gossamer.uses.audit.run import AuditOptions, database_path, host_name, start_url

    if checks:
        return list_checks(as_json)
    target = given_target(target, fail_on)
    hush_remarks(quiet)
    check_outputs(output or [])
    if target.endswith(".db") and "://" not in target:
        end_of_checks()
        return finish(stored_audit(target), output or [], as_json, fail_on)
    url, links, age = start_url(target), parse_external(external), parse_age(if_older, crawl or archive)
    given: dict[str, Any] = {"delay": delay, "include": include, "exclude": exclude, "ladder": ladder}
    given |= {"ignore_robots": ignore_robots or None, "data": data, "setting": setting}
    options_of_crawl = crawl_options(given, progress=not quiet)
    check_before_stored_pages(options_of_crawl, crawl)
    options = AuditOptions(
        database=database or database_path(url, data),
        external=links,
        limit=limit,
        depth=depth,
        if_older=age,
        fresh=fresh,
        archive=stored_path(crawl, archive, data, store),
        as_host=as_host and host_name(as_host),
        crawl=options_of_crawl,
    )
    end_of_checks()
    return finish(run_audit(url, options), output or report_of(options), as_json, fail_on)


def given_target(target: str | None, fail_on: str | None) -> str:
    """Returns the target of an audit. Raises UsageError if there is no target, or if `--fail-on` is wrong."""
    if target is None:
        raise UsageError("no URL given; see gossamer audit --help")
    if fail_on is not None and fail_on not in FAIL_ON:
        raise UsageError(f"--fail-on {fail_on!r}: write one of {', '.join(FAIL_ON)}")
    return target


def check_before_stored_pages(options: dict[str, Any], crawl: str | None) -> None:
    """Checks the options of the crawl of an audit whose command line is only checked. The stored pages of a crawl
    (`--crawl`) are not looked for, because they may have to be downloaded."""
    from gossamer.cli.scheduled_commands import check_crawl_options, end_of_checks, is_check

    if is_check():
        check_crawl_options(options)
    if crawl is not None:
        end_of_checks()


def finish(done: AuditSummary, outputs: list[str], as_json: bool, fail_on: str | None) -> int:
    """Writes and prints an audit. Returns the exit code. Afterwards, raises GossamerError if an output could
    not be written or `--fail-on` is not met."""
    from gossamer.cli.printing import put_json

    done.outputs = []
    problems = write_outputs(outputs, done)
    if as_json:
        put_json(done)
    else:
        print_summary(done)
    for problem in problems:
        raise problem
    return failed(done, fail_on)


def stored_path(crawl: str | None, archive: str | None, data: str | None, store: str | None) -> str | None:
    """Returns the path of the stored pages to audit. Returns None if the audit requests the pages from the
    site. Raises UsageError."""
    from gossamer.cli.audit_stored import stored_pages

    if crawl is not None and archive is not None:
        raise UsageError("--crawl and --archive: give one of them")
    if crawl is None and archive is None:
        if store is not None:
            raise UsageError("--store is for --crawl NAME, a crawl whose stored pages are audited")
        return None
    return stored_pages(read_settings(data, store, None), crawl, archive)


def crawl_options(given: dict[str, Any], progress: bool) -> dict[str, Any]:
    """Returns the options of `gossamer.run` that were given."""
    found = {name: value for name, value in given.items() if value is not None}
    if "ladder" in found:
        found["ladder"] = found["ladder"].split(",")
    return found | {"progress": progress}


def parse_external(text: str) -> int | None:
    """Returns the number in the option `--external`, or None if the option is `all`. Raises UsageError."""
    if text == "all":
        return None
    if not text.isdigit():
        raise UsageError(f"--external {text!r}: write a number, or all")
    return int(text)


def report_of(options: AuditOptions) -> list[str]:
    """Returns the outputs of an audit that has no option `-o`."""
    return [f"audit-{Path(options.database).stem}.html"]


def parse_age(text: str | None, stored: str | None) -> float | None:
    """Returns the seconds of the option `--if-older`. `stored`: the stored pages to audit, if any. Raises
    UsageError."""
    from gossamer.cli.prices import seconds

    if text is not None and stored is not None:
        raise UsageError("--if-older is for pages that are requested: --crawl and --archive request none")
    return seconds("--if-older", text)


def run_audit(url: str, options: AuditOptions) -> AuditSummary:
    """Audits a site. Raises GossamerError."""
    from gossamer.cli.printing import remark
    from gossamer.config.redaction import register_in
    from gossamer.uses.audit.run import audit as run

    register_in(url)
    try:
        return run(url, options, remark)
    except KeyboardInterrupt:
        remark("stopped: the results so far are kept, and the same command continues the audit")
        raise


def stored_audit(path: str) -> AuditSummary:
    """Returns the last audit of a database."""
    from gossamer.uses.audit.run import stored_summary

    found = stored_summary(path)
    found.database = path
    return found


def write_outputs(paths: list[str], done: AuditSummary) -> list[GossamerError]:
    """Writes all outputs. Adds the paths of the written files to the summary. Returns an error for each
    output that could not be written."""
    from gossamer.uses.audit.database import AuditDatabase
    from gossamer.uses.audit.exports import write_output

    problems: list[GossamerError] = []
    with AuditDatabase(done.database) as database:
        for path in paths:
            try:
                done.outputs += write_output(path, database, done)
            except GossamerError as error:
                problems.append(error)
    return problems


def failed(done: AuditSummary, fail_on: str | None) -> int:
    """Returns 0. Raises GateNotMet if a finding has the severity of `--fail-on` or a higher severity."""
    from gossamer.uses.numbers import counted

    if fail_on is None:
        return 0
    worst = {"error": 1, "warning": 2, "notice": 3, "new": 3}[fail_on.removeprefix("new-")]
    severities = ("error", "warning", "notice")[:worst]  # findings of the severity info never fail an audit
    only_new = fail_on.startswith("new")
    # a finding that is only likely fails no build
    sure = [one for one in done.checks if one.severity in severities and one.state != "likely"]
    n = sum(one.new if only_new else one.count for one in sure)
    if n:
        raise GateNotMet(f"--fail-on {fail_on}: {counted(n, 'finding')}")
    return 0


def print_summary(done: AuditSummary) -> None:
    """Prints an audit on stdout."""
    from gossamer.cli.printing import put_table
    from gossamer.config.value_texts import format_duration
    from gossamer.uses.numbers import counted

    rank = {"error": 0, "warning": 1, "notice": 2, "info": 3}
    found = sorted((one for one in done.checks if one.count or one.fixed), key=lambda one: rank[one.severity])
    compared = done.before is not None
    rows = [
        (
            *(one.severity, one.title + " (likely)" * (one.state == "likely"), one.id, f"{one.count:,}"),
            *((f"{one.new:,}" if one.new else "", f"{one.fixed:,}" if one.fixed else "") if compared else ()),
        )
        for one in found
    ]
    heads = ("severity", "finding", "check", "count", *(("new", "fixed") if compared else ()))
    if rows:
        put_table(heads, rows, right=("count", "new", "fixed"), least=("check",))
        print()
    recent = f", {done.recent:,} visited within --if-older" if done.recent else ""
    change = f", {done.new:,} new, {done.fixed:,} fixed since audit {done.before}" if compared else ""
    print(
        f"audit {done.audit} of {done.url} {done.state} in {format_duration(done.seconds)}: "
        f"{counted(done.pages, 'page')} ({done.indexable:,} indexable{recent}), {counted(done.errors, 'error')}, "
        f"{counted(done.warnings, 'warning')}, {counted(done.notices, 'notice')}{change}"
    )
    if done.pages and not done.indexable:
        print(
            "no page can be indexed, so the checks of titles, descriptions, headings and texts found nothing to check"
        )
    for reason in done.reasons[:MAX_LISTED_REASONS]:
        print(f"not the whole site: {reason}")
    for path in done.outputs[:MAX_LISTED_REASONS]:
        print(f"written: {path}")
    if len(done.outputs) > MAX_LISTED_REASONS:
        print(f"written: {len(done.outputs) - MAX_LISTED_REASONS} more files")


def list_checks(as_json: bool) -> int:
    """Prints all checks."""
    from gossamer.cli.printing import put_json, put_table
    from gossamer.uses.audit.registry import CHECKS

    if as_json:
        for one in CHECKS:
            put_json(
                {
                    "id": one.id,
                    "group": one.group,
                    "severity": one.severity.value,
                    "title": one.title,
                    "things": one.thing,
                    "fix": one.fix,
                }
            )
    else:
        rows = [(one.id, one.group, one.severity.value, one.title) for one in CHECKS]
        put_table(("check", "group", "severity", "finds"), rows, long=("finds",))
    return 0
