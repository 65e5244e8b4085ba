"""Derives data for the checks from the pages and links of an audit: the final targets of redirects, the
groups of similar pages, the number of clicks from the first page to each page, and the number of pages that
link to each page. Everything is computed with SQL on disk."""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterator
from itertools import groupby
from typing import Final
from urllib.parse import unquote

import msgspec
import xxhash

from gossamer.uses.audit.database import AuditDatabase
from gossamer.uses.audit.model import PAGE_KINDS, PageFacts, url_id
from gossamer.uses.audit.page_facts import BINS, MAX_IDS

MAX_HOPS: Final = 20
"""The maximum number of redirects in a chain. A longer chain of redirects counts as a loop."""
MIN_LIKENESS: Final = 0.9
"""Two pages are similar if at least this share of the numbers in their sketches is equal."""
_ROWS: Final = 8
"""Number of sketch values in one band. Two pages are compared for similarity only if their sketches have an
equal band."""
_EMPTY: Final = 0xFFFFFFFF
_LINES: Final = re.compile(r"([A-Za-z]*\d+)[-:,][A-Za-z]*\d+")
decode_facts = msgspec.json.Decoder(PageFacts).decode
CLICKS: Final = str(PAGE_KINDS)
"""The kinds of links that a visitor or a crawler follows, as a list in SQL."""

_FINALS = f"""
CREATE TABLE finals (id INTEGER PRIMARY KEY, final INTEGER NOT NULL, hops INTEGER NOT NULL);
INSERT INTO finals
WITH RECURSIVE walk (id, at, hops) AS (
  SELECT id, location, 1 FROM responses WHERE location IS NOT NULL
  UNION ALL
  SELECT walk.id, r.location, walk.hops + 1 FROM walk JOIN responses r ON r.id = walk.at
  WHERE r.location IS NOT NULL AND walk.hops < {MAX_HOPS})
SELECT id, at, max(hops) FROM walk GROUP BY id;
"""
_TARGETS = """
CREATE TABLE targets (
  id INTEGER PRIMARY KEY, internal INTEGER NOT NULL, status INTEGER, error TEXT, location INTEGER,
  noindex INTEGER NOT NULL, canonical INTEGER, is_page INTEGER NOT NULL, indexable INTEGER NOT NULL,
  seconds REAL, size INTEGER);
INSERT INTO targets
SELECT u.id, u.host IN (SELECT host FROM hosts),
  CASE WHEN r.location IS NOT NULL THEN r.status ELSE coalesce(p.status, r.status) END,
  CASE WHEN p.id IS NULL THEN r.error END, r.location, coalesce(p.noindex, 0), p.canonical,
  coalesce(p.is_html, 0),
  p.id IS NOT NULL AND p.status = 200 AND p.is_html AND NOT p.noindex AND r.location IS NULL
    AND (p.canonical IS NULL OR p.canonical = p.id) AND coalesce(p.refresh, p.id) = p.id AND u.host IN (SELECT host FROM hosts),
  coalesce(p.elapsed, r.seconds), coalesce(p.size, r.size)
FROM urls u LEFT JOIN pages p ON p.id = u.id LEFT JOIN responses r ON r.id = u.id
WHERE p.id IS NOT NULL OR r.id IS NOT NULL;
CREATE INDEX targets_status ON targets (status);
"""
_INLINKS = f"""
CREATE INDEX IF NOT EXISTS links_target ON links (target);
CREATE TABLE inlinks (id INTEGER PRIMARY KEY, pages INTEGER NOT NULL, source INTEGER NOT NULL);
INSERT INTO inlinks
SELECT coalesce(f.final, l.target), count(DISTINCT l.source), min(l.source)
FROM links l LEFT JOIN finals f ON f.id = l.target
WHERE l.kind IN {CLICKS} AND l.source != coalesce(f.final, l.target) GROUP BY 1;
"""
FAILED: Final = """
t.internal AND t.location IS NULL AND EXISTS (SELECT 1 FROM responses r WHERE r.id = t.id AND NOT r.checked)
AND (t.status >= 500 OR coalesce(t.error, 'robots') NOT IN ('robots', 'http-4xx', 'redirect-loop'))
"""
"""The condition for a page of the site that the crawl requested and could not read."""
_UNREAD = f"""
CREATE TABLE unread (id INTEGER PRIMARY KEY);
INSERT INTO unread SELECT t.id FROM targets t LEFT JOIN pages p ON p.id = t.id WHERE ({FAILED})
OR (t.internal AND p.status = 200 AND json_extract(p.facts, '$.unrendered') IS NOT NULL);
"""
_NEXT_DEPTH = f"""
INSERT OR IGNORE INTO depths
SELECT DISTINCT coalesce(f.final, l.target), ?
FROM depths d JOIN links l ON l.source = d.id LEFT JOIN finals f ON f.id = l.target
JOIN urls u ON u.id = coalesce(f.final, l.target)
WHERE d.depth = ? AND l.kind IN {CLICKS} AND u.host IN (SELECT host FROM hosts)
"""


def build_graph(database: AuditDatabase, start: str) -> None:
    """Fills the tables `finals`, `targets`, `inlinks`, `unread`, `depths` and `alike`. `unread` contains the pages
    whose links are not known. `start`: the URL of the first
    page."""
    with database.transaction() as base:
        for name in ("finals", "targets", "inlinks", "unread", "depths", "alike"):
            base.execute(f"DROP TABLE IF EXISTS {name}")
        for script in (_FINALS, _TARGETS, _INLINKS, _UNREAD):
            for statement in script.split(";\n"):
                if statement.strip():
                    base.execute(statement)
        base.execute("CREATE TABLE depths (id INTEGER PRIMARY KEY, depth INTEGER NOT NULL)")
        first = url_id(start)
        final = base.execute("SELECT final FROM finals WHERE id = ?", [first]).fetchone()
        base.execute("INSERT INTO depths VALUES (?, 0)", final or [first])
        base.execute("CREATE INDEX depths_depth ON depths (depth)")
        depth = 0
        while base.execute(_NEXT_DEPTH, [depth + 1, depth]).rowcount > 0:
            depth += 1
    find_missing_fragments(database)
    find_alike(database)


def find_missing_fragments(database: AuditDatabase) -> None:
    """Fills the table `missing_fragments` with the fragments of links that do not exist on the target
    page."""
    query = (
        "SELECT DISTINCT l.target, l.fragment FROM links l JOIN targets t ON t.id = l.target "
        "JOIN pages p ON p.id = l.target AND p.refresh IS NULL "
        "WHERE l.fragment != '' AND l.kind IN ('a', 'area') AND t.internal AND t.is_page AND t.status = 200 "
        "ORDER BY l.target"
    )
    with database.transaction() as base:
        base.execute("DROP TABLE IF EXISTS missing_fragments")
        base.execute("CREATE TABLE missing_fragments (target INTEGER NOT NULL, fragment TEXT NOT NULL)")
        for target, group in groupby(base.execute(query), key=lambda row: row[0]):
            text = base.execute("SELECT facts FROM pages WHERE id = ?", [target]).fetchone()[0]
            known = set(decode_facts(text).ids)
            missing = [(target, one) for _, one in group if lacks_fragment(known, one)]
            if len(known) < MAX_IDS:
                base.executemany("INSERT INTO missing_fragments VALUES (?, ?)", missing)


def lacks_fragment(known: set[str], fragment: str) -> bool:
    """Returns whether a page lacks the target of a fragment. `known` contains the ids on the page. A text
    fragment (after `:~:`) and fragments for scripts need no target. A range of lines such as `L5-L9` needs only its first
    line as a target.

    >>> lacks_fragment({"a b"}, "a%20b"), lacks_fragment(set(), "top"), lacks_fragment(set(), "c")
    (False, False, True)
    >>> lacks_fragment({"L5"}, "L5-L9"), lacks_fragment({"L5"}, "L6-L9"), lacks_fragment({"v3-v4"}, "v3-v4")
    (False, True, False)
    """
    fragment = fragment.partition(":~:")[0]
    if fragment not in known and (lines := _LINES.fullmatch(fragment)):
        return lines[1] not in known
    if not fragment or fragment in known or fragment.lower() == "top" or fragment.startswith(("/", "!")):
        return False
    return unquote(fragment) not in known


def find_alike(database: AuditDatabase) -> None:
    """Fills the table `alike` with the indexable pages whose text nearly equals the text of another page.
    Each row contains a page and the first page of its group."""
    query = (
        "SELECT p.id, p.sketch FROM pages p JOIN targets t ON t.id = p.id "
        "WHERE t.indexable AND length(p.sketch) > 0 ORDER BY p.id"
    )
    with database.transaction() as base:
        base.execute("DROP TABLE IF EXISTS temp.bands")
        base.execute("CREATE TEMP TABLE bands (band INTEGER NOT NULL, page INTEGER NOT NULL)")
        for page, sketch in base.execute(query):
            base.executemany("INSERT INTO bands VALUES (?, ?)", ((band, page) for band in bands_of(sketch)))
        base.execute("CREATE INDEX temp.bands_band ON bands (band, page)")
        base.execute(
            "CREATE TABLE alike (page INTEGER PRIMARY KEY, first INTEGER NOT NULL, likeness REAL NOT NULL)"
        )
        pairs = (
            "SELECT DISTINCT b.page, g.first FROM bands b JOIN "
            "(SELECT band, min(page) AS first FROM bands GROUP BY band HAVING count(*) > 1) g "
            "ON g.band = b.band WHERE b.page != g.first"
        )
        sketches = (
            f"SELECT x.page, x.first, p.sketch, f.sketch FROM ({pairs}) x "
            "JOIN pages p ON p.id = x.page JOIN pages f ON f.id = x.first"
        )
        for page, first, one, other in base.execute(sketches):
            found = likeness(one, other)
            if found >= MIN_LIKENESS:
                base.execute(
                    "INSERT INTO alike VALUES (?, ?, ?) ON CONFLICT (page) DO UPDATE SET "
                    "first = excluded.first, likeness = excluded.likeness "
                    "WHERE excluded.likeness > alike.likeness",
                    [page, first, round(found, 2)],
                )
        base.execute("DROP TABLE temp.bands")


def bands_of(sketch: bytes) -> Iterator[int]:
    """Yields a hash for each band of a sketch. Empty bands are left out."""
    size = _ROWS * 4
    for place in range(0, BINS * 4, size):
        part = sketch[place : place + size]
        if part != b"\xff" * size:
            yield xxhash.xxh3_64_intdigest(part, seed=place) >> 1


def likeness(one: bytes, other: bytes) -> float:
    """Estimates, from the sketches of two texts, the share of word sequences that both texts contain."""
    equal = total = 0
    for left, right in zip(array("I", one), array("I", other), strict=True):
        if left != _EMPTY or right != _EMPTY:
            total += 1
            equal += left == right
    return equal / total if total else 0.0
