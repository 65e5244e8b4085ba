"""Starts a master with replicas under Sentinels, in about a second."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from support.older_copy import OlderCopy
from support.processes import Process, followers, until

SERVICE = "frontier"


class Watched:
    """A master (the first of `servers`), its replicas, and the Sentinels that watch it."""

    def __init__(
        self,
        replicas: int = 1,
        sentinels: int = 3,
        *,
        down_after: int = 1000,
        password: str = "",
        host: str = "127.0.0.1",
    ) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="gt-"))
        words = ("--save", "", "--appendonly", "yes", "--repl-diskless-sync-delay", "0")
        words += ("--requirepass", password, "--masterauth", password) if password else ()
        self.password = {"password": password} if password else {}
        self.servers = [Process(self.folder, *words, host=host)]
        master = self.servers[0].port
        self.servers += [
            Process(self.folder, *words, "--replicaof", f"{host} {master}", host=host)
            for _ in range(replicas)
        ]
        for server in self.servers:
            server.ready(**self.password)
        config = f"sentinel monitor {SERVICE} {host} {master} {sentinels // 2 + 1}\n"
        config += f"sentinel down-after-milliseconds {SERVICE} {down_after}\n"
        config += f"sentinel failover-timeout {SERVICE} 5000\n"
        config += f"sentinel auth-pass {SERVICE} {password}\n" if password else ""
        self._config = config
        self.sentinels = [
            Process(self.folder, "--sentinel", config=config, host=host) for _ in range(sentinels)
        ]
        with self.servers[0].client(**self.password) as client:
            until(lambda: followers(client) == replicas)
        for sentinel in self.sentinels:
            with sentinel.ready().client() as client:
                until(
                    lambda client=client: (
                        client.sentinel_master(SERVICE)["num-slaves"] == replicas
                        and client.sentinel_master(SERVICE)["num-other-sentinels"] == sentinels - 1
                    )
                )

    @property
    def url(self) -> str:
        """Returns the URL of the Sentinels in gossamer's form."""
        user = f":{self.password['password']}@" if self.password else ""
        return (
            f"redis+sentinel://{user}"
            + ",".join(f"{one.host}:{one.port}" for one in self.sentinels)
            + f"/{SERVICE}"
        )

    def fail_over(self, older: OlderCopy) -> None:
        """Kills the master, and starts it again from the copy after the replica has taken over. For some
        seconds, the old master accepts writes, until the Sentinels turn it into a replica."""
        older.server.kill()
        for sentinel in self.sentinels:
            with sentinel.client() as client:
                until(
                    lambda client=client: client.sentinel_master(SERVICE)["port"] == self.servers[1].port,
                    60,
                )
        older.back()
        older.server.ready()

    def forget_failover(self) -> None:
        """Restarts the first Sentinel with its first configuration, and freezes the others."""
        first = self.sentinels[0]
        first.kill()
        for sentinel in self.sentinels[1:]:
            sentinel.halt()
        first.config.write_text(self._config)
        first.start()
        with first.ready().client() as client:
            assert client.sentinel_master(SERVICE)["port"] == self.servers[0].port

    def thaw(self) -> None:
        """Resumes all frozen Sentinels."""
        for sentinel in self.sentinels:
            sentinel.go_on()

    def close(self) -> None:
        """Stop all processes and delete their files."""
        for process in (*self.sentinels, *self.servers):
            process.kill()
        shutil.rmtree(self.folder, ignore_errors=True)


@contextmanager
def watched(replicas: int = 1, sentinels: int = 3, **more: int | str) -> Iterator[Watched]:
    """Runs a master under Sentinels for the duration of the block."""
    one = Watched(replicas, sentinels, **more)  # type: ignore[arg-type] # milliseconds, a password
    try:
        yield one
    finally:
        one.close()
