"""Makes texts from pages safe for spreadsheets, for programs that write CSV."""

from gossamer.sinks.csv import guarded_field

__all__ = ["guarded_field"]
