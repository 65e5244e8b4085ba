"""`gossamer ranks plan` and `gossamer ranks run`: compute the cost of a run, and perform the run."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from gossamer.cli.options import Argument, IfOlder, Json, Option, Quiet, read_settings
from gossamer.cli.prices import seconds
from gossamer.cli.printing import hush_remarks
from gossamer.cli.record_output import RankKinds, RecordOutputs, RecordsToSend, objects_of, sending_folder
from gossamer.errors import UsageError

if TYPE_CHECKING:
    from gossamer.uses.ranks.keywords import RankKeywords
    from gossamer.uses.ranks.model import Keyword, RankEvent
    from gossamer.uses.ranks.pages_to_fetch import Depth
    from gossamer.uses.ranks.plan import RankPlan
    from gossamer.uses.ranks.run import RankRunOptions, RankRunSummary
    from gossamer.uses.record_stream import SentRecords

UNFIT = 3
"""The exit code if the budget is too small for a plan."""
TRY_AGAIN = 9
"""The exit code if every check of a run failed, or if the provider's account has no credit. If a run ends
with this exit code, a later run may succeed."""
HISTORY = "ranks.db"
MAX_SHOWN = 10
MAX_SHOWN_CHANGES = 50

Sources = Annotated[list[str], Argument(metavar="KEYWORDS...", help="CSV, JSON lines, Excel or text.")]
HistoryUrl = Annotated[
    str | None,
    Option("--history", metavar="DB", help="The rank history: a file (default ranks.db) or postgresql://..."),
]
Provider = Annotated[
    str | None,
    Option(
        "--provider",
        metavar="NAME",
        help="serpapi, serper, searchapi, dataforseo, zyte, or an unlocker; default: the setting unlocker.",
    ),
]
Budget = Annotated[
    int | None,
    Option("--budget", metavar="N", least=0, help="The most credits that all runs spend in a day (UTC)."),
]
Domain = Annotated[
    str | None, Option("--domain", metavar="DOMAIN", help="Your domain, for lines without the column domain.")
]
Engine = Annotated[
    str | None, Option("--engine", metavar="ENGINES", help="google (default), bing, or both: google,bing.")
]
Country = Annotated[
    str | None, Option("--country", metavar="CC", help="Two letters, for lines without a country.")
]
Language = Annotated[
    str | None, Option("--language", metavar="LANG", help="For lines without a language: en.")
]
Device = Annotated[
    str | None,
    Option("--device", metavar="DEVICES", help="desktop (default), mobile, or both: desktop,mobile."),
]
Results = Annotated[int, Option("--first", metavar="N", least=1, help="The first N results (default 20).")]
Strategy = Annotated[
    str,
    Option(
        "--strategy",
        metavar="NAME",
        help="smart (default): the page of the last position first; custom: all pages; basic: page 1.",
    ),
]
NoFallback = Annotated[
    bool, Option("--no-fallback", help="With smart: only the page of the last position and its neighbours.")
]
Own = Annotated[
    bool,
    Option("--own", help="Search the engines from this machine, which their rules forbid: your own choice."),
]
Rejected = Annotated[
    str | None,
    Option("--rejected", metavar="FILE", help="Where bad lines go (default KEYWORDS.rejected.jsonl)."),
]
DataFolder = Annotated[
    str | None, Option("--data", metavar="DIR", help="The data folder (default .gossamer).")
]
Store = Annotated[
    str | None,
    Option("--store", metavar="URL", help="A shared store, for a budget that several machines share."),
]
Setting = Annotated[
    list[str] | None, Option("-s", "--setting", metavar="NAME=VALUE", help="Any setting of a crawl.")
]
Proxies = Annotated[
    list[str] | None,
    Option("--proxies", metavar="FILE", help="With --own: a list of proxies, each with its own pace."),
]
Ladder = Annotated[
    str | None,
    Option("--ladder", metavar="RUNGS", help="With --own: plain (default), impersonated, browser."),
]

Archive = Annotated[
    str | None,
    Option("--archive", metavar="PATH", help="Replay stored pages: a WARC file or a folder of them."),
]
Failed = Annotated[bool, Option("--failed", help="Only searches whose last check failed or was skipped.")]
KeepPages = Annotated[
    int,
    Option("--keep-pages", metavar="DAYS", least=0, help="Keep pages for N days (default 30; 0: never)."),
]
Layout = Annotated[
    str | None,
    Option("--layout", metavar="FILE", help="A data file for result pages, instead of the packaged one."),
]


def read_list(sources: list[str], rejected: str | None, defaults: dict[str, str | None]) -> RankKeywords:
    """Reads the keywords of all sources. Reports invalid lines on stderr and writes these lines to a file.
    Raises UsageError if the sources contain no valid keyword."""
    from gossamer.cli.printing import remark
    from gossamer.uses.prices.targets import write_rejected
    from gossamer.uses.ranks.keywords import read_keywords

    found = read_keywords(sources, {name: value for name, value in defaults.items() if value})
    for note in found.notes:
        remark(note)
    if found.rejected:
        beside = f"{sources[0]}.rejected.jsonl" if Path(sources[0]).is_file() else "keywords.rejected.jsonl"
        path = Path(rejected or beside)
        write_rejected(path, found.rejected)
        for one in found.rejected[:MAX_SHOWN]:
            remark(f"{one.source} line {one.line}: {one.reason}")
        remark(f"{len(found.rejected):,} bad lines are in {path}; the other {len(found.keywords):,} are used")
    if not found.keywords:
        raise UsageError(f"{', '.join(sources)[:200]}: it contains no keywords")
    return found


def defaults_of(*values: str | None) -> dict[str, str | None]:
    """Returns the default values of the columns `domain`, `engine`, `country`, `language` and `device`."""
    return dict(zip(("domain", "engine", "country", "language", "device"), values, strict=True))


def depth_of(strategy: str, first: int, no_fallback: bool) -> Depth:
    """Builds the `Depth` object for a check from the command-line options. Raises UsageError."""
    from gossamer.uses.ranks.pages_to_fetch import MAX_DEPTH, STRATEGIES, Depth

    if strategy not in STRATEGIES:
        raise UsageError(f"--strategy {strategy!r}: write {', '.join(STRATEGIES)}")
    if first > MAX_DEPTH:
        raise UsageError(f"--first {first}: at most {MAX_DEPTH}")
    return Depth(strategy, first, not no_fallback)


def crawl_settings(
    provider: str | None, budget: int | None, setting: list[str] | None, **more: object
) -> dict[str, Any]:
    """Converts command-line options to options of `gossamer.run`."""
    from gossamer.uses.ranks.result_page_sources import provider_setting

    options = {name: value for name, value in more.items() if value is not None}
    if provider is not None:
        options["unlocker"] = provider_setting(provider)
    if budget is not None:
        options["credits_daily"] = budget
    if setting:
        options["setting"] = setting
    return options


def plan(
    sources: Sources,
    provider: Provider = None,
    budget: Budget = None,
    price: Annotated[
        str | None,
        Option("--price", metavar="MONEY", help="Of 1,000 credits, to see the cost in money: 0.60."),
    ] = None,
    first: Results = 20,
    strategy: Strategy = "smart",
    no_fallback: NoFallback = False,
    own: Own = False,
    proxies: Proxies = None,
    domain: Domain = None,
    engine: Engine = None,
    country: Country = None,
    language: Language = None,
    device: Device = None,
    history: HistoryUrl = None,
    rejected: Rejected = None,
    data: DataFolder = None,
    store: Store = None,
    setting: Setting = None,
    as_json: Json = False,
) -> int:
    """Show how many requests, hours and credits a run needs, before it starts. Makes no request.

    Exit code 3 if today's remaining credits are not sufficient.
    """
    import msgspec

    from gossamer.cli.printing import put_json
    from gossamer.uses.ranks.own_exits import count_exits
    from gossamer.uses.ranks.plan import make_plan
    from gossamer.uses.ranks.result_page_sources import check_source, choose_source

    if proxies and not own:
        raise UsageError("--proxies belongs to --own: a provider uses proxies of its own")
    found = read_list(sources, rejected, defaults_of(domain, engine, country, language, device))
    source = choose_source(
        crawl_settings(provider, budget, setting, data=data, store=store), own=own, with_key=False
    )
    check_source(source, found.searches)
    last = known_pages(history or HISTORY)
    money = None if price is None else read_price(price)
    made = make_plan(
        found.searches,
        last,
        depth_of(strategy, first, no_fallback),
        source,
        price=money,
        exits=count_exits(proxies or (), read_settings(data, store, setting).store),
    )
    if as_json:
        put_json({**msgspec.to_builtins(made), "fits": made.fits})
    else:
        print_plan(made)
    return 0 if made.fits else UNFIT


def read_price(text: str) -> float:
    """Parses an amount of money. Raises UsageError."""
    try:
        return float(text.replace(",", "."))
    except ValueError:
        raise UsageError(f"--price {text!r}: write an amount such as 0.60") from None


def known_pages(url: str) -> dict[str, int]:
    """Maps each search to the number of the result page that last contained a domain of the user. Returns {}
    if the rank history does not exist yet."""
    from gossamer.uses.ranks.history import RankHistory

    if "://" not in url and not Path(url).is_file():
        return {}
    with RankHistory(url) as base:
        return base.last_pages()


def print_plan(made: RankPlan) -> None:
    """Prints a plan on stdout."""
    from gossamer.cli.printing import put_table
    from gossamer.config.value_texts import format_duration

    rows = [
        (one.engine, f"{one.searches:,}", f"{one.expected:,.0f}", f"{one.most:,}") for one in made.engines
    ]
    heads = ("engine", "searches", "requests", "at most")
    put_table(heads, rows, right=heads[1:])
    line = (
        f"\n{made.searches - made.refused:,} searches by {made.way}, the first {made.depth} results "
        f"({made.strategy}): about {format_duration(made.hours * 3600)}"
    )
    if made.most_credits:
        line += f" and {made.credits:,.0f} credits, at most {made.most_credits:,}"
        if made.price is not None:
            line += f"; about {made.price:,.2f} in money"
    if made.left is not None:
        line += (
            f"; {made.left:,} credits are left today, which {'suffices' if made.fits else 'does not suffice'}"
        )
    print(line)
    if made.refused:
        print(f"{made.refused:,} searches cannot be made by {made.way}")


def run(
    sources: Sources,
    provider: Provider = None,
    budget: Budget = None,
    first: Results = 20,
    strategy: Strategy = "smart",
    no_fallback: NoFallback = False,
    own: Own = False,
    archive: Archive = None,
    failed: Failed = False,
    domain: Domain = None,
    engine: Engine = None,
    country: Country = None,
    language: Language = None,
    device: Device = None,
    history: HistoryUrl = None,
    keep: KeepPages = 30,
    layout: Layout = None,
    rejected: Rejected = None,
    data: DataFolder = None,
    store: Store = None,
    ladder: Ladder = None,
    proxies: Proxies = None,
    setting: Setting = None,
    if_older: IfOlder = None,
    output: RecordOutputs = None,
    what: RankKinds = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> int:
    """Fetch the result pages of all keywords, and record the positions of the domains.

    To continue a run that was stopped or killed, repeat the same command: it pays for no page twice. A failed
    check records no position. Exit code 9 if every check failed, or if the account has no credits left."""
    from gossamer.cli.scheduled_commands import end_of_checks
    from gossamer.config.redaction import register_in
    from gossamer.uses.ranks.run import RankRunOptions

    hush_remarks(quiet)
    register_in(history or "")
    found = read_list(sources, rejected, defaults_of(domain, engine, country, language, device))
    if (ladder or proxies) and not own:
        raise UsageError("--ladder and --proxies belong to --own: a provider uses proxies of its own")
    crawl = crawl_settings(
        provider, budget, setting, data=data, store=store, ladder=ladder, proxies=proxies, progress=not quiet
    )
    options = RankRunOptions(
        history=history or HISTORY,
        depth=depth_of(strategy, first, no_fallback),
        own=own,
        archive=archive,
        failed=failed,
        if_older=seconds("--if-older", if_older),
        keep_days=float(keep),
        layout=layout,
        crawl=crawl,
    )
    records = records_to_send(output, what, history)
    end_of_checks(partial(check_source_options, crawl, own, archive))
    return run_and_print(found.keywords, options, records, as_json)


def records_to_send(output: list[str] | None, what: list[str] | None, history: str | None) -> RecordsToSend:
    """Returns the outputs of a run, and the kinds of records for them."""
    from gossamer.uses.ranks.records import KINDS

    return RecordsToSend(output, KINDS, what, sending_folder(history, HISTORY, "ranks"))


def check_source_options(crawl: dict[str, Any], own: bool, archive: str | None) -> None:
    """Raises the error of a run whose source of result pages or whose options of a crawl are wrong."""
    from gossamer.cli.scheduled_commands import check_crawl_options
    from gossamer.uses.ranks.result_page_sources import choose_source

    choose_source(crawl, own=own, archive=archive, with_key=False)
    check_crawl_options(crawl)


def run_and_print(
    keywords: Sequence[Keyword], options: RankRunOptions, records: RecordsToSend, as_json: bool
) -> int:
    """Runs the checks, sends the records, prints the changes and the summary, and returns the exit code."""
    import msgspec

    from gossamer.cli.printing import put_json, remark
    from gossamer.uses.ranks.history import RankHistory
    from gossamer.uses.ranks.run import run as run_ranks

    events: list[RankEvent] = []
    try:
        done = run_ranks(keywords, options, remark, events.extend)
    except KeyboardInterrupt:
        remark("stopped: the results so far are recorded, and the same command continues the run")
        raise

    def show(sent: Sequence[SentRecords]) -> None:
        if as_json:
            told = {**msgspec.to_builtins(done), "changes": [msgspec.to_builtins(one) for one in events]}
            put_json({**told, "sent": objects_of(sent)} if sent else told)
        else:
            print_changes(events, {one.search.id: one.search.keyword for one in keywords})
            print_summary(done)

    records.send_after(lambda: RankHistory(options.history), show)
    all_failed = done.failed and not done.done and not done.no_results
    return TRY_AGAIN if all_failed or done.state == "no-credit" else 0


def print_changes(events: Sequence[RankEvent], names: dict[str, str]) -> None:
    """Prints the changes of a run on stdout. `names`: the keyword of each search."""
    from gossamer.cli.printing import put_table, remark

    changes = [one for one in events if one.kind != "first"]
    rows = [
        (
            *(str(one.kind), names.get(one.search, one.engine), one.domain),
            *(one.before or "-", one.after or "-", one.detail),
        )
        for one in changes[:MAX_SHOWN_CHANGES]
    ]
    if rows:
        put_table(("change", "keyword", "domain", "before", "after", "detail"), rows, long=("detail",))
        sys.stdout.write("\n")
    if len(changes) > MAX_SHOWN_CHANGES:
        remark(f"{len(changes) - MAX_SHOWN_CHANGES:,} more changes: --json shows all")


def print_summary(done: RankRunSummary) -> None:
    """Prints the summary of a run on stdout."""
    from gossamer.cli.printing import remark
    from gossamer.config.value_texts import format_duration

    parts = [f"{done.done:,} of {done.searches:,} searches checked"]
    for count, what in (
        (done.failed, "failed"),
        (done.no_results, "without results"),
        (done.skipped, "skipped"),
        (done.recent, "checked within --if-older"),
    ):
        if count:
            parts.append(f"{count:,} {what}")
    print(
        f"run {done.run} {done.state} in {format_duration(done.seconds)}: {', '.join(parts)}; {done.pages:,} pages, "
        f"{done.credits:,} credits; {done.in_results:,} of {done.positions:,} positions are in the results"
    )
    if done.failed:
        remark(f"{done.failed:,} checks failed and wrote no position: gossamer ranks failing shows why")
    if done.paid_empty:
        remark(
            f"{done.paid_empty:,} pages were paid for and have no results that can be read: ask the provider"
        )
