"""`gossamer keywords discover`, `pages`, `gaps`, `overlap`, `cannibals`, `trend`, `runs`, `export` and
`report`: show and export the results of keyword counts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any

from gossamer.cli.keywords import Folder, Outputs, What
from gossamer.cli.options import Argument, Json, Option
from gossamer.cli.printing import put_rows
from gossamer.errors import UsageError

if TYPE_CHECKING:
    from gossamer.uses.keywords.run import KeywordRun
    from gossamer.uses.keywords.views import RunTables

Run = Annotated[
    str | None,
    Option("--run", metavar="ID", help="The run, as `gossamer keywords runs` lists it (default: the last)."),
]
Site = Annotated[str | None, Option("--site", metavar="SITE", help="Only this site: a host or a URL.")]
Limit = Annotated[int, Option("--limit", metavar="N", help="At most N rows (default 50).", least=1)]
AsCsv = Annotated[bool, Option("--csv", help="Print CSV.")]
Keyword = Annotated[str, Argument(metavar="KEYWORD", help="A keyword that was counted.")]
Mine = Annotated[str, Argument(metavar="MINE", help="Your site: a host or a URL.")]
Theirs = Annotated[str, Argument(metavar="THEIRS", help="The competitor's site.")]


def discover(
    site: Site = None,
    language: Annotated[
        str | None, Option("--language", metavar="CODE", help="Only pages that declare this language: de.")
    ] = None,
    words: Annotated[
        int, Option("--words", metavar="N", help="Only terms of N words, 1 to 3 (default: all).", least=0)
    ] = 0,
    limit: Limit = 50,
    run: Run = None,
    folder: Folder = None,
    as_csv: AsCsv = False,
    as_json: Json = False,
) -> int:
    """List the words and phrases that matter on the pages, with count, pages, density and TF-IDF."""
    with _opened(folder, run) as (_, tables):
        found = tables.terms(_site(tables, site), language or "", words, limit)
    if as_json:
        return _put_objects(found)
    rows = [
        (
            *(one.term, one.site, one.language, f"{one.count}", f"{one.pages}", f"{one.density:.6f}"),
            *(f"{one.tfidf:.1f}", f"{one.score:.1f}", "" if one.npmi is None else f"{one.npmi:.2f}"),
        )
        for one in found
    ]
    heads = ("term", "site", "language", "count", "pages", "density", "tfidf", "score", "npmi")
    put_rows(heads, rows, as_csv, False, heads[3:], ("language", "npmi"))
    return 0


def pages(
    keyword: Keyword,
    site: Site = None,
    limit: Limit = 50,
    run: Run = None,
    folder: Folder = None,
    as_csv: AsCsv = False,
    as_json: Json = False,
) -> int:
    """List the pages with a keyword: count, density, where on the page, and the first five contexts."""
    with _opened(folder, run) as (_, tables):
        found = tables.pages_of(keyword, _site(tables, site), limit)
    if as_json:
        return _put_objects(found)
    heads = (
        *("url", "count", "density", "prominence", "title", "headings", "links", "alt", "description"),
        *(("site", "time") if as_csv else ()),
        "contexts",
    )
    rows = [
        (
            *(one.url, f"{one.count}", f"{one.density:.4f}", f"{one.prominence:.2f}", f"{one.in_title}"),
            *(f"{one.in_headings}", f"{one.anchors}", f"{one.alt}", f"{one.meta}"),
            *((one.site, one.time or "") if as_csv else ()),
            " | ".join(one.contexts if as_csv else one.contexts[:1]),
        )
        for one in found
    ]
    put_rows(heads, rows, as_csv, False, heads[1:9], ("alt", "description", "prominence"), ("contexts",))
    return 0


def gaps(
    mine: Mine,
    theirs: Theirs,
    limit: Limit = 50,
    run: Run = None,
    folder: Folder = None,
    as_csv: AsCsv = False,
    as_json: Json = False,
) -> int:
    """List the keywords, and then the discovered terms, that a competitor's pages have and your pages do not
    have.

    A keyword that your pages have is also listed if the share of your pages with this keyword is less than a
    third of the competitor's share.
    """
    with _opened(folder, run) as (_, tables):
        found = tables.gaps(tables.check_site(mine, "MINE"), tables.check_site(theirs, "THEIRS"), limit)
    if as_json:
        return _put_objects(found)
    rows = [
        (
            *(one.term, "list" if one.listed else "discovered", f"{one.theirs}", f"{one.their_pages}"),
            *(f"{one.mine}", f"{one.my_pages}", f"{one.weight:.1f}"),
        )
        for one in found
    ]
    heads = ("term", "from", "theirs", "their pages", "mine", "my pages", "weight")
    put_rows(heads, rows, as_csv, False, heads[2:])
    return 0


def overlap(run: Run = None, folder: Folder = None, as_csv: AsCsv = False, as_json: Json = False) -> int:
    """Compare the sites of a run pair by pair: the number of keywords on both sites, and on only one site."""
    with _opened(folder, run) as (_, tables):
        found = tables.overlap()
    if not found:
        raise UsageError(
            "the run has only one site: count at least two, for example with `gossamer keywords URL URL`"
        )
    if as_json:
        return _put_objects(found)
    rows = [
        (one.site, one.other, f"{one.both}", f"{one.only_site}", f"{one.only_other}", f"{one.share:.3f}")
        for one in found
    ]
    heads = ("site", "other", "both", "only site", "only other", "share")
    put_rows(heads, rows, as_csv, False, heads[2:])
    return 0


def cannibals(
    site: Site = None,
    limit: Limit = 50,
    run: Run = None,
    folder: Folder = None,
    as_csv: AsCsv = False,
    as_json: Json = False,
) -> int:
    """List keywords for which several pages of one site compete. Each of the pages has the keyword in its
    title and in a heading."""
    with _opened(folder, run) as (_, tables):
        found = tables.cannibals(_site(tables, site), limit)
    if as_json:
        return _put_objects(found)
    rows = [(one.keyword, one.site, f"{one.pages}", " ".join(one.urls)) for one in found]
    put_rows(
        ("keyword", "site", "pages", "the first of them"),
        rows,
        as_csv,
        False,
        ("pages",),
        (),
        ("the first of them",),
    )
    return 0


def trend(
    keyword: Keyword,
    site: Annotated[str | None, Option("--site", metavar="SITE", help="Only this site: a host.")] = None,
    folder: Folder = None,
    as_csv: AsCsv = False,
    as_json: Json = False,
) -> int:
    """Show how often a keyword was found in each run, oldest first."""
    from gossamer.uses.keywords.run import FOLDER, list_runs
    from gossamer.uses.keywords.views import read_trend

    place = folder or FOLDER
    runs = [one for one in list_runs(place) if one.state == "done"]
    name = (site or "").removeprefix("www.")
    found = read_trend(place, runs, keyword, name)
    if not found:
        raise UsageError(f"{keyword!r} was counted in no run of {place}")
    if as_json:
        return _put_objects(found)
    rows = [
        (
            *(one.run, f"{one.count}", f"{one.pages}", f"{one.density:.6f}", f"{one.all_pages}"),
            "" if one.change is None else f"{one.change:+}",
        )
        for one in found
    ]
    heads = ("run", "count", "pages", "density", "all pages", "change")
    put_rows(heads, rows, as_csv, False, heads[1:])
    return 0


def runs(folder: Folder = None, as_json: Json = False) -> int:
    """List the runs, oldest first."""
    from gossamer.cli.printing import put_table
    from gossamer.uses.keywords.run import FOLDER, list_runs

    found = list_runs(folder or FOLDER)
    if as_json:
        return _put_objects(found)
    rows = [
        (
            *(one.id, one.state, f"{one.result.counted:,}" if one.result else ""),
            *(f"{one.result.keywords:,}" if one.result else "", ", ".join(one.sources)),
        )
        for one in found
    ]
    put_table(
        ("run", "state", "pages", "keywords", "sources"), rows, right=("pages", "keywords"), long=("sources",)
    )
    return 0


def export(
    output: Outputs = None,
    what: What = None,
    run: Run = None,
    folder: Folder = None,
    as_json: Json = False,
) -> int:
    """Write the tables of a run into files or stores: -o FILE.sqlite, FILE.xlsx, postgresql://..., kafka://...

    Databases keep the tables of all runs. A stream, a list or a .jsonl file receives the rows again each time.
    """
    from gossamer.cli.keywords import write_outputs
    from gossamer.cli.printing import put_json
    from gossamer.config.redaction import register_in
    from gossamer.uses.keywords.exports import check_output, check_what
    from gossamer.uses.keywords.run import FOLDER

    if not output:
        raise UsageError(
            "no output given: use -o with FILE.sqlite, FILE.xlsx, FILE.csv, FILE.jsonl, a folder/, or a store such as "
            "postgresql://..."
        )
    check_what(what or ())
    for one in output:
        register_in(one)
        check_output(one)
    with _opened(folder, run) as (made, tables):
        write_outputs(tables, made, output, folder or FOLDER, what or ())
    if as_json:
        put_json({"run": made.id, "outputs": output})
    return 0


def report(
    output: Annotated[
        str, Option("-o", "--output", metavar="FILE", help="The HTML file (default keywords.html).")
    ] = "keywords.html",
    run: Run = None,
    folder: Folder = None,
    as_json: Json = False,
) -> int:
    """Write a report as one HTML file: keywords with contexts, terms, gaps, overlap, competing pages, trends.

    The file needs no other file, no script and no network, so it can be sent by mail.
    """
    from gossamer.cli.printing import put_json
    from gossamer.uses.keywords.report import write_report
    from gossamer.uses.keywords.run import FOLDER

    with _opened(folder, run) as (made, tables):
        write_report(tables, made, folder or FOLDER, output)
    if as_json:
        put_json({"file": output, "run": made.id})
    else:
        print(f"{output}: run {made.id}")
    return 0


def _put_objects(found: Iterable[Any]) -> int:
    """Prints one JSON object per line. Returns the exit code."""
    from gossamer.cli.printing import put_json

    for one in found:
        put_json(one)
    return 0


@contextmanager
def _opened(folder: str | None, number: str | None) -> Iterator[tuple[KeywordRun, RunTables]]:
    """Opens the tables of a run. Raises UsageError if there is no such run."""
    from gossamer.uses.keywords.run import FOLDER, done_run
    from gossamer.uses.keywords.views import RunTables

    made, place = done_run(folder or FOLDER, number)
    with RunTables(place) as tables:
        yield made, tables


def _site(tables: RunTables, site: str | None) -> str:
    return tables.check_site(site) if site else ""
