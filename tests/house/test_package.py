"""The wheel contains everything that the package needs, and nothing else."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
import zipfile
from email.parser import Parser
from pathlib import Path

import pytest

from house.tree import ROOT, kept_files


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True)
    return next(folder.glob("*.whl"))


def test_wheel_holds_every_file_of_the_package(wheel: Path) -> None:
    kept = {name.removeprefix("src/") for name in kept_files() if name.startswith("src/gossamer/")}
    with zipfile.ZipFile(wheel) as archive:
        inside = {name for name in archive.namelist() if ".dist-info/" not in name}
    assert inside == kept


def test_wheel_says_who_may_use_it_and_how_it_is_called(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        info = next(name for name in archive.namelist() if name.endswith("/METADATA")).removesuffix(
            "METADATA"
        )
        about = Parser().parsestr(archive.read(f"{info}METADATA").decode())
        assert archive.read(f"{info}entry_points.txt").decode().split() == [
            "[console_scripts]",
            "gossamer",
            "=",
            "gossamer.cli:main",
        ]
        assert f"{info}licenses/LICENSE" in archive.namelist()
    assert (about["License-Expression"], about["Requires-Python"]) == ("Apache-2.0", ">=3.11")


def test_every_dependency_has_a_lower_bound() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    lines = [
        *project["dependencies"],
        *(line for extra in project["optional-dependencies"].values() for line in extra),
    ]
    assert [line for line in lines if ">=" not in line and not line.startswith("gossamer[")] == []


def test_every_version_is_in_the_changelog(wheel: Path) -> None:
    version = wheel.name.split("-")[1]
    text = (ROOT / "CHANGELOG.md").read_text()
    headings = re.findall(r"^## \[(.+?)\]", text, re.MULTILINE)
    assert version in headings, "give this version a section in CHANGELOG.md"
    assert len(headings) == len(set(headings))
    if f"## [{version}] (unreleased)" in text:
        assert headings == [version], "before the first release, the changelog describes what there is"
