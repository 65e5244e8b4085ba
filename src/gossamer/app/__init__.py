"""The use cases of a crawl, such as run, submit, try, reparse, query and clean up, and the worker that runs it."""
