"""Posts JSON to an address that a person named. The egress guard checks the address, and each request may be signed
as Standard Webhooks defines it (standardwebhooks.com)."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import hmac
import time
from collections.abc import Iterable, Sequence

import pycurl

from gossamer.egress.resolver import Refused, Resolver
from gossamer.errors import DeliveryError

TIMEOUT_S = 10


def signing_key(secret: str) -> bytes:
    """Returns the key of a secret. After `whsec_`, the secret is base64. Raises ValueError."""
    return base64.b64decode(secret[6:], validate=True) if secret.startswith("whsec_") else secret.encode()


def webhook_headers(key: bytes, number: str, body: bytes) -> list[str]:
    """Returns the headers of a message with the id `number`. Without a key, the message is not signed."""
    now = str(int(time.time()))
    headers = [f"webhook-id: {number}", f"webhook-timestamp: {now}"]
    if key:
        signed = hmac.digest(key, f"{number}.{now}.".encode() + body, hashlib.sha256)
        headers.append(f"webhook-signature: v1,{base64.b64encode(signed).decode()}")
    return headers


class GuardedPost:
    """Posts to one URL. `name`: the server's address without secrets. `allow`: networks that may be reached.
    `is_typed`: whether a private address is allowed because the user of this machine typed it."""

    def __init__(
        self, url: str, host: str, port: int, name: str, allow: Iterable[str], *, is_typed: bool
    ) -> None:
        self._url, self._host, self._port = url, f"[{host}]" if ":" in host else host, port
        self._allow, self._is_typed, self.name = tuple(allow), is_typed, name

    async def __call__(self, body: bytes, headers: Sequence[str] = ()) -> int:
        """Posts `body`. Returns the status if it is 2xx. Raises DeliveryError, whose `status` is 0 if there was no
        answer."""
        addresses = await checked(self._host, self._port, self._allow, self.name, is_typed=self._is_typed)
        status = await asyncio.to_thread(self._send, addresses, body, headers)
        if not 200 <= status < 300:
            raise DeliveryError(f"{self.name} answers {status}", status)
        return status

    def _send(self, addresses: Sequence[str], body: bytes, headers: Sequence[str]) -> int:
        curl = pycurl.Curl()
        try:
            curl.setopt(pycurl.URL, self._url)
            curl.setopt(pycurl.RESOLVE, [f"{self._host}:{self._port}:{','.join(addresses)}"])
            curl.setopt(pycurl.POST, 1)
            curl.setopt(pycurl.POSTFIELDS, body)
            curl.setopt(pycurl.NOSIGNAL, 1)
            curl.setopt(pycurl.NOPROXY, "*")
            curl.setopt(pycurl.TIMEOUT, TIMEOUT_S)
            curl.setopt(pycurl.WRITEFUNCTION, lambda _: None)
            curl.setopt(
                pycurl.HTTPHEADER,
                ["Content-Type: application/json", "User-Agent: gossamer", "Expect:", *headers],
            )
            curl.perform()
            return int(curl.getinfo(pycurl.RESPONSE_CODE))
        except pycurl.error as error:
            raise DeliveryError(f"{self.name}: {error.args[1]}") from None
        finally:
            curl.close()


async def checked(
    host: str, port: int, allow: Iterable[str], name: str, *, is_typed: bool = True
) -> tuple[str, ...]:
    """Returns the addresses of a host that the egress guard permits. `is_typed`: see `GuardedPost`. Raises
    DeliveryError."""
    resolver = Resolver(allow, [f"{host}:{port}"] if is_typed else [])
    try:
        found = await resolver.resolve(f"{host}:{port}")
    finally:
        await resolver.close()
    if isinstance(found, Refused):
        hint = "; name its network in allow_private" if found.reason == "private" else ""
        raise DeliveryError(f"{name}: {found.detail or found.reason}{hint}")
    return tuple(found.addresses)
