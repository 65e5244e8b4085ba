"""Generates a client from `docs/openapi.json` with openapi-python-client, type-checks it, and calls `gossamer serve` with it.

    python -m venv made && made/bin/pip install openapi-python-client mypy
    python benchmarks/api_client.py made/bin/python

The argument is the interpreter that has both packages. The benchmark prints the versions, the number of generated files and
operations, and the answer to one call. The exit code is 1 if an operation has no function, the type checker finds an error, or the
call fails.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from datetime import UTC, datetime
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from operations.service_process import served_folder

DOCUMENT = Path(__file__).parents[1] / "docs" / "openapi.json"
CALL = """
from gossamer_api.api.default import version
from gossamer_api.client import Client
print(version.sync(client=Client(base_url={url!r})).version)
"""


def main() -> None:
    """Generates, checks and calls."""
    found = json.loads(DOCUMENT.read_text())
    names = [one["operationId"] for path in found["paths"].values() for one in path.values()]
    python = str(Path(sys.argv[1]).absolute())
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        words = ["--path", str(DOCUMENT), "--meta", "none", "--output-path", "gossamer_api"]
        run(python, folder, "-m", "openapi_python_client", "generate", *words)
        files = list((folder / "gossamer_api").rglob("*.py"))
        lacking = {*names} - {one.stem for one in (folder / "gossamer_api" / "api").rglob("*.py")}
        checked = run(python, folder, "-m", "mypy", "--ignore-missing-imports", "gossamer_api").strip()
        with served_folder(folder) as server:
            answer = run(python, folder, "-c", CALL.format(url=server.url)).strip()
        tools = [
            run(python, folder, "-m", name, "--version").strip() for name in ("openapi_python_client", "mypy")
        ]
    print(
        f"{datetime.now(UTC):%Y-%m-%d}, {', '.join(tools)}: {len(files)} files, {len(names)} operations; {checked}; version: {answer}"
    )
    if lacking:
        sys.exit(f"no function for {', '.join(sorted(lacking))}")


def run(python: str, folder: Path, *words: str) -> str:
    """Runs Python with some arguments, and returns its output."""
    done = subprocess.run([python, *words], cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(done.stdout + done.stderr)
    return done.stdout


if __name__ == "__main__":
    main()
