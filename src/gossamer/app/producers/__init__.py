"""Producers of very many URLs: long lists, standard input, SQL queries, Kafka topics, watched sitemaps and
feeds.

A producer yields batches of requests, each with the position that it has reached. `producer_runner` adds the
batches while workers run, waits while too many URLs are pending, and stores the position, so that an
interrupted run continues from there.
"""
