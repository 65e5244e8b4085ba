"""The head of an HTTP answer, from its lines."""

from __future__ import annotations

from functools import lru_cache

from gossamer.model.page import Headers

LONG = 200
"""Bytes of a line that is not remembered."""


def parse(lines: list[bytes]) -> tuple[int, Headers]:
    r"""Status, names (lower case) and values of the final head among the lines; trailers are left out (RFC
    9110 section 6.5.1).

    >>> parse([b"HTTP/1.1 100 \r\n", b"\r\n", b"HTTP/1.1 200 OK\r\n", b"A: b\r\n", b" c\r\n", b"\r\n", b"Late: x\r\n"])
    (200, [('a', 'b c')])
    """
    out: Headers = []
    status, begun = 0, False
    for line in lines:
        if not begun:
            if line[:5] == b"HTTP/":
                code = line.split(b" ", 2)[1:2]
                status = int(code[0][:3]) if code and code[0][:3].strip().isdigit() else 0
                out, begun = [], True
        elif line == b"\r\n" or line == b"\n":
            if status >= 200:
                break
            begun = False
        elif line[:1] in b" \t":  # a folded line (RFC 9112 section 5.2)
            if out:
                out[-1] = (out[-1][0], f"{out[-1][1]} {line.decode('latin-1').strip()}".strip())
        else:
            field = _field(line) if len(line) <= LONG else _read(line)
            if field is not None:
                out.append(field)
    return status, out


def _read(line: bytes) -> tuple[str, str] | None:
    """Name and value of a field line, None where it is none."""
    name, colon, value = line.decode("latin-1").partition(":")
    return (name.strip().lower(), value.strip()) if colon else None


_field = lru_cache(2048)(_read)
"""Most lines of a server come with each of its answers."""


def final(lines: list[bytes]) -> bytes:
    r"""The final head among the lines, as it came.

    >>> final([b"HTTP/1.1 100 \r\n", b"\r\n", b"HTTP/1.1 200 OK\r\n", b"A: b\r\n", b"\r\n", b"Late: x\r\n"])
    b'HTTP/1.1 200 OK\r\nA: b\r\n\r\n'
    >>> final([b"HTTP/1.1 200 OK\r\n", b"\r\n", b"\r\n"])
    b'HTTP/1.1 200 OK\r\n\r\n'
    """
    head = b"".join(lines)
    if 0 < head.find(b"\n\r\n") == len(head) - 3 and b"\n\n" not in head and head[:5] == b"HTTP/":
        return head  # there is but one
    heads: list[list[bytes]] = []
    for line in lines:
        if line[:5] == b"HTTP/" and (not heads or heads[-1][-1] in (b"\r\n", b"\n")):
            heads.append([])
        if heads and (len(heads[-1]) < 2 or heads[-1][-1] not in (b"\r\n", b"\n")):
            heads[-1].append(line)
    return b"".join(heads[-1]) if heads else b""


def content_type(headers: Headers) -> str:
    """The content type in lower case, '' when there is none."""
    return next((value.lower() for name, value in headers if name == "content-type"), "")


def version(line: bytes) -> str:
    r"""The HTTP version of a status line.

    >>> version(b"HTTP/1.1 200 OK\r\n"), version(b"HTTP/2 200 \r\n")
    ('1.1', '2')
    """
    return line[5:8].decode("latin-1").split(" ")[0]
