"""The sinks, which write pages and items to outputs: one file per kind of output.

`formats.open_output` parses the value of `-o` and returns a `FileOutput` (exact plain files) or a TableSink.

| file | subject |
| --- | --- |
| `registry` | all outputs of a crawl: which rows go to which output |
| `formats`, `sink_url` | the value of `-o`; the URL of a store with its parameters and secrets |
| `exact`, `append_log` | a plain file that is exact after any kill: its length is committed with the claims |
| `rotating` | such a file that continues in further parts |
| `jsonl`, `csv` | the encoding of such a file; `jsonl` also writes to the standard output |
| `parquet` | a folder of closed parts, fed by an exact journal; helpers are `rows` and `arrow` (pyarrow) |
| `warc`, `cdxj`, `objects` | whole responses, as WARC with its index or as plain files |
| `object_store`, `object_archive`, `upload` | object stores, and the upload of closed parts to them |
| `files` | the files that items refer to (`--files`) |
| `sqlite` | a database that upserts by key |
| `upserting`, `history` | the shared part of stores with one row per key |
| `postgresql`, `mongodb`, `cassandra`, `valkey` (hashes) | the drivers of such stores |
| `journal`, `shipper` | the shared part of append-only stores |
| `kafka`, `webhook`, `valkey` (lists) | the shippers of such stores |
| `rejects` | the file of rows that a store refuses |
| `columns`, `shapes` | the columns of each kind, their types, and the conversion of a value to a cell |
| `attempts`, `graph` | rows of attempts and of links |

The worker writes a file under the crawl's output lock in these steps. It asks the store for the committed
length of `target()`. If the store has none, it calls `prepare()` and stores the returned length. It calls
`append(length, rows)`, then settles the claims and stores the new length in one script. If some tokens were
stale, it calls `append` again from the old length with the remaining rows.

When a crawl resumes, the worker first calls `append(length, ())`, which cuts the uncommitted tail of a killed
process. At the end it calls `close(length)`.
"""
