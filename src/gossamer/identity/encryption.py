"""Encrypts stored log-ins with AES-GCM. The key is derived from the setting's text by scrypt."""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections.abc import Mapping
from typing import Any

import msgspec

from gossamer.config.optional_deps import install_command
from gossamer.config.redaction import Secret
from gossamer.errors import ConfigError

PLAIN, SEALED = b"p1", b"s1"
NONCE_BYTES = 12


class Encryption:
    """Encrypts and decrypts stored log-ins. `key`: the setting's text, None for no encryption. `salt`: the
    salt of the store. Raises ConfigError if the package is missing."""

    def __init__(self, key: Secret | None, salt: int) -> None:
        self._salt, self._key = f"gossamer sessions {salt}".encode(), b""
        self._cipher: Any = None
        if key is not None:
            try:
                from cryptography.hazmat.primitives.ciphers.aead import AESGCM
            except ImportError:
                raise ConfigError(
                    f"session_key needs another package: {install_command('sessions')}"
                ) from None
            self._key = hashlib.scrypt(key.reveal().encode(), salt=self._salt, n=1 << 14, r=8, p=1, dklen=32)
            self._cipher = AESGCM(self._key)

    def close(self, state: Mapping[str, Any], name: str) -> bytes:
        """Returns an encrypted state for the store. `name` consists of the site and the account. The state
        can be decrypted only with the same name."""
        plain = msgspec.msgpack.encode(state)
        if self._cipher is None:
            return PLAIN + plain
        nonce = secrets.token_bytes(NONCE_BYTES)
        sealed: bytes = self._cipher.encrypt(nonce, plain, name.encode())
        return SEALED + nonce + sealed

    def open(self, kept: bytes, name: str) -> dict[str, Any]:
        """Returns the decrypted state. Raises ConfigError if this key does not decrypt the state. An
        unencrypted state needs no key."""
        kind, rest = kept[:2], kept[2:]
        if kind == SEALED:
            advice = "set the key with which it was encrypted"
            if "/" in name:
                advice += f", or: gossamer sessions forget {name.replace('/', ' ')}"
            if self._cipher is None:
                raise ConfigError(f"{name} is encrypted in the store, but session_key is not set: {advice}")
            from cryptography.exceptions import InvalidTag

            try:
                rest = self._cipher.decrypt(rest[:NONCE_BYTES], rest[NONCE_BYTES:], name.encode())
            except InvalidTag:
                raise ConfigError(
                    f"{name} in the store was encrypted with another session_key: {advice}"
                ) from None
        elif kind != PLAIN:
            raise ConfigError(
                f"{name} was stored by another version of gossamer: run the same version everywhere"
            )
        return msgspec.msgpack.decode(rest, type=dict[str, Any])

    @property
    def has_key(self) -> bool:
        """Whether a key for the encryption is configured."""
        return self._cipher is not None

    def told(self, fields: Mapping[str, str]) -> str:
        """Returns four hex digits that change when the credentials change. An attacker cannot find a password
        with these digits, because four digits contain too little information. In addition, checking a guess
        requires the key or, if no key is configured, a slow computation."""
        text = msgspec.json.encode(sorted(fields.items()))
        if self._key:
            return hmac.digest(self._key, text, "sha256")[:2].hex()
        return hashlib.scrypt(text, salt=self._salt, n=1 << 11, r=8, p=1, dklen=2).hex()
