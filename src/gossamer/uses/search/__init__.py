"""Full-text search over the pages that a crawl kept (`gossamer find`)."""
