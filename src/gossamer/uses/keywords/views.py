"""Queries the tables of runs. There are queries for keywords, the pages of a keyword, discovered terms, the
keywords that another site uses more often (gaps), the keywords that sites share (overlap), the pages that
compete for a keyword, and the trend over runs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import msgspec

from gossamer.errors import UsageError
from gossamer.parsing.words import tokens
from gossamer.uses.keywords.matching import KeywordMatcher
from gossamer.uses.keywords.merging import connect
from gossamer.uses.keywords.page_contexts import BETWEEN, CONTEXTS, contexts_on, read_counted, write_contexts
from gossamer.uses.keywords.run import KeywordRun, run_folder

TABLES: Final = ("keywords", "counts", "pages", "terms", "groups")


class KeywordTotal(msgspec.Struct, frozen=True):
    """The counts of a keyword on a site, or on all sites (`site` is then '')."""

    keyword: str
    site: str
    count: int
    """Number of occurrences of the keyword in the main texts of the pages."""
    pages: int
    """Number of pages whose main text contains the keyword."""
    share: float
    """The share of pages whose main text contains the keyword, from 0 to 1."""
    density: float
    """The number of occurrences divided by the number of all words, from 0 to 1."""
    in_title: int
    in_headings: int
    """`in_title` is the number of pages with the keyword in the title, and `in_headings` is the number of
    pages with the keyword in a heading."""
    anchors: int
    """Number of links between pages whose link text contains the keyword."""
    alt: int
    meta: int
    """`alt`: the number of occurrences in alternative texts of images. `meta`: the number of occurrences in
    the meta elements `description` and `keywords`."""
    idf: float | None
    tfidf: float
    contexts: list[str] | None


class DiscoveredTerm(msgspec.Struct, frozen=True):
    """A discovered word or phrase that is important on a site."""

    site: str
    language: str
    words: int
    term: str
    count: int
    pages: int
    density: float
    tfidf: float
    score: float
    npmi: float | None


class KeywordPage(msgspec.Struct, frozen=True):
    """The counts of a keyword in the texts of one page."""

    url: str
    title: str
    site: str
    """The host of the page without `www.`."""
    time: str | None
    """The time of the fetch (RFC 3339, UTC), or None if it is not known."""
    count: int
    density: float
    prominence: float
    """The prominence of the keyword, from 0 to 1. The prominence is 1 at the beginning of the main text and 0
    at its end. The prominence is also 0 if the main text does not contain the keyword."""
    in_title: int
    in_headings: int
    anchors: int
    alt: int
    meta: int
    tfidf: float
    contexts: list[str]


class Gap(msgspec.Struct, frozen=True):
    """A keyword or discovered term that another site uses more often."""

    term: str
    listed: bool
    """Whether the term is one of the keywords that the run counts. If false, the term is not in the list of
    keywords, and was discovered in the texts."""
    theirs: int
    their_pages: int
    mine: int
    my_pages: int
    weight: float
    """The importance of the term on the other site, by which the terms are sorted."""


class Overlap(msgspec.Struct, frozen=True):
    """The number of keywords that two sites share."""

    site: str
    other: str
    both: int
    only_site: int
    only_other: int
    share: float
    """The number of keywords that both sites have, divided by the number of keywords that at least one of the
    two sites has."""


class Cannibal(msgspec.Struct, frozen=True):
    """Several pages of one site that have the same keyword in their title and heading."""

    keyword: str
    site: str
    pages: int
    urls: list[str]


class TrendPoint(msgspec.Struct, frozen=True):
    """The counts of a keyword in one run."""

    run: str
    keyword: str
    site: str
    count: int
    pages: int
    density: float
    all_pages: int
    change: int | None
    """The keyword's count in this run minus its count in the previous run, or None if there is no previous
    run."""


class RunTables:
    """The tables of one run. A context manager."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._base = connect(folder)
        for name in TABLES:
            self._view(name, folder / f"{name}.parquet")

    def _view(self, name: str, path: Path) -> None:
        quoted = str(path).replace("'", "''")
        self._base.execute(f"CREATE OR REPLACE VIEW {name} AS SELECT * FROM read_parquet('{quoted}')")

    def _described(self, query: str) -> list[tuple[str, str]]:
        return [(str(row[0]), str(row[1])) for row in self._base.execute(f"DESCRIBE {query}").fetchall()]

    def __enter__(self) -> RunTables:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Closes the tables."""
        self._base.close()

    def sites(self) -> list[str]:
        """Returns the sites. The site with the most pages comes first."""
        rows = self._base.execute(
            "SELECT site FROM groups GROUP BY site ORDER BY sum(pages) DESC, site"
        ).fetchall()
        return [site for (site,) in rows]

    def check_site(self, site: str, option: str = "--site") -> str:
        """Returns the site that a user typed, possibly as a URL or with `www.`. Raises UsageError."""
        known = self.sites()
        name = site.partition("://")[2] or site
        name = name.partition("/")[0].removeprefix("www.").lower()
        if name not in known:
            raise UsageError(f"{option} {site}: no such site; there are {', '.join(known)[:300]}")
        return name

    def keywords(self, site: str = "", limit: int = 1_000_000_000) -> list[KeywordTotal]:
        """Returns the keywords of a site. If `site` is '', returns the keywords of all sites together. The
        most frequent keyword comes first."""
        rows = self._base.execute(
            f"SELECT {', '.join(KeywordTotal.__struct_fields__)} FROM keywords WHERE site = ? ORDER BY count DESC, pages DESC, number "
            "LIMIT ?",
            [site, limit],
        )
        return [KeywordTotal(*row) for row in rows.fetchall()]

    def terms(
        self, site: str = "", language: str = "", words: int = 0, limit: int = 1_000_000_000
    ) -> list[DiscoveredTerm]:
        """Returns discovered terms, the most important first. `words`: if not 0, only terms with this number
        of words."""
        rows = self._base.execute(
            f"SELECT {', '.join(DiscoveredTerm.__struct_fields__)} FROM terms WHERE (? = '' OR site = ?) AND (? = '' OR language = ?) "
            "AND (? = 0 OR words = ?) ORDER BY score DESC, term LIMIT ?",
            [site, site, language, language, words, words, limit],
        )
        return [DiscoveredTerm(*row) for row in rows.fetchall()]

    def number_of(self, keyword: str) -> int:
        """Returns the number that identifies a keyword in the tables. Raises UsageError if the keyword was
        not counted."""
        row = self._base.execute(
            "SELECT number FROM keywords WHERE keyword = ? LIMIT 1", [keyword]
        ).fetchone()
        if row is None:
            wanted = tokens(keyword)
            known = self._base.execute("SELECT DISTINCT keyword, number FROM keywords").fetchall()
            row = next(((number,) for name, number in known if tokens(name) == wanted), None)
        if row is None:
            raise UsageError(
                f"{keyword!r} was not counted: put it into the list, and run `gossamer keywords --list` again"
            )
        return int(row[0])

    def pages_of(self, keyword: str, site: str = "", limit: int = 50) -> list[KeywordPage]:
        """Returns the pages with a keyword. The page with the highest TF-IDF comes first. The result for a
        page includes the contexts of the first occurrences on the page. Raises UsageError if the keyword was
        not counted."""
        number = self.number_of(keyword)
        rows = self._base.execute(
            "WITH k AS (SELECT idf FROM keywords WHERE number = ? AND site = '') "
            f"SELECT p.url, p.title, p.domain, {_TIME}, c.body, c.body / greatest(p.words, 1) AS density, "
            "CASE WHEN c.first < 0 THEN 0 ELSE 1 - c.first / p.tokens END AS prominence, c.title, "
            "c.headings, c.anchors, c.alt, c.meta, c.body * coalesce(k.idf, 0) AS tfidf, p.file, p.start, p.length "
            "FROM counts c JOIN pages p USING (page), k WHERE c.keyword = ? AND (? = '' OR p.site = ?) "
            "ORDER BY tfidf DESC, c.body DESC, c.title DESC, c.headings DESC, p.page LIMIT ?",
            [number, number, site, site, limit],
        ).fetchall()
        counted = read_counted(self.folder)
        matcher = KeywordMatcher([keyword], counted.stem)
        return [
            KeywordPage(*[*row[:13], contexts_on(matcher, counted, *row[13:]).get(0, []) if row[4] else []])
            for row in rows
        ]

    def gaps(self, mine: str, theirs: str, limit: int = 50) -> list[Gap]:
        """Returns the terms that the site `theirs` uses and the site `mine` does not use. A keyword of the
        list is also returned if the share of pages with the keyword is more than three times as high on
        `theirs` as on `mine`. Keywords of the list come first, then discovered terms."""
        listed = self._base.execute(
            "SELECT t.keyword, true, t.count, t.pages, m.count, m.pages, "
            "t.count * (1 + ln(1 + t.anchors)) * (1 + t.in_title) AS weight "
            "FROM keywords t JOIN keywords m USING (number) WHERE t.site = ? AND m.site = ? AND t.pages > 0 "
            "AND m.share * 3 < t.share ORDER BY m.pages > 0, weight DESC, t.keyword LIMIT ?",
            [theirs, mine, limit],
        ).fetchall()
        found = self._base.execute(
            "WITH t AS (SELECT term, sum(count)::BIGINT AS count, sum(pages)::BIGINT AS pages, sum(score) AS score FROM terms "
            "WHERE site = ? GROUP BY term), m AS (SELECT term, sum(count)::BIGINT AS count, sum(pages)::BIGINT AS pages "
            "FROM terms WHERE site = ? GROUP BY term) "
            "SELECT t.term, false, t.count, t.pages, 0, 0, t.score FROM t LEFT JOIN m USING (term) WHERE m.term IS NULL "
            "AND t.pages > 1 AND t.term NOT IN (SELECT keyword FROM keywords) ORDER BY t.score DESC, t.term LIMIT ?",
            [theirs, mine, max(0, limit - len(listed))],
        ).fetchall()
        return [Gap(*row) for row in [*listed, *found]]

    def overlap(self) -> list[Overlap]:
        """Compares each pair of sites. Each result contains the number of counted keywords that both sites
        use."""
        rows = self._base.execute(
            "WITH h AS (SELECT site, number FROM keywords WHERE site <> '' AND pages > 0), "
            "n AS (SELECT site, count(*) AS n FROM h GROUP BY site), "
            "b AS (SELECT a.site AS site, o.site AS other, count(*) AS n FROM h a JOIN h o ON a.number = o.number "
            "AND a.site < o.site GROUP BY ALL) "
            "SELECT x.site, y.site, coalesce(b.n, 0), x.n - coalesce(b.n, 0), y.n - coalesce(b.n, 0), "
            "coalesce(b.n, 0) / (x.n + y.n - coalesce(b.n, 0)) AS share FROM n x JOIN n y ON x.site < y.site "
            "LEFT JOIN b ON b.site = x.site AND b.other = y.site ORDER BY share DESC, x.site, y.site"
        )
        return [Overlap(*row) for row in rows.fetchall()]

    def cannibals(self, site: str = "", limit: int = 50) -> list[Cannibal]:
        """Returns the keywords for which several pages of one site compete. A page competes for a keyword if
        both its title and a heading contain the keyword."""
        rows = self._base.execute(
            "SELECT k.keyword, p.site, count(*) AS n, list(p.url ORDER BY c.body DESC, p.url)[1:5] FROM counts c "
            "JOIN pages p USING (page) JOIN keywords k ON k.number = c.keyword AND k.site = '' "
            "WHERE c.title > 0 AND c.headings > 0 AND (? = '' OR p.site = ?) GROUP BY ALL HAVING count(*) > 1 "
            "ORDER BY n DESC, k.keyword LIMIT ?",
            [site, site, limit],
        )
        return [Cannibal(*row) for row in rows.fetchall()]

    def rows(self, table: str, between: str = " | ") -> Iterator[tuple[Any, ...]]:
        """Yields the rows of a table of `EXPORTS`. `between`: the separator of contexts."""
        reader = self._base.execute(self._query(table, between))
        while found := reader.fetchmany(10_000):
            yield from found

    def columns(self, table: str) -> list[tuple[str, str]]:
        """Returns the columns of a table of `EXPORTS` with their DuckDB types."""
        return self._described(self._query(table))

    def copy_parquet(self, table: str, path: Path) -> None:
        """Writes a table of `EXPORTS` as a Parquet file."""
        target = str(path).replace("'", "''")
        self._base.execute(f"COPY ({self._query(table)}) TO '{target}' (FORMAT parquet, COMPRESSION zstd)")

    def _query(self, table: str, between: str = " | ") -> str:
        """Returns the query for the rows of a table of `EXPORTS`. First finds the contexts of all pages, if the
        table contains them."""
        if table == "keyword_pages":
            if not (self.folder / CONTEXTS).is_file():
                known = self._base.execute(
                    "SELECT keyword FROM keywords WHERE site = '' ORDER BY number"
                ).fetchall()
                write_contexts(
                    self.folder, read_counted(self.folder), [name for (name,) in known], self._counted_pages()
                )
            self._view("page_contexts", self.folder / CONTEXTS)
        return EXPORTS[table].replace("$between", between)

    def _counted_pages(self) -> Iterator[tuple[int, int, int, int, int]]:
        """Yields the keywords on each page, in the order of the pages."""
        reader = self._base.cursor().execute(
            "SELECT p.page, p.file, p.start, p.length, c.keyword FROM counts c JOIN pages p USING (page) "
            "WHERE c.body > 0 ORDER BY p.page, c.keyword"
        )
        while found := reader.fetchmany(10_000):
            yield from found


_TIME: Final = "strftime(make_timestamp(p.time * 1000), '%Y-%m-%dT%H:%M:%SZ')"
"""The time of a page's fetch as a text (RFC 3339, UTC)."""
_LAST_TIME: Final = f"(SELECT {_TIME} FROM (SELECT max(time) AS time FROM pages) p) AS time"
"""The time of the last fetch of a run."""
EXPORTS: Final = {
    "keyword_totals": "SELECT keyword, site, count, pages, share, density, in_title, in_headings, anchors, alt, meta, idf, tfidf, "
    f"array_to_string(contexts, '$between') AS contexts, {_LAST_TIME} FROM keywords ORDER BY site, count DESC, number",
    "keyword_pages": "SELECT k.keyword, p.url, p.site, c.body AS count, p.words, c.body / greatest(p.words, 1) AS density, "
    "c.title AS in_title, c.headings AS in_headings, c.anchors, c.alt, c.meta, "
    "CASE WHEN c.first >= 0 THEN 1 - c.first / p.tokens END AS prominence, "
    f"c.body * coalesce(k.idf, 0) AS tfidf, p.domain, {_TIME} AS time, "
    f"replace(coalesce(x.contexts, ''), '{BETWEEN}', '$between') AS contexts "
    "FROM counts c JOIN pages p USING (page) JOIN keywords k ON k.number = c.keyword AND k.site = '' "
    "LEFT JOIN page_contexts x ON x.page = c.page AND x.keyword = c.keyword",
    "keyword_terms": "SELECT site, language, words, term, count, pages, density, tfidf, score, npmi, "
    f"{_LAST_TIME} FROM terms",
    "counted_pages": "SELECT p.url, p.site, p.language, p.title, p.words, f.url AS copy_of, p.domain, "
    f"{_TIME} AS time FROM pages p "
    "LEFT JOIN pages f ON f.page = p.copy_of",
}
"""Maps the name of each exported table to the query for its rows. `$between` stands for the separator of
contexts."""


def read_trend(folder: str, runs: Sequence[KeywordRun], keyword: str, site: str = "") -> list[TrendPoint]:
    """Returns a keyword's counts in each run, oldest first. Runs that did not count the keyword are left out."""
    points: list[TrendPoint] = []
    for run in runs:
        with RunTables(run_folder(folder, run.id)) as tables:
            try:
                number = tables.number_of(keyword)
            except UsageError:
                continue
            row = tables._base.execute(
                "SELECT count, pages, density, (SELECT sum(pages) FROM groups WHERE ? = '' OR site = ?)::BIGINT "
                "FROM keywords WHERE number = ? AND site = ?",
                [site, site, number, site],
            ).fetchone()
        if row is not None:
            before = points[-1].count if points else None
            change = None if before is None else row[0] - before
            points.append(TrendPoint(*[run.id, keyword, site, *row, change]))
    return points
