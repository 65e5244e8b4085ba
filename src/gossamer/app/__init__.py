"""What can be done with a crawl: wire a worker, run, submit, try, reparse, query, clean up."""
