"""When something is due again: cron lines, and what becomes of the times that they name. Pure functions of
values."""
