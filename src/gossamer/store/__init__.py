"""The connection to Valkey: a single server, Sentinel, Cluster, or the embedded server; scripts,
retries, checks. Knows nothing of crawling."""
