"""Webhooks: sends batches of rows as signed POST requests, according to Standard Webhooks
(standardwebhooks.com).

The body is `{"rows": [{"kind", "key", "row"}, ...]}`. `webhook-id` identifies the batch. A repeated batch has
the same rows and the same ID as before. Therefore, a receiver that remembers IDs gets each row once.
`webhook-signature` is `v1,` followed by the base64 of the HMAC-SHA256 of `ID.TIMESTAMP.BODY`. Any 2xx status
means success. After the status 408, 425, 429 or 5xx, or if there is no response, the batch is retried. After
400, 413 or 422, the rows are sent one by one, and rows that fail again are recorded as refused. Any other
status is an error that ends the crawl.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
import pycurl

from gossamer.egress.guarded_post import signing_key, webhook_headers
from gossamer.errors import SinkAway, SinkError, UsageError
from gossamer.model.visit import Row
from gossamer.sinks.refused_rows import Refuse
from gossamer.sinks.shipper import JournalRow
from gossamer.sinks.sink_url import SinkUrl

_AGAIN = (408, 425, 429)
_ROWS = (400, 413, 422)
_HOPELESS = (
    pycurl.E_UNSUPPORTED_PROTOCOL,
    pycurl.E_URL_MALFORMAT,
    pycurl.E_PEER_FAILED_VERIFICATION,
    pycurl.E_SSL_CACERT_BADFILE,
)
DEFAULT_BATCH_ROWS = 100
"""The number of rows per batch if the URL has no `batch=`."""


class Webhook:
    """The Shipper for one receiver. Redirects are not followed. Private addresses are allowed, because the
    user chose the URL."""

    knows = False

    def __init__(self, place: SinkUrl, name: str, refuse: Refuse) -> None:
        self.where, self._name, self._refuse = place.where, name, refuse
        self.refused: list[Row] = []
        self._url = place.url.replace("+webhook://", "://", 1)
        secret = place.given["secret"]
        try:
            self._key = signing_key(secret)
            self._most = int(place.given.get("batch", DEFAULT_BATCH_ROWS))
        except ValueError as error:
            raise UsageError(
                f"-o {self.where}: batch= must be a number, and a secret after whsec_ must be base64: {error}"
            ) from None
        if not self._key:
            raise UsageError(f"-o {self.where}: the secret is empty")
        self._ca_file = place.given.get("ca_file")
        self._curl: pycurl.Curl | None = None

    def open(self) -> int:
        """Returns 0. The first batch shows whether the receiver responds."""
        return 0

    def begin(self) -> None:
        """See `shipper.Shipper`. Rows of earlier runs stay, because they cannot be removed."""

    def send(self, start: int, end: int, lines: Sequence[JournalRow]) -> int:
        """See `shipper.Shipper`."""
        refused = []
        for first in range(0, len(lines), self._most):
            some = lines[first : first + self._most]
            called = f"{self._name}-{start}-{first}"
            if (code := self._post(called, some)) not in _ROWS:
                continue
            if len(some) == 1:
                refused.append(self._aside(some[0], code))
                continue
            for n, line in enumerate(some):
                if (code := self._post(f"{called}-{n}", [line])) in _ROWS:
                    refused.append(self._aside(line, code))
        self.refused += refused
        return end

    def drop(self) -> None:
        """See `shipper.Shipper`."""
        curl, self._curl = self._curl, None
        if curl is not None:
            curl.close()

    def _aside(self, line: JournalRow, code: int) -> Row:
        row = Row(line.kind, line.key, msgspec.json.decode(line.row))
        self._refuse(self.where, row, f"status {code}")
        return row

    def _post(self, called: str, lines: Sequence[JournalRow]) -> int:
        """Sends one batch. Returns the HTTP status if the status is 2xx, 400, 413 or 422 (`_ROWS`). Raises
        SinkAway or SinkError for any other status, and if the request fails."""
        body = msgspec.json.encode(
            {"rows": [{"kind": one.kind, "key": one.key, "row": one.row} for one in lines]}
        )
        curl = self._curl = self._curl or pycurl.Curl()
        said = bytearray()
        options: list[tuple[int, Any]] = [
            (pycurl.URL, self._url),
            (pycurl.POST, 1),
            (pycurl.POSTFIELDS, body),
            (pycurl.NOSIGNAL, 1),
            (pycurl.NOPROXY, "*"),
            (pycurl.CONNECTTIMEOUT, 10),
            (pycurl.TIMEOUT, 60),
            (pycurl.FOLLOWLOCATION, 0),
            (pycurl.WRITEFUNCTION, said.extend),
            (
                pycurl.HTTPHEADER,
                [
                    "Content-Type: application/json",
                    "User-Agent: gossamer",
                    "Expect:",
                    *webhook_headers(self._key, called, body),
                ],
            ),
        ]
        if self._ca_file:
            options.append((pycurl.CAINFO, self._ca_file))
        try:
            for option, value in options:
                curl.setopt(option, value)
            curl.perform()
        except pycurl.error as error:
            if error.args[0] in _HOPELESS:
                raise SinkError(f"{self.where}: {error.args[1]}") from None
            raise SinkAway(f"{self.where} does not accept rows: {error.args[1]}") from None
        code = int(curl.getinfo(pycurl.RESPONSE_CODE))
        if 200 <= code < 300 or code in _ROWS:
            return code
        if code >= 500 or code in _AGAIN:
            raise SinkAway(f"{self.where} does not accept rows: status {code}")
        raise SinkError(
            f"{self.where} refuses rows with status {code}: {said[:200].decode('utf-8', 'replace')}"
        )
