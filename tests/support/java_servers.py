"""Kafka and Cassandra from Maven Central, and FerretDB built with Go, as servers that a test can kill and
restart with their data.

`deploy/needs.sh` downloads them into the user's cache.
"""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from support.processes import free_port

CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "gossamer-servers"
QUICK = ["-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xss512k"]


def brought(name: str) -> Path:
    """Returns the folder of a downloaded server, in any version."""
    found = sorted(CACHE.glob(f"{name}-*/ready"))
    return found[-1].parent if found else CACHE / name


class Server:
    """A server process in a folder of its own."""

    name = ""
    words: list[str]
    port: int
    folder: Path

    def start(self) -> None:
        """Start or restart the server. Returns when the server answers."""
        with (self.folder / "log").open("ab") as log:
            self.process = subprocess.Popen(self.words, stdout=log, stderr=log, cwd=self.folder)
        deadline = time.monotonic() + 300
        while not self.answers():
            assert self.process.poll() is None, (self.folder / "log").read_text()[-3000:]
            assert time.monotonic() < deadline, f"{self.name} does not answer"
            time.sleep(0.1)

    def answers(self) -> bool:
        """Returns whether the server accepts connections."""
        try:
            socket.create_connection(("127.0.0.1", self.port), timeout=1).close()
        except OSError:
            return False
        return True

    def kill(self) -> None:
        """Send SIGKILL to the process."""
        self.process.kill()
        self.process.wait()

    def halt(self) -> None:
        """Freeze the server with SIGSTOP."""
        os.kill(self.process.pid, signal.SIGSTOP)

    def go_on(self) -> None:
        """Resume the frozen server."""
        os.kill(self.process.pid, signal.SIGCONT)


class Kafka(Server):
    """One node that is broker and controller (KRaft). The `guarded` port requires a password. The user joe
    has a password but no rights."""

    name = "Kafka"

    def __init__(self, folder: Path) -> None:
        self.folder, self.port, self.guarded, inner = folder, free_port(), free_port(), free_port()
        jars, node = brought("kafka"), "//127.0.0.1"
        (folder / "conf").write_text(f"""
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:{inner}
controller.listener.names=CONTROLLER
listeners=PLAINTEXT:{node}:{self.port},SASL_PLAINTEXT:{node}:{self.guarded},CONTROLLER:{node}:{inner}
advertised.listeners=PLAINTEXT:{node}:{self.port},SASL_PLAINTEXT:{node}:{self.guarded}
listener.security.protocol.map=PLAINTEXT:PLAINTEXT,SASL_PLAINTEXT:SASL_PLAINTEXT,CONTROLLER:PLAINTEXT
sasl.enabled.mechanisms=PLAIN
listener.name.sasl_plaintext.plain.sasl.jaas.config=org.apache.kafka.common.security.plain.PlainLoginModule required user_joe="pw";
authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer
super.users=User:ANONYMOUS
log.dirs={folder}/d
num.partitions=4
offsets.topic.replication.factor=1
offsets.topic.num.partitions=2
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
transaction.state.log.num.partitions=2
group.initial.rebalance.delay.ms=0
broker.session.timeout.ms=2000
broker.heartbeat.interval.ms=500
""")
        java = ["java", "-Xmx512m", *QUICK, "-cp", f"{jars}/*"]
        tool = [
            *java,
            "kafka.tools.StorageTool",
            "format",
            "-t",
            "AAAAAAAAAAAAAAAAAAAAAQ",
            "-c",
            f"{folder}/conf",
        ]
        subprocess.run(tool, check=True, capture_output=True, cwd=folder)
        self.words = [*java, "kafka.Kafka", f"{folder}/conf"]
        self.start()

    @property
    def url(self) -> str:
        return f"kafka://127.0.0.1:{self.port}"

    def version(self) -> str:
        return brought("kafka").name.partition("-")[2]

    def messages(self, topic: str) -> list[tuple[str, bytes, dict[str, str]]]:
        """Returns all committed messages of a topic: key, value, headers."""
        return asyncio.run(self._messages(topic))

    async def _messages(self, topic: str) -> list[tuple[str, bytes, dict[str, str]]]:
        import aiokafka

        consumer = aiokafka.AIOKafkaConsumer(
            topic,
            bootstrap_servers=f"127.0.0.1:{self.port}",
            isolation_level="read_committed",
            auto_offset_reset="earliest",
            enable_auto_commit=False,
        )
        await consumer.start()
        try:
            parts = [*consumer.assignment()]
            assert parts, "no such topic"
            ends, found = await consumer.end_offsets(parts), []
            while any([await consumer.position(part) < ends[part] for part in parts]):
                for some in (await consumer.getmany(timeout_ms=500)).values():
                    found += [
                        ((m.key or b"").decode(), m.value, {k: v.decode() for k, v in m.headers})
                        for m in some
                    ]
            return found
        finally:
            await consumer.stop()


OPENS = [
    "java.base/jdk.internal.misc",
    "java.base/java.lang.ref",
    "java.base/jdk.internal.ref",
    "java.base/jdk.internal.reflect",
    "java.base/jdk.internal.loader",
    "java.base/jdk.internal.math",
    "java.base/jdk.internal.module",
    "java.base/jdk.internal.util.jar",
    "java.base/java.lang.module",
    "java.base/sun.nio.ch",
    "java.base/java.io",
    "java.base/java.nio",
    "java.base/java.lang",
    "java.base/java.lang.reflect",
    "java.base/java.util",
    "java.base/java.util.concurrent",
    "java.base/java.util.concurrent.atomic",
    "java.management/com.sun.jmx.remote.security",
    "java.rmi/sun.rmi.registry",
    "java.rmi/sun.rmi.server",
    "java.rmi/sun.rmi.transport",
    "java.rmi/sun.rmi.transport.tcp",
    "java.sql/java.sql",
    "jdk.management/com.sun.management.internal",
    "jdk.unsupported/sun.misc",
    "java.base/sun.security.ssl",
]


class Cassandra(Server):
    """One node with passwords, the superuser `cassandra`, and a keyspace `ks`."""

    name = "Cassandra"

    def __init__(self, folder: Path) -> None:
        self.folder, self.port, inner = folder, free_port(), free_port()
        jars = brought("cassandra")
        (folder / "cassandra.yaml").write_text(f"""
cluster_name: t
num_tokens: 1
partitioner: org.apache.cassandra.dht.Murmur3Partitioner
endpoint_snitch: SimpleSnitch
authenticator: PasswordAuthenticator
authorizer: CassandraAuthorizer
commitlog_sync: batch
data_file_directories: [{folder}/d]
commitlog_directory: {folder}/c
hints_directory: {folder}/h
saved_caches_directory: {folder}/s
cdc_raw_directory: {folder}/r
listen_address: 127.0.0.1
storage_port: {inner}
rpc_address: 127.0.0.1
native_transport_port: {self.port}
seed_provider: [{{class_name: org.apache.cassandra.locator.SimpleSeedProvider, parameters: [{{seeds: "127.0.0.1:{inner}"}}]}}]
""")
        opens = [f"--add-{how}={one}=ALL-UNNAMED" for how in ("opens", "exports") for one in OPENS]
        agent = next(jars.glob("jamm-*.jar"), jars)
        told = [
            "cassandra.superuser_setup_delay_ms=0",
            "cassandra.ring_delay_ms=0",
            "cassandra.skip_wait_for_gossip_to_settle=0",
            f"cassandra.config=file://{folder}/cassandra.yaml",
            f"cassandra.storagedir={folder}",
            "cassandra-foreground=yes",
            "jdk.attach.allowAttachSelf=true",
            "io.netty.tryReflectionSetAccessible=true",
        ]
        self.words = [
            "java",
            "-Xms256m",
            "-Xmx1g",
            "-XX:+UseSerialGC",
            "-XX:TieredStopAtLevel=1",
            f"-javaagent:{agent}",
            *opens,
            *[f"-D{one}" for one in told],
            "-cp",
            f"{jars}/*",
            "org.apache.cassandra.service.CassandraDaemon",
        ]
        self.start()
        self.make_keyspace()

    def make_keyspace(self) -> None:
        """Makes an empty keyspace."""
        replication = "{'class': 'SimpleStrategy', 'replication_factor': 1}"
        self.ask(f"CREATE KEYSPACE ks WITH replication = {replication}")

    @property
    def url(self) -> str:
        return f"cassandra://cassandra:cassandra@127.0.0.1:{self.port}/ks"

    def version(self) -> str:
        return str(self.ask("SELECT release_version FROM system.local")[0][0])

    def answers(self) -> bool:
        """Returns whether the superuser can log in."""
        try:
            self.ask("SELECT key FROM system.local")
        except Exception:  # noqa: BLE001 - any error means "not ready"
            return False
        return True

    def ask(self, question: str) -> list[tuple[Any, ...]]:
        """Runs a statement and returns its rows."""
        from cassandra.auth import PlainTextAuthProvider
        from cassandra.cluster import Cluster

        cluster = Cluster(
            ["127.0.0.1"],
            self.port,
            auth_provider=PlainTextAuthProvider("cassandra", "cassandra"),
            connect_timeout=10,
        )
        try:
            return [tuple(row) for row in cluster.connect().execute(question, timeout=60)]
        finally:
            cluster.shutdown()


class Ferret(Server):
    """FerretDB v1 on SQLite, an independent server of MongoDB's wire protocol."""

    name = "FerretDB (MongoDB's protocol)"

    def __init__(self, folder: Path) -> None:
        self.folder, self.port = folder, free_port()
        (folder / "d").mkdir()
        self.words = [
            str(brought("ferretdb") / "ferretdb"),
            "--handler=sqlite",
            f"--sqlite-url=file:{folder}/d/?_pragma=synchronous(normal)",
            f"--state-dir={folder}",
            f"--listen-addr=127.0.0.1:{self.port}",
            "--debug-addr=-",
            "--telemetry=disable",
            "--log-level=warn",
        ]
        self.start()

    @property
    def url(self) -> str:
        return f"mongodb://127.0.0.1:{self.port}"

    def version(self) -> str:
        return brought("ferretdb").name.partition("-")[2]

    def rows(self, base: str, collection: str) -> list[dict[str, Any]]:
        """Returns all documents of a collection."""
        return list(self.ask(base, collection, lambda rows: list(rows.find())))

    def ask(self, base: str, collection: str, what: Callable[[Any], Any]) -> Any:
        """Calls a function with a collection and returns the result."""
        import pymongo

        with pymongo.MongoClient(f"{self.url}/") as client:
            return what(client[base][collection])
