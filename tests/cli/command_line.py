"""Helpers that run the command line in its own process, and the small local web that the commands crawl."""

from __future__ import annotations

import http.server
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, ClassVar

from support import fork_server

SRC = Path(__file__).resolve().parents[2] / "src"
PAGES = 12


class Pages(http.server.BaseHTTPRequestHandler):
    """Serves PAGES pages that link to one another, and a robots.txt."""

    asked: ClassVar[list[str]] = []

    def do_GET(self) -> None:
        self.asked.append(self.path)
        kind, status = "text/html", 200
        if self.path == "/robots.txt":
            kind, body = "text/plain", "User-agent: *\nDisallow: /secret/\n"
        elif self.path in ("/", *(f"/{n}" for n in range(PAGES))):
            links = "".join(f'<a href="/{n}">x</a>' for n in range(PAGES))
            body = f'<title>t{self.path}</title>{links}<a href="/secret/">s</a><a rel="nofollow" href="/nf">n</a><a href="https://other.example/">o</a>'
        else:
            status, body = 404, "none"
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body.encode())

    def log_message(self, *_: Any) -> None:
        """Disable the request log."""


def begin(
    room: Path, *words: str, code: str = "from gossamer.cli import main; main()", **more: Any
) -> subprocess.Popen[str]:
    """Start a command. `code` is the Python code that runs the command."""
    env = {k: v for k, v in os.environ.items() if not k.startswith("GOSSAMER_")}
    env["PYTHONPATH"] = os.pathsep.join([str(SRC), env.get("PYTHONPATH", "")])
    pipes = {
        "stdin": subprocess.PIPE,
        "stdout": subprocess.PIPE,
        "stderr": subprocess.PIPE,
        "text": True,
    } | more
    return fork_server.Popen([sys.executable, "-c", code, *words], cwd=room, env=env, **pipes)


def gossamer(room: Path, *words: str, text: str = "") -> tuple[int, str, str]:
    process = begin(room, *words)
    out, err = process.communicate(text, timeout=180)
    return process.returncode, out, err


def wait_for(process: subprocess.Popen[str], out: Path, rows: int) -> None:
    deadline = time.monotonic() + 30
    while not out.exists() or out.read_text().count("\n") < rows:
        assert process.poll() is None, process.stderr and process.stderr.read()
        assert time.monotonic() < deadline
        time.sleep(0.02)
