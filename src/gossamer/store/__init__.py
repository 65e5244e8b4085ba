"""The connection to Valkey (a single server, Sentinel, Cluster, or the embedded server), with scripts,
retries and checks. This package contains nothing about crawling except the list of keys."""
