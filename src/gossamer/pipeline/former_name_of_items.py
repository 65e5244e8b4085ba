"""`gossamer.pipeline` is the former name of `gossamer.items`. Site files that import from `gossamer.pipeline`
continue to work."""

from gossamer.items import *  # noqa: F403
from gossamer.items import __all__  # noqa: F401
