"""Finds texts that are equal or nearly equal, with the same method as `--duplicates near`
(docs/duplicates.md). Programs use these functions to compare texts from several crawls."""

from gossamer.model.minhash import MIN_LIKENESS, bands, likeness, make_sketch

__all__ = ["MIN_LIKENESS", "bands", "likeness", "make_sketch"]
