"""`./gossamer` in a checkout creates its environment once, on a minimal Python, even if a call is killed.

The real launcher installs a tiny project here whose build backend lies in its own tree, so most tests need no
network.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import textwrap
import time
import tomllib
from pathlib import Path

import pytest

from gossamer.config import optional_deps
from house.tree import ROOT

PROJECT = """
[build-system]
requires = []
build-backend = "backend"
backend-path = ["."]

[project.optional-dependencies]
parquet = []
postgres = []
"""

BACKEND = '''
"""Builds an editable wheel of the module `tiny`, by hand; as slow as the file `slow` says."""
import contextlib, os, pathlib, time, zipfile

def build_editable(wheel_directory, config_settings=None, metadata_directory=None):
    here = pathlib.Path.cwd()
    with (here / "builds").open("a") as log:
        log.write("x")
    with contextlib.suppress(OSError):
        words = pathlib.Path(f"/proc/{os.getppid()}/cmdline").read_text().split("\\0")  # pip's
        (here / "extras").write_text(words[words.index("-e") + 1])
    if (here / "slow").exists():
        time.sleep(float((here / "slow").read_text()))
    if (here / "broken").exists():
        raise SystemExit("the build is broken")
    info, name = "gossamer-0.dist-info", "gossamer-0-py3-none-any.whl"
    with zipfile.ZipFile(pathlib.Path(wheel_directory) / name, "w") as wheel:
        wheel.writestr("gossamer.pth", str(here))
        wheel.writestr(f"{info}/METADATA", "Metadata-Version: 2.1\\nName: gossamer\\nVersion: 0\\n")
        wheel.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n")
        wheel.writestr(f"{info}/entry_points.txt", "[console_scripts]\\ngossamer = tiny:main\\n")
        wheel.writestr(f"{info}/RECORD", "")
    return name
'''

FOLDERS = "/usr/local/bin:/usr/bin:/bin"
"""The folders on PATH, without those of other Pythons, because the launcher tries each Python three times."""
TINY = """
import os, sys
def main():
    print(os.getcwd(), *sys.argv[1:], sep="|")
    return 7
"""


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A checkout with a space in its path, which contains the real launcher and a tiny project."""
    root = tmp_path / "my checkout"
    shutil.copytree(ROOT / "deploy", root / "deploy", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "gossamer", root)
    for name, text in (("pyproject.toml", PROJECT), ("backend.py", BACKEND), ("tiny.py", TINY)):
        (root / name).write_text(text)
    return root


def system_python() -> str:
    """Returns the folder of the system's Python, which new users on Debian have. If that Python is too old or
    missing, returns the folder of the Python that runs the tests."""
    system = Path("/usr/bin/python3")
    check = "import sys; sys.exit(sys.version_info < (3, 11))"
    fits = system.exists() and subprocess.run([system, "-c", check], check=False).returncode == 0
    return str(system.parent if fits else Path(sys.executable).resolve().parent)


def environment(**more: str) -> dict[str, str]:
    """Returns an environment without the variables of this test run, and with a short PATH."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("PYTHON", "VIRTUAL_ENV", "PYTEST"))
    }
    return {**kept, "PATH": f"{system_python()}:{FOLDERS}", **more}


def launch(checkout: Path, *words: str, **more: str) -> subprocess.CompletedProcess[str]:
    """Runs the launcher from another folder."""
    command = [str(checkout / "gossamer"), *words]
    return subprocess.run(
        command, cwd=checkout.parent, env=environment(**more), capture_output=True, text=True, check=False
    )


def builds(checkout: Path) -> int:
    """Returns the number of installs so far."""
    return len((checkout / "builds").read_text()) if (checkout / "builds").exists() else 0


@pytest.mark.parametrize("whole", [True, False])
def test_a_quicker_python_is_taken_where_it_works(whole: bool, checkout: Path, tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    quick, real = tmp_path / "bin" / "python3.14", Path(system_python()) / "python3"
    makes = f'exec {real} "$@"' if whole else "exit 1"
    quick.write_text(
        f"#!/bin/sh\n[ $1 = -c ] && echo 0.000001 && exit\necho $@ >>{tmp_path}/asked\n{makes}\n"
    )
    quick.chmod(0o755)
    done = launch(checkout, "x", PATH=f"{system_python()}:{tmp_path / 'bin'}:{FOLDERS}")
    assert (done.stdout, done.returncode) == (f"{tmp_path}|x\n", 7)
    assert (tmp_path / "asked").read_text().startswith("-m venv")


def test_first_call_installs_and_later_calls_go_straight_on(checkout: Path, tmp_path: Path) -> None:
    first = launch(checkout, "crawl", "a b", "*")
    assert (first.stdout, first.returncode) == (f"{tmp_path}|crawl|a b|*\n", 7)
    assert [line.split(":")[0] for line in first.stderr.splitlines()] == ["gossamer", "gossamer"]
    (tmp_path / "link").symlink_to(checkout / "gossamer")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "python3").write_text("#!/bin/sh\nexit 1\n")
    (tmp_path / "bin" / "python3").chmod(0o755)
    path = f"{tmp_path / 'bin'}:/usr/bin:/bin"  # no working python3, because the second call does not need it
    again = subprocess.run(
        [tmp_path / "link", "x"], cwd="/", env={"PATH": path}, capture_output=True, text=True, check=False
    )
    assert (again.stdout, again.stderr, again.returncode) == ("/|x\n", "", 7)
    assert builds(checkout) == 1


def test_a_changed_project_is_installed_again(checkout: Path) -> None:
    launch(checkout)
    (checkout / "pyproject.toml").write_text(PROJECT + "# changed\n")
    assert "changed" in launch(checkout).stderr
    assert launch(checkout).stderr == ""
    assert builds(checkout) == 2


def test_an_extra_is_brought_by_one_command_and_stays(checkout: Path) -> None:
    launch(checkout)
    for word, says in (("postgers", "did you mean postgres?"), ("", "extras are parquet, postgres")):
        failed = launch(checkout, "--with", *([word] if word else []))
        assert (failed.returncode, says in failed.stderr, failed.stderr.count("\n")) == (2, True, 1)
    (checkout / "broken").touch()  # a failed install leaves the environment unchanged
    assert launch(checkout, "--with", "postgres", "crawl").returncode == 9
    assert launch(checkout, "crawl").stderr == ""
    (checkout / "broken").unlink()
    alone = launch(checkout, "--with", "postgres")
    assert (alone.stdout, alone.returncode, builds(checkout)) == ("", 0, 3)
    assert "postgres: installing" in alone.stderr
    again = launch(checkout, "--with", "postgres", "crawl", "--with", "x")
    assert (again.stdout.partition("|")[2], again.stderr, again.returncode) == ("crawl|--with|x\n", "", 7)
    (checkout / "pyproject.toml").write_text(PROJECT + "# changed\n")
    (checkout / ".venv" / "unfinished").touch()  # the previous install was killed as well
    assert launch(checkout).returncode == 7
    assert (checkout / "extras").read_text() == ".[postgres]"
    assert launch(checkout, "--with", "postgres").stderr == ""


def test_parquet_is_installed_when_a_word_names_it(checkout: Path) -> None:
    launch(checkout, "crawl", "https://a.example/parquet.html", "-o", "a.jsonl")
    assert (checkout / "extras").read_text() == "."
    launch(checkout, "crawl", "-o", "a.parquet")
    assert (checkout / "extras").read_text() == ".[parquet]"
    # from here on, the installer only notes the extras
    (checkout / "deploy" / "environment.py").write_text(
        "import pathlib, sys; pathlib.Path('asked').write_text(sys.argv[1])"
    )
    for word in ("a.parquet", "s3://b/a.parquet?region=x", "out:parquet"):
        (checkout / ".venv" / "extras").write_text("\n")
        done = launch(checkout, "crawl", "-o", word)
        assert done.stdout.partition("|")[2] == f"crawl|-o|{word}\n"
        asked = checkout.parent / "asked"
        assert asked.read_text() == "parquet"
        asked.unlink()


def test_the_message_names_the_command_that_works_here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(optional_deps, "ROOT", tmp_path)
    assert optional_deps.install_command("postgres") == "pip install 'gossamer[postgres]'"
    assert optional_deps.upgrade_command("uvloop") == "pip install -U uvloop"
    (tmp_path / "gossamer").touch()
    monkeypatch.setattr(sys, "prefix", str(tmp_path / ".venv"))
    assert optional_deps.install_command("postgres") == f"{tmp_path}/gossamer --with postgres"
    assert (
        optional_deps.upgrade_command("uvloop")
        == f"rm -r {tmp_path}/.venv && {tmp_path}/gossamer --with parquet"
    )
    monkeypatch.chdir(tmp_path)
    assert optional_deps.install_command("postgres") == "./gossamer --with postgres"


def test_extras_that_are_named_are_there() -> None:
    known = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    named = {
        name
        for file in (ROOT / "src").rglob("*.py")
        for name in re.findall(
            r"""(?:install_command\(|upgrade_command\(["']\w+["'], )["'](\w+)["']\)""", file.read_text()
        )
    }
    assert named == known.keys() - {"dev", "docs", "airflow"}, "Airflow itself imports gossamer.airflow"


def test_a_moved_checkout_is_installed_again(checkout: Path) -> None:
    launch(checkout)
    moved = checkout.rename(checkout.with_name("moved"))
    assert launch(moved).returncode == 7
    assert launch(moved).stderr == ""


def test_many_first_calls_at_once_install_once(checkout: Path) -> None:
    (checkout / "slow").write_text("0.5")
    calls = [
        subprocess.Popen(
            [checkout / "gossamer"], env=environment(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        for _ in range(4)
    ]
    assert [call.wait() for call in calls] == [7] * 4
    assert builds(checkout) == 1


@pytest.mark.parametrize("whole_group", [True, False])
def test_a_killed_install_is_made_good_by_the_next_call(checkout: Path, whole_group: bool) -> None:
    (checkout / "slow").write_text("1")
    call = subprocess.Popen(
        [checkout / "gossamer"], env=environment(), stderr=subprocess.DEVNULL, start_new_session=True
    )
    while not builds(checkout):
        time.sleep(0.01)
        assert call.poll() is None
    # either all processes die, or pip survives and still holds the lock
    (os.killpg if whole_group else os.kill)(call.pid, signal.SIGKILL)
    call.wait()
    (checkout / "slow").unlink()
    assert launch(checkout).returncode == 7
    assert launch(checkout).stderr == ""


def test_a_failed_install_says_why_and_the_next_call_tries_again(checkout: Path) -> None:
    (checkout / "broken").touch()
    failed = launch(checkout)
    assert failed.returncode == 9
    assert failed.stdout == ""
    assert "install.log" in failed.stderr.splitlines()[-1]
    (checkout / "broken").unlink()
    assert launch(checkout).returncode == 7


def test_a_broken_environment_is_made_anew(checkout: Path) -> None:
    launch(checkout)
    (checkout / ".venv" / "bin" / "python").unlink()
    (checkout / ".venv" / "bin" / "python").symlink_to("/nowhere/python3")
    assert launch(checkout).returncode == 7


def test_an_old_python_is_refused_in_one_line(checkout: Path, tmp_path: Path) -> None:
    bin_ = tmp_path / "old"
    bin_.mkdir()
    for tool in ("readlink", "cat", "cmp"):
        (bin_ / tool).symlink_to(shutil.which(tool) or tool)
    (bin_ / "python3").write_text('#!/bin/sh\n[ "$1" = --version ] && echo Python 3.9.2 && exit 0\nexit 1\n')
    (bin_ / "python3").chmod(0o755)
    done = launch(checkout, PATH=str(bin_))
    assert done.returncode == 4
    assert "3.11" in done.stderr
    assert "Python 3.9.2" in done.stderr
    assert done.stderr.count("\n") == 1


HIDE = textwrap.dedent("""
    set -e
    mkdir -p "$1/nothing"
    for folder in "$(/usr/bin/python3 -c 'import ensurepip; print(ensurepip.__path__[0])')" \\
        /usr/share/python-wheels /usr/lib/python3/dist-packages /usr/local/lib/python3*/dist-packages; do
        [ ! -d "$folder" ] || mount --bind "$1/nothing" "$folder"
    done
    if /usr/bin/python3 -c 'import pip' 2>/dev/null || /usr/bin/python3 -m ensurepip --version 2>/dev/null; then exit 99; fi
    exec "$2/gossamer" bare
""")


def can_hide() -> bool:
    """Returns whether this is Debian and parts of the file system can be hidden from one process."""
    tools = all(shutil.which(tool) for tool in ("apt-get", "unshare", "mount"))
    return (
        tools
        and subprocess.run(["unshare", "--mount", "true"], capture_output=True, check=False).returncode == 0
    )


@pytest.mark.skipif(
    not can_hide(), reason="needs root on Debian: pip and ensurepip are hidden in a mount namespace"
)
def test_a_python_without_pip_and_ensurepip_is_enough(checkout: Path, tmp_path: Path) -> None:
    command = ["unshare", "--mount", "sh", "-c", HIDE, "hide", str(tmp_path), str(checkout)]
    done = subprocess.run(command, cwd="/", env=environment(), capture_output=True, text=True, check=False)
    assert (done.stdout, done.returncode) == ("/|bare\n", 7), done.stderr
