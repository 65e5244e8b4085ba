"""Masks secrets in all output: the functions that mask text, and a type whose values never print as plain
text."""

from __future__ import annotations

import contextlib
import re
from binascii import b2a_base64
from typing import Any, TextIO
from urllib.parse import quote, quote_plus, unquote

from gossamer.model.lazy_pattern import lazy_pattern

MASK = "***"

_REFERENCE = r"\$\{(?:env|file):[^}\s@&#\"'<>]+\}"  # a reference to a secret is not a secret itself
# a URL with placeholders, as in gossamer's own hints
_FORM = rf"(?!(?:(?-i:USER(?::PASSWORD)?@HOST)|[\w.-]*:{_REFERENCE}@)[^\s@]*(?:\s|$))"
_USERINFO = lazy_pattern(rf"(?i)(?<!http)(?<!https)://{_FORM}[^\s\"'<>]*@|://{_FORM}[^/?#\s\"'<>]*@")
_CREDENTIALS = lazy_pattern(r"://([^/?#\s\"'<>]*)@")
_NAME = (  # any words, then a word for a secret: `api_key`, `X-Amz-Signature`, `accessToken`, `PHPSESSID`
    r"(?:[\w-]*[-_.])?(?:access|api|app|auth|client|private|refresh|secret|session|shared|signing|subscription|aws)*"
    r"(?:keys?|tokens?|sig|signature|hmac|passwords?|passwd|pwd|pass|secrets?|auth|authorization|credentials?|"
    r"sessions?|sess|sid|jwt|phpsessid|jsessionid|aspsessionid[a-z]*)(?:[-_.]?id)?(?:\[\w*\])?\]?"
)
_WORDS = lazy_pattern(r"(?i)pass|pwd|secret|token|\bpin\b|otp|credential|api.?key")
_HINTS = (
    "key",
    "token",
    "sig",
    "hmac",
    "pass",
    "pwd",
    "secret",
    "auth",
    "cred",
    "sess",
    "sid",
    "jwt",
    "cookie",
    "bearer",
    "basic",
)
_VALUE = rf"(?!{_REFERENCE}(?:[&#\s\"'<>,;)]|$))(?:(?!%26)[^&#\s\"'<>])+"
_PARAMETER = lazy_pattern(rf"(?i)((?:(?<![\w%.-])|(?<=%3F)|(?<=%26)){_NAME}(?:=|%3D)){_VALUE}")
_NAMED_KEY = lazy_pattern(r"(?i)\W*(?:kafka|(?:rediss?|valkeys?)-(?:list|zset|stream))://\S*[?&]$")
"""The beginning of a URL whose parameter `key` is a name: the queue, or the field for the keys of messages."""
_HEADER = lazy_pattern(
    r"(?i)(?<![\w-])((?:proxy-)?authorization|(?:set-)?cookie2?|x-[a-z-]*(?:key|token|auth|secret)[a-z-]*)(\s*:\s*)(?=[^\s\"'])(?!\*\*\*(?:[\s\"']|$))[^\r\n]+"
)
_QUOTED = lazy_pattern(
    rf"(?i)([\"'](?:{_NAME}|(?:set-)?cookie2?)[\"']\s*[:,]\s*b?)(?:\"(?:[^\"\\]|\\.)*\"?|'(?:[^'\\]|\\.)*'?)"
)
_SCHEME = lazy_pattern(r"(?i)\b(bearer|basic)\s+[\w.~+/-]{6,}=*")


_MAX_SECRETS = 1000
_SHORT, _BARE = 4, 8
"""Secrets shorter than `_SHORT` characters are not registered, so only the patterns of this module mask them.
Secrets shorter than `_BARE` characters are masked only as whole words."""
_forms: dict[str, None] = {}
"""The registered secrets in all their encodings. The keys of this dict form an ordered set."""
_known: list[re.Pattern[str]] = []
"""A list that is empty or contains one pattern. The pattern matches every text in `_forms`, and is compiled
when it is first used."""


def register(*secrets: str) -> None:
    """Registers values so that they are masked in all output, in plain, percent-encoded, escaped and base64
    form."""
    for secret in secrets:
        if len(secret) < _SHORT or MASK in secret or secret in _forms or len(_forms) >= _MAX_SECRETS:
            continue
        raw = secret.encode("utf-8", "replace")
        forms = (
            secret,
            quote(secret, safe=""),
            quote(secret),
            quote_plus(secret),
            unquote(secret),
            _escaped(secret),
            repr(secret)[1:-1],
            _base64(raw),
            _base64(raw).replace("+", "-").replace("/", "_"),
        )
        _forms.update(dict.fromkeys(form for form in forms if len(form) >= _SHORT))
        _known.clear()


def registered() -> list[str]:
    """Returns the registered secrets in all their encodings, so that another process can register them."""
    return list(_forms)


def register_in(text: str) -> None:
    """Registers the secrets in a URL, an option or a setting: passwords, and values of parameters with a
    secret-like name. A user without a password is a secret only in an http(s) URL, where it may be a token."""
    for found in _CREDENTIALS.finditer(text) if "@" in text else ():
        user, colon, password = found[1].partition(":")
        if not colon and not text[: found.start()].lower().endswith(("http", "https")):
            continue
        for one in (password, unquote(password)) if colon else (user, unquote(user)):
            if not one.startswith("${"):
                register(one)
        if colon:
            register_pair(unquote(user), unquote(password))
    for given in _PARAMETER.finditer(text) if "=" in text or "%3" in text else ():
        if not _is_name(given):
            register(given[0].removeprefix(given[1]))


def _is_name(given: re.Match[str]) -> bool:
    """Whether a parameter with a secret-like name contains a name, such as `kafka://HOST/TOPIC?key=item`."""
    if given[1].lower() != "key=":
        return False
    before = given.string[max(0, given.start() - 300) : given.start()]
    return bool(_NAMED_KEY.fullmatch(before.rpartition(" ")[2]))


def register_pair(user: str, password: str) -> None:
    """Registers a password, and the base64 form of the pair in an Authorization header."""
    register(password, _base64(f"{user}:{password}".encode("utf-8", "replace")))


def _base64(raw: bytes) -> str:
    return b2a_base64(raw, newline=False).decode().rstrip("=")


def _escaped(text: str) -> str:
    """Returns the text as ASCII-only JSON encodes it, without quotes."""
    plain = text.replace("\\", "\\\\").replace('"', '\\"')
    return "".join(one if one.isascii() else f"\\u{ord(one):04x}" for one in plain)


def is_secret_header(name: str) -> bool:
    """Whether a header of this name carries credentials.

    >>> is_secret_header("Authorization"), is_secret_header("X-Api-Key"), is_secret_header("Accept")
    (True, True, False)
    """
    return bool(_SECRET_LINE.match(f"{name}: x".encode("utf-8", "replace"))) or suggests_secret(name)


def register_header(name: str, value: str) -> None:
    """Registers the value of a header that carries credentials. For a cookie header, registers the value of
    each cookie."""
    if not is_secret_header(name):
        return
    register(value)
    if "cookie" in name.lower():
        register(*(pair.partition("=")[2].strip() for pair in value.split(";")))
    else:
        register(value.rpartition(" ")[2])


def conceal(text: str) -> str:
    """Returns the text with the registered secrets replaced by `***`."""
    if not _forms:
        return text
    if not _known:
        forms = sorted(_forms, key=len, reverse=True)
        words = [rf"(?<!\w){re.escape(one)}(?!\w)" if len(one) < _BARE else re.escape(one) for one in forms]
        # a password such as `postgres` may be part of a scheme, which is no secret
        _known.append(re.compile(rf"(?:{'|'.join(words)})(?![\w+.-]*://)"))
    return _known[0].sub(MASK, text)


def conceal_values(value: object) -> object:
    """Returns a copy of a value in which `***` replaces the registered secrets. The value may be a text, or
    dicts and lists that contain texts at any depth."""
    if isinstance(value, str):
        return conceal(value)
    if isinstance(value, dict):
        return {conceal_values(key): conceal_values(one) for key, one in value.items()}
    return [conceal_values(one) for one in value] if isinstance(value, list | tuple) else value


def mask(text: str) -> str:
    """Returns the text with its secrets replaced by `***`. Secrets are the registered secrets, credentials in
    URLs, and the values of Authorization and Cookie headers. The values of query parameters with a
    secret-like name (key, token, signature, password, session ...) are also masked. Idempotent.

    >>> mask("http://joe:pw@example.com/?page=2&api_key=abc#top")
    'http://***:***@example.com/?page=2&api_key=***#top'
    >>> mask("Authorization: Bearer abc")
    'Authorization: ***'
    """
    text = conceal(text)
    address = text[:4] == "http" and " " not in text and "\n" not in text
    if "@" in text:
        text = _USERINFO.sub("://***:***@", text)
    if (address and "=" not in text and "%3" not in text) or not _suspect(text.lower()):
        return text
    text = _PARAMETER.sub(lambda given: given[0] if _is_name(given) else given[1] + MASK, text)
    if not address:
        text = _QUOTED.sub(rf"\1'{MASK}'", _HEADER.sub(rf"\1\2{MASK}", text))
        text = _SCHEME.sub(rf"\1 {MASK}", text)
    return text


def mask_user_info(text: str) -> str:
    """Returns a URL with only its user name and password masked.

    >>> mask_user_info("http://joe:pw@example.com/?key=1")
    'http://***:***@example.com/?key=1'
    """
    return _USERINFO.sub("://***:***@", text) if "@" in text else text


def suggests_secret(name: str) -> bool:
    """Whether the name of a field or parameter suggests that its value is a secret.

    >>> suggests_secret("user[password]"), suggests_secret("email")
    (True, False)
    """
    return bool(_WORDS.search(name))


def _suspect(text: str) -> bool:
    for hint in _HINTS:  # noqa: SIM110  a generator would double the cost, and each attempt passes here
        if hint in text:
            return True
    return False


_SECRET_LINE = lazy_pattern(
    rb"(?im)^((?:proxy-)?authorization|cookie2?|[a-z0-9-]*(?:key|token|auth|secret)[a-z0-9-]*):[ \t]*[^\r\n]+"
)

_SECRET_WORDS = (b"cookie", b"key", b"token", b"auth", b"secret")


def mask_head(head: bytes) -> bytes:
    r"""Returns the head of an HTTP request with the values of secret headers replaced by `***`.

    >>> mask_head(b"GET / HTTP/1.1\r\nCookie: a=b\r\n\r\n")
    b'GET / HTTP/1.1\r\nCookie: ***\r\n\r\n'
    """
    small = head.lower()
    if any(word in small for word in _SECRET_WORDS):  # ten times as fast as testing each line
        return _SECRET_LINE.sub(rb"\1: ***", head)
    return head


class Secret:
    """A secret value that prints as `***`. Only `reveal()` returns the value. A `Secret` is deliberately not
    a `str`, so that joining or encoding a `Secret` by mistake raises an error and does not leak the value.

    >>> key = Secret("abc")
    >>> f"{key}", repr(key), key.reveal()
    ('***', '***', 'abc')
    """

    __slots__ = ("_value",)

    def __init__(self, value: str) -> None:
        self._value = value
        register(value)

    def reveal(self) -> str:
        """Returns the secret in plain text."""
        return self._value

    def __repr__(self) -> str:
        return MASK

    def __bool__(self) -> bool:
        return bool(self._value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secret) and other._value == self._value

    def __hash__(self) -> int:
        return hash(self._value)


class MaskedStderr:
    """A wrapper of standard error that masks secrets. If the pipe is closed or the disk is full, the text is
    lost and the crawl continues."""

    def __init__(self, file: TextIO) -> None:
        self._file = file

    def write(self, told: str) -> int:
        """Writes the masked text. Errors of the write are ignored."""
        with contextlib.suppress(OSError):
            self._file.write(mask(told))
        return len(told)

    def flush(self) -> None:
        """Flushes the file. Errors are ignored."""
        with contextlib.suppress(OSError):
            self._file.flush()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)


def mask_logs() -> None:
    """Masks the records of `logging`, including tracebacks, for all handlers."""
    import logging

    make = logging.getLogRecordFactory()
    if getattr(make, "masks", False):
        return

    def masked(*given: Any, **more: Any) -> logging.LogRecord:
        record = make(*given, **more)
        try:
            record.msg, record.args = mask(record.getMessage()), ()
        except (TypeError, ValueError):  # if the arguments do not fit the message, logging reports it
            return record
        if record.exc_info:
            record.exc_text = mask(logging.Formatter().formatException(record.exc_info))
        return record

    masked.masks = True  # type: ignore[attr-defined]
    logging.setLogRecordFactory(masked)
