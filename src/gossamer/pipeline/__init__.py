"""The old path of `gossamer.items`: site files that import from here go on working."""

from gossamer.items import *  # noqa: F403
from gossamer.items import __all__ as __all__
