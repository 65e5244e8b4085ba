"""Finds texts that are equal or nearly equal, as `--duplicates near` does (docs/duplicates.md), for programs
that compare texts of several crawls."""

from gossamer.model.minhash import MIN_LIKENESS, bands, likeness, make_sketch

__all__ = ["MIN_LIKENESS", "bands", "likeness", "make_sketch"]
