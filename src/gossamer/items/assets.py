"""What an item names beside its own fields: files that are to be fetched with it, and other items. Marks in
annotations, and their rows.

photos: Annotated[list[str], Image(most=5, width=200)]
manual: Annotated[str | None, File("application/pdf", size="50M", text=True)] = None
maker: Annotated[str | None, Ref("maker")] = None
"""

from __future__ import annotations

import functools
import types
import typing
from collections.abc import Iterator, Mapping
from typing import Annotated, Any, NamedTuple

import msgspec
import xxhash

from gossamer.config import value_parsers
from gossamer.model.request import FILE, Request

MOST = 100
"""Files, and other items, that one field may name."""
_encode = msgspec.json.Encoder().encode


class FileRule(msgspec.Struct, frozen=True, array_like=True):
    """What a file may be, as it travels with its request."""

    site: str = ""
    """The site whose item named it first; its files are its own."""
    types: tuple[str, ...] = ()
    """Media types as `image/*`; none: any."""
    size: int | None = None
    """Most bytes; None: as of pages."""
    width: int = 0
    height: int = 0
    text: bool = False
    """Its text is wanted (of a PDF)."""

    def takes(self, kind: str) -> bool:
        """Whether a media type is wanted."""
        return not self.types or any(
            kind == one or (one[-2:] == "/*" and kind.startswith(one[:-1])) for one in self.types
        )

    @property
    def told(self) -> str:
        """For people: `image/*, 16777216 bytes, 200x0 pixels`."""
        said = [", ".join(self.types)] if self.types else []
        said += [f"{self.size} bytes"] if self.size is not None else []
        said += [f"{self.width}x{self.height} pixels"] if self.width or self.height else []
        return ", ".join([*said, *(["text"] if self.text else [])])


class File:
    """A mark: the field is the URL of a file (or a list of such), which is fetched and kept. `types`: media
    types that are taken, as `application/pdf` or `image/*`, told by its bytes (any); `size`: most bytes, as
    `50M` (the setting `max_size`); `most`: files that are fetched of the field (100); `text`: its text is
    kept, too, where it is a PDF. Raises ValueError.
    """

    def __init__(
        self, *kinds: str, size: int | str | None = None, most: int = MOST, text: bool = False
    ) -> None:
        self.rule = FileRule(
            types=value_parsers.media_types(kinds),
            size=None if size is None else value_parsers.size(size),
            text=bool(text),
        )
        self.most = value_parsers.count(1, 10_000, most)


class Image(File):
    """A mark: the field is the URL of a picture (or a list of such). `width`, `height`: least pixels; else as
    of File."""

    def __init__(
        self, *kinds: str, size: int | str | None = None, most: int = MOST, width: int = 0, height: int = 0
    ) -> None:
        super().__init__(*(kinds or ("image/*",)), size=size, most=most)
        least = {
            "width": value_parsers.count(0, 1 << 20, width),
            "height": value_parsers.count(0, 1 << 20, height),
        }
        self.rule = msgspec.structs.replace(self.rule, **least)


class Ref:
    """A mark: the field is the key of another item (or a list of such). `to`: its class, or its kind as text."""

    most = 10_000

    def __init__(self, to: type | str) -> None:
        if not to:
            raise ValueError("a Ref leads to a class of items, or to a kind: Ref(Maker), Ref('maker')")
        self.kind = (to if isinstance(to, str) else to.__name__).lower()


class Named(NamedTuple):
    """One thing that an item names: in which field and at which place there (from 0), what it is, under which
    key. `url`: of a file, in fetch form; '' for what is no http(s) URL."""

    field: str
    position: int
    kind: str
    key: str
    url: str = ""
    rule: FileRule | None = None


class Reference(msgspec.Struct, kw_only=True):
    """The row of one thing that an item names. `kind`, `key`: the item; `version`: its `_hash`; `to_kind`,
    `to_key`: what it names, of a file the `url` of its rows; `error`: why that was not asked for, a skip
    reason."""

    kind: str
    key: str
    version: str
    field: str
    position: int
    to_kind: str
    to_key: str
    error: str | None = None


class StoredFile(msgspec.Struct, kw_only=True):
    """The row of a file: what it is, where it is kept, or why not. `url`: as items name it."""

    url: str
    limits: str
    """What it may be, for people."""
    status: int | None = None
    media_type: str | None = None
    """As its bytes show."""
    content_type: str | None = None
    """As the host said."""
    bytes: int | None = None
    sha256: str | None = None
    path: str | None = None
    """Within the place where files are kept."""
    width: int | None = None
    height: int | None = None
    text: str | None = None
    error: str | None = None
    """Why it is not kept."""
    detail: str | None = None


FILES, REFERENCES = "file", "reference"
"""Kinds of their rows."""


def told_of(row: Mapping[str, Any]) -> bool:
    """Whether a stored row is that of a file or a reference, and no item of a site's."""
    kind = row.get("_kind")
    return (kind == FILES and "sha256" in row and "limits" in row) or (
        kind == REFERENCES and "to_key" in row and "to_kind" in row
    )


@functools.cache
def marks(cls: type) -> tuple[tuple[str, File | Ref], ...]:
    """The fields of a class that name files or items, with their marks."""
    try:
        hints = typing.get_type_hints(cls, include_extras=True)
    except Exception:  # noqa: BLE001 - annotations are a user's code: what cannot be read names nothing
        return ()
    return tuple((name, mark) for name, hint in hints.items() for mark in list(_marks(hint))[:1])


def _marks(hint: Any) -> Iterator[File | Ref]:
    if typing.get_origin(hint) is Annotated:
        yield from (one for one in hint.__metadata__ if isinstance(one, File | Ref))
        yield from _marks(typing.get_args(hint)[0])
    elif typing.get_origin(hint) in (typing.Union, types.UnionType, list, tuple, set, frozenset):
        for part in typing.get_args(hint):
            yield from _marks(part)


def edition(request: Request, key: typing.Callable[[str], str]) -> str:
    """What tells the request of a file from others of its URL: its rule, and where it began; '' for a page."""
    if request.use != FILE:
        return ""
    began = key(request.hops[0]) if request.hops else ""
    return f"{FILE} {_encode(request.rule).decode()} {began}"


def rule_of(request: Request) -> FileRule:
    """The rule that a request carries; one that carries none (a list may say so) takes any file."""
    try:
        return msgspec.convert(request.rule, FileRule)
    except msgspec.ValidationError:
        return FileRule()


def key_of(url: str, rule: FileRule) -> str:
    """The key of a file's row: its URL, and which rule it was measured by."""
    return f"{url}#{xxhash.xxh3_64_hexdigest(_encode(rule))[:8]}"
