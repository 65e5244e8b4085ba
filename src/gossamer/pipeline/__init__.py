"""The old import path of `gossamer.items`. Site files that import from this path continue to work."""

from gossamer.items import *  # noqa: F403
from gossamer.items import __all__ as __all__
