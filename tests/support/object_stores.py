"""Real object stores on loopback that a test can kill and restart with their data: MinIO, fake-gcs-server,
HDFS.

`deploy/needs.sh` downloads them into the user's cache.
"""

from __future__ import annotations

import json
import os
import subprocess
import time
import urllib.request
from abc import ABC, abstractmethod
from pathlib import Path

from gossamer.errors import SinkError
from gossamer.sinks.object_store import ObjectFolder
from support.processes import free_port

CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "gossamer-servers"
MINIO_USER = {"AWS_ACCESS_KEY_ID": "joe", "AWS_SECRET_ACCESS_KEY": "secret-of-joe"}
JAVA = [
    "java",
    "-Xmx256m",
    "-XX:+UseSerialGC",
    "-XX:TieredStopAtLevel=1",
    "--add-opens",
    "java.base/java.lang=ALL-UNNAMED",
]


class Objects(ABC):
    """An object store. The commands in `words` start its processes."""

    name = ""

    def __init__(self, folder: Path) -> None:
        self.folder, self.port = folder, free_port()
        self.server = next(iter(sorted(CACHE.glob(f"{self.name}-*/ready"), reverse=True))).parent
        self.version = self.server.name.partition("-")[2]
        self.words: list[list[str]] = []
        self.env = dict(os.environ)
        self.processes: list[subprocess.Popen[bytes]] = []

    @property
    @abstractmethod
    def url(self) -> str:
        """Returns the value for `-o`."""

    def start(self) -> None:
        """Start or restart the store. Returns when the store accepts objects."""
        with (self.folder / "log").open("ab") as log:
            self.processes = [
                subprocess.Popen(one, stdout=log, stderr=log, cwd=self.folder, env=self.env)
                for one in self.words
            ]
        deadline = time.monotonic() + 120
        while True:
            try:
                self.made()
                ObjectFolder(self.url).check()
            except (SinkError, OSError):
                assert time.monotonic() < deadline, (self.folder / "log").read_text()[-3000:]
                time.sleep(0.1)
            else:
                return

    def made(self) -> None:  # noqa: B027 - most need not
        """Create the bucket, if the store requires that."""

    def kill(self) -> None:
        """Send SIGKILL to the process."""
        for process in self.processes:
            process.kill()
            process.wait()


class Minio(Objects):
    """A MinIO server, which speaks the S3 protocol."""

    name = "minio"

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        (folder / "disk" / "bucket").mkdir(parents=True)
        self.env |= {"MINIO_ROOT_USER": "joe", "MINIO_ROOT_PASSWORD": "secret-of-joe"}
        where = ["--address", f"127.0.0.1:{self.port}", "--console-address", f"127.0.0.1:{free_port()}"]
        self.words = [[str(self.server / "minio"), "server", str(folder / "disk"), *where]]
        os.environ |= MINIO_USER
        self.start()

    @property
    def url(self) -> str:
        return f"s3://bucket/some/prefix?endpoint=http://127.0.0.1:{self.port}"


class Gcs(Objects):
    """A fake server of Google Cloud Storage."""

    name = "gcs"

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        where = ["-host", "127.0.0.1", "-port", str(self.port), "-public-host", f"127.0.0.1:{self.port}"]
        self.words = [
            [
                str(self.server / "fake-gcs-server"),
                "-scheme",
                "http",
                "-filesystem-root",
                str(folder / "disk"),
                *where,
            ]
        ]
        self.start()

    def made(self) -> None:
        if not (self.folder / "disk" / "bucket").exists():
            urllib.request.urlopen(
                urllib.request.Request(
                    f"http://127.0.0.1:{self.port}/storage/v1/b?project=p",
                    json.dumps({"name": "bucket"}).encode(),
                    {"Content-Type": "application/json"},
                )
            ).close()

    @property
    def url(self) -> str:
        return f"gs://bucket/some/prefix?endpoint=http://127.0.0.1:{self.port}&anonymous=yes"


class Hdfs(Objects):
    """An HDFS with a NameNode and a DataNode."""

    name = "hdfs"

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        node = f"hdfs://127.0.0.1:{free_port()}"
        here = {
            "dfs.namenode.name.dir": f"file://{folder}/name",
            "dfs.datanode.data.dir": f"file://{folder}/data",
            "dfs.namenode.http-address": f"127.0.0.1:{self.port}",
            "dfs.datanode.address": f"127.0.0.1:{free_port()}",
            "dfs.datanode.http.address": f"127.0.0.1:{free_port()}",
            "dfs.datanode.ipc.address": f"127.0.0.1:{free_port()}",
            "dfs.replication": "1",
            "dfs.permissions.enabled": "false",
            "dfs.datanode.hostname": "127.0.0.1",
            "dfs.namenode.datanode.registration.ip-hostname-check": "false",
            "dfs.namenode.safemode.extension": "0",
        }
        for page in ("hdfs", "datanode", "static"):
            (folder / "conf" / "webapps" / page).mkdir(parents=True)
        for name, values in (("core", {"fs.defaultFS": node}), ("hdfs", here)):
            rows = "".join(
                f"<property><name>{key}</name><value>{value}</value></property>"
                for key, value in values.items()
            )
            (folder / "conf" / f"{name}-site.xml").write_text(f"<configuration>{rows}</configuration>")
        java = [*JAVA, "-cp", f"{folder}/conf:{self.server}/*"]
        main = "org.apache.hadoop.hdfs.server"
        subprocess.run(
            [*java, f"{main}.namenode.NameNode", "-format", "-force"],
            check=True,
            capture_output=True,
            cwd=folder,
        )
        self.words = [[*java, f"{main}.namenode.NameNode"], [*java, f"{main}.datanode.DataNode"]]
        self.start()

    @property
    def url(self) -> str:
        return f"hdfs://127.0.0.1:{self.port}/some/prefix?user=joe"


STORES = {"S3": Minio, "GCS": Gcs, "HDFS": Hdfs}
