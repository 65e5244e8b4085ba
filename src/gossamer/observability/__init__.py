"""Logs, metrics, alerts and traces about the work of crawls, and the current state of a store for people and
monitoring."""
