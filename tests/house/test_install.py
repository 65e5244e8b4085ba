"""The installed wheel or sdist in an empty environment, without a checkout, as users have it.

The installs take packages from pip's index.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import venv
from collections.abc import Iterator
from pathlib import Path

import pytest

from house.tree import ROOT
from support.scripts import script

EXTRA, EXTRA_MODULE = "pdf", "pypdfium2"  # a small one


def pip_wheel() -> Path:
    """Returns the pip wheel that ./gossamer installs with, because environments of Debian's Python have no
    pip."""
    wheel = script("deploy/environment.py").pip_wheel()
    assert wheel is not None, "this Python has no pip: apt install python3-venv"
    return Path(wheel)


class Machine:
    """An empty environment in a folder of its own, isolated from the checkout."""

    def __init__(self, folder: Path) -> None:
        self.home = folder / "home"
        self.home.mkdir()
        self.programs = folder / "venv" / "bin"
        venv.EnvBuilder(symlinks=True).create(folder / "venv")
        kept = ("LANG", "TMPDIR", "SSL_CERT_FILE", "REQUESTS_CA_BUNDLE")
        self.env = {
            name: value for name, value in os.environ.items() if name in kept or name.startswith("PIP_")
        }
        self.env |= {"PATH": f"{self.programs}:/usr/bin:/bin", "HOME": os.environ.get("HOME", str(self.home))}

    def run(self, *words: str | Path, code: int = 0) -> subprocess.CompletedProcess[str]:
        """Runs a program of the environment in an empty folder. Fails unless the program exits with
        `code`."""
        command = [self.programs / words[0], *words[1:]]
        done = subprocess.run(
            command,
            cwd=self.home,
            env=self.env,
            capture_output=True,
            text=True,
            check=False,
            stdin=subprocess.DEVNULL,
        )
        assert done.returncode == code, f"{words}: exit {done.returncode}\n{done.stdout}\n{done.stderr}"
        return done

    def install(self, what: str | Path) -> None:
        quiet = ["--quiet", "--no-input", "--disable-pip-version-check", "--no-warn-script-location"]
        self.run("python", f"{pip_wheel()}/pip", "install", *quiet, what)


@pytest.fixture
def shop() -> Iterator[str]:
    """Serves the tutorial's bookshop. Yields its URL."""
    command = [sys.executable, str(ROOT / "examples" / "bookshop" / "serve.py"), "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        found = re.search(r"http://\S+", server.stdout.readline())
        assert found is not None
        yield found[0]
        server.terminate()


@pytest.fixture
def machine(tmp_path: Path, request: pytest.FixtureRequest) -> Machine:
    """A machine on which the built wheel or sdist is installed."""
    build = [sys.executable, "-m", "hatchling", "build", "-t", request.param, "-d", str(tmp_path / "dist")]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True)
    machine = Machine(tmp_path)
    machine.install(next((tmp_path / "dist").iterdir()))
    return machine


@pytest.mark.parametrize("machine", ["wheel", "sdist"], indirect=True)
def test_the_package_works_without_the_checkout(machine: Machine, shop: str) -> None:
    where = machine.run("python", "-c", "import gossamer; print(gossamer.__file__)").stdout
    assert where.startswith(str(machine.programs.parent))
    # a crawl that uses the store from the package
    machine.run("gossamer", "crawl", shop, "--limit", "3", "-o", "pages.jsonl")
    rows = [json.loads(line) for line in (machine.home / "pages.jsonl").read_text().splitlines()]
    assert [row["status"] for row in rows] == [200] * 3
    # write a site file, check it, and crawl with it
    machine.run("gossamer", "new", "books", shop)
    machine.run("gossamer", "check", "books.py")
    machine.run("gossamer", "crawl", "books.py", "--limit", "3", "-o", "books.sqlite", "-o", "books.csv")
    assert (machine.home / "books.sqlite").stat().st_size
    # from Python
    script = f"import gossamer\nprint(sorted(page.status for page in gossamer.crawl({shop!r}, limit=2)))"
    assert machine.run("python", "-c", script).stdout == "[200, 200]\n"
    # without extras, the message names the command that installs one, and that command works before a release
    missing = machine.run("gossamer", "crawl", shop, "--fresh", "-o", "pages.parquet", code=4).stderr
    assert "pip install 'gossamer[parquet]'" in missing
    machine.install(f"gossamer[{EXTRA}]")
    machine.run("python", "-c", f"import {EXTRA_MODULE}")
