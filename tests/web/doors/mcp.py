"""firecrawl-mcp as a process, which is driven by messages on its standard streams."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any, Self

CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "gossamer-servers"
SCRIPT = CACHE / "firecrawl-mcp-3.22.2" / "node_modules" / "firecrawl-mcp" / "dist" / "index.js"


class Mcp:
    """One process, whose tools call the server at `url`."""

    def __init__(self, url: str) -> None:
        env = {**os.environ, "FIRECRAWL_API_URL": url}
        self.process = subprocess.Popen(
            ["node", str(SCRIPT)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=env,
        )
        self._number = 0
        about = {
            "protocolVersion": "2025-03-26",
            "capabilities": {},
            "clientInfo": {"name": "t", "version": "1"},
        }
        self.call("initialize", about)
        self._send({"method": "notifications/initialized"})

    def _send(self, message: dict[str, Any]) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
        self.process.stdin.flush()

    def call(self, method: str, params: dict[str, Any]) -> Any:
        self._number += 1
        self._send({"id": self._number, "method": method, "params": params})
        assert self.process.stdout is not None
        for line in self.process.stdout:
            found = json.loads(line)
            if found.get("id") == self._number:
                return found["result"]
        raise AssertionError("the process has ended")

    def tool(self, name: str, **given: Any) -> tuple[bool, str]:
        """Calls a tool. Returns whether it worked, and its text."""
        found = self.call("tools/call", {"name": f"firecrawl_{name}", "arguments": given})
        return not found.get("isError"), found["content"][0]["text"]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.wait()
        for stream in (self.process.stdin, self.process.stdout):
            assert stream is not None
            stream.close()
