"""Installs Airflow and what gossamer needs into a virtual environment: `install.py FOLDER VERSION`. `deploy/needs.sh` runs
it. gossamer itself is not installed: tests put its source on the path."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

import environment

ROOT = Path(__file__).parents[2]


def main() -> int:
    """Returns the exit code of pip."""
    needed = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"]
    wheel = environment.pip_wheel()
    with tempfile.TemporaryDirectory() as scratch:
        wheel = wheel or environment.debian_wheel(Path(scratch))
        if wheel is None:
            return 4
        words = [
            "install",
            "--quiet",
            "--disable-pip-version-check",
            f"apache-airflow=={sys.argv[2]}",
            *needed,
        ]
        if sys.version_info[:2] == (3, 11):  # other versions of Python need other versions of some packages
            words += ["--constraint", str(ROOT / "tests" / "airflow" / "constraints.txt")]
        return subprocess.call([f"{sys.argv[1]}/bin/python", f"{wheel}/pip", *words])


if __name__ == "__main__":
    sys.exit(main())
