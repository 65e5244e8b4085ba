"""Real servers for tests, on free loopback ports: single servers, a Cluster, and masters under Sentinels.
They need no client program."""
