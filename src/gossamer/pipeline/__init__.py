"""The old import path of `gossamer.items`, so that site files that import from here keep working."""

from gossamer.items import *  # noqa: F403
from gossamer.items import __all__ as __all__
