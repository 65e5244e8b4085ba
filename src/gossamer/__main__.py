"""`python -m gossamer`: the same as the command."""

from __future__ import annotations

from gossamer.cli import main

if __name__ == "__main__":
    main()
