"""Merges the partial counts of all chunks into the tables of a run, with DuckDB. DuckDB uses the disk to sort
data that do not fit into memory, so a million pages need no more memory than a thousand."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import msgspec

from gossamer.client.install_command import install_command
from gossamer.client.near_duplicates import likeness
from gossamer.errors import ConfigError, UsageError
from gossamer.parsing.words import stop_words
from gossamer.uses.keywords.count_chunk import OTHERS
from gossamer.uses.keywords.term_counts import BETWEEN

MEMORY: Final = "180MB"
MAX_SITES: Final = 50
"""Maximum number of sites with separate counts. The sites with the most pages have separate counts."""
MAX_TERMS: Final = 100_000
"""Maximum number of discovered terms of a site."""
MIN_NPMI: Final = 0.3
"""The minimum normalized pointwise mutual information of the words of a phrase. Phrases whose words have
lower pointwise mutual information are dropped."""
FEW_PAGES: Final = 5
"""On a site with fewer pages, the score of a term is the number of its occurrences. On a larger site, the
score also depends on the number of pages with the term."""
_UNSPACED: Final = r"[\x{0e00}-\x{0eff}\x{1000}-\x{109f}\x{1780}-\x{17ff}\x{3040}-\x{30ff}\x{3400}-\x{9fff}\x{f900}-\x{faff}\x1f]+"
SHORT_CHARS: Final = 4
MANY_PAGES: Final = 0.3
"""A short word counts as a function word if the word is on more than this share of a site's pages. A short
word has at most SHORT_CHARS characters. Phrases that begin or end with a function word are dropped."""
SHARE_BYTES: Final = 64 << 20
"""Approximate compressed size in bytes of the partial term counts that one query sums."""
_ROWS: Final = 10_000
_LONG_ROWS: Final = 10_240
"""Number of rows per row group of `keywords.parquet`. All rows of a row group are in memory until the group
is written. The rows of `keywords.parquet` are long because the rows contain contexts."""
MAX_ROUNDS: Final = 3
SKIPPED, SITES = "skipped.npy", "sites.json"
"""The names of two files in the folder that contains a run's partial counts. The file `skipped.npy` contains
the sorted numbers of the pages that are not counted. The file `sites.json` contains the names of the sites
that have separate counts."""


def check_libraries() -> None:
    """Raises ConfigError if a library of the extra `keywords` is missing."""
    for name in ("duckdb", "numpy", "pyarrow"):
        if importlib.util.find_spec(name) is None:
            raise ConfigError(f"keywords needs other packages ({name}): {install_command('keywords')}")


def connect(folder: Path) -> Any:
    """Returns a DuckDB connection that uses at most `MEMORY` of memory and sorts in the folder. Raises
    ConfigError if a library is missing."""
    check_libraries()
    import duckdb

    base = duckdb.connect(
        ":memory:",
        config={
            "memory_limit": MEMORY,
            "threads": 1,  # each additional thread has its own buffers
            "temp_directory": str(folder / "sorting"),
            "preserve_insertion_order": False,
        },
    )
    # in a spawned process, DuckDB assumes an interactive interpreter, and prints progress on stdout
    base.execute("SET enable_progress_bar_print = false")
    return base


def find_copies(base: Any, folder: Path) -> None:
    """Writes `copies.parquet` and `sites.json`. `copies.parquet` lists the pages that are not counted,
    because a later line has the same URL or an earlier page has nearly the same text. `sites.json` lists the
    sites with the most pages."""
    base.execute(f"CREATE VIEW found AS SELECT * FROM {_parts(folder, 'index.index')}")
    base.execute(
        "CREATE TABLE copies AS SELECT found.page, last AS first, 'url' AS kind FROM found JOIN "
        "(SELECT url, max(page) AS last FROM found GROUP BY url HAVING count(*) > 1) USING (url) WHERE found.page < last"
    )
    base.execute(
        "CREATE TABLE exact AS SELECT page, first, 'exact' AS kind FROM found JOIN "
        "(SELECT same, min(page) AS first FROM found WHERE same <> 0 AND page NOT IN (SELECT page FROM copies) GROUP BY same "
        "HAVING count(*) > 1) USING (same) WHERE page > first AND page NOT IN (SELECT page FROM copies)"
    )
    base.execute("INSERT INTO copies SELECT * FROM exact")
    _find_near(base)
    base.execute(
        f"COPY (SELECT * FROM copies ORDER BY page) TO '{_sql(folder / 'copies.parquet')}' (COMPRESSION zstd)"
    )
    import numpy as np

    skipped = base.execute("SELECT page FROM copies ORDER BY page").fetchnumpy()["page"]
    np.save(folder / SKIPPED, np.asarray(skipped, dtype=np.int64))
    sites = base.execute(
        "SELECT site FROM found WHERE page NOT IN (SELECT page FROM copies) GROUP BY site "
        f"ORDER BY count(*) DESC, site LIMIT {MAX_SITES}"
    ).fetchall()
    new = folder / f"{SITES}.new"
    new.write_bytes(msgspec.json.encode([site for (site,) in sites]))
    os.replace(new, folder / SITES)


def _find_near(base: Any) -> None:
    """Adds nearly equal pages to the table `copies`. For each band of its sketch, a page is compared with the
    first page that has an equal band. If the first page is a copy, the original of the first page is used
    instead."""
    base.execute(
        "CREATE VIEW left_over AS SELECT * FROM found WHERE band0 >= 0 AND page NOT IN (SELECT page FROM copies)"
    )
    base.execute("CREATE TABLE pairs (page BIGINT, first BIGINT)")
    for number in range(8):
        band = f"band{number}"
        base.execute(
            f"INSERT INTO pairs SELECT page, first FROM left_over JOIN (SELECT {band}, min(page) AS first FROM left_over "
            f"GROUP BY {band} HAVING count(*) > 1) USING ({band}) WHERE page > first"
        )
    for _ in range(MAX_ROUNDS):
        base.execute("CREATE OR REPLACE TABLE near (page BIGINT, first BIGINT)")
        if not _verify(base):
            return
        # The first page of a group is not a copy. A page that is similar to a copy is compared with the
        # copy's original in the next round.
        base.execute(
            "INSERT INTO copies SELECT page, first, 'near' FROM near WHERE first NOT IN (SELECT page FROM near) "
            "AND first NOT IN (SELECT page FROM copies)"
        )
        base.execute(
            "CREATE OR REPLACE TABLE pairs AS SELECT near.page, copies.first FROM near JOIN copies ON near.first = copies.page "
            "WHERE near.page NOT IN (SELECT page FROM copies)"
        )


def _verify(base: Any) -> int:
    """Writes pairs of pages with nearly equal texts into the table `near`, and returns the number of pairs.
    For each page, at most one pair is written: the page and the most similar candidate. If several candidates
    are equally similar, the pair contains the first candidate."""
    reader = base.cursor()
    reader.execute(
        "SELECT DISTINCT pairs.page, pairs.first, a.sketch, b.sketch FROM pairs JOIN left_over a ON a.page = pairs.page "
        "JOIN left_over b ON b.page = pairs.first ORDER BY pairs.page, pairs.first"
    )
    total = 0
    last, best = -1, (0.0, -1)
    found: list[tuple[int, int]] = []
    while rows := reader.fetchmany(_ROWS):
        for page, first, one, other in rows:
            if page != last:
                if best[0]:
                    found.append((last, best[1]))
                last, best = page, (0.0, -1)
            if (share := likeness(one, other)) > best[0]:
                best = share, first
        if len(found) >= _ROWS:
            total += _insert(base, found)
            found = []
    if best[0]:
        found.append((last, best[1]))
    return total + _insert(base, found)


def _insert(base: Any, rows: Sequence[tuple[int, int]]) -> int:
    if rows:
        base.execute("INSERT INTO near SELECT unnest(?), unnest(?)", list(map(list, zip(*rows, strict=True))))
    return len(rows)


def merge_terms(base: Any, folder: Path, sites: Sequence[str]) -> None:
    """Writes `terms.parquet` and `groups.parquet`. `terms.parquet` contains the terms with their scores by
    site and language. `groups.parquet` contains the numbers of pages and words by site and language."""
    _sites(base, sites)
    if not list(folder.glob("terms.terms-*.parquet")):
        raise UsageError("no page has a word: there is nothing to count")
    _sum_terms(base, folder)
    base.execute(
        f"CREATE TABLE sizes AS SELECT w.site, f.language, count(*) AS all_pages, greatest(sum(w.words), 1)::BIGINT AS all_words "
        f"FROM {_parts(folder, 'terms.words')} w JOIN {_parts(folder, 'index.index')} f USING (page) GROUP BY ALL"
    )
    base.execute(
        "CREATE VIEW words AS SELECT site, language, term AS word, count AS n, pages AS m FROM sums WHERE length = 1; "
        f"CREATE VIEW phrases AS SELECT *, string_split(term, '{BETWEEN}') AS w FROM sums WHERE length > 1"
    )
    _find_stop_words(base)
    base.execute(
        "CREATE TABLE bound AS SELECT p.site, p.language, p.length, p.term, p.count, p.pages, "
        "(ln(p.count / s.all_words) - ln(a.n / s.all_words) - ln(b.n / s.all_words) "
        "- CASE WHEN p.length = 3 THEN ln(c.n / s.all_words) ELSE 0 END) "
        "/ nullif((p.length - 1) * -ln(p.count / s.all_words), 0) AS npmi "
        "FROM phrases p JOIN sizes s USING (site, language) "
        "JOIN words a ON a.site = p.site AND a.language = p.language AND a.word = p.w[1] "
        "JOIN words b ON b.site = p.site AND b.language = p.language AND b.word = p.w[2] "
        "LEFT JOIN words c ON c.site = p.site AND c.language = p.language AND c.word = p.w[3] "
        f"WHERE NOT {_function_word('a')} AND NOT CASE WHEN p.length = 2 THEN {_function_word('b')} ELSE {_function_word('c')} END "
        f"AND NOT {_is_stop_word('p.w[1]', 'p')} AND NOT {_is_stop_word('p.w[p.length]', 'p')}"
    )
    idf = "ln(s.all_pages / t.pages)"
    # The sum over pages of the squared, sublinear TF-IDF. Function words are on nearly all pages, so their
    # score is nearly 0.
    score = (
        f"CASE WHEN s.all_pages < {FEW_PAGES} THEN t.count "
        f"ELSE t.pages * (1 + ln(t.count / t.pages)) * {idf} * {idf} END"
    )
    shown = f"replace(t.term, '{BETWEEN}', CASE WHEN regexp_full_match(t.term, '{_UNSPACED}') THEN '' ELSE ' ' END)"
    base.execute(
        f"COPY (SELECT names.name AS site, t.language, t.length AS words, {shown} AS term, t.count, t.pages, "
        f"t.count / s.all_words AS density, t.count * {idf} AS tfidf, {score} AS score, t.npmi FROM "
        f"(SELECT site, language, length, term, count, pages, NULL AS npmi FROM sums u WHERE length = 1 "
        f"AND NOT {_is_stop_word('u.term', 'u')} UNION ALL "
        f"SELECT * FROM bound WHERE npmi >= {MIN_NPMI}) t JOIN sizes s USING (site, language) JOIN names USING (site) "
        f"WHERE t.count >= CASE WHEN s.all_pages >= 1000 THEN 5 WHEN s.all_pages >= {FEW_PAGES} THEN 2 ELSE 1 END "
        f"AND length(t.term) > 1 AND NOT regexp_full_match(t.term, '[\\d\\x1f_]+') "
        f"QUALIFY row_number() OVER (PARTITION BY names.name ORDER BY score DESC, t.term) <= {MAX_TERMS} "
        f"ORDER BY site, score DESC, term) TO '{_sql(folder.parent / 'terms.parquet')}' (COMPRESSION zstd)"
    )
    base.execute(
        f"COPY (SELECT names.name AS site, language, all_pages AS pages, all_words AS words FROM sizes JOIN names USING (site) "
        f"ORDER BY site, pages DESC) TO '{_sql(folder.parent / 'groups.parquet')}' (COMPRESSION zstd)"
    )


def _sum_terms(base: Any, folder: Path) -> None:
    """Creates the view `sums`, which contains the terms with their sums over all parts. A single query over
    many terms would exceed the memory limit of DuckDB. Therefore the terms are divided by their hash, and
    each query sums only one part of the terms."""
    parts = list(folder.glob("terms.terms-*.parquet"))
    shares = 1 + sum(path.stat().st_size for path in parts) // SHARE_BYTES
    for share in range(shares):
        base.execute(
            "COPY (SELECT site, language, length, term, sum(count)::BIGINT AS count, sum(pages)::BIGINT AS pages "
            f"FROM {_parts(folder, 'terms.terms')} WHERE hash(term) % {shares} = {share} GROUP BY ALL "
            f"HAVING sum(count) > 1 OR length = 1) TO '{_sql(folder / 'sums')}-{share:04}.parquet' (COMPRESSION zstd)"
        )
    base.execute(f"CREATE VIEW sums AS SELECT * FROM {_parts(folder, 'sums')}")


def _find_stop_words(base: Any) -> None:
    """Creates the table `stops`, which contains the stop words by site and language. A page may declare a
    wrong language or none. So the stop words are those of the declared language, and of the language whose
    stop words are the most frequent."""
    pairs = [(code, word) for code, words in stop_words().items() for word in words]
    base.execute(
        "CREATE TABLE stop_words AS SELECT unnest(?) AS code, unnest(?) AS word",
        list(map(list, zip(*pairs, strict=True))),
    )
    base.execute(
        "CREATE TABLE stops AS WITH found AS (SELECT w.site, w.language, s.code, sum(w.n) AS n FROM words w "
        "JOIN stop_words s USING (word) GROUP BY ALL), codes AS (SELECT site, language, (list(code ORDER BY n DESC, code))[1] AS code "
        "FROM found GROUP BY site, language UNION SELECT site, language, language FROM sizes) "
        "SELECT DISTINCT site, language, word FROM codes JOIN stop_words USING (code)"
    )


def _is_stop_word(word: str, table: str) -> str:
    """Returns the SQL condition for a stop word. `table`: the table with the columns `site` and `language`."""
    return (
        f"EXISTS (SELECT 1 FROM stops o WHERE o.site = {table}.site AND o.language = {table}.language "
        f"AND o.word = {word})"
    )


def _function_word(table: str) -> str:
    """Returns the SQL condition for a function word. A function word is short and occurs on many pages. No
    phrase begins or ends with a function word."""
    return f"(length({table}.word) <= {SHORT_CHARS} AND {table}.m > s.all_pages * {MANY_PAGES} AND s.all_pages >= {FEW_PAGES})"


def merge_pages(base: Any, folder: Path, step: str, sites: Sequence[str]) -> None:
    """Writes `pages.parquet`, which contains all pages. Each row contains a page's number of words. If the
    page is a copy, the row also identifies the original page."""
    _sites(base, sites)
    base.execute(
        "COPY (SELECT f.page, f.url, coalesce(names.name, f.site) AS site, f.site AS domain, nullif(f.time, 0) AS time, f.language, "
        "f.title, w.words, w.tokens, f.file, f.start, f.length, c.first AS copy_of, c.kind AS copy_kind "
        f"FROM {_parts(folder, 'index.index')} f LEFT JOIN {_parts(folder, f'{step}.words')} w ON w.page = f.page "
        f"LEFT JOIN names ON names.site = w.site LEFT JOIN read_parquet('{_sql(folder / 'copies.parquet')}') c ON c.page = f.page "
        f"ORDER BY f.page) TO '{_sql(folder.parent / 'pages.parquet')}' (COMPRESSION zstd)"
    )


def merge_keywords(base: Any, folder: Path, step: str, keywords: Sequence[str]) -> None:
    """Writes `counts.parquet` and `keywords.parquet`. `counts.parquet` contains the counts by page and
    keyword. `keywords.parquet` contains the counts by keyword and site. The site '' in `keywords.parquet`
    means all sites."""
    target = folder.parent
    given = [keyword.encode("utf-8", "replace").decode() for keyword in keywords]  # no lone surrogates
    base.execute(
        "CREATE TABLE given AS SELECT unnest(?) AS keyword, unnest(?) AS text",
        [list(range(len(given))), given],
    )
    base.execute(f"CREATE VIEW pages AS SELECT * FROM read_parquet('{_sql(target / 'pages.parquet')}')")
    base.execute(
        f"CREATE TABLE pointing AS SELECT coalesce(p.copy_of, p.page) AS page, a.keyword, sum(a.anchors)::BIGINT AS anchors "
        f"FROM {_parts(folder, f'{step}.anchors')} a JOIN pages p ON p.url = a.url AND coalesce(p.copy_kind, '') <> 'url' "
        "GROUP BY ALL"
    )
    base.execute(
        "COPY (SELECT coalesce(c.page, a.page) AS page, coalesce(c.keyword, a.keyword) AS keyword, coalesce(body, 0) AS body, "
        "coalesce(title, 0) AS title, coalesce(headings, 0) AS headings, coalesce(alt, 0) AS alt, coalesce(meta, 0) AS meta, "
        "coalesce(anchors, 0) AS anchors, coalesce(first, -1) AS first "
        f"FROM {_parts(folder, f'{step}.counts')} c FULL OUTER JOIN pointing a ON a.page = c.page AND a.keyword = c.keyword "
        f"ORDER BY keyword, page) TO '{_sql(target / 'counts.parquet')}' (COMPRESSION zstd)"
    )
    base.execute(f"CREATE VIEW counts AS SELECT * FROM read_parquet('{_sql(target / 'counts.parquet')}')")
    base.execute(
        "CREATE TABLE sizes_of AS SELECT coalesce(site, '') AS site, count(*) AS all_pages, sum(words)::BIGINT AS all_words "
        "FROM pages WHERE words IS NOT NULL GROUP BY GROUPING SETS ((site), ())"
    )
    base.execute(
        "CREATE TABLE summed AS SELECT c.keyword, coalesce(p.site, '') AS site, sum(body)::BIGINT AS count, "
        "count(*) FILTER (body > 0) AS pages, count(*) FILTER (c.title > 0) AS in_title, "
        "count(*) FILTER (headings > 0) AS in_headings, sum(anchors)::BIGINT AS anchors, sum(alt)::BIGINT AS alt, "
        "sum(meta)::BIGINT AS meta FROM counts c JOIN pages p USING (page) "
        "GROUP BY GROUPING SETS ((c.keyword, p.site), (c.keyword))"
    )
    base.execute(
        "CREATE TABLE shown AS SELECT keyword, list(context ORDER BY page, place) AS contexts FROM "
        f"(SELECT * FROM {_parts(folder, f'{step}.contexts')} QUALIFY row_number() OVER "
        "(PARTITION BY keyword ORDER BY page, place) <= 5) GROUP BY keyword"
    )
    idf = "CASE WHEN s.pages > 0 THEN ln(z.all_pages / s.pages) END"
    base.execute(
        "COPY (SELECT g.text AS keyword, z.site, coalesce(s.count, 0) AS count, coalesce(s.pages, 0) AS pages, "
        "coalesce(s.pages, 0) / greatest(z.all_pages, 1) AS share, coalesce(s.count, 0) / greatest(z.all_words, 1) AS density, "
        "coalesce(s.in_title, 0) AS in_title, coalesce(s.in_headings, 0) AS in_headings, coalesce(s.anchors, 0) AS anchors, "
        f"coalesce(s.alt, 0) AS alt, coalesce(s.meta, 0) AS meta, {idf} AS idf, coalesce(s.count * {idf}, 0) AS tfidf, "
        "CASE WHEN z.site = '' THEN shown.contexts END AS contexts, g.keyword AS number FROM given g CROSS JOIN sizes_of z "
        "LEFT JOIN summed s ON s.keyword = g.keyword AND s.site = z.site LEFT JOIN shown ON shown.keyword = g.keyword "
        f"ORDER BY z.site, count DESC, g.keyword) TO '{_sql(target / 'keywords.parquet')}' (COMPRESSION zstd, ROW_GROUP_SIZE {_LONG_ROWS})"
    )


def _sites(base: Any, sites: Sequence[str]) -> None:
    names = [*sites, OTHERS]
    base.execute(
        "CREATE TABLE names AS SELECT unnest(?) AS site, unnest(?) AS name", [list(range(len(names))), names]
    )


def _parts(folder: Path, name: str) -> str:
    return f"read_parquet('{_sql(folder / name)}-*.parquet')"


def _sql(path: Path) -> str:
    return str(path).replace("'", "''")
