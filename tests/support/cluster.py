"""Starts a Valkey Cluster of several masters, each with or without a replica, in about two seconds."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import redis
from redis.crc import key_slot

from support.processes import Process, followers, free_port, until

SLOTS = 16384


class Cluster:
    """A Cluster. `nodes` contains the masters first."""

    def __init__(
        self, masters: int = 3, replicas: int = 0, *, node_timeout: int = 2000, words: tuple[str, ...] = ()
    ) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="gt-"))
        options = (
            "--cluster-enabled",
            "yes",
            "--cluster-node-timeout",
            str(node_timeout),
            "--save",
            "",
            "--appendonly",
            "yes",
            "--cluster-require-full-coverage",
            "no",
            "--repl-diskless-sync-delay",
            "0",
            *words,
        )
        # by default, nodes talk to one another on port + 10,000, which may be an ephemeral port of a client
        buses = [str(free_port()) for _ in range(masters * (1 + replicas))]
        self.nodes = [Process(self.folder, *options, "--cluster-port", bus) for bus in buses]
        self.cuts = [round(SLOTS * n / masters) for n in range(masters + 1)]
        clients = [node.ready().client() for node in self.nodes]
        for n, client in enumerate(clients):
            client.execute_command("CLUSTER", "SET-CONFIG-EPOCH", n + 1)
            if n < masters:
                client.execute_command("CLUSTER", "ADDSLOTSRANGE", self.cuts[n], self.cuts[n + 1] - 1)
            if n:
                client.execute_command("CLUSTER", "MEET", "127.0.0.1", self.nodes[0].port, buses[0])
        until(lambda: all(_fact(client, "cluster_known_nodes") == str(len(clients)) for client in clients))
        names = [client.execute_command("CLUSTER", "MYID") for client in clients[:masters]]
        for n, client in enumerate(clients[masters:]):
            until(
                lambda n=n, client=client: client.execute_command("CLUSTER", "REPLICATE", names[n % masters])
            )
        self.whole()
        until(lambda: all(followers(client) == replicas for client in clients[:masters]))
        for client in clients:
            client.close()

    @property
    def url(self) -> str:
        """Returns the URL of the Cluster in gossamer's form."""
        return "redis+cluster://" + ",".join(f"127.0.0.1:{node.port}" for node in self.nodes[:3])

    def master_of(self, key: str) -> Process:
        """Returns the node that was the first master of a key's slot."""
        place = key_slot(key.encode())
        return next(node for n, node in enumerate(self.nodes) if self.cuts[n] <= place < self.cuts[n + 1])

    def whole(self) -> None:
        """Waits until all nodes report the Cluster as complete."""
        clients = [node.client() for node in self.nodes]
        until(lambda: all(_fact(client, "cluster_state") == "ok" for client in clients))
        for client in clients:
            client.close()

    def empty(self) -> None:
        """Delete all keys and all scripts."""
        for node in self.nodes:
            with node.client() as client:
                if client.info("replication")["role"] == "master":
                    client.flushall()
                    client.script_flush()

    def close(self) -> None:
        """Stop all nodes and delete their files."""
        for node in self.nodes:
            node.kill()
        shutil.rmtree(self.folder, ignore_errors=True)


def _fact(client: redis.Redis, name: str) -> str:
    found = client.execute_command("CLUSTER INFO")
    return (
        str(found[name])
        if isinstance(found, dict)
        else dict(line.split(":", 1) for line in found.decode().split() if ":" in line)[name]
    )


@contextmanager
def cluster(masters: int = 3, replicas: int = 0, **more: Any) -> Iterator[Cluster]:
    """Runs a Cluster for the duration of the block."""
    one = Cluster(masters, replicas, **more)
    try:
        yield one
    finally:
        one.close()
