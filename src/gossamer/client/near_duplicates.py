"""Finds equal and nearly equal texts in the same way as `--duplicates near` (docs/duplicates.md). For
programs that compare texts of several crawls."""

from gossamer.model.minhash import MIN_LIKENESS, bands, likeness, make_sketch

__all__ = ["MIN_LIKENESS", "bands", "likeness", "make_sketch"]
