"""Resolves references to secrets in texts (`${env:NAME}` and `${file:PATH}`). For programs that connect to
databases."""

from __future__ import annotations

import re
from urllib.parse import quote

from gossamer.config.redaction import register_in
from gossamer.config.secret_refs import put_in
from gossamer.errors import ConfigError
from gossamer.sinks.sink_url import bare_secret

__all__ = ["bare_secret", "with_secrets"]

_REFERENCE = re.compile(r"\$\{(?:env|file):[^}]+\}")


def with_secrets(text: str) -> str:
    """Returns the text with its references replaced by the secrets. From then on, these secrets are masked in
    all output. Within a URL, a secret is percent-encoded. Raises ConfigError if a secret is missing or
    empty."""

    def value(found: re.Match[str]) -> str:
        secret = put_in(found[0])
        return quote(secret, safe="") if "://" in text[: found.start()] else secret

    try:
        filled = _REFERENCE.sub(value, text)
    except ValueError as error:
        raise ConfigError(str(error)) from None
    register_in(filled)
    return filled
