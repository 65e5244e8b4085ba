"""Escapes texts from pages so that spreadsheets do not run them as formulas. For programs that write CSV."""

from gossamer.sinks.csv import guarded_field

__all__ = ["guarded_field"]
