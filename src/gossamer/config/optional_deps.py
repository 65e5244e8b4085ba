"""How a package that is not there is brought: the one command that works where gossamer runs from."""

from __future__ import annotations

import os
import shlex
import sys
from pathlib import Path

ROOT = Path(__file__).parents[3]
"""The checkout, where this is one."""


def install(extra: str) -> str:
    """The command that installs an extra: the launcher's in a checkout, whose environment has no pip; else
    pip's."""
    return f"{_launcher()} --with {extra}" if _launched() else f"pip install 'gossamer[{extra}]'"


def newer(package: str, extra: str = "") -> str:
    """The command that brings a newer release of a package, or one that got lost."""
    if not _launched():
        return f"pip install -U {package}"
    return f"rm -r {shlex.quote(f'{ROOT}/.venv')} && {_launcher()} --with {extra or 'parquet'}"


def _launched() -> bool:
    """Whether this is the environment that the launcher made."""
    return (ROOT / "gossamer").is_file() and os.path.realpath(sys.prefix) == os.path.realpath(ROOT / ".venv")


def _launcher() -> str:
    here = os.path.realpath(os.curdir) == os.path.realpath(ROOT)
    return "./gossamer" if here else shlex.quote(f"{ROOT}/gossamer")
