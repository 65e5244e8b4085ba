"""The gossamer command with its own table of host names, which no name server knows: `python named_hosts.py
NAMES.json crawl ...`.

With STAND_IN=1, `browser_stand_in` replaces the browser rung.
"""

from __future__ import annotations

import json
import os
import socket
import sys
from pathlib import Path
from typing import Any

asked = socket.getaddrinfo


def main() -> int:
    """Run the command. Names in the file (`{"names": {name: address}}`) resolve to the addresses given
    there."""
    names = json.loads(Path(sys.argv.pop(1)).read_text())["names"]

    def found(host: Any, *more: Any, **rest: Any) -> Any:
        known = host.decode() if isinstance(host, bytes) else host
        return asked(names.get(known, host), *more, **rest)

    socket.getaddrinfo = found
    if os.environ.get("STAND_IN"):
        from gossamer.app import collector_setup
        from support.browser_stand_in import StandIn

        def stand_in(settings: Any, guard: Any, *_: Any) -> StandIn:
            return StandIn(guard, ca_file=settings.ca_file, total=settings.timeout)

        collector_setup.browser_collector = stand_in
    from gossamer.cli import main as command

    return command() or 0


if __name__ == "__main__":
    sys.exit(main())
