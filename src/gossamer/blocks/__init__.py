"""Detects whether a response is a block page, and of which kind (docs/blocks.md). `detection` decides.
`vendors` and `challenges` contain the detectors. `site_rules` applies the rules of a site file."""

from gossamer.blocks.detection import KINDS, NAMES, Block, block, needs_rendering

__all__ = ["KINDS", "NAMES", "Block", "block", "needs_rendering"]
