"""Secrets never reach an output: the function that masks text, and the type that keeps a secret from being printed."""

from __future__ import annotations

import re

MASK = "***"

_REFERENCE = r"\$\{(?:env|file):[^}\s@&#\"'<>]+\}"  # says where a secret is, and is none
_FORM = rf"(?!(?:(?-i:USER(?::PASSWORD)?@HOST)|[\w.-]*:{_REFERENCE}@)[^\s@]*(?:\s|$))"  # our own hints say how a URL is written
_USERINFO = re.compile(rf"(?i)(?<!http)(?<!https)://{_FORM}[^\s\"'<>]*@|://{_FORM}[^/?#\s\"'<>]*@")
_NAME = (  # any words, then one that names a secret: `api_key`, `X-Amz-Signature`, `accessToken`, `PHPSESSID`
    r"(?:[\w-]*[-_.])?(?:access|api|app|auth|client|private|refresh|secret|session|shared|signing|subscription|aws)*"
    r"(?:keys?|tokens?|sig|signature|hmac|passwords?|passwd|pwd|pass|secrets?|auth|authorization|credentials?|"
    r"sessions?|sess|sid|jwt|phpsessid|jsessionid|aspsessionid[a-z]*)(?:[-_.]?id)?(?:\[\w*\])?\]?"
)
_WORDS = re.compile(r"(?i)pass|pwd|secret|token|\bpin\b|otp|credential|api.?key")
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
_PARAMETER = re.compile(rf"(?i)((?:(?<![\w%.-])|(?<=%3F)|(?<=%26)){_NAME}(?:=|%3D)){_VALUE}")
_HEADER = re.compile(
    r"(?i)(?<![\w-])((?:proxy-)?authorization|(?:set-)?cookie2?|x-[a-z-]*(?:key|token|auth|secret)[a-z-]*)(\s*:\s*)(?=[^\s\"'])[^\r\n]+"
)
_QUOTED = re.compile(
    rf"(?i)([\"'](?:{_NAME}|(?:set-)?cookie2?)[\"']\s*[:,]\s*b?)(?:\"(?:[^\"\\]|\\.)*\"?|'(?:[^'\\]|\\.)*'?)"
)
_SCHEME = re.compile(r"(?i)\b(bearer|basic)\s+[\w.~+/-]{6,}=*")


def mask(text: str) -> str:
    """The text with its secrets replaced by `***`: credentials in URLs, values of query parameters that are named like
    a secret (key, token, signature, password, session ...), values of Authorization and Cookie headers. Idempotent.

    >>> mask("http://joe:pw@example.com/?page=2&api_key=abc#top")
    'http://***:***@example.com/?page=2&api_key=***#top'
    >>> mask("Authorization: Bearer abc")
    'Authorization: ***'
    """
    address = text[:4] == "http" and " " not in text and "\n" not in text
    if "@" in text:
        text = _USERINFO.sub("://***:***@", text)
    if (address and "=" not in text and "%3" not in text) or not _suspect(text.lower()):
        return text
    text = _PARAMETER.sub(rf"\1{MASK}", text)
    if not address:
        text = _QUOTED.sub(rf"\1'{MASK}'", _HEADER.sub(rf"\1\2{MASK}", text))
        text = _SCHEME.sub(rf"\1 {MASK}", text)
    return text


def nameless(text: str) -> str:
    """A URL without its user and password, all else as it is.

    >>> nameless("http://joe:pw@example.com/?key=1")
    'http://***:***@example.com/?key=1'
    """
    return _USERINFO.sub("://***:***@", text) if "@" in text else text


def secretive(name: str) -> bool:
    """Whether a field or parameter is named like a secret.

    >>> secretive("user[password]"), secretive("email")
    (True, False)
    """
    return bool(_WORDS.search(name))


def _suspect(text: str) -> bool:
    for hint in _HINTS:  # noqa: SIM110  a generator would double the cost, and each attempt passes here
        if hint in text:
            return True
    return False


_SECRET_LINE = re.compile(
    rb"(?im)^((?:proxy-)?authorization|cookie2?|[a-z0-9-]*(?:key|token|auth|secret)[a-z0-9-]*):[ \t]*[^\r\n]+"
)

_SECRET_WORDS = (b"cookie", b"key", b"token", b"auth", b"secret")


def mask_head(head: bytes) -> bytes:
    r"""The head of a request without the values of the headers whose names speak of a secret.

    >>> mask_head(b"GET / HTTP/1.1\r\nCookie: a=b\r\n\r\n")
    b'GET / HTTP/1.1\r\nCookie: ***\r\n\r\n'
    """
    small = head.lower()
    if any(word in small for word in _SECRET_WORDS):  # a look at each line costs ten times that
        return _SECRET_LINE.sub(rb"\1: ***", head)
    return head


class Secret:
    """A secret value that prints as `***` everywhere; only `reveal()` gives it away. It is no `str` on purpose:
    what joins or encodes it by mistake fails instead of leaking.

    >>> key = Secret("abc")
    >>> f"{key}", repr(key), key.reveal()
    ('***', '***', 'abc')
    """

    __slots__ = ("_value",)

    def __init__(self, value: str) -> None:
        self._value = value

    def reveal(self) -> str:
        """The secret itself."""
        return self._value

    def __repr__(self) -> str:
        return MASK

    def __bool__(self) -> bool:
        return bool(self._value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secret) and other._value == self._value

    def __hash__(self) -> int:
        return hash(self._value)
