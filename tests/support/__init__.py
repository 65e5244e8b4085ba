"""Real servers for tests, on free loopback ports: single ones, a Cluster, masters under Sentinels. No client
program is needed."""
