"""Reads URLs from an HTTP API that returns JSON, page by page. Requests go through the crawl's own collector and
egress guard."""

from __future__ import annotations

import asyncio
import re
import shlex
from collections.abc import AsyncIterator, Mapping
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

import msgspec

from gossamer import url as urls
from gossamer.app.producers.source import UrlBatch
from gossamer.app.targets import Rejected, SeedLine, seed
from gossamer.config.redaction import is_secret_header, mask, register_header
from gossamer.config.secret_refs import has_reference, put_in
from gossamer.config.value_parsers import nearest
from gossamer.errors import ConfigError, CrawlFailed, UsageError
from gossamer.model.interfaces import Collector
from gossamer.model.page import Page
from gossamer.model.request import Request
from gossamer.url.redirects import redirect_target

OPTIONS = ("rows", "url", "next", "cursor", "header")
ROWS = ("urls", "items", "results", "data")
"""The names of JSON fields in which the producer searches for the list of rows, unless the option `rows=`
names a field."""
REQUEST_INTERVAL_S = 0.25
"""Seconds between requests for two pages of the API."""
RETRY_WAITS_S = (1.0, 5.0, 30.0)
"""Seconds before each retry of a request that failed."""
MAX_RETRY_AFTER_S = 300.0
MAX_REDIRECTS = 5
MAX_SHOWN_CHARS = 500
_LINK = re.compile(r"<([^>]*)>[^,]*;\s*rel=\"?next\"?")
_FIELDS = set(SeedLine.__struct_fields__)


class ApiUrls:
    """The producer of a target of the form `URL OPTION=VALUE ...`. `URL` is the address of the first page of
    the API. The options contain the paths of JSON fields: the list of rows in a response, the URL in a row,
    and the address of the next page. `every`: the number of seconds after which all pages are read again. If
    `every` is None, the pages are read once."""

    beside = "*"

    def __init__(self, text: str, every: float | None = None) -> None:
        self.name, self.every = f"api {text}", every
        try:
            self.url, *words = shlex.split(text)
        except ValueError as error:
            raise UsageError(f"api:URL: {error}") from None
        self.headers: dict[str, str] = {}
        self._options: dict[str, str] = {}
        for word in words:
            self._read_option(word)
        self._row = 0
        self._collector: Collector | None = None

    async def open(self, collector: Collector) -> None:
        """Puts the secrets into the headers. Raises ConfigError if a secret cannot be read."""
        self._collector = collector
        for name, value in self.headers.items():
            try:
                self.headers[name] = put_in(value)
            except ValueError as error:
                raise ConfigError(f"{mask(self.name)}: {error}") from None
            register_header(name, self.headers[name])

    async def batches(self, position: Any) -> AsyncIterator[UrlBatch]:
        """Yields one batch per page. The position contains the URL of the page that was read last. An
        interrupted read requests the last page again, because the API may have added rows to it."""
        at = position["page"] if position else self.url
        while True:
            try:
                following = ""
                page, data = await self._fetch(at)
                requests, rejected = self._requests(self._rows(data))
                following = self._next(page, data, at)
                yield UrlBatch(requests, rejected, {"page": following or at})
            except CrawlFailed as error:
                if self.every is None:
                    raise
                yield UrlBatch([], [], {"page": self.url}, trouble=str(error))
            if following and following != at:
                await asyncio.sleep(REQUEST_INTERVAL_S)
                at = following
            elif self.every is None:
                return
            else:
                await asyncio.sleep(self.every)
                at = self.url

    async def added(self, batch: UrlBatch) -> None:
        """Does nothing."""

    async def close(self) -> None:
        """Does nothing, because the collector belongs to the caller."""

    def _read_option(self, word: str) -> None:
        name, found, value = word.partition("=")
        if name not in OPTIONS or not found:
            close = nearest(name, [f"{one}=" for one in OPTIONS]) or f"; there are {'=, '.join(OPTIONS)}="
            raise UsageError(f"api:URL: there is no option {mask(word)!r}{close}")
        if name == "header":
            header, colon, content = value.partition(":")
            if not colon or not header.strip():
                raise UsageError("api:URL: write header='NAME: VALUE'")
            if is_secret_header(header.strip()) and not has_reference(content):
                raise UsageError(
                    f"api:URL: the crawl's targets are stored, so give {header.strip()} as a reference: "
                    f"header='{header.strip()}: ${{env:NAME}}' or ${{file:PATH}}"
                )
            self.headers[header.strip()] = content.strip()
        else:
            self._options[name] = value

    async def _fetch(self, url: str) -> tuple[Page, Any]:
        """Fetches a page of the API. Returns the page and its decoded JSON. Raises CrawlFailed when the
        retries are used up."""
        why = ""
        for wait in (*RETRY_WAITS_S, None):
            page = await self._get(url)
            if isinstance(page, Page) and page.status == 200:
                try:
                    return page, msgspec.json.decode(page.body)
                except (msgspec.DecodeError, UnicodeDecodeError):
                    why = "answered no JSON"
            elif isinstance(page, Page):
                why = f"answered {page.status}"
                if 400 <= page.status < 500 and page.status != 429:
                    break
            else:
                why = page
            if wait is not None:
                await asyncio.sleep(max(wait, _retry_after(page)))
        raise CrawlFailed(f"{mask(url)} {why}: when it works again, the same command continues there")

    async def _get(self, url: str) -> Page | str:
        assert self._collector is not None
        own = urls.origin(self.url)
        for _ in range(MAX_REDIRECTS):
            headers = {"Accept": "application/json"}
            if urls.origin(url) == own:  # the secrets in the headers are sent only to the API's own origin
                headers |= self.headers
            got = await self._collector.collect(Request(url, headers=headers), headers)
            if not isinstance(got, Page):
                return f"did not answer ({got.reason})"
            if got.location is None:
                return got
            if (target := redirect_target(got.location, url)) is None:
                return "redirected to a URL that is not http(s)"
            url = target
        return "redirected too often"

    def _rows(self, data: Any) -> list[Any]:
        if place := self._options.get("rows"):
            found = _at(data, place)
        elif isinstance(data, list):
            found = data
        else:
            found = next((_at(data, one) for one in ROWS if isinstance(_at(data, one), list)), None)
        if not isinstance(found, list):
            raise ConfigError(
                f"{mask(self.name)}: no list {place or 'of rows'!r} in the response: name its place with "
                "rows=, for example rows=data.items"
            )
        return found

    def _requests(self, rows: list[Any]) -> tuple[list[Request], list[Rejected]]:
        requests, rejected = [], []
        field = self._options.get("url", "url")
        for row in rows:
            self._row += 1
            try:
                if isinstance(row, Mapping):
                    fields = {
                        name: value for name, value in row.items() if name in _FIELDS and value is not None
                    }
                    fields["url"] = _at(row, field)
                    if isinstance(fields.get("id"), int):
                        fields["id"] = str(fields["id"])
                else:
                    fields = {"url": row}
                requests.append(seed(msgspec.convert(fields, SeedLine)))
            except (msgspec.ValidationError, UsageError, ValueError) as error:
                rejected.append(Rejected("api", self._row, str(row)[:MAX_SHOWN_CHARS], str(error)))
        return requests, rejected

    def _next(self, page: Page, data: Any, at: str) -> str:
        """Returns the URL of the API's next page, or '' if there is none."""
        link = _LINK.search(page.header("link") or "")
        value = _at(data, self._options.get("next", "next")) or (link and link[1])
        if not value or isinstance(value, bool | list | Mapping):
            return ""
        if name := self._options.get("cursor"):
            split = urlsplit(at)
            query = [pair for pair in parse_qsl(split.query, keep_blank_values=True) if pair[0] != name]
            return urlunsplit(split._replace(query=urlencode([*query, (name, str(value))])))
        found = urls.parse(str(value), page.url)
        return found if found is not None and found.startswith(urls.WEB) else ""


def _at(data: Any, place: str) -> Any:
    """Returns the value at a dotted path in decoded JSON, or None.

    >>> _at({"page": {"next": 3}}, "page.next"), _at([], "next")
    (3, None)
    """
    for name in place.split("."):
        data = data.get(name) if isinstance(data, Mapping) else None
    return data


def _retry_after(page: Page | str) -> float:
    value = page.header("retry-after") if isinstance(page, Page) else None
    return min(float(value), MAX_RETRY_AFTER_S) if value is not None and value.isdigit() else 0.0
