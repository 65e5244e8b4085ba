"""The tables of the rank history. SQLite and PostgreSQL have the same tables, columns and indexes.

| table | primary key | content |
| --- | --- | --- |
| `rank_searches` | `id` | the searches: keyword, engine, country, language, location and device |
| `rank_domains` | (`search`, `domain`) | the followed domains of each search |
| `rank_checks` | (`search`, `run`) | the state of each check, and the reason if the check failed |
| `rank_pages` | (`search`, `run`, `page`) | the fetched pages, their results and, for a limited time, their bodies |
| `rank_positions` | (`search`, `domain`, `run`) | the known positions of domains in checks |
| `rank_features` | (`search`, `run`, `type`, `domain`) | result counts of page 1 per type and domain |
| `rank_events` | `id` | the changes between checks |
| `rank_layouts` | (`engine`, `form`, `device`) | the state of each layout, and the usual number of results |
| `rank_alerts` | (`rule`, `search`, `domain`) | the state of each alert rule for each search and domain |
| `rank_deliveries` | (`alert`, `receiver`) | the outbox, with one row per alert and receiver |
| `rank_meta` | `name` | the version of the schema, and the state of the last run |

In `rank_domains`, `own` is 1 for a domain of the user and 0 for a competitor. In `rank_features`, a row with
the domain '' counts all results of a type. A row with a followed domain counts the results that belong to the
domain.

In `rank_positions`, `position` is NULL if the domain is not in the first `depth` results. If a domain has no
row for a run, the position of the domain in that run is unknown. `seq` is the number of the transaction that
wrote a record. Outputs receive the records in this order (`uses.record_stream`). All times are in seconds since the epoch.
"""

from __future__ import annotations

from gossamer.uses.prices.database import Database

VERSION = 1
"""The version of the schema. A database with a higher version is refused."""

TABLES = (
    "CREATE TABLE IF NOT EXISTS rank_meta (name TEXT PRIMARY KEY, value TEXT NOT NULL)",
    # `listed` is 0 for a search that the current keyword list does not contain. The history of such a search
    # is kept.
    """CREATE TABLE IF NOT EXISTS rank_searches (
    id TEXT PRIMARY KEY, keyword TEXT NOT NULL, engine TEXT NOT NULL, country TEXT NOT NULL, language TEXT NOT NULL,
    location TEXT NOT NULL, device TEXT NOT NULL, volume INTEGER, listed INTEGER NOT NULL DEFAULT 1)""",
    # `tags` and `rules` are JSON lists of strings.
    """CREATE TABLE IF NOT EXISTS rank_domains (
    search TEXT NOT NULL, domain TEXT NOT NULL, own INTEGER NOT NULL, tags TEXT NOT NULL, rules TEXT NOT NULL,
    listed INTEGER NOT NULL DEFAULT 1, PRIMARY KEY (search, domain)) {without_rowid}""",
    # `state`: done, failed, no-results or skipped. `first_page`: 1 if page 1 was readable, otherwise 0.
    # `withheld`: the reason why positions of readable pages are not stored, or ''.
    """CREATE TABLE IF NOT EXISTS rank_checks (
    search TEXT NOT NULL, run INTEGER NOT NULL, time DOUBLE PRECISION NOT NULL, state TEXT NOT NULL,
    depth INTEGER NOT NULL, error TEXT NOT NULL, withheld TEXT NOT NULL, first_page INTEGER NOT NULL,
    requests INTEGER NOT NULL, credits INTEGER NOT NULL, seq BIGINT NOT NULL DEFAULT 0,
    PRIMARY KEY (search, run)) {without_rowid}""",
    # `first`: the number of the first result page that the row covers. `results`: a JSON list with one list
    # per result. `body`: the page in gzip format, or NULL if the body is not stored or was deleted because of
    # its age.
    """CREATE TABLE IF NOT EXISTS rank_pages (
    search TEXT NOT NULL, run INTEGER NOT NULL, page INTEGER NOT NULL, first INTEGER NOT NULL,
    time DOUBLE PRECISION NOT NULL, source TEXT NOT NULL, form TEXT NOT NULL, url TEXT NOT NULL,
    verdict TEXT NOT NULL, reason TEXT NOT NULL, results TEXT NOT NULL, organic INTEGER NOT NULL,
    unknown INTEGER NOT NULL, data_version TEXT NOT NULL, credits INTEGER NOT NULL, body {bytes}, note TEXT NOT NULL,
    seq BIGINT NOT NULL DEFAULT 0, PRIMARY KEY (search, run, page))""",
    # `urls`: a JSON list with the URLs of all pages of the domain in the results.
    """CREATE TABLE IF NOT EXISTS rank_positions (
    search TEXT NOT NULL, domain TEXT NOT NULL, run INTEGER NOT NULL, time DOUBLE PRECISION NOT NULL,
    position INTEGER, depth INTEGER NOT NULL, absolute INTEGER, page INTEGER, url TEXT NOT NULL, title TEXT NOT NULL,
    urls TEXT NOT NULL, note TEXT NOT NULL, seq BIGINT NOT NULL DEFAULT 0,
    PRIMARY KEY (search, domain, run)) {without_rowid}""",
    """CREATE TABLE IF NOT EXISTS rank_features (
    search TEXT NOT NULL, run INTEGER NOT NULL, type TEXT NOT NULL, domain TEXT NOT NULL, count INTEGER NOT NULL,
    time DOUBLE PRECISION NOT NULL, PRIMARY KEY (search, run, type, domain)) {without_rowid}""",
    # `alerted`: 1 after the rules were evaluated for the event.
    """CREATE TABLE IF NOT EXISTS rank_events (
    id TEXT PRIMARY KEY, kind TEXT NOT NULL, time DOUBLE PRECISION NOT NULL, run INTEGER NOT NULL,
    engine TEXT NOT NULL, search TEXT NOT NULL, domain TEXT NOT NULL, before TEXT, after TEXT, detail TEXT NOT NULL,
    alerted INTEGER NOT NULL DEFAULT 0, seq BIGINT)""",
    # `usual`: the mean number of organic results on page 1. `pages`: the number of pages that have
    # contributed to the mean.
    """CREATE TABLE IF NOT EXISTS rank_layouts (
    engine TEXT NOT NULL, form TEXT NOT NULL, device TEXT NOT NULL, state TEXT NOT NULL,
    since DOUBLE PRECISION NOT NULL, usual DOUBLE PRECISION NOT NULL, pages INTEGER NOT NULL,
    PRIMARY KEY (engine, form, device))""",
    """CREATE TABLE IF NOT EXISTS rank_alerts (
    rule TEXT NOT NULL, search TEXT NOT NULL, domain TEXT NOT NULL, since DOUBLE PRECISION NOT NULL,
    value TEXT NOT NULL, PRIMARY KEY (rule, search, domain))""",
    """CREATE TABLE IF NOT EXISTS rank_deliveries (
    alert TEXT NOT NULL, receiver TEXT NOT NULL, time DOUBLE PRECISION NOT NULL, sent DOUBLE PRECISION,
    body TEXT NOT NULL, PRIMARY KEY (alert, receiver))""",
)

INDEXES = (
    "CREATE INDEX IF NOT EXISTS rank_domains_domain ON rank_domains (domain)",
    "CREATE INDEX IF NOT EXISTS rank_checks_run ON rank_checks (run, state)",
    "CREATE INDEX IF NOT EXISTS rank_pages_run ON rank_pages (run)",
    "CREATE INDEX IF NOT EXISTS rank_pages_kept ON rank_pages (data_version, form) WHERE body IS NOT NULL",
    "CREATE INDEX IF NOT EXISTS rank_positions_domain ON rank_positions (domain, time)",
    "CREATE INDEX IF NOT EXISTS rank_positions_run ON rank_positions (run)",
    "CREATE INDEX IF NOT EXISTS rank_features_run ON rank_features (run)",
    "CREATE INDEX IF NOT EXISTS rank_events_time ON rank_events (time)",
    "CREATE INDEX IF NOT EXISTS rank_events_search ON rank_events (search, run)",
    "CREATE INDEX IF NOT EXISTS rank_events_new ON rank_events (time) WHERE alerted = 0",
    "CREATE INDEX IF NOT EXISTS rank_events_seq ON rank_events (seq)",
    "CREATE INDEX IF NOT EXISTS rank_checks_seq ON rank_checks (seq)",
    "CREATE INDEX IF NOT EXISTS rank_pages_seq ON rank_pages (seq)",
    "CREATE INDEX IF NOT EXISTS rank_positions_seq ON rank_positions (seq)",
    "CREATE INDEX IF NOT EXISTS rank_deliveries_open ON rank_deliveries (time) WHERE sent IS NULL",
)


class RankDatabase(Database):
    """A connection to the database of the rank history, which is a SQLite file or a PostgreSQL database."""

    tables, indexes, version, kind = TABLES, INDEXES, VERSION, "rank"
