"""Runs the `gossamer` command as `python -m gossamer`."""

from __future__ import annotations

import sys

if not sys.flags.safe_path:
    # otherwise a site file in the current folder could hide a module of the same name that gossamer imports
    del sys.path[0]

from gossamer.cli import main

if __name__ == "__main__":
    main()
