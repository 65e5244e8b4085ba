"""Downloads the files to which items refer. Stores each file under its content hash, and emits one row per
file and one row per reference.

The URL of a file is queued and requested like any other URL. The response is not passed to a page function.
Instead, the response is checked against the file rule and stored. Like items, file rows are upserted, so
databases can compare a file row with its previous version.
"""

from __future__ import annotations

import asyncio
import io
from collections.abc import Awaitable, Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from hashlib import sha256
from typing import Any, BinaryIO, Protocol

import msgspec
import xxhash

from gossamer.items.assets import (
    FILES,
    REFERENCES,
    FileRule,
    FileWithThumbnails,
    Named,
    Reference,
    StoredFile,
    key_of,
    rule_of,
)
from gossamer.model.media_types import HEAD_BYTES, media_type, picture_size
from gossamer.model.page import Failure, Page
from gossamer.model.request import FILE, Request
from gossamer.model.verdict import Drop
from gossamer.model.visit import Claim, Row, Visit
from gossamer.model.wall_clock import CLOCK
from gossamer.parsing.thumbnails import MAX_BYTES as MAX_IMAGE_BYTES
from gossamer.parsing.thumbnails import MEDIA_TYPES as THUMBNAIL_TYPES
from gossamer.worker.link_intake import LinkIntake, TakenLinks
from gossamer.worker.outputs import SinkRetry
from gossamer.worker.records import format_time

MAX_FILES_PER_PAGE = 5000
"""Maximum number of distinct files that the crawl requests for the items of one page. Files beyond this
number are counted as skipped with the reason `trap`."""
MAX_TEXT_FILE_BYTES = 64 << 20
"""Maximum size in bytes of a file whose text is extracted."""
MAX_TEXT_CHARS = 1_000_000
"""Maximum length in characters of the text that is extracted from a file and stored in a row."""
THREADS = 4
_encode = msgspec.json.Encoder().encode


class FileStore(Protocol):
    """The interface to the folder or object store that contains the files (`sinks.item_files`)."""

    def prepare(self) -> None: ...

    def keep(self, file: BinaryIO, size: int, name: str) -> str: ...


MakeThumbnails = Callable[[bytes, Sequence[tuple[int, int]]], tuple[list[bytes], str]]
"""A function that makes thumbnails of an image (`parsing.thumbnails`). The arguments of the function are the
bytes of the image, and the maximum width and height of each thumbnail. The function returns a list of
thumbnails and an error message, of which one is empty."""


class AssetRows:
    """Creates the rows of files and references. `runs` returns the name of the current run for a site that
    each run visits completely, otherwise '' (`Row.run`). `versions` returns the version of a site file."""

    def __init__(
        self, key: Callable[[str], str], runs: Callable[[str], str], versions: Callable[[str], str]
    ) -> None:
        self._key, self._runs, self._versions = key, runs, versions

    def file(self, request: Request, now: float, **found: Any) -> Row:
        """Returns the row of a file. `found`: the values of the row's other fields."""
        rule = rule_of(request)
        url = self._key(request.hops[0] if request.hops else request.url)
        fields = FileWithThumbnails if rule.thumbnails else StoredFile
        data = msgspec.structs.asdict(fields(url=url, limits=rule.told, **found))
        return self._row(FILES, key_of(url, rule), data, request.url, rule.site, now)

    def reference(
        self,
        site: str,
        page: str,
        now: float,
        kind: str,
        key: str,
        version: str,
        to: Named,
        error: str | None,
    ) -> Row:
        """Returns the row of one reference from an item to a file or to another item."""
        said = Reference(
            kind=kind,
            key=key,
            version=version,
            field=to.field,
            position=to.position,
            to_kind=to.kind,
            to_key=to.key,
            error=error,
        )
        name = xxhash.xxh3_128_hexdigest(_encode([site, kind, key, to.field, to.position]))
        return self._row(REFERENCES, name, msgspec.structs.asdict(said), page, site, now)

    def _row(self, kind: str, key: str, data: dict[str, Any], page: str, site: str, now: float) -> Row:
        content = xxhash.xxh3_64_hexdigest(_encode(data))
        own = {
            "_url": page,
            "_site": site,
            "_kind": kind,
            "_key": key,
            "_seen_at": format_time(now),
            "_version": self._versions(site),
            "_hash": content,
        }
        return Row(kind, key, {**data, **own}, self._runs(site))


def request_named_files(
    rows: AssetRows,
    site: str,
    seen: tuple[str, float],
    claim: Claim,
    items: Iterable[tuple[Row, tuple[Sequence[Named], int]]],
    link_intake: LinkIntake,
    fetch: bool,
    stay: Iterable[Row],
    taken: TakenLinks,
) -> list[Row]:
    """Adds files to the frontier, namely the files to which the items in `stay` refer. Returns the rows of
    all references of these items.

    `seen`: the page's URL and the time at which it was fetched, in seconds since the epoch. `items`: for each
    item of the page, its row, its references, and the number of references beyond the limit. `fetch`: whether
    the crawl downloads files.
    """
    page, at = seen
    staying = {id(row) for row in stay}
    found, asked = list[Row](), dict[tuple[str, FileRule], str | None]()
    voucher = link_intake.voucher(claim)
    for item, (names, beyond) in items:
        if id(item) not in staying:
            continue
        if beyond:
            taken.skip("trap", beyond)
        for one in names:
            error = None
            if one.rule is not None and fetch:
                known = (one.url, one.rule)
                if known not in asked:
                    asked[known] = (
                        _ask(one, page, claim, link_intake, taken, voucher)
                        if len(asked) < MAX_FILES_PER_PAGE
                        else _trapped(taken)
                    )
                error = asked[known]
            found.append(
                rows.reference(site, page, at, item.kind, item.key, item.data["_hash"], one, error)  # type: ignore[index] # an item's row
            )
    return found


def add_references(name: Callable[[list[Row], TakenLinks], list[Row]], visit: Visit) -> None:
    """Called after duplicate items were removed from a visit. Adds the references of the remaining items to
    the visit, and adds the referenced files to the frontier."""
    taken = TakenLinks()
    visit.rows = [*visit.rows, *name(visit.rows, taken)]
    visit.skipped = [*visit.skipped, *taken.refused]
    for group, flat in taken.adds.items():
        visit.adds[group] = [*visit.adds.get(group, ()), *flat]
    more = {f"skip:{reason}": n for reason, n in taken.skips.items()} | {"found": taken.found}
    visit.counts = {**visit.counts, **{what: visit.counts.get(what, 0) + n for what, n in more.items()}}


def _ask(
    one: Named, page: str, claim: Claim, link_intake: LinkIntake, taken: TakenLinks, voucher: str
) -> str | None:
    """Adds one file to the frontier. Returns None, or the reason why the file is refused."""
    if not one.url:
        taken.skip("filter")
        return "filter"
    request = Request(
        one.url,
        claim.request.depth + 1,
        claim.request.priority,
        page,
        use=FILE,
        rule=None if one.rule is None else one.rule.fields,
    )
    return link_intake.request(request, taken, voucher, beside=claim.host)


def _trapped(taken: TakenLinks) -> str:
    taken.skip("trap")
    return "trap"


class AssetDownloads:
    """Stores the files of one crawl."""

    def __init__(
        self,
        place: FileStore,
        rows: AssetRows,
        waiting: SinkRetry,
        most: int,
        text: Callable[[bytes], str],
        thumbnails: MakeThumbnails,
    ) -> None:
        """`most`: the maximum size in bytes of a file whose file rule sets no limit. `text`: a function that
        extracts the text of a PDF from its bytes."""
        self.rows, self._place, self._waiting, self._most = rows, place, waiting, most
        self._text, self._thumbnails = text, thumbnails
        self._threads = ThreadPoolExecutor(THREADS, thread_name_prefix="files")
        self._prepared = False

    async def kept(self, request: Request, page: Page, error: str | None) -> tuple[Row | None, str | None]:
        """Stores a downloaded file. Returns a pair of the file's row and the reason why the file was not
        stored. The row is None if the file is unchanged. The reason is None if the file was stored or is
        unchanged. Raises SinkError."""
        if page.status == 304:
            return None, None
        rule = rule_of(request)
        own = {"status": page.status, "content_type": page.content_type}
        spooled = page.spooled
        body: BinaryIO = spooled.file if spooled is not None else io.BytesIO(page.body)
        try:
            size = spooled.size if spooled is not None else len(page.body)
            if error is not None or page.status >= 300:
                why = error or "filter"
                return self.rows.file(
                    request, page.fetched_at, **own, error=why, detail=f"HTTP {page.status}"
                ), why
            own |= {"bytes": size, "media_type": media_type(page.body[:HEAD_BYTES], page.content_type)}
            reason, detail = self._wrong(rule, size, own, page)
            if not reason:
                reason, detail = self._measured(rule, body, own)
            if reason:
                return self.rows.file(request, page.fetched_at, **own, error=reason, detail=detail), reason
            name = spooled.sha256 if spooled is not None else await self._in_thread(_hash, page.body)
            own |= {"sha256": name, "path": await self._put(body, size, name)}
            if rule.text and own["media_type"] == "application/pdf" and size <= MAX_TEXT_FILE_BYTES:
                own["text"] = (await self._in_thread(lambda: self._text(_all(body))))[:MAX_TEXT_CHARS]
            if rule.thumbnails:
                own |= await self._thumbnails_of(rule, body, own)
            return self.rows.file(request, page.fetched_at, **own), None
        finally:
            body.close()

    def refused(self, request: Request, result: Page | Failure | None, verdict: Drop) -> Row:
        """Returns the row of a file that could not be downloaded."""
        status, at = (result.status, result.fetched_at) if result is not None else (None, CLOCK.now())
        why = verdict.error or verdict.skip
        return self.rows.file(request, at, status=status, error=why, detail=verdict.detail or None)

    def close(self) -> None:
        """Stops the threads that store files and process images and texts."""
        self._threads.shutdown(wait=False, cancel_futures=True)

    def _wrong(self, rule: FileRule, size: int, own: dict[str, Any], page: Page) -> tuple[str, str]:
        if not size:
            return "filter", "it is empty"
        if not rule.takes(own["media_type"]):
            return "content-type", f"its bytes are {own['media_type']}"
        if size > (rule.size or self._most):
            return "too-large", f"it has {size} bytes"
        return "", ""

    def _measured(self, rule: FileRule, body: BinaryIO, own: dict[str, Any]) -> tuple[str, str]:
        """Measures an image and stores its width and height in `own`. Returns a reason and a detail if the
        image is too small, otherwise two empty strings."""

        def read(at: int, most: int) -> bytes:
            body.seek(at)
            return body.read(most)

        found = picture_size(read, own["media_type"])
        if found is not None:
            own["width"], own["height"] = found
            if found[0] < rule.width or found[1] < rule.height:
                return "filter", f"it has {found[0]}x{found[1]} pixels"
        elif (rule.width or rule.height) and own[
            "media_type"
        ] != "image/svg+xml":  # an SVG is scalable and therefore never too small
            return "filter", "its size in pixels is unknown"
        return "", ""

    async def _thumbnails_of(self, rule: FileRule, body: BinaryIO, own: dict[str, Any]) -> dict[str, Any]:
        """Makes and stores the thumbnails of a stored file. Returns the fields `thumbnails` and
        `thumbnail_error` of the file's row. `own`: the other fields of the file's row."""
        if own["media_type"] not in THUMBNAIL_TYPES:
            return {"thumbnail_error": f"there are no thumbnails of {own['media_type']}"}
        if own["bytes"] > MAX_IMAGE_BYTES:
            return {"thumbnail_error": f"it has more than {MAX_IMAGE_BYTES} bytes"}
        sizes = [(width, height) for _, width, height in rule.thumbnails]
        made, why = await self._in_thread(lambda: self._thumbnails(_all(body), sizes))
        paths = {}
        for (name, _, _), data in zip(rule.thumbnails, made, strict=False):
            paths[name] = await self._put(io.BytesIO(data), len(data), _hash(data))
        return {"thumbnails": paths or None, "thumbnail_error": why or None}

    async def _put(self, body: BinaryIO, size: int, name: str) -> str:
        if not self._prepared:
            await self._waiting.through(lambda: self._in_thread(self._place.prepare))
            self._prepared = True
        return str(await self._waiting.through(lambda: self._in_thread(self._place.keep, body, size, name)))

    def _in_thread(self, call: Callable[..., Any], *args: Any) -> Awaitable[Any]:
        return asyncio.get_running_loop().run_in_executor(self._threads, call, *args)


def _hash(body: bytes) -> str:
    return sha256(body).hexdigest()


def _all(body: BinaryIO) -> bytes:
    body.seek(0)
    return body.read()
