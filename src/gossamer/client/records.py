"""The records that a crawl yields: pages and items. A record is a mapping, so `dict(record)`,
`pd.DataFrame(records)` and FastAPI can use records directly."""

from __future__ import annotations

import html
from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

import msgspec

from gossamer.model.item import is_pydantic
from gossamer.model.page import Page
from gossamer.model.request import Request
from gossamer.model.visit import PageRecord
from gossamer.parsing.links import Link, links_of
from gossamer.parsing.page_view import PageView

MAX_CELL_CHARACTERS = 200
"""The maximum number of characters of a value that the HTML table of a record shows."""


class _Record(Mapping[str, Any]):
    """A record as a mapping from field names to values."""

    _fields: dict[str, Any]

    def __getitem__(self, name: str) -> Any:
        return self._fields[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._fields)

    def __len__(self) -> int:
        return len(self._fields)

    def dict(self) -> dict[str, Any]:
        """Returns the record's fields as a dict. The fields have the same order as in the outputs."""
        return {**self._fields}

    def _repr_html_(self) -> str:
        return html_table(self._fields.items())

    @classmethod
    def __get_pydantic_core_schema__(cls, _source: Any, _handler: Any) -> Any:
        """Returns the pydantic schema of a record. With this schema, pydantic and FastAPI can return records
        as JSON objects."""
        serialization = {
            "type": "function-plain",
            "function": lambda record: record.dict(),
            "return_schema": {"type": "dict"},
        }
        return {"type": "is-instance", "cls": cls, "serialization": serialization}


class CrawledPage(PageView, _Record):
    """A crawled page and its record. A `CrawledPage` has the same methods and attributes as the page that a
    site's page function receives (`css`, `xpath`, `json`, `price`, `text`, `product`, ...). Attributes are
    read from the page: `page.text` is the body as text, and `page.links` is a list of links. Keys are read
    from the record, as in `page["text"]` and `dict(page)` (docs/records.md). The other fields of the record
    are also attributes, for example `page.error`, `page.depth` and `page.fetched_at`. For a URL that failed,
    `status` is None, `error` is set, and the body is empty."""

    def __init__(self, record: PageRecord, page: Page | None, request: Request | None = None) -> None:
        self._fields = {
            name: value
            for name in record.__struct_fields__
            if (value := getattr(record, name)) is not msgspec.UNSET
        }
        self.record = record
        empty = Page(record.url, 0, [], b"", fetched_at=0.0, elapsed=0.0, wire=0)
        super().__init__(page or empty, request=request or Request(record.url, depth=record.depth))

    requested_url: str
    content_type: str | None
    referrer: str | None
    fetched_at: str
    elapsed: float
    bytes: int
    collector: str
    text_hash: str | None
    canonical: str | None
    redirects: list[str]
    error: str | None

    if not TYPE_CHECKING:  # type checkers read the annotations above instead

        def __getattr__(self, name: str) -> Any:
            if not name.startswith("_") and name in self._fields:
                return self._fields[name]
            raise AttributeError(f"a page has no attribute {name!r}")

    @property
    def url(self) -> str:
        """The page's final URL."""
        return self.record.url

    @property
    def status(self) -> int | None:  # type: ignore[override] # a URL that failed has none
        """The HTTP status code, or None if no response was received."""
        return self.record.status

    @property
    def links(self) -> list[Link]:
        """The page's links, each with `url`, `text`, `nofollow` and `kind`."""
        return links_of(self.document)

    def __repr__(self) -> str:
        shown = f" {self.record.title!r}" if self.record.title else ""
        return f"<Page {self.status or self.record.error} {self.url}{shown}>"


class Found(_Record):
    """An item that a crawl yields. The item's fields can be read as attributes and as keys. Like the item's
    own fields, `_url`, `_site`, `_kind`, `_key`, `_seen_at` and `_version` can be read as attributes and as
    keys. The property `item` is an instance of the item's own class.

    A field that has the same name as a method (`items`, `keys`, `get`) can only be read as a key.
    """

    def __init__(self, fields: dict[str, Any], cls: type | None = None) -> None:
        self.__dict__["_fields"] = fields
        self.__dict__["_class"] = cls

    def __getattr__(self, name: str) -> Any:
        fields = self.__dict__.get("_fields", {})  # `_fields` is missing while `copy` creates an object
        if name in fields:
            return fields[name]
        raise AttributeError(f"the item has no field {name!r}: it has {', '.join(fields)}")

    @cached_property
    def item(self) -> Any:
        """The item as an instance of the class that the page function yielded, or as a dict. Raises
        ValueError if steps changed the fields and the item's class does not accept the changes."""
        own = {name: value for name, value in self._fields.items() if not name.startswith("_")}
        cls = self._class
        if cls is None or cls is dict:
            return own
        if is_pydantic(cls):
            return cls.model_validate(own)
        return msgspec.convert(own, cls, strict=False)

    def __repr__(self) -> str:
        return f"Found({', '.join(f'{k}={v!r}' for k, v in self._fields.items())})"


def html_table(pairs: Any, head: str = "") -> str:
    """Formats names and values as an HTML table."""
    rows = "".join(
        f"<tr><th style='text-align:left'>{html.escape(str(name))}</th><td>{html.escape(_short(value))}</td></tr>"
        for name, value in pairs
        if value is not None
    )
    return f"<table>{head}{rows}</table>"


def html_rows(rows: list[Mapping[str, Any]], note: str = "") -> str:
    """Formats records as an HTML table with one row per record."""
    names = list(dict.fromkeys(name for row in rows for name in row))
    head = "".join(f"<th>{html.escape(name)}</th>" for name in names)
    body = "".join(
        "<tr>" + "".join(f"<td>{html.escape(_short(row.get(name, '')))}</td>" for name in names) + "</tr>"
        for row in rows
    )
    return f"<table><tr>{head}</tr>{body}</table>{html.escape(note)}"


def _short(value: Any) -> str:
    text = "" if value is None else str(value)
    return text if len(text) <= MAX_CELL_CHARACTERS else f"{text[:MAX_CELL_CHARACTERS]}..."
