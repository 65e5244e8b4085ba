"""Runs a RabbitMQ server on loopback."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import socket
import subprocess
from pathlib import Path
from typing import Self

from support.fleet_workers import until
from support.processes import free_port

SERVER = shutil.which("rabbitmq-server", path=f"/usr/lib/rabbitmq/bin:{os.environ.get('PATH', '')}")
"""Debian's internal script, because the one in PATH switches to another user."""


class Rabbit:
    """One node whose data is in a folder of the test."""

    def __init__(self, folder: Path, certificates: tuple[Path, Path, Path] | None = None) -> None:
        """`certificates` are the files of a CA, a certificate and its key, for TLS on the port `secure`."""
        self.certificates, self.secure = certificates, free_port()
        self.folder, self.port, self._dist, self._names = folder, free_port(), free_port(), str(free_port())
        self.process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        """Returns the URL of the broker."""
        return f"amqp://guest:guest@127.0.0.1:{self.port}//"

    def start(self) -> None:
        """Start the node with its existing data."""
        assert SERVER, "no rabbitmq-server"
        self.folder.mkdir(exist_ok=True)
        config = f"listeners.tcp.1 = 127.0.0.1:{self.port}\nloopback_users.guest = true\nlog.console = true\n"
        if self.certificates:
            files = zip(("cacertfile", "certfile", "keyfile"), self.certificates, strict=True)
            config += f"listeners.ssl.1 = 127.0.0.1:{self.secure}\n"
            config += "".join(f"ssl_options.{name} = {path}\n" for name, path in files)
        (self.folder / "rabbitmq.conf").write_text(config)
        (self.folder / "plugins").write_text("[].\n")
        env = os.environ | {
            "RABBITMQ_NODENAME": f"t{self.port}@localhost",
            "RABBITMQ_MNESIA_BASE": str(self.folder),
            "HOME": str(self.folder),
            "RABBITMQ_LOG_BASE": str(self.folder),
            "RABBITMQ_CONFIG_FILE": str(self.folder / "rabbitmq"),
            "RABBITMQ_ENABLED_PLUGINS_FILE": str(self.folder / "plugins"),
            "RABBITMQ_DIST_PORT": str(self._dist),
            "RABBITMQ_PID_FILE": str(self.folder / "pid"),
            "ERL_EPMD_ADDRESS": "127.0.0.1",
            "ERL_EPMD_PORT": self._names,
            "ERL_EPMD_RELAXED_COMMAND_CHECK": "1",
            "RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS": "-kernel inet_dist_use_interface {127,0,0,1}",
        }
        with (self.folder / "out").open("ab") as out:
            self.process = subprocess.Popen([SERVER], stdout=out, stderr=out, env=env, start_new_session=True)
        until("RabbitMQ answers", self.answers, 90)

    def answers(self) -> bool:
        """Returns whether the node accepts connections."""
        with (
            contextlib.suppress(OSError),
            socket.create_connection(("127.0.0.1", self.port), 1) as connection,
        ):
            connection.sendall(b"AMQP\x00\x00\x09\x01")
            return bool(connection.recv(8))
        return False

    def kill(self) -> None:
        """Sends SIGKILL to all processes of the node."""
        if self.process is not None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
        # epmd is a separate daemon
        subprocess.run(["epmd", "-port", self._names, "-kill"], capture_output=True, check=False)

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()
