"""Queries stored rows: `filters` selects them, `sources` reads outputs and logs, `reports` summarizes the
attempts log."""
