"""Connects to Valkey: a single server, Sentinels, a Cluster, or the embedded server. Runs scripts, retries
calls after an outage, and checks the server. Apart from the list of keys, nothing in this package is specific
to crawling."""
