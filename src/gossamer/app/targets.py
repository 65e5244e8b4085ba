"""Converts the targets of `gossamer crawl` into seeds. A target is a URL, sitemap, feed, site file, list or
standard input. An invalid line of a list is rejected with its number and the reason, and reading
continues."""

from __future__ import annotations

import hashlib
import os
import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Literal, NamedTuple

import msgspec

from gossamer import url as urls
from gossamer.config import value_parsers
from gossamer.config.redaction import register_in
from gossamer.errors import UsageError
from gossamer.model import proxy
from gossamer.model.request import Request, check_key, split
from gossamer.sites.loading import MODULE
from gossamer.sites.script_targets import LIST, SITE, lines_of
from gossamer.url.routes import seed_with_route

MAX_CARRY_BYTES = 4096
"""Maximum size of a request's `carry` value in bytes, encoded as JSON."""
MAX_LINE_BYTES = 1 << 20
"""Maximum bytes of a line."""
MAX_SHOWN_CHARS = 200
"""Maximum number of characters of a target or line that a message shows."""


class Target(NamedTuple):
    """One target: its kind, and the URL or path that it names."""

    kind: Literal["url", "sitemap", "feed", "site", "list", "stdin", "sql", "kafka", "api"]
    text: str
    lines: list[bytes] | None = None
    """The lines of standard input if they have already been read, otherwise None."""


class Rejected(msgspec.Struct, frozen=True):
    """A line of a list that is not a valid request."""

    source: str
    line: int
    text: str
    reason: str


class SeedLine(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """A seed as a JSON line: the URL and its options (docs/records.md)."""

    url: str
    priority: int = 0
    method: str = "GET"
    headers: dict[str, str] | None = None
    body: str | None = None
    id: str | None = None
    country: str | None = None
    region: str | None = None
    proxy: str | None = None
    rung: str | None = None
    use: str | None = None
    carry: Any = None
    depth: int = 0
    added_at: float | None = None
    key: str | None = None


_decode = msgspec.json.Decoder(SeedLine).decode


def target_kind(text: str) -> Target:
    """Returns the kind of a target. Raises UsageError for an unknown kind.

    >>> target_kind("sitemap:https://example.com/sitemap.xml").kind, target_kind("example.com").text
    ('sitemap', 'https://example.com/')
    """
    register_in(text)
    if text == "-":
        return Target("stdin", text)
    if text.startswith((SITE, MODULE)):
        return Target("site", text)
    if text.startswith(LIST):
        return Target("list", text, lines_of(text))
    for kind in ("sitemap", "feed"):
        if text.startswith(f"{kind}:"):
            return Target(kind, _url(text.partition(":")[2], text))
    if text.startswith("sql:"):
        if not re.fullmatch(r"sql:(?:sqlite:|postgres(?:ql)?|\$\{)\S*\s+\S.*", text, re.DOTALL):
            raise UsageError(
                f"{shorten(text)!r}: write it as 'sql:DATABASE QUERY', DATABASE being sqlite:FILE "
                "or postgresql://..."
            )
        return Target("sql", text[4:])
    if text.startswith("api:"):
        url, _, options = text[4:].strip().partition(" ")
        return Target("api", f"{_url(url, text)} {options.strip()}".strip())
    if text.startswith("kafka://"):
        if not re.fullmatch(r"kafka://[^/?\s]+/[\w.-]+(?:\?group=[\w.-]+)?", text):
            raise UsageError(f"{shorten(text)!r}: write it as kafka://HOST:PORT/TOPIC?group=GROUP")
        return Target("kafka", text)
    if "://" in text:
        return Target("url", _url(text, text))
    return _path(text) or _bare(text)


def _path(text: str) -> Target | None:
    """Returns the target if it is an existing file or folder, otherwise None."""
    is_file = os.path.isfile(text)  # these functions accept any text, unlike the methods of Path
    if os.path.isdir(text) or (text.endswith(".py") and is_file):
        return Target("site", str(Path(text)))
    if is_file:
        return Target("list", str(Path(text)))
    if os.path.exists(text):
        raise UsageError(
            f"{text} is not a regular file: send its content to stdin, as in gossamer crawl - < {text}"
        )
    return None


def _bare(text: str) -> Target:
    """Returns the target for a URL without a scheme."""
    if Path(text).suffix in (".py", ".txt", ".jsonl", ".csv", ".list") or text.startswith((".", "/", "~")):
        raise UsageError(
            f"{shorten(text)}: no such file or folder; a TARGET is a URL, a site file, a folder "
            "of them, a list, or -"
        )
    host = text.split("/", maxsplit=1)[0]
    # a mail address contains an @ too
    if "@" not in host and ("." in host or host.split(":", maxsplit=1)[0] == "localhost"):
        return Target("url", _url(f"https://{text}", text))
    raise UsageError(f"{shorten(text)!r} is not a URL, file or folder; write a URL as https://example.com/")


def shorten(text: str) -> str:
    """Shortens user input for a message, because a line of a list may be as long as a megabyte."""
    return text if len(text) <= MAX_SHOWN_CHARS else f"{text[:MAX_SHOWN_CHARS]}..."


def _url(text: str, given: str) -> str:
    found = urls.parse(text.strip())
    if found is None or not found.startswith(("http://", "https://")):
        raise UsageError(f"{shorten(given)!r} is not an http(s) URL")
    return seed_with_route(found)


def requests(target: Target, rejected: list[Rejected]) -> Iterator[Request]:
    """Yields the seeds of a target that is not a site file. Invalid lines are appended to `rejected`."""
    if target.kind == "url":
        yield Request(target.text)
    elif target.kind in ("sitemap", "feed"):
        yield Request(target.text, use="@sitemap")
    elif target.kind == "stdin":
        yield from _lines(sys.stdin.buffer if target.lines is None else target.lines, "stdin", rejected)
    elif target.lines is not None:
        yield from _lines(target.lines, "list", rejected)
    else:
        try:
            with open(target.text, "rb") as file:
                yield from _lines(file, target.text, rejected)
        except OSError as error:
            raise UsageError(f"{target.text} cannot be read: {error.strerror}") from error


def _lines(lines: Iterable[bytes], source: str, rejected: list[Rejected]) -> Iterator[Request]:
    for number, raw in enumerate(lines, 1):
        found = parse_line(raw, source, number)
        if isinstance(found, Request):
            yield found
        elif found is not None:
            rejected.append(found)


def parse_line(raw: bytes, source: str, number: int) -> Request | Rejected | None:
    """Parses a line of a list or a message: a URL, or a request as JSON. Returns None for an empty line."""
    if len(raw) >= MAX_LINE_BYTES:
        return Rejected(source, number, raw[:500].decode("utf-8", "replace"), "the line has 1 MiB or more")
    line = raw.removeprefix(b"\xef\xbb\xbf").strip()
    if not line or line.startswith(b"#"):
        return None
    try:
        if line.startswith(b"{"):
            return seed(_decode(line))
        text = line.decode("utf-8")
        # a URL parser would drop these characters and join two columns or lines into one URL
        if "\t" in text or "\r" in text:
            raise UsageError(
                f"{shorten(text)!r} contains a tab or a carriage return: write one URL per line, "
                "ended by a line feed"
            )
        return Request(_url(text, text))
    except UnicodeDecodeError:
        reason = "is not UTF-8 text"
    except (msgspec.MsgspecError, UsageError, ValueError) as error:
        reason = str(error)
    return Rejected(source, number, line[:500].decode("utf-8", "replace"), reason)


def seed(line: SeedLine) -> Request:
    """Checks a seed's fields. Raises ValueError, UsageError."""
    fields = {name: getattr(line, name) for name in SeedLine.__struct_fields__}
    fields["url"] = _url(line.url, line.url)
    if not line.method.isalpha() or len(line.method) > 20:
        raise ValueError(f"method {shorten(line.method)!r} is none")
    if line.carry is not None and len(msgspec.json.encode(line.carry)) > MAX_CARRY_BYTES:
        raise ValueError(f"carry is larger than {MAX_CARRY_BYTES} bytes")
    if not -1_000_000 <= line.priority <= 1_000_000:
        raise ValueError("priority must be between -1000000 and 1000000")
    if line.region is not None:
        value_parsers.label(line.region)
    if line.rung is not None:
        value_parsers.one_of(value_parsers.RUNGS, line.rung)
    if line.proxy is not None:
        proxy.kind(line.proxy)
    if line.country is not None:
        fields["country"] = proxy.country(line.country)
    if line.key is not None:
        check_key(line.key)
    if line.depth < 0:
        raise ValueError("depth must be 0 or more")
    return Request(**{**fields, "method": line.method.upper()})


def crawl_name(targets: list[Target], sites: list[str]) -> str:
    """Returns the default name of a crawl. If the only target is a site, the name is the site's name.
    Otherwise, the name consists of the first target's host (or file name) and six hex digits of a hash of the
    sorted targets.

    >>> crawl_name([Target("url", "https://example.com/")], [])
    'example.com-815b99'
    """
    if len(sites) == 1 and len(targets) == 1 and sites[0] not in ("h", "o"):  # the store's keys use h and o
        return sites[0]
    texts = sorted(t.text if t.kind in ("url", "stdin") else f"{t.kind}:{t.text}" for t in targets)
    mark = hashlib.blake2b("\n".join(texts).encode(), digest_size=3).hexdigest()
    first = targets[0]
    if first.kind in ("url", "sitemap", "feed"):
        stem = split(first.text)[1].rpartition("@")[2]
    else:
        stem = Path(first.text).stem if first.kind in ("list", "site") else first.kind
    clean = "".join(c if c.isascii() and (c.isalnum() or c in ".-_") else "-" for c in stem).lstrip(".-_")
    return f"{clean[:60] or 'crawl'}-{mark}"
