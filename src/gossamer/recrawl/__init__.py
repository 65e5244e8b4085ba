"""For recrawls and schedules: cron expressions, decisions about due times, and the log of known pages, which
a recrawl reads."""
