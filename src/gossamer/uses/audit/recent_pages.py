"""Pages and links that an audit with `--if-older` does not request again. Their rows are copied from the previous audit,
so that they count in the findings as if they had just been visited."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path
from typing import Final

from gossamer.uses.audit.database import REUSABLE, AuditDatabase
from gossamer.uses.audit.model import url_id

MARK: Final = "audits"
"""The file in the folder of a crawl that names the database of its audits."""
_EDGES: Final = """
SELECT source, target FROM links
UNION ALL SELECT id, canonical FROM pages WHERE canonical IS NOT NULL
UNION ALL SELECT id, refresh FROM pages WHERE refresh IS NOT NULL
UNION ALL SELECT page, target FROM hreflangs
UNION ALL SELECT id, location FROM responses WHERE location IS NOT NULL
"""
_RECENT: Final = """
INSERT INTO recent
SELECT o.id FROM earlier_responses o LEFT JOIN responses n ON n.id = o.id
WHERE n.id IS NULL AND o.at >= ? AND o.error IS NULL AND o.status BETWEEN 200 AND 399
"""
_REDIRECTS: Final = """
INSERT OR IGNORE INTO recent
WITH RECURSIVE leads (id) AS (
  SELECT id FROM recent
  UNION
  SELECT o.id FROM leads JOIN earlier_responses o ON o.location = leads.id LEFT JOIN responses n ON n.id = o.id
  WHERE n.id IS NULL AND o.error IS NULL AND o.status BETWEEN 300 AND 399)
SELECT id FROM leads
"""
"""A crawl knows a redirect by the page to which it leads, so it skips the redirect together with that page."""
_COPIES: Final = (
    "INSERT OR IGNORE INTO responses SELECT * FROM earlier_responses WHERE id IN (SELECT id FROM recent)",
    "INSERT OR IGNORE INTO pages SELECT * FROM earlier_pages WHERE id IN (SELECT id FROM recent)",
    "INSERT OR IGNORE INTO links SELECT * FROM earlier_links WHERE source IN (SELECT id FROM recent)",
    "INSERT INTO hreflangs SELECT * FROM earlier_hreflangs WHERE page IN (SELECT id FROM recent)",
    f"""INSERT OR IGNORE INTO urls SELECT * FROM earlier_urls
    WHERE id IN (SELECT id FROM recent UNION SELECT target FROM ({_EDGES}))""",
)
_REACHED: Final = f"""
CREATE TABLE edges AS {_EDGES};
CREATE INDEX edges_source ON edges (source);
INSERT INTO reached
WITH RECURSIVE walk (id) AS (
  SELECT column1 FROM (VALUES (:first), (:start))
  UNION SELECT id FROM sitemap_urls
  UNION SELECT e.target FROM walk JOIN edges e ON e.source = walk.id)
SELECT id FROM walk;
"""


def mark_crawl(folder: Path, database: AuditDatabase) -> None:
    """Records that the last audit of a crawl has this database."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    new = folder / f"{MARK}.new"
    new.write_text(f"{database.path.resolve()}\n", encoding="utf-8")
    os.replace(new, folder / MARK)


def is_last_of_crawl(folder: Path, database: AuditDatabase) -> bool:
    """Whether the last audit of a crawl has this database. If not, the crawl knows other visits than the database."""
    try:
        return (folder / MARK).read_text(encoding="utf-8").strip() == str(database.path.resolve())
    except (OSError, UnicodeDecodeError):
        return False


def copy_recent(database: AuditDatabase, since: str) -> int:
    """Copies the pages and links of the previous audit that were visited since then (RFC 3339), and that this audit
    has not requested. Returns the number of pages. A second call changes nothing."""
    if database.value("SELECT 1 FROM sqlite_master WHERE name = 'earlier_pages'"):
        with database.transaction() as base:
            base.execute(_RECENT, [since])
            for statement in (_REDIRECTS, *_COPIES):
                base.execute(statement)
            for name in REUSABLE:
                base.execute(f"DROP TABLE earlier_{name}")
    return int(database.value("SELECT count(*) FROM pages WHERE id IN (SELECT id FROM recent)"))


def forget_unreached(database: AuditDatabase, first: str, start: str) -> Counter[str]:
    """Deletes the pages to which no link and no sitemap leads any more. The crawl visits them, because it knows them.
    `first`, `start`: the first page, before and after redirects. Returns the number of failed pages, by the error."""
    with database.transaction() as base:
        base.execute("DROP TABLE IF EXISTS edges")
        base.execute("DROP TABLE IF EXISTS reached")
        base.execute("CREATE TABLE reached (id INTEGER PRIMARY KEY)")
        for statement in filter(str.strip, _REACHED.split(";\n")):
            values = {"first": url_id(first), "start": url_id(start)} if ":first" in statement else {}
            base.execute(statement, values)
        lost = (
            "SELECT error, count(*) FROM responses WHERE NOT checked AND outcome = 'dead' "
            "AND id NOT IN (SELECT id FROM reached) AND error IS NOT NULL GROUP BY error"
        )
        failed = Counter[str](dict(base.execute(lost)))
        for name, column in (
            ("responses", "id"),
            ("pages", "id"),
            ("links", "source"),
            ("hreflangs", "page"),
        ):
            base.execute(f"DELETE FROM {name} WHERE {column} NOT IN (SELECT id FROM reached)")
        base.execute("DROP TABLE edges")
        base.execute("DROP TABLE reached")
    return failed
