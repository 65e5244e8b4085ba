"""The former import path of `gossamer.items`."""

from gossamer.items import __all__ as __all__
from gossamer.pipeline.former_name_of_items import *  # noqa: F403
