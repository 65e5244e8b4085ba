"""Ready-made applications of the crawler: search, prices, ranks, keywords and site audit. The applications
use only the public API."""
