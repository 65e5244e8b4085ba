"""A slow and simple crawler that verifies the web's ground truth: urllib, lxml and Protego, one request at a
time."""

from __future__ import annotations

import gzip
import http.client
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from urllib.parse import urldefrag, urljoin, urlsplit

from web import truth

Answer = tuple[int, http.client.HTTPMessage, bytes]


def get(url: str, headers: dict[str, str] | None = None) -> Answer | None:
    """Makes one request on its own connection, without following redirects. Returns None if no complete
    answer arrives within a second."""
    parts = urlsplit(url)
    connection = http.client.HTTPConnection(parts.netloc, timeout=1)
    try:
        connection.request(
            "GET", parts.path + (f"?{parts.query}" if parts.query else ""), headers=headers or {}
        )
        reply = connection.getresponse()
        body = reply.read()
        if reply.headers.get("Content-Encoding") == "gzip":
            body = gzip.decompress(body)
    except (OSError, EOFError, http.client.HTTPException):
        return None
    finally:
        connection.close()
    return reply.status, reply.headers, body


@dataclass
class Seen:
    """A URL that the reference crawler has requested: its last answer, its links, and its depth."""

    url: str
    depth: int
    status: int | None = None
    title: str | None = None
    links: list[str] = field(default_factory=list)
    requests: int = 0
    hops: int = 0


class Reference:
    """Crawls the given hosts from the seeds. `stay_out` returns whether a URL, such as a trap, is left
    alone."""

    def __init__(self, hosts: Iterable[str], stay_out: Callable[[str], bool] = lambda url: False) -> None:
        self.hosts, self.stay_out = set(hosts), stay_out
        self.seen: dict[str, Seen] = {}
        self.queue: deque[Seen] = deque()
        self.rules: dict[str, object] = {}
        self.cookies: dict[str, str] = {}

    def crawl(self, seeds: Iterable[str], sitemaps: bool = True) -> dict[str, Seen]:
        """Returns all requested URLs. Sitemaps are read last, so that depths are those of links."""
        for url in seeds:
            self.offer(url, 0)
        self.drain()
        if sitemaps:
            for origin, rules in list(self.rules.items()):
                for url in list(getattr(rules, "sitemaps", ())):
                    self.sitemap(urljoin(origin, url))
            self.drain()
        return self.seen

    def drain(self) -> None:
        while self.queue:
            self.visit(self.queue.popleft())

    def offer(self, url: str, depth: int, hops: int = 0) -> None:
        """Queue a URL that is new, in scope and allowed."""
        url = urldefrag(url.strip())[0]
        if urlsplit(url).scheme not in ("http", "https") or urlsplit(url).netloc not in self.hosts:
            return
        key = truth.home(url)
        if key not in self.seen and not self.stay_out(url) and self.allowed(url):
            self.seen[key] = Seen(url, depth, hops=hops)
            (self.queue.appendleft if hops else self.queue.append)(self.seen[key])

    def allowed(self, url: str) -> bool:
        parts = urlsplit(url)
        origin = f"{parts.scheme}://{parts.netloc}"
        if origin not in self.rules:
            self.rules[origin] = self.read_robots(origin)
        rules = self.rules[origin]
        return bool(rules and rules.can_fetch(url, "gossamer"))  # type: ignore[attr-defined]  # Protego ships no types

    def read_robots(self, origin: str) -> object:
        """Returns the host's rules, or None if the host is closed."""
        from protego import Protego

        url, text = f"{origin}/robots.txt", ""
        for _ in range(6):
            answer = self.get(url)
            if answer is not None and answer[0] == 500:
                answer = self.get(url)
            if answer is None or answer[0] == 500:
                return None
            if answer[0] == 200:
                text = answer[2].decode("utf-8-sig")
            if answer[0] != 301:
                break
            url = urljoin(url, answer[1]["Location"])
        return Protego.parse(text)

    def get(self, url: str) -> Answer | None:
        """Makes one request with the host's cookie."""
        host = urlsplit(url).netloc
        answer = get(url, {"Accept-Encoding": "gzip", "Cookie": self.cookies.get(host, "")})
        if answer and (cookie := answer[1].get("Set-Cookie")):
            self.cookies[host] = cookie.partition(";")[0]
        return answer

    def visit(self, seen: Seen) -> None:
        """Request a URL, up to four times if the answer is bad, and then take its links."""
        for _ in range(4):
            seen.requests += 1
            answer = self.get(seen.url)
            seen.status = answer[0] if answer else None
            if answer is None or answer[0] in (429, 500, 502, 503):
                continue
            target = urljoin(seen.url, answer[1].get("Location") or "")
            if (
                answer[0] // 100 == 3
                and target == seen.url
                and "Location" in answer[1]
                and seen.requests == 1
            ):
                continue
            break
        if answer is None:
            return
        if answer[0] // 100 == 3 and "Location" in answer[1]:
            if seen.hops < 10:
                self.offer(target, seen.depth, seen.hops + 1)
        elif answer[0] == 200 and "html" in answer[1].get("Content-Type", ""):
            self.parse(seen, answer[1], answer[2])

    def parse(self, seen: Seen, headers: http.client.HTTPMessage, body: bytes) -> None:
        from lxml import html

        tree = html.fromstring(
            body,
            parser=html.HTMLParser(encoding="utf-8" if headers.get_content_charset() == "utf-8" else None),
        )
        seen.title = tree.findtext(".//title")
        robots = " ".join(tree.xpath("//meta[translate(@name,'ROBTS','robts')='robots']/@content")).lower()
        closed = "nofollow" in robots or "none" in robots or "nofollow" in headers.get("X-Robots-Tag", "")
        for a in tree.iter("a"):
            if (href := a.get("href")) is None:
                continue
            url = urldefrag(urljoin(seen.url, href.strip()))[0]
            if url != seen.url and url not in seen.links:
                seen.links.append(url)
            if not closed and "nofollow" not in (a.get("rel") or "").lower().split():
                self.offer(url, seen.depth + 1)

    def sitemap(self, url: str) -> None:
        from lxml import etree

        answer = self.get(url)
        if answer is None or answer[0] != 200:
            return
        body = gzip.decompress(answer[2]) if answer[2][:2] == b"\x1f\x8b" else answer[2]
        tree = etree.fromstring(body)
        for loc in tree.iter("{*}loc"):
            if tree.tag.endswith("sitemapindex"):
                self.sitemap(loc.text.strip())
            else:
                self.offer(loc.text, 0)
