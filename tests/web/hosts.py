"""The constant answers of a host: pages, traps, sitemaps and files, each rendered once and cached."""

from __future__ import annotations

import zlib

from web import docs, graph, html, odd, sitemaps, traps, wire
from web.odd import Odd
from web.plan import Plan, page_of
from web.record import Record

Ready = tuple[int, str, bytes, str]  # status, etag, the whole answer, kind
MISSING: Ready = (404, "", wire.answer(404, b"<title>404</title>nothing here"), "missing")


class Host:
    """The answers of one host: rendered answers by path and coding, and the number of requests for each
    path."""

    def __init__(self, plan: Plan, number: int, record: Record) -> None:
        self.plan, self.number, self.record = plan, number, record
        self.authority = plan.authority(number)
        self.ready: dict[tuple[str, bool], Ready] = {}
        self.tries: dict[str, int] = {}

    def plain(self, path: str, gz: bool) -> Ready | None:
        """Returns the answer to a path that always has the same answer: pages, traps, sitemaps, files. The
        answer is cached while there is room."""
        found = self.ready.get((path, gz))
        if found is None and (made := self._make(path)) is not None:
            status, pieces, headers, kind = made
            body = b"".join(pieces)
            etag = f'"{zlib.crc32(body):08x}"'
            if status == 200 and kind != "sitemap":
                headers += (("ETag", etag), ("Cache-Control", "max-age=60"), ("Server", "web"))
            if gz and status == 200 and kind != "sitemap":
                body, headers = (
                    wire.zipped(*pieces),
                    (*headers, ("Content-Encoding", "gzip"), ("Vary", "Accept-Encoding")),
                )
            found = (status, etag, wire.answer(status, body, headers), kind)
            if len(self.ready) < self.plan.cache and kind != "trap":
                self.ready[path, gz] = found
        return found

    def _make(self, path: str) -> tuple[int, list[bytes], wire.Headers, str] | None:
        plan, number = self.plan, self.number
        typed: wire.Headers = (("Content-Type", wire.HTML),)
        if plan.folder:
            file = docs.answer(plan.folder, path)
            return (file[0], [file[1]], *file[2:]) if file else None
        if number == plan.hosts:
            return 301, [b""], (("Location", plan.url(0, path)),), "front"
        clean = page_of("http://x" + path)[8:] if "?" in path else path
        if number >= 0 and (i := graph.index(plan, clean)) is not None:
            return 200, html.page(plan, number, i), typed, "page"
        if (found := sitemaps.body(plan, number, path)) is not None:
            return 200, [found[0]], (("Content-Type", found[1]),), "sitemap"
        if (body := html.trap_page(plan, number, clean)) is not None:
            return 200, [body], typed, "trap" if traps.is_trap(plan, number, clean) else "shop"
        return None

    def odd(self, path: str) -> Odd | None:
        """Returns the odd URL at a path, ignoring the order of the query and tracking parameters."""
        if self.plan.folder or not 0 <= self.number < self.plan.hosts:
            return None
        return odd.table(self.plan, self.number).get(page_of("http://x" + path)[8:])


def warm(hosts: dict[str, Host]) -> None:
    """Render the pages of the tree in advance, so that a measurement does not include this work."""
    for host in hosts.values():
        if 0 <= host.number < host.plan.hosts and not host.plan.folder:
            for i in range(min(host.plan.pages, host.plan.cache)):
                host.plain(graph.path(i), host.plan.gzip)
        for one in odd.odds(host.plan, host.number) if host.plan.has("bombs") else ():
            if one.act == "bomb":
                wire.bomb(one.arg)
