"""Producers of very many URLs: long lists, standard input, SQL queries, Kafka topics, watched sitemaps and
feeds.

A producer yields batches of requests with the position that it reached. `producer_runner` adds them while
workers are at work, waits while too many URLs are pending, and stores the position, so that an interrupted
run continues from there.
"""
