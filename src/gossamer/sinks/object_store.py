"""Accesses object stores by URL, through OpenDAL: `s3://BUCKET/PREFIX`, `gs://BUCKET/PREFIX`,
`hdfs://HOST:PORT/FOLDER` (WebHDFS).

Credentials are read from the usual sources of each store's own tools, such as `AWS_ACCESS_KEY_ID`, AWS
profiles and roles, or `GOOGLE_APPLICATION_CREDENTIALS`. Other settings are parameters of the URL: `endpoint`,
`region`, `user`, `anonymous=yes`.
"""

from __future__ import annotations

import os
import re
from typing import Any, BinaryIO
from urllib.parse import parse_qsl

from gossamer.config.optional_deps import install_command
from gossamer.config.redaction import mask
from gossamer.errors import ConfigError, SinkError, UsageError

CHUNK_BYTES = 8 << 20
MAX_WHOLE_BYTES = 32 << 20
"""The maximum size in bytes of an object that is uploaded in one piece."""
_FORBIDDEN = ("AccessControlException", "SecurityException", "AuthorizationException")
"""Names of the HDFS exceptions that report a missing permission of the user."""
_STATUS = re.compile(r"response: Parts \{ status: (\d+)")
_TLS = ("certificate", "InvalidContentType")
"""Substrings of TLS error messages. These messages report that the server does not support TLS, or that the
server's certificate is not trusted."""
CHECK_TIMEOUT_S, TRANSFER_TIMEOUT_S = 8.0, 300.0
"""Timeouts of requests to an object store, in seconds. CHECK_TIMEOUT_S limits the check whether an object
store is writable. TRANSFER_TIMEOUT_S limits each request that uploads or downloads a piece of an object."""
_UNSIGNED = (
    "no credentials found: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY (s3://) or "
    "GOOGLE_APPLICATION_CREDENTIALS (gs://), or add "
    "?anonymous=yes where the bucket is open"
)
PARAMETERS = ("endpoint", "region", "user", "anonymous")


class ObjectFolder:
    """A folder in an object store. The constructor sends no request. The constructor raises UsageError or
    ConfigError for an invalid URL."""

    def __init__(self, url: str) -> None:
        self.url = mask(url.partition("?")[0])
        scheme, _, rest = url.partition("://")
        place, _, query = rest.partition("?")
        given = dict(parse_qsl(query))
        if strange := [name for name in given if name not in PARAMETERS]:
            raise UsageError(f"{self.url}: no parameter {strange[0]!r}; there are {', '.join(PARAMETERS)}")
        try:
            import opendal
        except ImportError as error:
            raise ConfigError(f"{self.url} needs opendal: {install_command('objects')}") from error
        self._errors: Any = opendal.exceptions
        self._wrong: tuple[type[Exception], ...] = tuple(
            kind for kind in vars(opendal.exceptions).values() if isinstance(kind, type)
        )
        service, options = _options(scheme, place, given)
        try:
            again, layers = opendal.Operator(service, **options), opendal.layers
            again = again.layer(layers.RetryLayer(max_times=2))
            self._asked: Any = again.layer(layers.TimeoutLayer(CHECK_TIMEOUT_S, CHECK_TIMEOUT_S))
            self._store: Any = again.layer(layers.TimeoutLayer(TRANSFER_TIMEOUT_S, TRANSFER_TIMEOUT_S))
        except self._wrong as error:
            raise ConfigError(f"{self.url}: {error_message(error)}") from error

    def check(self) -> None:
        """Checks that the store is writable by writing and deleting a small object. Raises SinkError if
        writing is refused permanently, OSError if the failure may be temporary."""
        name = f".gossamer-{os.getpid()}"
        try:
            self._asked.write(name, b"\n")
            self._asked.delete(name)
        except self._wrong as error:
            if isinstance(error, self._errors.RateLimited) or is_outage(str(error)):
                raise OSError(error_message(error)) from error
            raise SinkError(f"cannot write to {self.url}: {error_message(error)}") from error

    def send(self, path: str, name: str) -> None:
        """Uploads the file at `path` as `name`, and replaces an existing object. Raises SinkError if the
        failure is permanent, OSError if it may be temporary."""
        with open(path, "rb") as source:
            data = source.read()
        try:
            # The object is uploaded in one piece, so it exists completely or not at all.
            self._store.write(name, data)
            there = int(self._store.stat(name).content_length)
        except self._errors.NotFound as error:
            raise SinkError(f"cannot write to {self.url}: {error_message(error)}") from error
        except self._wrong as error:
            raise self._meant(error) from error
        if there != len(data):
            raise OSError(f"{name} has {there} bytes there, {len(data)} here")

    def put(self, name: str, file: BinaryIO, size: int) -> None:
        """Uploads the bytes of a file unless an object of this name and size exists. Raises the same errors
        as `send`."""
        try:
            try:
                if int(self._store.stat(name).content_length) == size:
                    return
            except self._errors.NotFound:
                pass
            file.seek(0)
            if size <= MAX_WHOLE_BYTES:
                self._store.write(name, file.read())
            else:
                # a multipart upload: the object appears only when it is closed
                with self._store.open(name, "wb") as into:
                    while piece := file.read(CHUNK_BYTES):
                        into.write(piece)
            there = int(self._store.stat(name).content_length)
        except self._wrong as error:
            raise self._meant(error) from error
        if there != size:
            raise OSError(f"{name} has {there} bytes there, {size} here")

    def _meant(self, error: Exception) -> Exception:
        """Returns the exception for a failed write: SinkError if the failure is permanent, OSError if it may
        be temporary. HDFS reports every failure as "forbidden", even if its nodes are only starting up."""
        refused = isinstance(error, (self._errors.PermissionDenied, self._errors.ConfigInvalid))
        if refused and ("WebHdfsError" not in str(error) or any(name in str(error) for name in _FORBIDDEN)):
            return SinkError(f"cannot write to {self.url}: {error_message(error)}")
        return OSError(error_message(error))

    def names(self) -> list[tuple[str, int]]:
        """Returns the names and the sizes in bytes of all objects. Raises SinkError."""
        try:
            found = [entry.path for entry in self._store.scan("/")]
            return [
                (name, int(self._store.stat(name).content_length)) for name in found if not name.endswith("/")
            ]
        except self._wrong as error:
            raise SinkError(f"cannot read {self.url}: {error_message(error)}") from error

    def fetch(self, name: str, path: str) -> None:
        """Downloads an object to a file, completely or not at all. Raises SinkError."""
        try:
            with self._store.open(name, "rb") as source, open(f"{path}.new", "wb") as target:
                while piece := source.read(CHUNK_BYTES):
                    target.write(piece)
        except self._wrong as error:
            raise SinkError(f"cannot read {self.url}: {error_message(error)}") from error
        os.rename(f"{path}.new", path)


def _options(scheme: str, place: str, given: dict[str, str]) -> tuple[str, dict[str, str]]:
    """Returns OpenDAL's name for the service, and the options of the service."""
    first, _, folder = place.partition("/")
    options = {"root": f"/{folder.strip('/')}"}
    if scheme == "s3":
        region = (
            given.get("region")
            or os.environ.get("AWS_REGION")
            or os.environ.get("AWS_DEFAULT_REGION")
            or "us-east-1"
        )
        options |= {"bucket": first, "region": region}
    elif scheme == "gs":
        options |= {"bucket": first}
    else:
        options |= {"endpoint": f"http://{first}"} | ({"user_name": given["user"]} if "user" in given else {})
        return "webhdfs", options
    if "endpoint" in given:
        options["endpoint"] = given["endpoint"]
    if given.get("anonymous") == "yes":
        options |= {"allow_anonymous": "true"} | (
            {"disable_config_load": "true"} if scheme == "s3" else {"disable_vm_metadata": "true"}
        )
    return {"s3": "s3", "gs": "gcs"}[scheme], options


def is_outage(text: str) -> bool:
    """Returns whether an OpenDAL error message indicates an outage. In an outage, the server does not answer,
    or the server reports an internal error. HDFS reports every failure as "forbidden". A failure is not an
    outage if the message contains one of the exception names in _FORBIDDEN."""
    if "WebHdfsError" in text:
        return not any(name in text for name in _FORBIDDEN)
    if status := _STATUS.search(text):
        return int(status[1]) >= 500 or int(status[1]) in (408, 425, 429)
    return "timeout reached" in text or (
        "called: reqwest::send" in text and not any(what in text for what in _TLS)
    )


def error_message(error: Exception) -> str:
    """Returns the essential part of an OpenDAL error message, which has many lines."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    head = lines[0] if lines else type(error).__name__
    if "failed to load signing credential" in str(error):
        return _UNSIGNED
    source = next((line for at, line in enumerate(lines) if at and lines[at - 1].startswith("Source")), "")
    return mask(f"{head}{f' ({source})' if source else ''}"[:300])
