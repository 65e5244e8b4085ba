"""Provides `guarded_field`, which converts a value to a CSV field that a spreadsheet does not run as a
formula. Programs that write CSV use this function."""

from gossamer.sinks.csv import guarded_field

__all__ = ["guarded_field"]
