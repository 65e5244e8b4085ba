"""The values that travel through a crawl (requests, pages, items, visits, summaries) and the protocols by
which components meet. No I/O."""
