"""Runs `deploy/systemd/gossamer-nightly@.timer` in a real systemd, and prints what systemd says of each service.

    python benchmarks/systemd_timer.py

Needs root and Debian's systemd. A user's manager of systemd runs in a mount namespace of its own, so nothing of the machine changes.
Drop-ins replace the user, the folder and the program of the units, and the hour: each timer fires after a second, and a retry waits
for a second. Three crawls: one that succeeds, one that fails a gate (exit code 30, which is not retried), and one whose process is
killed once (which is retried). The exit code is 1 if a service does not end as described.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

UNITS = Path(__file__).resolve().parents[1] / "deploy" / "systemd"
SITE = """from gossamer import Item, Site

site = Site("{name}", hosts=["127.0.0.1"], seeds=["{url}"], follow=True, pace={delay})


class Book(Item):
    title: str


@site.page("^/")
def page(page):
    yield Book(title=page.title)
"""
MANAGER = """mount -t tmpfs none /run
mkdir -p /run/systemd/system /run/user/0
chmod 700 /run/user/0
exec /lib/systemd/systemd --user --log-target=null
"""
SHOWN = ("ActiveState", "Result", "ExecMainStatus", "NRestarts")
LIMIT_S = 120


class Manager:
    """A systemd manager with the units of `folder`."""

    def __init__(self, folder: Path) -> None:
        environment = {
            **os.environ,
            "XDG_RUNTIME_DIR": "/run/user/0",
            "XDG_CONFIG_HOME": str(folder / "config"),
        }
        environment.pop("DBUS_SESSION_BUS_ADDRESS", None)
        self._environment = environment
        self.process = subprocess.Popen(["unshare", "-m", "sh", "-ec", MANAGER], env=environment)

    def ask(self, *words: str) -> str:
        """Runs `systemctl --user`, and returns its output."""
        command = ["nsenter", "-m", "-t", str(self.process.pid), "systemctl", "--user", *words]
        done = subprocess.run(command, capture_output=True, text=True, check=False, env=self._environment)
        return done.stdout.strip() or done.stderr.strip()

    def shown(self, unit: str) -> dict[str, str]:
        """Returns the state of a service."""
        text = self.ask("show", unit, *(f"--property={name}" for name in (*SHOWN, "MainPID")))
        return dict(line.split("=", 1) for line in text.splitlines())


def install(folder: Path, url: str) -> None:
    """Writes the units with their drop-ins, and three site files."""
    units = folder / "config" / "systemd" / "user"
    units.mkdir(parents=True)
    for name in ("gossamer-nightly@.service", "gossamer-nightly@.timer"):
        (units / name).write_text((UNITS / name).read_text())
    command = (
        f"{sys.executable} -m gossamer crawl %i.py -O %i.jsonl --fresh --json -s allow_private=127.0.0.0/8"
    )
    drop_ins = {
        "gossamer-nightly@.timer": "[Timer]\nOnCalendar=\nOnActiveSec=1\nRandomizedDelaySec=0\nAccuracySec=100ms\n",
        "gossamer-nightly@.service": (
            f"[Service]\nUser=\nWorkingDirectory={folder}\nExecStart=\nExecStart={command}\nRestartSec=1\n"
            f"Environment=PYTHONPATH={UNITS.parents[1] / 'src'}\nStandardOutput=append:{folder}/%i.log\n"
            f"StandardError=append:{folder}/%i.log\n"
        ),
        "gossamer-nightly@gated.service": f"[Service]\nExecStart=\nExecStart={command} --fail-on 'pages<100'\n",
    }
    for number, (name, text) in enumerate(drop_ins.items()):
        (units / f"{name}.d").mkdir()
        (units / f"{name}.d" / f"{number}.conf").write_text(text)
    for name, delay in (("shop", 0), ("gated", 0), ("killed", 2)):
        (folder / f"{name}.py").write_text(SITE.format(name=name, url=url, delay=delay))


def waited(manager: Manager, name: str) -> dict[str, str]:
    """Waits until a service has run and ended, kills the process of `killed` once, and returns its last state."""
    service, ends, began, is_killed = (
        f"gossamer-nightly@{name}.service",
        time.monotonic() + LIMIT_S,
        False,
        False,
    )
    found = manager.shown(service)
    while time.monotonic() < ends:
        found = manager.shown(service)
        if found.get("ActiveState") == "activating" and found.get("MainPID", "0") != "0":
            began = True
            if name == "killed" and not is_killed:
                time.sleep(1)
                with contextlib.suppress(ProcessLookupError):
                    os.kill(int(found["MainPID"]), signal.SIGKILL)
                is_killed = True
        elif began and found.get("ActiveState") in ("inactive", "failed"):
            break
        time.sleep(0.05)
    return found


def main() -> int:
    """Runs the three timers one after the other."""
    with tempfile.TemporaryDirectory(dir="/srv") as name:  # the units have a /tmp of their own
        folder = Path(name)
        (folder / "web").mkdir()
        links = "".join(f'<a href="{n}.html">{n}</a>' for n in range(5))
        for page in ("index", *range(5)):
            (folder / "web" / f"{page}.html").write_text(f"<title>{page}</title>{links}")
        handler = partial(SimpleHTTPRequestHandler, directory=folder / "web")
        server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        install(folder, f"http://127.0.0.1:{server.server_address[1]}/")
        manager = Manager(folder)
        try:
            while manager.ask("is-system-running") != "running":
                time.sleep(0.1)
            print(
                subprocess.run(
                    ["systemctl", "--version"], capture_output=True, text=True, check=True
                ).stdout.split("\n")[0]
            )
            right = True
            for one, wanted in (("shop", ("0", "0")), ("gated", ("30", "0")), ("killed", ("0", "1"))):
                print(manager.ask("start", f"gossamer-nightly@{one}.timer"), end="")
                found = waited(manager, one)
                output = folder / f"{one}.jsonl"
                rows = output.read_bytes().count(b"\n") if output.exists() else 0
                print(
                    f"{one}: {', '.join(f'{key} {found.get(key)}' for key in SHOWN)}, {rows} rows", flush=True
                )
                if (found.get("ExecMainStatus"), found.get("NRestarts")) != wanted:
                    right = False
                    print((folder / f"{one}.log").read_text()[-2000:])
            return 0 if right else 1
        finally:
            manager.process.terminate()
            manager.process.wait()
            server.shutdown()


if __name__ == "__main__":
    sys.exit(main())
