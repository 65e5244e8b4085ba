"""`gossamer crawl`: defines its options, builds the `Job` from them, prints warnings before the run, and
returns the exit code."""

from __future__ import annotations

import inspect
import os
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from gossamer.cli.options import Argument, Option, read_settings, refuse_masked
from gossamer.config.redaction import mask, register, register_header, register_in, suggests_secret
from gossamer.config.shown_command import shown_command
from gossamer.errors import UsageError
from gossamer.url.patterns import TIMEOUT_S, Searcher, compile_, timed

if TYPE_CHECKING:
    from gossamer.app.job import Job, JobOutput
    from gossamer.config.settings import Settings
    from gossamer.model.summary import Summary

HELP = {
    "store": "A shared store (valkey://...) instead of the data folder's own.",
    "data": "Folder for the store, logs and state (default .gossamer).",
    "user_agent": "The User-Agent header.",
    "scope": "Links followed: page, prefix, host (default), domain, any.",
    "include": "Only URLs that contain a match of this; repeatable.",
    "exclude": "Skip URLs that contain a match of this; repeatable.",
    "depth": "Maximum distance from a seed, in links (default 50).",
    "limit": "Maximum number of pages.",
    "time_limit": "Maximum working time: 90s, 5m, 2h.",
    "size_limit": "Maximum bytes of all bodies: 500k, 10M, 2G.",
    "delay": "Seconds between the starts of requests to one host, or a range 5-10 (default: learned).",
    "host_rate": "Requests per second to one host, or 30/m: another word for --delay.",
    "per_host": "Concurrent requests to one host (default 1).",
    "polite_by": "What shares one politeness budget: host (default), domain, ip.",
    "rate": "Maximum requests per second of the whole crawl.",
    "lane": "Workers of a fleet that serve it (default http).",
    "region": "Where a fleet's worker must be to serve it.",
    "retries": "Wait before each retry, or none (default 1m,5m,30m, but at most 2m when nothing else is left).",
    "revisit": "Visit known pages again, without end: auto (each as often as it changes), or a time: 24h.",
    "if_older": "Visit known pages again, but only those whose last good visit is older: 24h.",
    "revisit_budget": "Visits of known pages: 10% (default) of what the crawl may fetch, or 5000/d.",
    "max_age": "With --revisit: maximum time between two visits of a page: 30d.",
    "min_age": "With --revisit: minimum time between two visits of a page (default 1h).",
    "importance": "With --revisit: PATTERN=WEIGHT, how important pages are (default 1), or inlinks; repeatable.",
    "concurrency": "Concurrent visits in a process (default auto: as many as hosts, processor and memory allow).",
    "processes": "Processes, or auto: one per core (default 1).",
    "log_level": "Log from this level on, site files included: debug, info (default), warning, error.",
    "log_format": "Log one event per line instead of showing progress: text, json.",
    "ladder": (
        "How pages are fetched: plain (default), impersonated (as a browser), browser, unlocker (an API)."
    ),
    "proxies": "A list of proxies; every request uses one; repeatable.",
    "ignore_robots": "Ignore robots.txt. Make sure that you may.",
    "allow_private": "A network of private addresses that may be visited; repeatable.",
    "allow_port": "A port beyond the seeds' and 80, 443, 8080, 8443; repeatable.",
    "host_pages": "Maximum pages of a host that has no seed.",
    "host_bytes": "Maximum bytes of bodies per host: 10M.",
    "host_time": "Maximum time since a host's first request: 5m.",
    "seen": "How seen URLs are stored: default, exact, bloom.",
    "fragments": "#/routes of single-page applications: auto (default), routes, drop.",
    "duplicates": "Mark pages with the same text: off (default), exact, near.",
    "guard": "Compare the run with the last good runs: on (default), off.",
    "cache": "Folder of stored pages: fetched once, then replayed.",
    "keep": "Maximum size of the items and page records kept in --data (10G), or off.",
}
METAVARS = {
    "store": "URL",
    "data": "DIR",
    "user_agent": "TEXT",
    "include": "REGEX",
    "exclude": "REGEX",
    "time_limit": "TIME",
    "seen": "HOW",
    "size_limit": "SIZE",
    "host_bytes": "SIZE",
    "host_time": "TIME",
    "delay": "SECONDS",
    "host_rate": "RATE",
    "retries": "TIMES",
    "fragments": "HOW",
    "duplicates": "HOW",
    "guard": "HOW",
    "allow_private": "CIDR",
    "cache": "DIR",
    "keep": "SIZE",
    "scope": "WHICH",
    "polite_by": "WHAT",
    "log_level": "LEVEL",
    "log_format": "FORMAT",
    "lane": "LANE",
    "region": "REGION",
    "ladder": "RUNGS",
    "proxies": "FILE",
    "revisit": "HOW",
    "if_older": "TIME",
    "revisit_budget": "BUDGET",
    "max_age": "TIME",
    "min_age": "TIME",
    "importance": "PATTERN=WEIGHT|inlinks",
}
IGNORED = (
    "WARNING: robots.txt is ignored{}. You answer for what this crawl does; ask the owners "
    "of the sites first."
)
REPEATABLE = ("include", "exclude", "proxies", "allow_private", "allow_port", "importance")
OWN: dict[str, tuple[Any, str, str | None, str]] = {
    "output": (list[str], "-o --output", "FILE", "Append to a file, or - for stdout; repeatable."),
    "overwrite": (list[str], "-O --overwrite", "FILE", "Replace a file; repeatable."),
    "pages": (str, "--pages", "FILE", "Page records of a crawl of sites."),
    "attempts": (str, "--attempts", "FILE", "Requests made, as a table beside the log."),
    "graph": (str, "--graph", "FILE", "The links of pages as rows."),
    "files": (str, "--files", "WHERE", "Where files of items are stored: a folder, s3://..., or off."),
    "name": (str, "--name", "CRAWL", "Its name (default: the site's, or host and six digits)."),
    "fresh": (bool, "--fresh", None, "Start from the beginning; forget the previous run."),
    "resume": (bool, "--resume", None, "Continue where it ended (the default)."),
    "refresh": (bool, "--refresh", None, "Visit known pages again; write only changed ones."),
    "known": (
        str,
        "--known",
        "DIR",
        "Folder of the data for --refresh and --if-older; on a fleet, one that all workers reach.",
    ),
    "text": (bool, "--text", None, "Page records with the page's text."),
    "links": (bool, "--links", None, "Page records with the page's links."),
    "archive": (str, "--archive", "PATH", "Replay a folder of pages, a page or a WARC; nothing is fetched."),
    "sitemaps": (bool, "--sitemaps", None, "Sitemaps named in the seeds' robots.txt are seeds, too."),
    "watch": (
        str,
        "--watch",
        "TIME",
        "Read sitemaps and feeds again at this interval (1h) and add new URLs; never ends.",
    ),
    "priority": (int, "--priority", "N", "Priority of the seeds and of pages found from them (default 0)."),
    "header": (
        list[str],
        "-H --header",
        "NAME:VALUE",
        "A header; secret headers go only to the seeds' origins; repeatable.",
    ),
    "argument": (list[str], "-a --argument", "NAME=VALUE", "A site's argument; repeatable."),
    "setting": (list[str], "-s --setting", "NAME=VALUE", "Any setting; repeatable."),
    "fail_on": (list[str], "--fail-on", "GATE", "Exit 30 when it holds: success<0.95; repeatable."),
    "json": (bool, "--json", None, "The summary as JSON on stdout at the end."),
    "verbose": (bool, "-v --verbose", None, "A line for each page on stderr."),
    "quiet": (bool, "-q --quiet", None, "No progress, no remarks: only errors."),
}


def signature() -> inspect.Signature:
    """Builds the signature of `crawl` from the tables `OWN`, `HELP` and `METAVARS`. Every parameter is
    keyword-only."""
    known = dict(OWN)
    for name, text in HELP.items():
        kind = bool if name == "ignore_robots" else list[str] if name in REPEATABLE else str
        known[name] = (kind, flag(name), None if kind is bool else METAVARS.get(name, "N"), text)
    targets = Argument(
        metavar="TARGET...", help="URLs, site files, lists, sitemap:URL, feed:URL, - for stdin."
    )
    annotated: dict[str, tuple[Any, Any]] = {"targets": (Annotated[list[str] | None, targets], None)}
    for name, (kind, flags, metavar, text) in known.items():
        option = Option(*flags.split(), metavar=metavar, help=text)
        annotated[name] = (
            Annotated[kind if kind is bool else kind | None, option],
            False if kind is bool else None,
        )
    return inspect.Signature(
        [
            inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)
            for name, (annotation, default) in annotated.items()
        ]
    )


def flag(setting: str) -> str:
    """Returns the command-line option of a setting. For example, `time_limit` becomes `--time-limit`."""
    return "--" + setting.replace("_", "-")


def crawl(**words: Any) -> int:
    """Crawl TARGETs: URLs, site files, folders of them, lists, sitemap:URL, feed:URL, - for stdin."""
    import msgspec

    from gossamer.cli.foreground_crawl import ForegroundCrawl
    from gossamer.observability.logs import start_logs
    from gossamer.sites.site_logs import print_site_logs

    job = job_of(words)
    if words["quiet"] and words["log_level"] is None:
        job = msgspec.structs.replace(job, settings=msgspec.structs.replace(job.settings, log_level="error"))
    if job.settings.log_format is not None:
        start_logs(job.settings.log_format, job.settings.log_level)
    print_site_logs(job.settings.log_level)
    warn_before_start(job.settings, words["quiet"])
    job = of_sites(job, words)
    more = shown_command("crawl", arguments_to_continue(sys.argv[2:]))
    if words["verbose"] and words["quiet"]:
        raise UsageError("--verbose and --quiet exclude one another")
    runner = ForegroundCrawl(
        job, quiet=words["quiet"], again=more, as_json=words["json"], verbose=words["verbose"]
    )
    return print_end(*runner.run(), job, words)


def job_of(words: dict[str, Any], *, shared: bool = False) -> Job:
    """Builds a job from the options of a command. `shared`: whether several machines write the outputs.
    Raises UsageError or ConfigError."""
    from gossamer.app.job import Job
    from gossamer.sinks.item_files import parse_file_store

    if not words["targets"]:
        raise UsageError(
            "no TARGET given: name a URL, a site file, a list, sitemap:URL, feed:URL, or - for stdin"
        )
    refuse_masked(
        [
            *words["targets"],
            *(words["header"] or ()),
            *(words["argument"] or ()),
            *(words["output"] or ()),
            *(words["overwrite"] or ()),
        ]
    )
    if len(given := [f"--{name}" for name in ("fresh", "resume", "refresh") if words[name]]) > 1:
        raise UsageError(f"{' and '.join(given)} exclude one another")
    if not -1_000_000 <= (words["priority"] or 0) <= 1_000_000:
        raise UsageError("--priority must be between -1000000 and 1000000")
    return Job(
        targets=words["targets"],
        settings=settings_of(words),
        outputs=outputs_of(words, shared),
        pages=words["pages"],
        attempts=words["attempts"],
        graph=words["graph"],
        files=parse_file_store(words["files"]) if words["files"] else None,
        name=words["name"],
        fresh=words["fresh"],
        refresh=words["refresh"],
        text=words["text"],
        links=words["links"],
        known=words["known"],
        headers=headers_of(words["header"] or ()),
        args=arguments_of(words["argument"] or ()),
        priority=words["priority"] or 0,
        sitemaps=words["sitemaps"],
        archive=words["archive"],
        watch=time_of("--watch", words["watch"]),
        gates=gates_of(words["fail_on"] or ()),
    )


def gates_of(texts: list[str] | tuple[str, ...]) -> list[str]:
    """Parses the gates of `--fail-on`, and returns the text of each gate. Raises UsageError."""
    from gossamer.items.quality_gates import parse

    return [parse(text).text for text in texts]


def time_of(option: str, text: str | None) -> float | None:
    """Parses the time of an option. Returns seconds, at least 1. Raises UsageError."""
    from gossamer.config.value_parsers import seconds

    try:
        return None if text is None else max(seconds(text), 1.0)
    except ValueError as error:
        raise UsageError(f"{option} {text}: {error}") from None


def settings_of(words: dict[str, Any]) -> Settings:
    """Returns the settings. The settings come from gossamer.toml, the environment, `-s` and the options.
    gossamer.toml is in the folder of the site files, or otherwise in the current folder."""
    from gossamer.config.settings import GivenSetting

    more = [
        GivenSetting(flag(name), name, words[name]) for name in HELP if words[name] not in (None, False, [])
    ]
    return read_settings(pairs=words["setting"], more=more, folder=folder_of(words["targets"]))


def folder_of(targets: list[str]) -> Path:
    """Returns the folder of gossamer.toml. Only the last site file or folder among the targets is considered.
    gossamer.toml may be beside this site file or in this folder. Otherwise, returns the current folder."""
    folder = Path(".")
    for target in targets:
        path = Path(target)
        if path.suffix == ".py" and os.path.isfile(target):
            folder = path.parent
        elif "://" not in target and os.path.isdir(target):
            folder = path
    return folder if (folder / "gossamer.toml").exists() else Path(".")


def outputs_of(words: dict[str, Any], shared: bool = False) -> list[JobOutput]:
    """Returns the outputs of `-o` and `-O`. Without these options, rows are written to stdout, unless stdout
    is a terminal or `--json` prints the summary on stdout. `shared`: whether several machines write the
    outputs. Raises UsageError if an output cannot be written."""
    from gossamer.app.job import JobOutput
    from gossamer.sinks.output_spec import parse

    found = [JobOutput(spec) for spec in words["output"] or ()]
    found += [JobOutput(spec, overwrite=True) for spec in words["overwrite"] or ()]
    specs = [
        *(output.spec for output in found),
        *filter(None, [words["pages"], words["attempts"], words["graph"]]),
    ]
    if shared:
        from gossamer.app.job_payload import check_shareable

        check_shareable(specs)
        return found
    for spec in specs:
        parse(spec)
    if not found and not words["json"] and not sys.stdout.isatty():
        found = [JobOutput("-")]
    return found


def headers_of(texts: list[str] | tuple[str, ...]) -> dict[str, str]:
    """Parses the `NAME:VALUE` texts of `-H` and registers secrets for masking. Raises UsageError."""
    found = {}
    for text in texts:
        name, colon, value = text.partition(":")
        token = name.replace("-", "").replace("_", "")
        if not colon or not token.isascii() or not token.isalnum() or not value.strip().isprintable():
            raise UsageError(f"-H {name!r}: write it as -H 'Name: value'")
        found[name] = value.strip()
        register_header(name, value.strip())
    return found


def arguments_of(texts: list[str] | tuple[str, ...]) -> dict[str, str]:
    """Parses the `NAME=VALUE` texts of `-a` and registers secrets for masking. Raises UsageError."""
    found = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not name.isidentifier():
            raise UsageError(f"-a {text!r}: write it as -a name=value")
        found[name] = value
        if suggests_secret(name) or mask(f"{name}=x") != f"{name}=x":
            register(value)
        register_in(value)
    return found


def arguments_to_continue(words: list[str]) -> list[str]:
    """Returns the arguments of the command that continues the crawl. Removes `--fresh` and `--refresh`, and
    replaces `-O` by `-o`, so that written rows are kept."""
    out: list[str] = []
    for word in words:
        if word in ("--fresh", "--refresh"):
            continue
        out.append("-o" if word == "-O" else "--output" if word == "--overwrite" else word)
    return out


def warn_before_start(settings: Settings, quiet: bool) -> None:
    """Before the crawl starts, warns about ignored robots.txt, bad lines in proxy lists, slow patterns and
    private addresses."""
    from gossamer.cli.printing import remark

    if settings.ignore_robots:  # also printed with --quiet, because this is a warning
        remark(IGNORED.format(""))
    if settings.proxies:
        from gossamer.app.proxy_setup import read_proxy_lists

        found = read_proxy_lists(settings)
        for path, number, reason in found.bad[:10]:
            remark(f"{path} line {number}: {reason}", quiet)
        if found.bad:
            remark(
                f"{len(found.bad)} bad lines of proxies are left out; {len(found.proxies)} "
                "proxies were taken",
                quiet,
            )
    for option, texts in (("--include", settings.include), ("--exclude", settings.exclude)):
        warn_of_slow_patterns(
            option, map(compile_, texts), "a URL on which it takes longer is skipped (filter)", quiet
        )
    if settings.allow_private:
        remark(f"private addresses may be visited: {', '.join(settings.allow_private)}", quiet)


def warn_of_slow_patterns(where: str, patterns: Iterable[Searcher], then: str, quiet: bool) -> None:
    """Warns about patterns that run with a time limit. `where`: the option or the site that contains the
    patterns. `then`: a text that describes the consequence of a timeout."""
    from gossamer.cli.printing import remark

    for one in timed(patterns):
        remark(
            f"{where}: {one.pattern!r} has look-around or a back-reference: it may take "
            f"{TIMEOUT_S * 1000:.0f} ms per text; {then}",
            quiet,
        )


def of_sites(job: Job, words: dict[str, Any]) -> Job:
    """Loads the sites of a job. Warns about sites that ignore robots.txt, even with --quiet. Returns the job.
    If every site has its own sinks, the returned job has no default output on stdout."""
    import msgspec

    from gossamer.cli.printing import remark
    from gossamer.sites import load_all

    sites = load_all(job.targets, job.args)
    for one in sites:
        warn_of_slow_patterns(
            f"{one.name} ({one.path})",
            one.site.all_patterns,
            "a page or link on which it takes longer is not read",
            words["quiet"],
        )
    names = [] if job.settings.ignore_robots else [f"{s.name} ({s.path})" for s in sites if not s.site.robots]
    if names:
        remark(IGNORED.format(f" for {', '.join(names)}"))
    if sites and all(site.site.sinks for site in sites) and not words["output"] and not words["overwrite"]:
        return msgspec.structs.replace(job, outputs=[])
    return job


def print_end(summary: Summary, stopped: bool, job: Job, words: dict[str, Any]) -> int:
    """Prints the summary, and the reason for a failure. Returns the exit code."""
    from gossamer.app.outcome import STOPPED, exit_code_of
    from gossamer.cli.foreground_crawl import report_no_seeds
    from gossamer.cli.printing import put_json, remark
    from gossamer.cli.summaries import advice, put_summary

    put_summary(summary, words["quiet"] or words["json"])
    if words["json"]:
        put_json(summary)
    for line in advice(summary):
        remark(line, words["quiet"])
    if (left := summary.skipped.get("depth")) and words["depth"] is None:
        remark(
            f"{left} link{'s' if left > 1 else ''} beyond depth {job.settings.depth} {'were' if left > 1 else 'was'} "
            "left out: --depth N goes further, in a new crawl (--fresh)",
            words["quiet"],
        )
    code, error = exit_code_of(job, summary, stopped)
    if stopped or summary.state in STOPPED:
        return code  # the summary already shows the reason
    if error:
        remark(str(error))
        return code
    # no URL was found, for example because the sitemap no longer exists
    empty = not summary.found and summary.state == "finished" and not words["refresh"]
    return report_no_seeds(job, summary.crawl) if empty else 0


vars(crawl)["__signature__"] = signature()
