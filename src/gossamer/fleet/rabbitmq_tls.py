"""Connects to RabbitMQ over TLS. Extends kombu's transport with checks of the broker's certificate and host
name. Connections to stores are checked in the same way."""

from __future__ import annotations

from typing import Any

from kombu.transport import TRANSPORT_ALIASES, pyamqp
from kombu.utils.url import parse_ssl_cert_reqs

from gossamer.fleet.brokers import TLS


class TlsTransport(pyamqp.SSLTransport):
    """A transport that uses the TLS options and the host name of the broker to which the transport connects.
    The brokers of a list may have different TLS options."""

    def establish_connection(self) -> Any:
        """Connects to the broker."""
        client: Any = self.client
        host = client.hostname or "localhost"
        given = (
            (client.transport_options or {})
            .get(TLS, {})
            .get(f"{host}:{client.port or self.default_ssl_port}", {})
        )
        client.ssl = {
            "ca_certs": given.get("ssl_ca_certs"),
            "certfile": given.get("ssl_certfile"),
            "keyfile": given.get("ssl_keyfile"),
            "cert_reqs": parse_ssl_cert_reqs(given.get("ssl_cert_reqs", "required")),
        }
        if given.get("ssl_check_hostname", True):
            client.ssl["server_hostname"] = host
        return super().establish_connection()  # type: ignore[no-untyped-call] # kombu leaves it so


TRANSPORT_ALIASES["amqps"] = f"{__name__}:TlsTransport"
