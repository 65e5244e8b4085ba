"""The values that travel through a crawl (requests, pages, items, visits, summaries), and the protocols
through which components interact. No I/O."""
