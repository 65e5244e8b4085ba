"""Where very many URLs come from: long lists, standard input, SQL queries, Kafka topics, watched sitemaps and
feeds.

A producer gives batches of requests with the position that it reached. `feeding` adds them while workers are
at work, waits while too many URLs are pending, and keeps the position in the store, so that a producer that
was killed goes on where it was. While a producer holds its lease, its crawl is not finished. Short lists
never come here: `seeding` reads them whole.
"""
