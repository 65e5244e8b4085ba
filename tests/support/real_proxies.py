"""Debian's proxies on addresses of their own: squid with many addresses, tinyproxy, microsocks."""

from __future__ import annotations

import contextlib
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

SQUID, TINY, SOCKS = (
    shutil.which(name, path="/usr/sbin:/usr/bin") for name in ("squid", "tinyproxy", "microsocks")
)


@contextlib.contextmanager
def squid(addresses: Sequence[str], port: int, secret: str = "") -> Iterator[None]:
    """Runs one squid that listens on many addresses and connects from the address that a request came to."""
    with (
        tempfile.TemporaryDirectory(prefix="squid-") as folder,
        running(_squid(Path(folder), addresses, port, secret), addresses[-1], port),
    ):
        yield


def _squid(folder: Path, addresses: Sequence[str], port: int, secret: str) -> list[str]:
    lines = [
        "pid_filename none",
        "cache deny all",
        "access_log none",
        "cache_log /dev/null",
        f"coredump_dir {folder}",
        "visible_hostname squid.test",
        "shutdown_lifetime 0 seconds",
        "acl CONNECT method CONNECT",
        "workers 1",
        "hosts_file none",
        "via on",
        "pinger_enable off",
        "netdb_filename none",
        "max_filedescriptors 4096",
    ]
    if secret:
        helper = folder / "auth"
        helper.write_text(
            f"#!/bin/sh\nwhile read -r line; do [ \"$line\" = '{secret.replace(':', ' ')}' ] && echo OK || echo ERR; done\n"
        )
        lines += [
            f"auth_param basic program {helper}",
            "auth_param basic children 1",
            "acl known proxy_auth REQUIRED",
            "http_access allow known",
        ]
    else:
        lines.append("http_access allow all")
    for number, address in enumerate(addresses):
        lines += [
            f"http_port {address}:{port} name=n{number}",
            f"acl at{number} myportname n{number}",
            f"tcp_outgoing_address {address} at{number}",
        ]
    for path in (folder, *folder.glob("*")):
        path.chmod(0o777)  # squid runs as another user
    config = folder / "squid.conf"
    config.write_text("\n".join(lines) + "\n")
    return [str(SQUID), "-N", "-f", str(config)]


@contextlib.contextmanager
def tinyproxy(folder: Path, address: str, port: int) -> Iterator[None]:
    """One tinyproxy."""
    config = folder / f"tiny-{address}.conf"
    config.write_text(
        f"Port {port}\nListen {address}\nBind {address}\nTimeout 60\nMaxClients 100\nLogLevel Critical\n"
    )
    with running([str(TINY), "-d", "-c", str(config)], address, port):
        yield


@contextlib.contextmanager
def microsocks(address: str, port: int, secret: str = "") -> Iterator[None]:
    """Runs one SOCKS5 server."""
    user, _, password = secret.partition(":")
    more = ["-u", user, "-P", password] if secret else []
    with running([str(SOCKS), "-i", address, "-p", str(port), "-b", address, *more], address, port):
        yield


@contextlib.contextmanager
def running(words: list[str], address: str, port: int) -> Iterator[None]:
    """Runs a program. The block starts when the program accepts connections."""
    process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        ends = time.monotonic() + 30
        while True:
            try:
                socket.create_connection((address, port), 0.5).close()
                break
            except OSError:
                assert process.poll() is None, f"{words[0]} ended with {process.returncode}"
                assert time.monotonic() < ends, f"{words[0]} takes no connection"
                time.sleep(0.05)
        yield
    finally:
        process.terminate()
        try:
            process.wait(5)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
