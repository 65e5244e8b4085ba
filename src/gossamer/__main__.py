"""`python -m gossamer`: the same as the command."""

from __future__ import annotations

import sys

if not sys.flags.safe_path:
    del sys.path[0]  # the current folder: a site file there may be called as a module that we import

from gossamer.cli import main

if __name__ == "__main__":
    main()
