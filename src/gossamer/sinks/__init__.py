"""The sinks, which write pages and items to outputs. There is one module per kind of output.

`output_spec.open_output` parses the value of `-o`. This function returns a `FileOutput`, which writes plain
files, or a TableSink, which writes to a database.

| file | subject |
| --- | --- |
| `open_outputs` | all outputs of a crawl, and the routing of rows to outputs |
| `output_spec`, `sink_url` | the value of `-o`, and the URL of a store with its parameters and secrets |
| `crash_safe_file`, `append_log` | a plain file with each row exactly once, even after a kill |
| `multipart_file` | a crash-safe file that continues in further parts |
| `jsonl`, `csv` | files of JSON lines and CSV; `jsonl` also writes to the standard output |
| `json_array`, `excel` | one JSON array, and an Excel workbook |
| `parquet` | a folder of closed parts, made from a journal (helpers: `row_fitting`, `arrow`) |
| `warc`, `cdxj`, `object_files` | whole responses, as WARC with its index or as plain files |
| `object_store`, `object_store_archive`, `uploader` | object stores, and the upload of closed parts to them |
| `item_files` | the files that items refer to (`--files`) |
| `sqlite` | a database that upserts by key |
| `upsert_sink`, `history` | the code that all drivers of databases with one row per key share |
| `postgresql`, `mongodb`, `cassandra`, `valkey` (hashes) | the drivers of databases with one row per key |
| `journal`, `shipper` | the code that all shippers of append-only stores share |
| `kafka`, `webhook`, `valkey` (lists) | the shippers of append-only stores |
| `own_sink` | a sink that is a class of the user |
| `rows_in_data_folder` | the rows that a crawl keeps in its data folder |
| `refused_rows` | the file of rows that a store refuses |
| `columns`, `column_choice`, `field_types` | the columns of each kind, and their types |
| `attempts`, `graph` | rows of attempts and of links |

The worker writes a file under the crawl's output lock in these steps:

1. The worker reads the committed length of `target()` from the store. If the store contains no length, the
   worker calls `prepare()` and stores the returned length.
2. The worker calls `append(length, rows)`.
3. The worker settles the claims and stores the new length, both in one script.
4. If the leases of some claims had expired, the store refuses these claims. The worker then calls `append`
   again with the old length, and leaves out the rows of these claims.

When a crawl resumes, the worker first calls `append(length, ())`, which cuts the bytes that a killed process
appended and did not commit. At the end, the worker calls `close(length)`.
"""
