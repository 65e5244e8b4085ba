"""Makes `.venv` in the checkout and installs gossamer into it: `environment.py EXTRA[,EXTRA]`.

Called by `./gossamer` and `./test` when the stamp in `.venv` is not today's, or an extra is asked for that is
not there; what was asked for once is installed each time. Standard library only, and neither pip nor
ensurepip is taken for granted: Debian's bare python3 has none. Several calls at once are safe (one installs,
the others wait), and what a kill left half done is made anew by the next call. pip reads its own settings
(PIP_INDEX_URL and all).
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import math
import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import time
import tomllib
import venv
from collections.abc import Iterator
from difflib import get_close_matches
from importlib.util import find_spec
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
HOME = ROOT / ".venv"
PYTHON = HOME / "bin" / "python"
STAMP = HOME / "installed"
EXTRAS = HOME / "extras"
"""What was asked for, joined by commas."""
UNFINISHED = HOME / "unfinished"
LOG = HOME / "install.log"
WORTH = 0.85
"""A Python is chosen instead of the one that runs this when it takes at most so much of its time."""
LOOK = """
import sqlite3, ssl, sys, sysconfig, time, venv
if sys.version_info < (3, 11) or sys.implementation.name != "cpython" or sysconfig.get_config_var("Py_GIL_DISABLED"):
    sys.exit(1)
class Word:
    def __init__(self, text): self.text = text
    def size(self): return len(self.text)
def work():
    began, found = time.process_time(), {}
    for n in range(20_000):
        word = Word(f"a{n % 100}")
        found[word.text] = found.get(word.text, 0) + word.size()
    return time.process_time() - began
print(min(work() for _ in range(5)))
"""
"""Says how long a little work takes on a Python that can run gossamer; another one fails."""
FULL = "the disk is full: free about 300 MB, then run this again"


class Trouble(Exception):
    """The environment cannot be made: one line that says what to do, and the exit code (docs/commands.md)."""

    def __init__(self, message: str, code: int) -> None:
        super().__init__(message)
        self.code = code


def say(text: str) -> None:
    """One line for the person; stdout belongs to the command's data."""
    print(f"gossamer: {text}", file=sys.stderr, flush=True)


@contextlib.contextmanager
def only_one() -> Iterator[int]:
    """Holds the checkout's install lock; yields its descriptor.

    pip inherits the descriptor, so that the lock outlives this process if it is killed while pip still
    writes.
    """
    lock = os.open(ROOT, os.O_RDONLY)
    try:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say("another call is installing; waiting for it")
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield lock
    finally:
        os.close(lock)


def stamp() -> bytes:
    """What an up-to-date stamp holds; `ready` in environment.sh compares the same bytes."""
    return os.fsencode(f"{ROOT}\n{os.path.realpath(PYTHON)}\n") + (ROOT / "pyproject.toml").read_bytes()


def usable() -> bool:
    """Whether the .venv that is there can be installed into: whole, and its Python runs and is new enough."""
    if UNFINISHED.exists() or not (HOME / "pyvenv.cfg").exists():
        return False
    check = "import sys; sys.exit(sys.version_info < (3, 11) or sys.prefix == sys.base_prefix)"
    try:
        return subprocess.run([PYTHON, "-c", check], capture_output=True, check=False).returncode == 0
    except OSError:
        return False


def quickest() -> str:
    """The Python that runs this, or one on PATH that is plainly quicker: one that was compiled without
    optimisation, as pyenv does, takes half as much time again as a distribution's."""
    names = ("python3", "python3.14", "python3.13", "python3.12", "python3.11")
    apple = sys.platform == "darwin"  # whose own python3 offers to install a compiler
    folders = [folder for folder in os.get_exec_path() if not (apple and folder == "/usr/bin")]
    places = [sys.executable, *(f"{folder}/{name}" for folder in folders for name in names)]
    times = dict.fromkeys([os.path.realpath(place) for place in places if os.path.isfile(place)], math.inf)
    for _ in range(5):  # in turn, as a machine's speed changes
        for python in list(times):
            try:
                done = subprocess.run(
                    [python, "-c", LOOK], capture_output=True, text=True, timeout=20, check=True
                )
                times[python] = min(times[python], float(done.stdout))
            except (OSError, ValueError, subprocess.SubprocessError):
                del times[python]
    here = os.path.realpath(sys.executable)
    best = min(times, key=lambda python: times[python], default=here)
    return best if best != here and times[best] <= WORTH * times.get(here, math.inf) else sys.executable


def make() -> None:
    """An empty environment, without pip: making it needs no ensurepip. What was asked for stays noted, also
    if this is killed."""
    for old in HOME.iterdir() if HOME.is_dir() else ():
        if old.is_dir() and not old.is_symlink():
            shutil.rmtree(old)
        elif old != EXTRAS:
            old.unlink()
    python = quickest()
    if python != sys.executable:
        words = [python, "-m", "venv", "--without-pip", "--symlinks", str(HOME)]
        if subprocess.run(words, capture_output=True, check=False).returncode == 0:
            return
    venv.EnvBuilder(symlinks=True, with_pip=False).create(HOME)


def noted() -> list[str]:
    """What was asked for before."""
    return EXTRAS.read_text().strip().split(",") if EXTRAS.exists() else []


def wanted(asked: set[str]) -> set[str]:
    """The extras to install: those asked for now, and those noted that there still are. Raises Trouble."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text()).get("project", {})
    known = project.get("optional-dependencies", {})
    for extra in sorted(asked - known.keys()):
        close = "".join(f" (did you mean {name}?)" for name in get_close_matches(extra, known, 1))
        raise Trouble(f"there is no extra {extra!r}{close}; extras are {', '.join(known)}", 2)
    return asked | {extra for extra in noted() if extra in known}


def pip_wheel() -> Path | None:
    """A pip wheel on this machine: the one that ensurepip would install (Python's own, or the
    distribution's)."""
    spec = find_spec("ensurepip")
    folders = [Path(place) / "_bundled" for place in (spec.submodule_search_locations or [])] if spec else []
    folders += [Path(sysconfig.get_config_var("WHEEL_PKG_DIR") or "/usr/share/python-wheels")]
    return next((wheel for folder in folders for wheel in sorted(folder.glob("pip-*.whl"))), None)


def debian_wheel(scratch: Path) -> Path | None:
    """The pip wheel out of Debian's package, downloaded (signed, so apt checks it) and unpacked: needs no
    root.

    First with the machine's package lists, then with fresh lists in a folder of our own.
    """
    if not (shutil.which("apt-get") and shutil.which("dpkg-deb")):
        return None
    (scratch / "lists" / "partial").mkdir(parents=True)
    own = ["-o", f"Dir::State::lists={scratch}/lists", "-o", f"Dir::Cache={scratch}"]
    get = ["download", "python3-pip-whl"]
    for options, verbs in (([], [get]), (own, [["update"], get])):
        runs = [["apt-get", "-qq", *options, *verb] for verb in verbs]
        if all(
            subprocess.run(run, cwd=scratch, capture_output=True, check=False).returncode == 0 for run in runs
        ):
            package = next(scratch.glob("python3-pip-whl*.deb"))
            subprocess.run(["dpkg-deb", "-x", package, scratch], capture_output=True, check=False)
            return next(scratch.glob("usr/share/python-wheels/pip-*.whl"), None)
    return None


def pip(scratch: Path) -> list[str]:
    """The words that start a pip which installs into the environment."""
    wheel = pip_wheel()
    if wheel is None and find_spec("pip"):
        return [sys.executable, "-m", "pip", "--python", str(PYTHON)]
    wheel = wheel or debian_wheel(scratch)
    if wheel is None:
        raise Trouble(
            "this Python has no pip to install with: `apt install python3-venv`, then run this again", 4
        )
    return [str(PYTHON), f"{wheel}/pip"]


def install(extras: str, lock: int) -> None:
    """Installs the checkout, editable, with the packages it needs and those of the extras."""
    UNFINISHED.touch()
    words = [
        "install",
        "--disable-pip-version-check",
        "--no-input",
        "--no-warn-script-location",
        "-e",
        f".[{extras}]",
    ]
    with tempfile.TemporaryDirectory(prefix="gossamer-") as scratch, LOG.open("wb") as log:
        done = subprocess.run(
            [*pip(Path(scratch)), *words],
            cwd=ROOT,
            # a user's pip.conf may say `user`, which no environment can follow
            env={**os.environ, "PIP_USER": "0"},
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            pass_fds=[lock],
            check=False,
        )
    UNFINISHED.unlink()  # only a kill leaves it; a pip that failed has cleaned up
    if done.returncode:
        raise failed(LOG.read_text(errors="replace"))
    # pip compiles what it copies, not an editable checkout; where Python may write no bytecode each start
    # would compile it
    subprocess.run([PYTHON, "-m", "compileall", "-q", ROOT / "src"], stdout=subprocess.DEVNULL, check=False)


def failed(log: str) -> Trouble:
    """Why pip failed, in its own words."""
    if os.strerror(errno.ENOSPC) in log:
        return Trouble(FULL, 16)
    reasons = [
        line.partition("ERROR: ")[2] for line in log.splitlines() if line.strip().startswith("ERROR: ")
    ]
    reason = reasons[-1] if reasons else "pip ended early"
    return Trouble(f"could not install: {reason}; look at {LOG}, check the network, then run this again", 9)


def prepare(asked: set[str]) -> None:
    """Makes and fills .venv, unless another call has done so in the meantime."""
    with only_one() as lock:
        whole, extras = usable(), wanted(asked)
        good = STAMP.read_bytes() if whole and STAMP.exists() else None
        new = sorted(extras - set(noted()))
        if good == stamp() and not new:
            return
        started = time.monotonic()
        changed = ", ".join(new) if good == stamp() else "pyproject.toml is new or changed"
        what = f"{changed}: installing into" if whole else "first use: making .venv and filling"
        say(f"{what} {HOME} (about a minute)")
        if not whole:
            make()
        STAMP.unlink(missing_ok=True)  # a kill from here on is seen by the next call
        try:
            install(",".join(sorted(extras)), lock)
        except Trouble:
            if good is not None:  # pip failed by itself, and what was there is there
                STAMP.write_bytes(good)
            raise
        EXTRAS.write_text(",".join(sorted(extras)) + "\n")
        STAMP.write_bytes(stamp())
        say(f"installed in {time.monotonic() - started:.0f} s")


def main(asked: str) -> int:
    """Exit code 0, or that of the trouble."""
    try:
        prepare(set(asked.split(",")))
    except Trouble as trouble:
        say(str(trouble))
        return trouble.code
    except OSError as error:
        full = error.errno == errno.ENOSPC
        say(
            FULL if full else f"cannot make {HOME}: {error.strerror or error}; mend that, then run this again"
        )
        return 16 if full else 4
    except KeyboardInterrupt:
        say("interrupted while installing; the same command goes on")
        return 13
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
