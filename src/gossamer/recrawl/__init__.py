"""Supports recrawls and schedules. Contains cron expressions, decisions about due times, the log of known
pages, and the table and schedule of pages that are visited again."""
