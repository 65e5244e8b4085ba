"""`gossamer keywords`: counts keywords on the pages of sites, and discovers important terms."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from gossamer.cli.options import Argument, IfOlder, Json, Option, Quiet
from gossamer.errors import UsageError

if TYPE_CHECKING:
    from gossamer.uses.keywords.keyword_list import KeywordList
    from gossamer.uses.keywords.run import KeywordRun, KeywordRunOptions
    from gossamer.uses.keywords.views import DiscoveredTerm, KeywordTotal, RunTables

MAX_SHOWN = 20
MAX_SHOWN_REJECTED = 5
CONTEXT_CHARS = 100
"""The default of `--context`."""

Sources = Annotated[
    list[str] | None,
    Argument(
        metavar="[SOURCES]...",
        help="URLs of sites, sitemap:URL, WARC files, a crawl with stored pages, or JSON lines with texts. "
        "Without: the texts of the last run are counted again.",
    ),
]
Lists = Annotated[
    list[str] | None,
    Option(
        "--list", metavar="FILE", help="Keywords: text, CSV, JSON lines, Excel, or one keyword; repeatable."
    ),
]
Stem = Annotated[
    str | None,
    Option(
        "--stem",
        metavar="LANGUAGE",
        help="Count all forms of a word: en, de, ..., or auto (each page's own).",
    ),
]
Context = Annotated[
    int,
    Option(
        "--context",
        metavar="N",
        help="Characters of text to keep on each side of a keyword (default 100).",
        least=0,
    ),
]
Folder = Annotated[
    str | None, Option("--folder", metavar="DIR", help="The folder of the runs (default keywords).")
]
Outputs = Annotated[
    list[str] | None,
    Option(
        "-o",
        "--output",
        metavar="OUTPUT",
        help="FILE.html, .csv, .xlsx, .sqlite, .jsonl, a folder/ for Parquet, or a store: postgresql://..., "
        "mongodb://...; repeatable.",
    ),
]
What = Annotated[
    list[str] | None,
    Option("--what", metavar="TABLE", help="Only this table: totals, pages, terms, counted; repeatable."),
]
Delay = Annotated[
    str | None,
    Option("--delay", metavar="SECONDS", help="Between two visits of a host: 5, or a range (default 3-7)."),
]
Limit = Annotated[int | None, Option("--limit", metavar="N", help="Crawl at most N pages.", least=1)]
Scope = Annotated[
    str | None,
    Option("--scope", metavar="WHICH", help="Which links are followed: page, prefix, host, domain, any."),
]
Include = Annotated[
    list[str] | None, Option("--include", metavar="PATTERN", help="Only URLs that match; repeatable.")
]
Exclude = Annotated[
    list[str] | None, Option("--exclude", metavar="PATTERN", help="No URLs that match; repeatable.")
]
Archive = Annotated[
    str | None, Option("--archive", metavar="PATH", help="Crawl within stored pages instead of the network.")
]
Processes = Annotated[
    str | None,
    Option(
        "--processes", metavar="N", help="Processes that crawl and count, or auto: one per core (default)."
    ),
]
DataFolder = Annotated[
    str | None,
    Option("--data", metavar="DIR", help="Where crawls are that SOURCES names (default .gossamer)."),
]
Ladder = Annotated[
    str | None, Option("--ladder", metavar="RUNGS", help="plain (default), impersonated, browser.")
]
Proxies = Annotated[
    list[str] | None, Option("--proxies", metavar="FILE", help="A list of proxies; repeatable.")
]
Store = Annotated[
    str | None,
    Option("--store", metavar="URL", help="A shared store, for the pace of hosts that others visit, too."),
]
Setting = Annotated[
    list[str] | None, Option("-s", "--setting", metavar="NAME=VALUE", help="Any setting of a crawl.")
]
Fresh = Annotated[bool, Option("--fresh", help="Start a new run, even if an earlier run was interrupted.")]
Rejected = Annotated[
    str | None, Option("--rejected", metavar="FILE", help="Where bad lines go (default LIST.rejected.jsonl).")
]


def count(
    sources: Sources = None,
    lists: Lists = None,
    stem: Stem = None,
    context: Context = CONTEXT_CHARS,
    output: Outputs = None,
    what: What = None,
    limit: Limit = None,
    scope: Scope = None,
    include: Include = None,
    exclude: Exclude = None,
    delay: Delay = None,
    archive: Archive = None,
    ladder: Ladder = None,
    proxies: Proxies = None,
    store: Store = None,
    processes: Processes = None,
    folder: Folder = None,
    data: DataFolder = None,
    setting: Setting = None,
    if_older: IfOlder = None,
    fresh: Fresh = False,
    rejected: Rejected = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> int:
    """Crawl sites, count keywords in the main text of their pages, and discover the terms that matter.

    To continue a run that was stopped or killed, repeat the same command.
    """
    from gossamer.cli.prices import seconds
    from gossamer.cli.printing import hush_remarks
    from gossamer.cli.scheduled_commands import check_crawl_options, end_of_checks
    from gossamer.uses.keywords.counting import CountOptions
    from gossamer.uses.keywords.run import DELAY, FOLDER, KeywordRunOptions, check_sources

    hush_remarks(quiet)
    check_options(output or (), stem or "", delay or DELAY, what or ())
    found = read_list(lists, rejected)
    given = {"limit": limit, "scope": scope, "include": include, "exclude": exclude, "archive": archive}
    given |= {"ladder": ladder, "proxies": proxies, "store": store, "setting": setting}
    number = process_count(processes)
    options = KeywordRunOptions(
        folder=folder or FOLDER,
        count=CountOptions(
            keywords=found.keywords, stem=stem or "", processes=number, context=context_size(context)
        ),
        list_names=lists or [],
        data=data or ".gossamer",
        delay=delay or DELAY,
        processes=number,
        if_older=seconds("--if-older", if_older),
        fresh=fresh,
        crawl={name: value for name, value in given.items() if value is not None} | {"progress": not quiet},
    )
    end_of_checks(lambda: check_sources(sources or (), options), lambda: check_crawl_options(options.crawl))
    return run_and_show(sources or (), options, output or (), as_json, what or ())


def context_size(given: int) -> int:
    """Checks the number of characters on each side of a keyword. Raises UsageError."""
    from gossamer.uses.keywords.matching import MAX_CONTEXT_CHARS

    if given > MAX_CONTEXT_CHARS:
        raise UsageError(f"--context {given}: at most {MAX_CONTEXT_CHARS} characters on each side")
    return given


def check_options(outputs: Sequence[str], stem: str, delay: str, what: Sequence[str] = ()) -> None:
    """Checks options before a run begins. Raises UsageError or ConfigError if the run could not use an
    option."""
    from gossamer.config.redaction import register_in
    from gossamer.uses.keywords.exports import check_output, check_what
    from gossamer.uses.keywords.stemming import check_stem

    for one in outputs:
        register_in(one)
        check_output(one)
    check_what(what)
    check_stem(stem)
    check_delay(delay)


def run_and_show(
    sources: Sequence[str],
    options: KeywordRunOptions,
    outputs: Sequence[str],
    as_json: bool,
    what: Sequence[str] = (),
) -> int:
    """Runs the count, writes the outputs, and prints the result. Returns the exit code."""
    from gossamer.cli.printing import remark
    from gossamer.uses.keywords.run import run_keywords
    from gossamer.uses.keywords.views import RunTables

    try:
        run, place = run_keywords(sources, options, remark)
    except KeyboardInterrupt:
        remark("stopped: the same command continues the run")
        raise
    with RunTables(place) as tables:
        write_outputs(tables, run, outputs, options.folder, what)
        show(tables, run, as_json)
    return 0


def read_list(sources: Sequence[str] | None, rejected: str | None) -> KeywordList:
    """Reads the lists, and reports rejected lines. Raises UsageError if lists have no keyword at all."""
    from gossamer.cli.printing import remark
    from gossamer.config.value_texts import format_number
    from gossamer.parsing.words import icu_hint
    from gossamer.uses.keywords.keyword_list import read_keywords, write_rejected

    found = read_keywords(sources or ())
    if found.rejected:
        path = Path(rejected or _beside((sources or [""])[0]))
        write_rejected(path, found.rejected)
        for one in found.rejected[:MAX_SHOWN_REJECTED]:
            remark(f"{one.source} line {one.line}: {one.text!r}: {one.reason}")
        remark(
            f"{len(found.rejected):,} lines are not keywords and are kept in {path}; {len(found.keywords):,} are counted"
        )
    if found.repeated:
        remark(f"{format_number(found.repeated, 'repeated keyword')}, counted once")
    if hint := icu_hint(found.keywords):
        remark(hint)
    if sources and not found.keywords:
        raise UsageError(f"--list {', '.join(sources)[:200]}: it contains no keywords")
    return found


def _beside(source: str) -> str:
    return f"{source}.rejected.jsonl" if Path(source).is_file() else "keywords.rejected.jsonl"


def check_delay(text: str) -> None:
    """Raises UsageError unless the text is a number of seconds or a range."""
    from gossamer.cli.prices import delays

    delays(text)


def process_count(text: str | None) -> int:
    """Returns the number of processes. Raises UsageError."""
    if text in (None, "auto"):
        return os.cpu_count() or 1
    if not (text or "").isdecimal() or not 1 <= int(text or "") <= 256:
        raise UsageError(f"--processes {text}: a number from 1 to 256, or auto")
    return int(text or "")


def write_outputs(
    tables: RunTables, run: KeywordRun, outputs: Sequence[str], folder: str, what: Sequence[str] = ()
) -> None:
    """Writes the tables, or a report, into each output."""
    from gossamer.cli.printing import remark
    from gossamer.uses.keywords.exports import export
    from gossamer.uses.keywords.report import write_report

    for one in outputs:
        if one.lower().endswith(".html"):
            write_report(tables, run, folder, one)
        else:
            for line in export(tables, run.id, one, what, folder):
                remark(line)


def show(tables: RunTables, run: KeywordRun, as_json: bool) -> None:
    """Prints the result of a run on stdout."""
    import msgspec

    from gossamer.cli.printing import put_json

    listed = run.result is not None and run.result.listed
    keywords, terms = tables.keywords(), tables.terms(limit=MAX_SHOWN)
    if as_json:
        put_json(
            {
                **msgspec.to_builtins(run),
                "keywords": [
                    {**msgspec.structs.asdict(one), "contexts": one.contexts or []} for one in keywords
                ],
                "terms": [msgspec.structs.asdict(one) for one in terms],
            }
        )
        return
    if listed:
        put_keywords(keywords[:MAX_SHOWN])
        if len(keywords) > MAX_SHOWN:
            print(f"... and {len(keywords) - MAX_SHOWN:,} more: -o keywords.csv has all")
        print("\nwhat matters on these pages:")
    put_terms(terms)
    print(f"\n{summary_of(run)}")


def put_keywords(rows: Sequence[KeywordTotal]) -> None:
    """Prints keywords as a table."""
    from gossamer.cli.printing import put_table

    heads = (
        "keyword",
        "count",
        "pages",
        "of all",
        "density",
        "in title",
        "in headings",
        "links",
        "alt",
        "description",
    )
    put_table(
        heads,
        [
            (
                *(one.keyword, f"{one.count:,}", f"{one.pages:,}", f"{one.share:.1%}", f"{one.density:.3%}"),
                *(f"{n:,}" for n in (one.in_title, one.in_headings, one.anchors, one.alt, one.meta)),
            )
            for one in rows
        ],
        right=heads[1:],
        least=("alt", "description"),
    )


def put_terms(rows: Sequence[DiscoveredTerm]) -> None:
    """Prints discovered terms as a table."""
    from gossamer.cli.printing import put_table

    sites = len({one.site for one in rows}) > 1
    heads = (*(("site",) if sites else ()), "term", "count", "pages", "density", "TF-IDF", "score")
    put_table(
        heads,
        [
            (
                *((one.site,) if sites else ()),
                *(one.term, f"{one.count:,}", f"{one.pages:,}", f"{one.density:.3%}"),
                *(f"{one.tfidf:,.1f}", f"{one.score:,.1f}"),
            )
            for one in rows
        ],
        right=("count", "pages", "density", "TF-IDF", "score"),
    )


def summary_of(run: KeywordRun) -> str:
    """Summarizes a run in one sentence."""
    found: Any = run.result
    parts = [f"{found.counted:,} pages counted", f"{found.words:,} words"]
    if found.copies:
        parts.append(f"{found.copies:,} copies left out")
    if found.empty:
        parts.append(f"{found.empty:,} pages without a main text")
    if found.unread:
        parts.append(f"{found.unread:,} lines did not contain a page")
    if run.crawled and run.crawled != "finished":
        parts.append(f"the crawl is {run.crawled}")
    return f"run {run.id}: {', '.join(parts)}; sites: {', '.join(found.sites[:5])}"
