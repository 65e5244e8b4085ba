"""Block pages: whether a response is one, and which kind (docs/blocks.md). `detection` decides; `vendors` and
`challenges` hold the detectors, `site_rules` the rules of a site file."""

from gossamer.blocks.detection import KINDS, NAMES, Block, block, needs_rendering

__all__ = ["KINDS", "NAMES", "Block", "block", "needs_rendering"]
