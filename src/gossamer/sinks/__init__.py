"""Where pages and items are kept: one file per place.

A plain file (`jsonl`, `csv`) appends rows that are exact across any kill, because the store commits its length together
with the settled claims; a database upserts by key; Parquet is a folder of closed parts fed by an exact journal.
"""
