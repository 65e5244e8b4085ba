"""Loads programs of the checkout that belong to no package, such as the benchmarks."""

from __future__ import annotations

import sys
from importlib import util
from pathlib import Path
from types import ModuleType

ROOT = Path(__file__).resolve().parents[2]


def script(path: str) -> ModuleType:
    """Returns the program at `path` (relative to the checkout) as a module. It finds the files beside it only
    while it loads: some of them have the names of folders of tests, which would hide behind them."""
    file = ROOT / path
    spec = util.spec_from_file_location(f"loaded_{file.stem}", file)
    assert spec is not None
    assert spec.loader is not None
    made = sys.modules[spec.name] = util.module_from_spec(spec)
    before = list(sys.path)
    sys.path.append(str(file.parent))
    try:
        spec.loader.exec_module(made)
    finally:
        sys.path[:] = before
    return made
