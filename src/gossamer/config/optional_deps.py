"""Builds the command that installs a missing optional dependency. The command depends on how gossamer itself
was installed."""

from __future__ import annotations

import os
import shlex
import sys
from pathlib import Path

ROOT = Path(__file__).parents[3]
"""The root of the checkout, if gossamer runs from one."""


def install_command(extra: str) -> str:
    """Returns the command that installs an extra. In a checkout the command calls the launcher, because the
    launcher's environment has no pip. Outside of a checkout the command calls pip."""
    return f"{_launcher()} --with {extra}" if _launched() else f"pip install 'gossamer[{extra}]'"


def upgrade_command(package: str, extra: str = "") -> str:
    """Returns the command that upgrades a package, or reinstalls one that is missing."""
    if not _launched():
        return f"pip install -U {package}"
    return f"rm -r {shlex.quote(f'{ROOT}/.venv')} && {_launcher()} --with {extra or 'parquet'}"


def _launched() -> bool:
    """Whether gossamer runs in the environment that the checkout's launcher created."""
    return (ROOT / "gossamer").is_file() and os.path.realpath(sys.prefix) == os.path.realpath(ROOT / ".venv")


def _launcher() -> str:
    here = os.path.realpath(os.curdir) == os.path.realpath(ROOT)
    return "./gossamer" if here else shlex.quote(f"{ROOT}/gossamer")
