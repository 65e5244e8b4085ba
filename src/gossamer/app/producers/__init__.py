"""Producers of very many URLs: long lists, standard input, SQL queries, Kafka topics, watched sitemaps and
feeds.

A producer yields batches of requests. Each batch contains the position that the producer has reached in its
source. `producer_runner` adds the batches while workers run, waits while too many URLs are pending, and
stores the position, so that an interrupted run continues from there.
"""
