"""The tables of the price history. SQLite and PostgreSQL have the same tables, columns and indexes.

| table | primary key | content |
| --- | --- | --- |
| `price_targets` | `key` | the targets, and whether the last list contains each target |
| `price_offers` | `id`, from `target` and `variant` | the last confirmed values of each target and variant |
| `price_points` | (`offer`, `time`) | the confirmed changes of offers; rows are only appended |
| `price_events` | `id` | the events |
| `price_failing` | `target` | the targets that fail run after run |
| `price_listed` | `target` | the prices of targets in cards on other pages of their shops |
| `price_shops` | `shop` | the health and the state of each shop |
| `price_alerts` | (`rule`, `target`, `variant`) | the rules that have fired |
| `price_deliveries` | (`alert`, `receiver`) | the alerts of each receiver (the outbox) |
| `price_matches` | (`one`, `other`), sorted | pairs of targets, each with the decision whether both targets are the same product |
| `price_meta` | `name` | values that concern the whole database, for example its version |

`seq` is the number of the transaction that wrote a record. Outputs receive the records in this order
(`uses.record_stream`). Amounts are NUMERIC columns. SQLite stores amounts of up to 15 digits exactly. Times are seconds since the
epoch.
"""

from __future__ import annotations

VERSION = 1
"""The version of the database schema of the price history. Gossamer refuses a database that has a higher
schema version."""

VALUES = (
    *("state", "price", "regular_price", "currency", "unit_price", "unit", "availability", "seller"),
    *("shipping", "tax_included", "source", "place", "confidence", "body_hash"),
)
"""The columns that `price_offers` and `price_points` have in common."""

_VALUE_COLUMNS = """
    state TEXT NOT NULL, price NUMERIC, regular_price NUMERIC, currency TEXT, unit_price NUMERIC, unit TEXT,
    availability TEXT, seller TEXT, shipping NUMERIC, tax_included INTEGER, source TEXT, place TEXT, confidence DOUBLE PRECISION,
    body_hash TEXT"""

TABLES = (
    "CREATE TABLE IF NOT EXISTS price_meta (name TEXT PRIMARY KEY, value TEXT NOT NULL)",
    # `listed` is 0 for a target that the last list no longer contains. The history of an unlisted target is
    # kept.
    """CREATE TABLE IF NOT EXISTS price_targets (
    key TEXT PRIMARY KEY, url TEXT NOT NULL, shop TEXT NOT NULL, product TEXT NOT NULL, variant TEXT NOT NULL,
    name TEXT NOT NULL, tags TEXT NOT NULL, currency TEXT NOT NULL, minimum NUMERIC, rules TEXT NOT NULL,
    listed INTEGER NOT NULL DEFAULT 1)""",
    # `since`: the time of the last point. `held`: JSON of the changes that a second visit must confirm.
    # `memory`: JSON of the values that a later visit contradicted. `missed`: the number of consecutive visits
    # that did not show the variant.
    f"""CREATE TABLE IF NOT EXISTS price_offers (
    id {{id}} PRIMARY KEY, target TEXT NOT NULL, variant TEXT NOT NULL, shop TEXT NOT NULL, url TEXT NOT NULL,
    {_VALUE_COLUMNS},
    name TEXT, sku TEXT, gtin TEXT, mpn TEXT, brand TEXT, candidates TEXT,
    first_seen DOUBLE PRECISION NOT NULL, last_seen DOUBLE PRECISION NOT NULL,
    last_checked DOUBLE PRECISION NOT NULL, since DOUBLE PRECISION NOT NULL,
    missed INTEGER NOT NULL DEFAULT 0, gone INTEGER NOT NULL DEFAULT 0, median NUMERIC, held TEXT, memory TEXT,
    UNIQUE (target, variant))""",
    # `was`: the previous price in the same currency. `move`: the size of the change, abs(ln(price / was)). A
    # doubled and a halved price have the same size of change. `day`: days since the epoch.
    f"""CREATE TABLE IF NOT EXISTS price_points (
    offer BIGINT NOT NULL, time DOUBLE PRECISION NOT NULL, day INTEGER NOT NULL,
    {_VALUE_COLUMNS},
    was NUMERIC, move DOUBLE PRECISION, seq BIGINT NOT NULL DEFAULT 0, PRIMARY KEY (offer, time)) {{without_rowid}}""",
    # `time`: when the change was first seen. `run`: the run that confirmed the change. `alerted`: 1 after the
    # rules were evaluated for the event.
    """CREATE TABLE IF NOT EXISTS price_events (
    id TEXT PRIMARY KEY, kind TEXT NOT NULL, time DOUBLE PRECISION NOT NULL, target TEXT NOT NULL,
    variant TEXT NOT NULL, shop TEXT NOT NULL, before TEXT, after TEXT, currency TEXT, detail TEXT NOT NULL,
    run INTEGER NOT NULL, alerted INTEGER NOT NULL DEFAULT 0, seq BIGINT)""",
    # `runs`: the number of consecutive runs in which the target failed. `run`: the number of the last run in
    # which the target failed. `run_checks`: the number of failed visits in the run `run`. `tried`: the
    # distinct results of the failed visits, as a JSON list.
    """CREATE TABLE IF NOT EXISTS price_failing (
    target TEXT PRIMARY KEY, shop TEXT NOT NULL, state TEXT NOT NULL, since DOUBLE PRECISION NOT NULL,
    last DOUBLE PRECISION NOT NULL, runs INTEGER NOT NULL, checks INTEGER NOT NULL, run INTEGER NOT NULL,
    run_checks INTEGER NOT NULL, address TEXT NOT NULL, tried TEXT NOT NULL)""",
    # The last price that a card on another page of the shop stated for the product of a target.
    """CREATE TABLE IF NOT EXISTS price_listed (
    target TEXT PRIMARY KEY, price NUMERIC NOT NULL, currency TEXT, time DOUBLE PRECISION NOT NULL)""",
    """CREATE TABLE IF NOT EXISTS price_shops (
    shop TEXT PRIMARY KEY, state TEXT NOT NULL, since DOUBLE PRECISION NOT NULL, health TEXT NOT NULL)""",
    """CREATE TABLE IF NOT EXISTS price_alerts (
    rule TEXT NOT NULL, target TEXT NOT NULL, variant TEXT NOT NULL, state TEXT NOT NULL,
    since DOUBLE PRECISION NOT NULL, value TEXT NOT NULL, PRIMARY KEY (rule, target, variant))""",
    """CREATE TABLE IF NOT EXISTS price_deliveries (
    alert TEXT NOT NULL, receiver TEXT NOT NULL, day INTEGER NOT NULL, time DOUBLE PRECISION NOT NULL,
    sent DOUBLE PRECISION, body TEXT NOT NULL, PRIMARY KEY (alert, receiver))""",
    # `decision`: `same`, `different`, `later`, or `open` for a pair that a person has not seen. `reason`: `gtin` or
    # `mpn` (equal identifiers), `score` (names alike), or `review` (a person decided).
    """CREATE TABLE IF NOT EXISTS price_matches (
    one TEXT NOT NULL, other TEXT NOT NULL, decision TEXT NOT NULL, reason TEXT NOT NULL,
    score DOUBLE PRECISION, time DOUBLE PRECISION NOT NULL, PRIMARY KEY (one, other))""",
)

INDEXES = (
    "CREATE INDEX IF NOT EXISTS price_targets_unlisted ON price_targets (key) WHERE listed = 0",
    "CREATE INDEX IF NOT EXISTS price_targets_url ON price_targets (url)",
    "CREATE INDEX IF NOT EXISTS price_targets_product ON price_targets (product)",
    "CREATE INDEX IF NOT EXISTS price_targets_shop ON price_targets (shop)",
    "CREATE INDEX IF NOT EXISTS price_offers_shop ON price_offers (shop)",
    "CREATE INDEX IF NOT EXISTS price_offers_seen ON price_offers (last_seen)",
    "CREATE INDEX IF NOT EXISTS price_offers_target_seen ON price_offers (target, last_seen)",
    "CREATE INDEX IF NOT EXISTS price_offers_gtin ON price_offers (gtin) WHERE gtin IS NOT NULL",
    "CREATE INDEX IF NOT EXISTS price_offers_held ON price_offers (id) WHERE held IS NOT NULL",
    "CREATE INDEX IF NOT EXISTS price_points_moves ON price_points (day, move) WHERE move IS NOT NULL",
    "CREATE INDEX IF NOT EXISTS price_events_time ON price_events (time)",
    "CREATE INDEX IF NOT EXISTS price_events_target ON price_events (target, time)",
    "CREATE INDEX IF NOT EXISTS price_events_run ON price_events (run)",
    "CREATE INDEX IF NOT EXISTS price_events_new ON price_events (time) WHERE alerted = 0",
    "CREATE INDEX IF NOT EXISTS price_events_seq ON price_events (seq)",
    "CREATE INDEX IF NOT EXISTS price_points_seq ON price_points (seq)",
    "CREATE INDEX IF NOT EXISTS price_failing_state ON price_failing (state, runs)",
    "CREATE INDEX IF NOT EXISTS price_matches_other ON price_matches (other, decision)",
    "CREATE INDEX IF NOT EXISTS price_matches_decision ON price_matches (decision, score)",
    "CREATE INDEX IF NOT EXISTS price_deliveries_open ON price_deliveries (time) WHERE sent IS NULL",
)
