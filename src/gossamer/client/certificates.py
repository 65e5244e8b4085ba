"""Checks the TLS certificate of a host. Programs that monitor sites use this module."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from pathlib import Path

from gossamer.egress.certificates import CertificateCheck, check_certificate
from gossamer.egress.resolver import split_host
from gossamer.errors import ConfigError

__all__ = ["CertificateCheck", "certificate_of"]


def certificate_of(
    host: str, *, allow_private: Iterable[str] = (), typed: bool = False, ca_file: Path | str | None = None
) -> CertificateCheck | None:
    """Checks the certificate of a host (`host[:port]`) with a TLS handshake. Returns None if the host cannot
    be reached or does not support TLS. `allow_private` and `ca_file` have the same meaning as in the settings
    of a crawl. `typed`: whether the user named the host. An IP address or localhost that the user named is
    allowed, even if the address is private. Raises ConfigError if `ca_file` cannot be read."""
    host = host.lower()
    name, port = split_host(host)
    file = Path(ca_file) if ca_file is not None else None
    try:
        return asyncio.run(
            check_certificate(host, name, port or 443, allow=allow_private, typed=typed, authorities=file)
        )
    except OSError as error:
        raise ConfigError(f"ca_file {ca_file}: {error}") from error
