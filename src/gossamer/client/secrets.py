"""Replaces references to secrets (`${env:NAME}` and `${file:PATH}`) in strings with the secrets. Programs
that connect to databases use this module."""

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
    """Returns the text with each reference replaced by its secret. After this call, all output masks these
    secrets. In a URL, the secret is percent-encoded. Raises ConfigError if a secret is missing or empty."""

    def value(found: re.Match[str]) -> str:
        secret = put_in(found[0])
        return quote(secret, safe="") if "://" in text[: found.start()] else secret

    try:
        filled = _REFERENCE.sub(value, text)
    except ValueError as error:
        raise ConfigError(str(error)) from None
    register_in(filled)
    return filled
