"""The files of the checkout that the house-rule tests read. Each is read and parsed once."""

from __future__ import annotations

import ast
import shutil
import subprocess
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SRC = ROOT / "src" / "gossamer"
HIDDEN = {
    ".venv",
    ".sites",
    ".git",
    "__pycache__",
    ".mypy_cache",
    ".ruff_cache",
    ".pytest_cache",
    ".hypothesis",
    ".gossamer",
}
PYTHON_ROOMS = ("src", "tests", "deploy", "benchmarks", "examples")


@dataclass(frozen=True)
class Source:
    """One Python file: its path within the checkout, and its dotted name if the file is part of the
    package."""

    path: str
    module: str | None
    text: str

    @cached_property
    def tree(self) -> ast.Module:
        """Returns the file's syntax tree."""
        return ast.parse(self.text)


def parse(path: str, text: str) -> Source:
    """Returns a Source made from a text. The tests of the rules themselves call this directly."""
    module = None
    if path.startswith("src/"):
        words = path.removeprefix("src/").removesuffix(".py").split("/")
        module = ".".join(words[:-1] if words[-1] == "__init__" else words)
    return Source(path, module, text)


@lru_cache(maxsize=1)
def sources() -> tuple[Source, ...]:
    """Returns every Python file of the project."""
    files = (file for room in PYTHON_ROOMS for file in sorted((ROOT / room).rglob("*.py")))
    return tuple(parse(str(file.relative_to(ROOT)), file.read_text()) for file in files)


def package() -> tuple[Source, ...]:
    """Returns the files of the package itself."""
    return tuple(source for source in sources() if source.module)


@lru_cache(maxsize=1)
def kept_files() -> tuple[str, ...]:
    """Returns the files that git tracks, and new files that are not ignored. Without git, returns all files
    outside hidden folders."""
    if (ROOT / ".git").exists() and shutil.which("git"):
        words = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
        names = subprocess.run(
            words, cwd=ROOT, capture_output=True, text=True, check=True
        ).stdout.splitlines()
    else:
        names = [str(file.relative_to(ROOT)) for file in ROOT.rglob("*") if not HIDDEN & set(file.parts)]
    return tuple(name for name in names if (ROOT / name).is_file())


def imported(source: Source) -> list[tuple[str, int]]:
    """Returns (dotted name, line) of every import anywhere in a file. `from a import b` counts as `a.b`."""
    names: list[tuple[str, int]] = []
    for node in ast.walk(source.tree):
        if isinstance(node, ast.Import):
            names += [(alias.name, node.lineno) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names += [(f"{origin(source, node)}.{alias.name}", node.lineno) for alias in node.names]
    return names


def origin(source: Source, node: ast.ImportFrom) -> str:
    """Returns the absolute module that a `from` line names."""
    if not node.level:
        return node.module or ""
    parents = (source.module or "").split(".")
    drop = node.level - (1 if source.path.endswith("__init__.py") else 0)
    return ".".join(parents[: len(parents) - drop] + ([node.module] if node.module else []))
