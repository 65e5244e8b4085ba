"""Ready-made applications of the crawler: search, prices, ranks, keywords and site audit. Each uses only the
public API."""
