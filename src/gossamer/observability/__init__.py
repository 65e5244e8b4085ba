"""The logs that a crawl writes about its own work: the attempts log with one line per request, and the log of
known pages."""
