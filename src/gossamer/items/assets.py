"""Defines the references from items to files and to other items. The files are downloaded. This module
contains the classes with which annotations declare the references (`File`, `Image`, `Ref`), and the output
rows of references and files.

    photos: Annotated[list[str], Image(most=5, width=200, thumbnails={"small": (100, 100)})]
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

DEFAULT_MAX_FILES = 100
"""Maximum number of files per field, unless the field specifies another maximum."""
MAX_THUMBNAILS, MAX_THUMBNAIL_SIDE = 20, 65_535
"""Maximum number of thumbnails per file, and maximum width and height of a thumbnail in pixels."""
_encode = msgspec.json.Encoder().encode


class FileRule(msgspec.Struct, frozen=True, array_like=True):
    """The requirements for a file. The requirements are stored in the request for the file."""

    site: str = ""
    """The name of the site whose item was the first to refer to the file."""
    types: tuple[str, ...] = ()
    """Accepted media types, such as `image/*`. An empty tuple accepts any media type."""
    size: int | None = None
    """Maximum size of the file in bytes. None means that the maximum size of pages applies (`max_size`)."""
    width: int = 0
    height: int = 0
    text: bool = False
    """Whether to extract the text, if the file is a PDF."""
    thumbnails: tuple[tuple[str, int, int], ...] = ()
    """The thumbnails to make if the file is an image. Each thumbnail has a name, a maximum width and a
    maximum height. The thumbnails are sorted by name."""

    @property
    def fields(self) -> list[Any]:
        """The values of the rule's fields as a list, which is stored in the request. The list omits
        `thumbnails` if the rule has no thumbnails."""
        fields: list[Any] = msgspec.to_builtins(self)
        return fields if self.thumbnails else fields[:-1]

    def takes(self, kind: str) -> bool:
        """Returns whether a media type is accepted."""
        return not self.types or any(
            kind == one or (one[-2:] == "/*" and kind.startswith(one[:-1])) for one in self.types
        )

    @property
    def told(self) -> str:
        """The requirements as text for display: `image/*, 16777216 bytes, 200x0 pixels`."""
        said = [", ".join(self.types)] if self.types else []
        said += [f"{self.size} bytes"] if self.size is not None else []
        said += [f"{self.width}x{self.height} pixels"] if self.width or self.height else []
        said += ["text"] if self.text else []
        return ", ".join([*said, *(f"thumbnail {name} {w}x{h}" for name, w, h in self.thumbnails)])


class File:
    """Marks a field that contains the URL of a file, or a list of such URLs. The files are downloaded and
    stored.

    - `kinds`: accepted media types, such as `application/pdf` or `image/*`. The type is detected from the
      file's bytes. Default: any.
    - `size`: maximum size in bytes, or a text such as `50M`. Default: the setting `max_size`.
    - `most`: maximum number of files per field, 1 to 10,000. Default: 100.
    - `text`: also stores the text if the file is a PDF.
    - `thumbnails`: also stores thumbnails if the file is an image. The value maps the name of each thumbnail
      to the largest width and height in pixels: `{"small": (100, 100)}`. A thumbnail is a JPEG file with the
      same aspect ratio as the original image.

    Raises ValueError.
    """

    def __init__(
        self,
        *kinds: str,
        size: int | str | None = None,
        most: int = DEFAULT_MAX_FILES,
        text: bool = False,
        thumbnails: Mapping[str, tuple[int, int]] | None = None,
    ) -> None:
        self.rule = FileRule(
            types=value_parsers.media_types(kinds),
            size=None if size is None else value_parsers.size(size),
            text=bool(text),
            thumbnails=_thumbnail_sizes({} if thumbnails is None else thumbnails),
        )
        self.most = value_parsers.count(1, 10_000, most)


class Image(File):
    """Marks a field that contains the URL of an image, or a list of such URLs. `width` and `height` are the
    minimum dimensions in pixels. The other arguments are those of `File`, and the default media type is
    `image/*`. Raises ValueError."""

    def __init__(
        self,
        *kinds: str,
        size: int | str | None = None,
        most: int = DEFAULT_MAX_FILES,
        width: int = 0,
        height: int = 0,
        thumbnails: Mapping[str, tuple[int, int]] | None = None,
    ) -> None:
        super().__init__(*(kinds or ("image/*",)), size=size, most=most, thumbnails=thumbnails)
        least = {
            "width": value_parsers.count(0, 1 << 20, width),
            "height": value_parsers.count(0, 1 << 20, height),
        }
        self.rule = msgspec.structs.replace(self.rule, **least)


def _thumbnail_sizes(given: Any) -> tuple[tuple[str, int, int], ...]:
    """Returns the names and sizes of thumbnails, sorted by name. Raises ValueError."""
    if not isinstance(given, Mapping) or len(given) > MAX_THUMBNAILS:
        raise ValueError(f'thumbnails must be a dict of at most {MAX_THUMBNAILS}: {{"small": (100, 100)}}')
    found = []
    for name, size in given.items():
        if not isinstance(name, str) or not name or len(name) > 100:
            raise ValueError(f"thumbnails: a name is a text of 1 to 100 characters, not {name!r}")
        if not isinstance(size, tuple | list) or len(size) != 2:
            raise ValueError(f"thumbnails: {name}: write the largest width and height: (100, 100)")
        try:
            width, height = (value_parsers.count(1, MAX_THUMBNAIL_SIDE, side) for side in size)
        except ValueError as error:
            raise ValueError(f"thumbnails: {name}: {error}") from None
        found.append((name, width, height))
    return tuple(sorted(found))


class Ref:
    """Marks a field that contains the key of another item, or a list of such keys. `to` is the class or the
    kind of the other item. Raises ValueError."""

    most = 10_000

    def __init__(self, to: type | str) -> None:
        if not to:
            raise ValueError("a Ref leads to a class of items, or to a kind: Ref(Maker), Ref('maker')")
        self.kind = (to if isinstance(to, str) else to.__name__).lower()


class Named(NamedTuple):
    """A file or an item that another item refers to. `field` is the name of the referring field. `position`
    is the index in the field's list, starting at 0. `kind` and `key` identify the target. `url` is the URL
    from which a file is fetched, or '' if the value is not an http(s) URL."""

    field: str
    position: int
    kind: str
    key: str
    url: str = ""
    rule: FileRule | None = None


class Reference(msgspec.Struct, kw_only=True):
    """The output row of one reference from an item to a file or another item.

    `kind` and `key` identify the referring item, and `version` is the `_hash` of the referring item.
    `to_kind` and `to_key` identify the target. For a file, `to_key` equals the `url` of the file's row.
    `error` is the skip reason if the file was not requested.
    """

    kind: str
    key: str
    version: str
    field: str
    position: int
    to_kind: str
    to_key: str
    error: str | None = None


class StoredFile(msgspec.Struct, kw_only=True):
    """The output row of a file: the file's properties, and the place where it is stored or the reason why it
    is not stored. `url` is the canonical form of the first requested URL, before any redirect."""

    url: str
    limits: str
    """A text for display that describes the requirements for the file (`FileRule.told`)."""
    status: int | None = None
    media_type: str | None = None
    """The media type of the file, detected from the file's bytes."""
    content_type: str | None = None
    """The media type in the response's Content-Type header."""
    bytes: int | None = None
    sha256: str | None = None
    path: str | None = None
    """The file's path within the file storage."""
    width: int | None = None
    height: int | None = None
    text: str | None = None
    error: str | None = None
    """The reason why the file is not stored."""
    detail: str | None = None


class FileWithThumbnails(StoredFile, kw_only=True):
    """The output row of a file whose rule has thumbnails."""

    thumbnails: dict[str, str] | None = None
    """Maps the name of each thumbnail to the thumbnail's path within the file storage. The value is None if
    there are no thumbnails."""
    thumbnail_error: str | None = None
    """The reason why a stored file has no thumbnails."""


FILES, REFERENCES = "file", "reference"
"""The kinds of the rows that describe files and references."""


def told_of(row: Mapping[str, Any]) -> bool:
    """Returns whether a stored row describes a file or a reference, and not an item of a site."""
    kind = row.get("_kind")
    return (kind == FILES and "sha256" in row and "limits" in row) or (
        kind == REFERENCES and "to_key" in row and "to_kind" in row
    )


@functools.cache
def marked_fields(cls: type) -> tuple[tuple[str, File | Ref], ...]:
    """Returns a pair for each field that refers to a file or an item. The pair contains the name of the
    field, and the `File` or `Ref` object in the field's annotation."""
    try:
        hints = typing.get_type_hints(cls, include_extras=True)
    except Exception:  # noqa: BLE001 - annotations are the user's code: a class without readable ones has no marks
        return ()
    return tuple((name, mark) for name, hint in hints.items() for mark in list(_marks(hint))[:1])


def _marks(hint: Any) -> Iterator[File | Ref]:
    if typing.get_origin(hint) is Annotated:
        yield from (one for one in hint.__metadata__ if isinstance(one, File | Ref))
        yield from _marks(typing.get_args(hint)[0])
    elif typing.get_origin(hint) in (typing.Union, types.UnionType, list, tuple, set, frozenset):
        for part in typing.get_args(hint):
            yield from _marks(part)


def file_edition(request: Request, key: typing.Callable[[str], str]) -> str:
    """Returns a text that distinguishes a file request from other requests for the same URL. The text
    contains the rule that the file must satisfy (`FileRule`). After a redirect, the text also contains the
    key of the first requested URL. Returns '' if the request is not for a file."""
    if request.use != FILE:
        return ""
    began = key(request.hops[0]) if request.hops else ""
    return f"{FILE} {_encode(request.rule).decode()} {began}"


def rule_of(request: Request) -> FileRule:
    """Returns the `FileRule` of a request. If the request has no valid rule, for example because it comes
    from a seed list, returns a rule that accepts any file."""
    try:
        return msgspec.convert(request.rule, FileRule)
    except msgspec.ValidationError:
        return FileRule()


def key_of(url: str, rule: FileRule) -> str:
    """Returns the key of a file's row: its URL and a hash of its rule."""
    return f"{url}#{xxhash.xxh3_64_hexdigest(_encode(rule.fields))[:8]}"
