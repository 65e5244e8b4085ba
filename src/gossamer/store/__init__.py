"""The connection to Valkey (a single server, Sentinel, Cluster, or the embedded server), with scripts,
retries and checks. Apart from the list of keys, nothing in this package is specific to crawling."""
