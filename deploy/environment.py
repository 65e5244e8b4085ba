"""Makes the environment `.venv` in the checkout with gossamer: `environment.py [EXTRA[,EXTRA]]`.

`./gossamer` and `./test` call this program if the stamp in `.venv` is out of date, or if a requested extra is
missing. Extras that were requested once are installed each time. The program needs only the standard library.
The program also works without pip and ensurepip, because Debian's bare python3 has neither. Several calls may
run at the same time: one installs, and the others wait. If a call is killed, the next call starts the
unfinished work again. pip reads its usual settings (such as PIP_INDEX_URL).
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
"""The extras that were requested so far, joined by commas."""
UNFINISHED = HOME / "unfinished"
LOG = HOME / "install.log"
WORTH = 0.85
"""The current Python is replaced by another one that takes at most this share of its time."""
LOOK = """
import sqlite3, ssl, sys, sysconfig, time, venv
if sys.version_info < (3, 11) or sys.implementation.name != "cpython" or sysconfig.get_config_var("Py_GIL_DISABLED"):
    sys.exit(1)
class Word:
    def __init__(self, text): self.text = text
    def size(self): return len(self.text)
def work():
    began, found = time.process_time(), {}
    for n in range(5_000):
        word = Word(f"a{n % 100}")
        found[word.text] = found.get(word.text, 0) + word.size()
    return time.process_time() - began
print(min(work() for _ in range(5)))
"""
"""Prints the time of a short task on a Python that can run gossamer. Any other Python fails."""
FULL = "the disk is full: free about 100 MB, and 300 MB for Parquet, then run this again"


class Trouble(Exception):
    """The environment cannot be made. The message is one line with advice. `code` is the exit code
    (docs/commands.md)."""

    def __init__(self, message: str, code: int) -> None:
        super().__init__(message)
        self.code = code


def say(text: str) -> None:
    """Prints a line for the user to stderr, because stdout is for the command's data."""
    print(f"gossamer: {text}", file=sys.stderr, flush=True)


@contextlib.contextmanager
def only_one() -> Iterator[int]:
    """Holds the checkout's install lock. Yields its descriptor.

    pip inherits the descriptor. If this process is killed while pip still writes, pip keeps the lock.
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
    """Returns the contents of an up-to-date stamp. `ready` in environment.sh compares the same bytes."""
    return os.fsencode(f"{ROOT}\n{os.path.realpath(PYTHON)}\n") + (ROOT / "pyproject.toml").read_bytes()


def usable() -> bool:
    """Returns whether .venv is complete, works, and has a Python that is new enough."""
    if UNFINISHED.exists() or not (HOME / "pyvenv.cfg").exists():
        return False
    check = "import sys; sys.exit(sys.version_info < (3, 11) or sys.prefix == sys.base_prefix)"
    try:
        return subprocess.run([PYTHON, "-c", check], capture_output=True, check=False).returncode == 0
    except OSError:
        return False


def quickest() -> str:
    """Returns the Python that runs this program, or a clearly faster one on PATH.

    A Python that was compiled without optimization, as by pyenv, takes half as much time again as a
    distribution's Python.
    """
    names = ("python3", "python3.14", "python3.13", "python3.12", "python3.11")
    apple = sys.platform == "darwin"  # the python3 in /usr/bin of macOS may offer to install a compiler
    folders = [folder for folder in os.get_exec_path() if not (apple and folder == "/usr/bin")]
    places = [sys.executable, *(f"{folder}/{name}" for folder in folders for name in names)]
    times = dict.fromkeys([os.path.realpath(place) for place in places if os.path.isfile(place)], math.inf)
    for _ in range(3):  # the Pythons take turns, because the speed of a machine varies
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
    """Makes an empty environment without pip, which works without ensurepip.

    The list of requested extras is kept, even if this process is killed.
    """
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
    """Returns the extras that were requested before."""
    return EXTRAS.read_text().strip().split(",") if EXTRAS.exists() else []


def wanted(asked: set[str]) -> set[str]:
    """Returns the extras to install: the requested ones, and earlier ones that still exist. Raises Trouble."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text()).get("project", {})
    known = project.get("optional-dependencies", {})
    for extra in sorted(asked - known.keys()):
        close = "".join(f" (did you mean {name}?)" for name in get_close_matches(extra, known, 1))
        raise Trouble(f"there is no extra {extra!r}{close}; extras are {', '.join(known)}", 2)
    return asked | {extra for extra in noted() if extra in known}


def pip_wheel() -> Path | None:
    """Returns the pip wheel that ensurepip would install (Python's own or the distribution's), if there is
    one."""
    spec = find_spec("ensurepip")
    folders = [Path(place) / "_bundled" for place in (spec.submodule_search_locations or [])] if spec else []
    folders += [Path(sysconfig.get_config_var("WHEEL_PKG_DIR") or "/usr/share/python-wheels")]
    return next((wheel for folder in folders for wheel in sorted(folder.glob("pip-*.whl"))), None)


def debian_wheel(scratch: Path) -> Path | None:
    """Downloads and unpacks the pip wheel of Debian's package, without root. apt checks the package's
    signature.

    The function tries the machine's package lists first, and then fresh lists in a temporary folder.
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
    """Returns the command of a pip that installs into the environment."""
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
    """Installs the checkout in editable mode, with its dependencies and those of the extras."""
    UNFINISHED.touch()
    words = [
        "install",
        "--disable-pip-version-check",
        "--no-input",
        "--no-warn-script-location",
        *(() if sys.dont_write_bytecode else ("--no-compile",)),
        "-e",
        f".[{extras}]" if extras else ".",
    ]
    with tempfile.TemporaryDirectory(prefix="gossamer-") as scratch, LOG.open("wb") as log:
        done = subprocess.run(
            [*pip(Path(scratch)), *words],
            cwd=ROOT,
            # a user's pip.conf may set `user`, which does not work in an environment
            env={**os.environ, "PIP_USER": "0"},
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            pass_fds=[lock],
            check=False,
        )
    UNFINISHED.unlink()  # only a kill leaves this file, because pip cleans up after its own errors
    if done.returncode:
        raise failed(LOG.read_text(errors="replace"))
    # Python compiles a module when it is first imported, and most commands need few modules. If Python may not
    # write bytecode, each start would compile the checkout.
    if sys.dont_write_bytecode:
        words = [str(PYTHON), "-m", "compileall", "-q", str(ROOT / "src")]
        subprocess.run(words, stdout=subprocess.DEVNULL, check=False)


def failed(log: str) -> Trouble:
    """Returns the error with the reason from pip's log."""
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
        say(f"{what} {HOME} (less than a minute)")
        if not whole:
            make()
        STAMP.unlink(missing_ok=True)  # after a kill from here on, the next call installs again
        try:
            install(",".join(sorted(extras)), lock)
        except Trouble:
            if good is not None:  # pip failed and has undone its changes
                STAMP.write_bytes(good)
            raise
        EXTRAS.write_text(",".join(sorted(extras)) + "\n")
        STAMP.write_bytes(stamp())
        say(f"installed in {time.monotonic() - started:.0f} s")


def main(asked: str) -> int:
    """Prepares the environment. Returns the exit code."""
    try:
        prepare(set(asked.split(",")) if asked else set())
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
