"""Reads the certificate of a host by a TLS handshake, through the egress guard."""

from __future__ import annotations

import asyncio
import contextlib
import ssl
from collections.abc import Iterable
from pathlib import Path
from typing import Final, NamedTuple

from gossamer.egress.resolver import Resolver

TIMEOUT_S: Final = 15.0
"""Seconds within which a handshake must end."""
_EXPIRED: Final = (9, 10)
_OTHER_NAME: Final = (62, 64)
"""OpenSSL's error codes. _EXPIRED contains the codes for a certificate that is not valid at this time.
_OTHER_NAME contains the codes for a certificate that belongs to other names."""


class CertificateCheck(NamedTuple):
    """The result of a handshake. `fault` is '' if the certificate is valid. `fault` is `expired` if the
    certificate is expired or not yet valid, and `name` if the certificate belongs to other names. All other
    faults are `untrusted`. `detail`: OpenSSL's message. `begin` and `end`: the period in which the
    certificate is valid, in seconds since the epoch. `begin` and `end` are 0 if the certificate has a
    fault."""

    fault: str
    detail: str = ""
    begin: float = 0.0
    end: float = 0.0


async def check_certificate(
    authority: str,
    name: str,
    port: int,
    *,
    allow: Iterable[str] = (),
    typed: bool = False,
    authorities: Path | None = None,
) -> CertificateCheck | None:
    """Checks the certificate of a host by a handshake. Returns None if the host cannot be reached or does not
    speak TLS. `authority`: `host[:port]`. `allow`: private networks that may be reached. `typed`: whether the
    user named the host. `authorities`: a file with further certificates that are trusted. Raises OSError if
    the file cannot be read."""
    context = ssl.create_default_context()
    if authorities is not None:
        context.load_verify_locations(str(authorities))
    resolver = Resolver(allow, [authority] if typed else [])
    try:
        found = await resolver.resolve(authority)
        for address in found.addresses:
            try:
                return await _handshake(address, port, name, context)
            except (OSError, TimeoutError, ValueError):
                continue  # the next address may answer
    finally:
        await resolver.close()
    return None


async def _handshake(address: str, port: int, name: str, context: ssl.SSLContext) -> CertificateCheck:
    try:
        async with asyncio.timeout(TIMEOUT_S):
            _, writer = await asyncio.open_connection(address, port, ssl=context, server_hostname=name)
    except ssl.SSLCertVerificationError as error:
        faults = {**dict.fromkeys(_EXPIRED, "expired"), **dict.fromkeys(_OTHER_NAME, "name")}
        return CertificateCheck(
            faults.get(error.verify_code, "untrusted"), str(error.verify_message).strip()[:250]
        )
    try:
        certificate = writer.get_extra_info("peercert") or {}
    finally:
        writer.close()
        with contextlib.suppress(OSError, TimeoutError):
            async with asyncio.timeout(1.0):
                await writer.wait_closed()
    begin, end = (ssl.cert_time_to_seconds(str(certificate[key])) for key in ("notBefore", "notAfter"))
    return CertificateCheck("", "", begin, end)
