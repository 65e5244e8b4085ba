"""Parses the URL that `-o` names for a store of rows. gossamer's own parameters are removed from the query,
and secrets are inserted when the store is opened."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Final, NamedTuple
from urllib.parse import SplitResult, parse_qsl, quote, urlencode, urlsplit, urlunsplit

from gossamer.config import plugins
from gossamer.config.redaction import mask
from gossamer.errors import ConfigError, UsageError
from gossamer.sinks.history import TAKEN

FORMS = {
    "postgresql": ("postgresql://USER@HOST/DATABASE", ("table", "as")),
    "mongodb": ("mongodb://USER@HOST/DATABASE", ("collection",)),
    "valkey": ("valkey://HOST:6379/0?hash=NAME, or ?list=NAME", ("hash", "list", "value", "journal")),
    "kafka": ("kafka://HOST:9092/TOPIC", ("key", "journal", "tls", "sasl", "ca_file")),
    "webhook": ("https+webhook://HOST/PATH?secret=${env:NAME}", ("secret", "batch", "journal", "ca_file")),
    "cassandra": ("cassandra://USER@HOST:9042/KEYSPACE", ("table", "tls", "ca_file")),
    "own": ("python://MODULE:CLASS", ()),
}
"""Maps each kind of store to the form of its URL and to the URL parameters that gossamer evaluates. Gossamer
passes all other parameters of a store's URL to the driver."""
SCHEMES = {
    "postgresql": "postgresql",
    "postgres": "postgresql",
    "mongodb": "mongodb",
    "mongodb+srv": "mongodb",
    "valkey": "valkey",
    "valkeys": "valkey",
    "redis": "valkey",
    "rediss": "valkey",
    "kafka": "kafka",
    "https+webhook": "webhook",
    "http+webhook": "webhook",
    "cassandra": "cassandra",
}
AWAY = ("s3", "gs", "hdfs", "webhdfs")
"""URL schemes of object stores, which receive whole responses."""
SINKS: Final = "gossamer.sinks"
"""The entry point group for sinks in installed packages. The name of each entry point in this group is the
URL scheme of the sink."""
PYTHON, SITE = "python", "site"
"""URL schemes of user-defined sinks. A `python://` URL contains the names of a module and of a class in the
module. A `site://` URL contains the name of a sink that a site file defines."""
_STRICT = ("kafka", "cassandra")
_REFERENCE = re.compile(r"\$\{(env|file):([^}]+)\}")


class SinkUrl(NamedTuple):
    """The parsed URL of a store. `kind`: a key of FORMS. `url`: the URL for the driver, with secrets.
    `given`: gossamer's own parameters. `where`: the URL without secrets, for messages."""

    kind: str
    url: str
    given: dict[str, str]
    where: str


def kind_of(spec: str) -> str | None:
    """Returns the kind of store that an output names, or None for files and object stores.

    >>> kind_of("postgresql://h/db"), kind_of("out.jsonl")
    ('postgresql', None)
    """
    return _kind(spec.partition("://")[0].lower()) if "://" in spec else None


def _kind(scheme: str) -> str | None:
    """Returns the kind of store for a URL scheme, or None if no store has this scheme. The kind is a key of
    FORMS. Searches installed packages only if gossamer itself does not know the scheme."""
    if found := SCHEMES.get(scheme):
        return found
    own = scheme in (PYTHON, SITE) or (scheme not in AWAY and scheme in plugins.names(SINKS))
    return "own" if own else None


def check_kind(spec: str) -> str:
    """Returns the kind of store that a URL names. Raises UsageError, which lists the valid values."""
    scheme = spec.partition("://")[0].lower()
    kind = _kind(scheme)
    if kind is None:
        import difflib

        close = difflib.get_close_matches(scheme, SCHEMES, 1, 0.6)
        hint = f" (did you mean {close[0]}://?)" if close else ""
        known = ", ".join(f"{name}://" for name in (*SCHEMES, *AWAY, PYTHON, *plugins.names(SINKS)))
        raise UsageError(f"-o {mask(spec)}: no store {scheme}://{hint}; stores are {known}")
    form, ours = FORMS[kind]
    try:
        split = urlsplit(_REFERENCE.sub("x", spec))
        bad = not split.netloc and kind not in ("postgresql", "own")
        bad = bad or (scheme == PYTHON and not all(split.netloc.partition(":")))
    except ValueError:
        bad = True
    if bad:
        raise UsageError(f"-o {mask(spec)}: write {form}")
    names = [name for name, _ in parse_qsl(split.query, keep_blank_values=True)]
    if kind in _STRICT and (strange := [name for name in names if name not in ours]):
        raise UsageError(f"-o {mask(spec)}: no parameter {strange[0]}; there are {', '.join(ours)}")
    if kind in ("kafka", "cassandra", "mongodb") and not re.fullmatch(r"/[\w.-]+", split.path):
        raise UsageError(f"-o {mask(spec)}: write {form}")
    if kind == "valkey" and ("hash" in names) == ("list" in names):
        raise UsageError(f"-o {mask(spec)}: write {form}")
    if kind == "valkey" and "value" in names and "list" not in names:
        raise UsageError(f"-o {mask(spec)}: value= belongs to list=")
    if kind == "webhook" and "secret" not in names:
        raise UsageError(f"-o {mask(spec)}: a webhook needs a secret, because rows are signed: write {form}")
    return kind


def parameters_of(spec: str) -> set[str]:
    """Returns the names of the parameters in the URL of an output."""
    return {name for name, _ in parse_qsl(urlsplit(_REFERENCE.sub("x", spec)).query, keep_blank_values=True)}


def parse_sink_url(spec: str) -> SinkUrl:
    """Parses the URL of an output and inserts secrets. Raises UsageError, and ConfigError for a missing
    secret."""
    kind = check_kind(spec)
    split = urlsplit(_REFERENCE.sub(_secret, spec))
    ours = FORMS[kind][1]
    pairs = parse_qsl(split.query, keep_blank_values=True)
    others = [pair for pair in pairs if pair[0] not in ours]
    if kind == "own":
        return SinkUrl(kind, _joined(split), {}, mask(spec))
    url = _joined(split._replace(query=urlencode(others)))
    bare = split._replace(netloc=split.netloc.rpartition("@")[2], query="", fragment="")
    given = {name: value for name, value in pairs if name in ours}
    shown = {name: value for name, value in given.items() if name in ("table", "collection", "hash", "list")}
    return SinkUrl(kind, url, given, _joined(bare._replace(query=urlencode(shown, safe="{}:"))))


def _joined(split: SplitResult) -> str:
    """Builds a URL from its parts. `urlunsplit` drops the `//` if the URL has no host (a server on a local
    socket), so this function restores it."""
    url = urlunsplit(split)
    return url if split.netloc else url.replace(":", "://", 1)


def bare_secret(spec: str) -> bool:
    """Returns whether the URL contains a password itself, rather than a reference to a password."""
    split = urlsplit(_REFERENCE.sub("", spec))
    secret = dict(parse_qsl(split.query)).get("secret")
    return bool(secret) or bool(re.search(r":[^@]", split.netloc.rpartition("@")[0]))


def needs_journal(spec: str) -> bool:
    """Returns whether rows go through a journal before they are sent to a store. A journal is needed if the
    store only supports appending."""
    kind = kind_of(spec)
    return kind in ("kafka", "webhook") or (
        kind == "valkey" and "hash" not in dict(parse_qsl(urlsplit(spec).query))
    )


def table_name(pattern: str | None, kind: str, first: str) -> str:
    """Returns the table name of a kind. Without a pattern, the table name is the kind itself. `{kind}` in the
    pattern stands for the kind. If the pattern lacks `{kind}`, the pattern is the table name of the first
    kind. For every other kind, the name of the kind is appended to the pattern. A name in TAKEN gets a
    leading `_`.

    >>> table_name(None, "book", "book"), table_name("shop", "page", "book"), table_name("x_{kind}", "page", "book")
    ('book', 'shop_page', 'x_page')
    >>> table_name(None, "_history", "book")
    '__history'
    """
    if not pattern:
        found = kind
    elif "{kind}" in pattern:
        found = pattern.replace("{kind}", kind)
    else:
        found = pattern if kind == first else f"{pattern}_{kind}"
    return f"_{found}" if found in ("", *TAKEN) else found


def _secret(found: re.Match[str]) -> str:
    kind, called = found.groups()
    try:
        value = os.environ[called] if kind == "env" else Path(called).expanduser().read_text("utf-8").strip()
    except KeyError:
        raise ConfigError(f"-o: the environment has no {called}") from None
    except (OSError, ValueError) as error:
        raise ConfigError(
            f"-o: the file {called} cannot be read: {getattr(error, 'strerror', error)}"
        ) from None
    return quote(value, safe="")
