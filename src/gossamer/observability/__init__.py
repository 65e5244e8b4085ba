"""The logs that a crawl writes about itself: one line per request in the attempts log."""
