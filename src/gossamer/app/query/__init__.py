"""Stored rows for looking through: `filters` selects them, `sources` reads outputs and logs, `reports`
summarizes the attempts log."""
