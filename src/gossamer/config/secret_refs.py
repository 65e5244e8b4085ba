"""Resolves references to secrets in settings: `${env:NAME}` and `${file:PATH}`. Most references are resolved
when gossamer reads the settings. References in `unlocker_key`, `session_key`, `webhooks` and `histories` (KEPT)
are resolved later."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Protocol
from urllib.parse import quote

from gossamer.config.redaction import Secret, register
from gossamer.errors import ConfigError

KEPT = ("unlocker_key", "session_key", "webhooks", "histories")
"""Settings that still contain their references to secrets after gossamer has read the settings. Code that
needs one of these secrets resolves the reference itself. gossamer never passes these secrets to other
processes."""
_REFERENCE = re.compile(r"\$\{(env|file):([^}]+)\}")


class WrittenValue(Protocol):
    """Protocol of an object that contains a setting's name, the setting's value, and the place where the
    value was set. `settings.GivenSetting` implements this protocol."""

    @property
    def where(self) -> str: ...
    @property
    def name(self) -> str: ...
    @property
    def value(self) -> object: ...


def reveal_references(one: WrittenValue, env: Mapping[str, str], in_file: bool) -> object:
    """Returns the setting's value with its references replaced by the secrets. Within a URL, a secret is
    percent-encoded. `in_file`: whether the value comes from gossamer.toml. Raises ValueError if a reference
    cannot be resolved, or if a secret is written where only a reference is allowed."""
    value = one.value
    if one.name in KEPT:
        own = one.where in env and env[one.where] == value and not _REFERENCE.search(str(value))
        return f"${{env:{one.where}}}" if own else value
    bare = _REFERENCE.sub("", str(value))
    if one.name.startswith("unlocker") and bare != str(value):
        raise ValueError("do not write the key here: write {key} in its place, and set unlocker_key")
    if (
        one.name in ("store", "broker", "cold")
        and in_file
        and re.search(r"://[^/@]*:[^/@]+@|[?&]sentinel_password=[^&]", bare)
    ):
        raise ValueError(
            "do not write a secret into the file: write ${env:NAME} or ${file:PATH} for the password"
        )

    def put(text: str, found: re.Match[str]) -> str:
        secret = _read(found[1], found[2], env)
        register(secret)
        return quote(secret, safe="") if "://" in text[: found.start()] else secret

    def filled(text: object) -> object:
        return _REFERENCE.sub(partial(put, text), text) if isinstance(text, str) else text

    return [filled(part) for part in value] if isinstance(value, list | tuple) else filled(value)


def secret(name: str, reference: str, environ: Mapping[str, str] | None = None) -> Secret:
    """Returns the secret that the setting `name` refers to. Raises ConfigError if the secret is missing or
    empty."""
    found = _REFERENCE.fullmatch(reference)
    try:
        value = _read(found[1], found[2], os.environ if environ is None else environ) if found else ""
    except ValueError as error:
        raise ConfigError(f"{name}: {error}") from None
    if not value:
        raise ConfigError(f"{name}: {reference} is empty")
    return Secret(value)


def has_reference(text: str) -> bool:
    """Whether a text contains a reference to a secret."""
    return _REFERENCE.search(text) is not None


def put_in(text: str, environ: Mapping[str, str] | None = None) -> str:
    """Returns the text with its references replaced by the secrets. Raises ValueError if a secret is missing
    or empty."""
    env = os.environ if environ is None else environ

    def value(found: re.Match[str]) -> str:
        if not (read := _read(found[1], found[2], env)):
            raise ValueError(f"{found[0]} is empty")
        register(read)
        return read

    return _REFERENCE.sub(value, text)


def _read(kind: str, name: str, env: Mapping[str, str]) -> str:
    if kind == "env":
        if name not in env:
            raise ValueError(f"the environment has no {name}")
        return env[name]
    try:
        return Path(name).expanduser().read_text("utf-8").strip()
    except (OSError, ValueError) as error:
        raise ValueError(
            f"the file {name} cannot be read: {getattr(error, 'strerror', None) or 'no text'}"
        ) from None
