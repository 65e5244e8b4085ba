"""The file of tokens. It contains hashes, so a reader of the file cannot use them. Nobody else may read it, because it
says which tokens permit what."""

from __future__ import annotations

import hashlib
import hmac
import os
import secrets
import stat
import time
from pathlib import Path

import msgspec
from msgspec import UNSET, UnsetType

from gossamer.errors import ConfigError, UsageError
from gossamer.operations.context import SCOPES, Caller

START = "gsm_"


class StoredToken(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """A line of the file. `expires`: seconds since the epoch, or None."""

    id: str
    sha256: str
    scope: str = "read"
    prefix: str = ""
    expires: float | None = None
    name: str | UnsetType = UNSET
    """A name for the log of actions."""


class TokenFile:
    """The tokens of a file, one JSON object per line. A changed file is read again."""

    def __init__(self, path: Path) -> None:
        """Raises ConfigError if the file cannot be read, is damaged, or may be read by other users."""
        self.path = path
        self._read_at: tuple[int, int] | None = None
        self._tokens: dict[str, StoredToken] = {}
        self.load()

    def load(self) -> list[StoredToken]:
        """Returns the tokens of the file."""
        try:
            about = self.path.stat()
            if about.st_mode & (stat.S_IRWXG | stat.S_IRWXO):
                raise ConfigError(f"{self.path}: other users may read it: chmod 600 {self.path}")
            if self._read_at != (about.st_mtime_ns, about.st_size):
                lines = [line for line in self.path.read_bytes().splitlines() if line.strip()]
                found = [msgspec.json.decode(line, type=StoredToken) for line in lines]
                if bad := next((one for one in found if one.scope not in SCOPES), None):
                    raise ConfigError(f"{self.path}: token {bad.id}: the scopes are {', '.join(SCOPES)}")
                self._tokens = {one.id: one for one in found}
                self._read_at = (about.st_mtime_ns, about.st_size)
        except OSError as error:
            raise ConfigError(
                f"{self.path}: {error.strerror}: make it with gossamer tokens add --token-file {self.path}"
            ) from None
        except msgspec.MsgspecError as error:
            raise ConfigError(f"{self.path} is not a file of tokens: {error}") from None
        return list(self._tokens.values())

    def caller(self, token: str) -> Caller | None:
        """Returns what a token permits, or None if it is unknown or has expired."""
        self.load()
        number = token.removeprefix(START).partition("_")[0]
        known = self._tokens.get(number)
        digest = hashlib.sha256(token.encode()).hexdigest()
        if not hmac.compare_digest(digest, known.sha256 if known is not None else "0" * 64) or known is None:
            return None
        if known.expires is not None and known.expires <= time.time():
            return None
        name = known.name or ""
        return Caller(token=known.id, scope=known.scope, prefix=known.prefix, name=name)


def add_token(path: Path, scope: str, prefix: str, seconds: float | None, name: str = "") -> str:
    """Adds a token to the file, and makes the file if it is missing. Returns the token, which is stored nowhere."""
    if scope not in SCOPES:
        raise UsageError(f"--scope {scope}: the scopes are {', '.join(SCOPES)}")
    number = secrets.token_hex(4)
    token = f"{START}{number}_{secrets.token_hex(24)}"
    expires = None if seconds is None else time.time() + seconds
    digest = hashlib.sha256(token.encode()).hexdigest()
    stored = StoredToken(id=number, sha256=digest, scope=scope, prefix=prefix, expires=expires)
    if name:
        stored.name = name
    known = TokenFile(path).load() if path.exists() else []
    _write(path, [*known, stored])
    return token


def remove_token(path: Path, number: str) -> None:
    """Removes a token from the file. A running `serve` refuses it at once. Raises UsageError."""
    known = TokenFile(path).load()
    if number not in [one.id for one in known]:
        raise UsageError(f"{path} has no token {number}: see gossamer tokens list")
    _write(path, [one for one in known if one.id != number])


def _write(path: Path, tokens: list[StoredToken]) -> None:
    """Replaces the file at once, so that a reader never sees half of it."""
    new = path.with_name(f"{path.name}.new")
    try:
        file = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600)
        with os.fdopen(file, "wb") as out:
            out.write(msgspec.json.Encoder().encode_lines(tokens))
        os.replace(new, path)
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror}: choose a file that can be written") from None
