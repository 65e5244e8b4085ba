"""Converts the targets of `gossamer crawl` into seeds. A target is a URL, sitemap, feed, site file, list or
standard input. An invalid line of a list is rejected with its number and the reason, and reading
continues."""

from __future__ import annotations

import hashlib
import os
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, Literal, NamedTuple
from urllib.parse import parse_qsl, urlencode, urlsplit

import msgspec

from gossamer import url as urls
from gossamer.config import value_parsers
from gossamer.config.redaction import mask, register_in
from gossamer.errors import UsageError
from gossamer.model import proxy
from gossamer.model.request import Request, check_key, split
from gossamer.sites.loading import MODULE
from gossamer.sites.script_targets import LIST, SITE, lines_of
from gossamer.url.routes import seed_with_route

MAX_CARRY_BYTES = 4096
"""Maximum size of a request's `carry` value in bytes, encoded as JSON."""
URL_COLUMNS = ("url", "link", "address", "loc", "page", "page url", "product_url")
"""Names of the column of URLs in a table, in order of preference."""
MAX_SHOWN_CHARS = 200
"""Maximum number of characters of a target or line that a message shows."""


class Target(NamedTuple):
    """One target: its kind, and the URL or path that it names."""

    kind: Literal["url", "sitemap", "feed", "site", "list", "stdin", "sql", "kafka", "queue", "api"]
    text: str
    lines: list[bytes] | None = None
    """The lines of standard input if they have already been read, otherwise None."""
    fields: tuple[str, ...] = ()
    """The names that other programs give to the fields of a request (the setting `message_fields`)."""


MESSAGE_QUEUES = {
    f"{server}-{kind}": (kind, f"{server}-{kind}://HOST:6379/0?key=NAME")
    for server in ("redis", "rediss", "valkey", "valkeys")
    for kind in ("list", "zset", "stream")
} | {scheme: ("amqp", f"{scheme}://USER@HOST:5672/VHOST?queue=NAME") for scheme in ("amqp", "amqps")}
"""Maps the scheme of a queue of messages to its kind and to the form of its URL."""


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
    json: Any = None


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
    scheme, mark, _ = text.partition("://")
    if scheme in MESSAGE_QUEUES:
        parse_queue(text)
        return Target("queue", text)
    if mark:
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
    from gossamer.app.list_files import TABLES

    if Path(text).suffix in (".py", ".txt", ".jsonl", ".list", *TABLES) or text.startswith((".", "/", "~")):
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
        lines = sys.stdin.buffer if target.lines is None else target.lines
        yield from _lines(lines, "stdin", rejected, target.fields)
    elif target.lines is not None:
        yield from _lines(target.lines, "list", rejected, target.fields)
    elif is_table(target.text):
        for found in table_requests(target.text):
            if isinstance(found, Request):
                yield found
            else:
                rejected.append(found)
    else:
        try:
            with open(target.text, "rb") as file:
                yield from _lines(file, target.text, rejected, target.fields)
        except OSError as error:
            raise UsageError(f"{target.text} cannot be read: {error.strerror}") from error


def is_table(path: str) -> bool:
    """Returns whether a list has columns."""
    from gossamer.app.list_files import TABLES, ending_of

    return ending_of(Path(path)) in TABLES


def table_requests(path: str) -> Iterator[Request | Rejected]:
    """Yields the URLs of a CSV or Excel list, and its invalid rows. The URLs are in the column `url`, in a
    column with another name of URL_COLUMNS, or in the first column that contains a URL. Other columns are
    ignored. Raises UsageError if no column contains URLs."""
    from gossamer.app.list_files import read_list_file  # a crawl of a URL reads no list

    column = None
    for row in read_list_file(Path(path), _without_header):
        if row.columns is None:
            yield Rejected(path, row.line, row.text, row.reason)
            continue
        column = column or _url_column(path, row.columns)
        text = str(row.columns.get(column) or "").strip()
        try:
            if not text:
                raise UsageError(f"the column {column} is empty")
            yield Request(_url(text, text))
        except (UsageError, ValueError) as error:
            yield Rejected(path, row.line, text[:500], str(error))


def _without_header(names: Sequence[str]) -> list[str] | None:
    """Returns names for the columns if the first row of a table contains a URL and is therefore no header."""
    at = next((number for number, name in enumerate(names) if _is_url(name)), None)
    return None if at is None else ["url" if n == at else str(n) for n in range(len(names))]


def _is_url(value: Any) -> bool:
    return str(value).strip().startswith(("http://", "https://"))


def _url_column(path: str, columns: Mapping[str, Any]) -> str:
    plain = {name.strip().lower(): name for name in reversed(list(columns))}
    found = next((plain[name] for name in URL_COLUMNS if name in plain), None)
    found = found or next((name for name, value in columns.items() if _is_url(value)), None)
    if found is None:
        raise UsageError(f"{path} has no column url; its columns are {', '.join(columns)[:200] or 'none'}")
    return found


def _lines(
    lines: Iterable[bytes], source: str, rejected: list[Rejected], fields: tuple[str, ...]
) -> Iterator[Request]:
    for number, raw in enumerate(lines, 1):
        found = parse_line(raw, source, number, fields)
        if isinstance(found, Request):
            yield found
        elif found is not None:
            rejected.append(found)


def parse_line(
    raw: bytes, source: str, number: int, fields: tuple[str, ...] = ()
) -> Request | Rejected | None:
    """Parses a line of a list or a message: a URL, or a request as JSON. Returns None for an empty line.
    `fields`: the setting `message_fields`."""
    from gossamer.app.list_files import MAX_LINE_BYTES

    if len(raw) >= MAX_LINE_BYTES:
        return Rejected(source, number, raw[:500].decode("utf-8", "replace"), "the line has 1 MiB or more")
    line = raw.removeprefix(b"\xef\xbb\xbf").strip()
    if not line or line.startswith(b"#"):
        return None
    try:
        if line.startswith(b"{"):
            return seed(_renamed(line, fields) if fields else _decode(line))
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


def _renamed(line: bytes, fields: tuple[str, ...]) -> SeedLine:
    """Decodes a JSON line whose fields have the names of another program. Raises ValueError, MsgspecError."""
    names = dict(one.partition("=")[::2] for one in fields)
    found, message = {}, msgspec.json.decode(line, type=dict[str, Any])
    for name, value in message.items():
        known = name if name in SeedLine.__struct_fields__ else names.get("*", name)
        if ours := names.get(name, known):
            found[ours] = value
    if isinstance(added := found.get("added_at"), str):
        found["added_at"] = datetime.fromisoformat(added).timestamp()
    unused = [theirs for theirs in names if theirs not in ("*", *message)]
    if strange := [name for name in found if name not in SeedLine.__struct_fields__]:
        hint = (
            value_parsers.nearest(strange[0], unused) or ": name it in message_fields, or ignore it with *="
        )
        raise ValueError(
            f"unknown field `{strange[0]}`{hint.replace('did you mean', 'message_fields names')}"
        )
    return msgspec.convert(found, SeedLine)


def parse_queue(text: str) -> tuple[str, str, dict[str, str]]:
    """Returns the kind of a queue (`list`, `zset`, `stream`, `amqp`), the URL of its server, and the parameters.
    Raises UsageError.

    >>> parse_queue("redis-zset://127.0.0.1:6379/0?key=tasks")
    ('zset', 'redis://127.0.0.1:6379/0', {'key': 'tasks'})
    """
    split = urlsplit(text)
    kind, form = MESSAGE_QUEUES[split.scheme]
    pairs = parse_qsl(split.query, keep_blank_values=True)
    given = {name: value for name, value in pairs if name in ("key", "queue", "group", "take")}
    takes = {"list": ("left", "right"), "zset": ("high", "low")}.get(kind, ())
    if not given.get("queue" if kind == "amqp" else "key"):
        raise UsageError(f"{mask(text)}: write {form}")
    if (take := given.get("take")) is not None and take not in takes:
        raise UsageError(f"{mask(text)}: take={take}: write {' or '.join(takes) or 'no take'}")
    if take in ("left", "high"):
        del given["take"]
    others = urlencode([pair for pair in pairs if pair[0] not in given and pair[0] != "take"])
    scheme = split.scheme if kind == "amqp" else split.scheme.partition("-")[0]
    return kind, split._replace(scheme=scheme, query=others).geturl(), given


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
