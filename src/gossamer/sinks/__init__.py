"""Where pages and items are kept: one file per place.

`formats.open_output` reads what stands after `-o` and gives a `FileOutput` (exact plain files) or a
TableSink.

| file | what it is |
| --- | --- |
| `exact` | a plain file, exact across any kill: the store commits its length together with the settled claims |
| `jsonl`, `csv` | what the bytes of such a file are; `jsonl` also has the standard output |
| `parquet` | a folder of closed parts, fed by an exact journal; `rows` fits values to columns, `arrow` uses pyarrow |
| `sqlite` | a database that upserts by key |
| `place` | the URL of a store: which kind, our parameters, secrets |
| `upserting` | what stores of one row a key share; `postgresql`, `mongodb`, `cassandra`, `valkey` (hashes) are its drivers |
| `journal` | what stores share that only append; `kafka`, `webhook`, `valkey` (lists) are its shippers |
| `aside` | rows that a store refuses |
| `columns` | which columns a kind has, and what a value becomes in a cell |

What the road does with a file, under the crawl's output lock: ask the store for the length of `target()`;
when it knows none, `prepare()` and store what that returned; `append(length, rows)`; settle and store the new
length in one script; if some tokens were stale, `append` again from the old length with the rows that remain.
On resume first `append(length, ())`, which cuts the tail of a kill. At the end `close(length)`.
"""
