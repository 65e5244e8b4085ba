"""The wall of one host. It identifies clients by address, ClientHello, HTTP/2 settings and cookies, answers
their requests, and logs them."""

from __future__ import annotations

import time
from collections import deque
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, urlsplit

from walls import pages
from walls.pages import HTML, Answer
from walls.plan import NEEDS, Host, token

WINDOWS = (6291456, 131072, 2097152, 4194304)
"""The window sizes that browsers send in their HTTP/2 settings."""
PROVIDER = "provider"


@dataclass
class Client:
    """A connection: its address, whether its handshake looks like a browser's, and its HTTP/2 settings (None:
    HTTP/1.1)."""

    address: str
    browserlike: bool = False
    ja4: str = ""
    settings: dict[int, int] | None = None

    @property
    def two(self) -> bool:
        """Returns whether the HTTP/2 settings are those of a browser."""
        return self.settings is not None and self.settings.get(4) in WINDOWS


@dataclass
class Wall:
    """The wall of a host. `note` writes a line of the log."""

    host: Host
    seed: int
    note: Any
    began: float = 0.0
    came: deque[float] = field(default_factory=deque)
    banned: float = 0.0
    nonces: dict[int, str] = field(default_factory=dict)
    """The nonces issued so far, each with the user agent that received it."""

    def answer(self, client: Client, path: str, headers: dict[str, str]) -> Answer:
        """Returns the answer to a request, and logs the request."""
        now, bare = time.monotonic(), urlsplit(path).path
        kind = (
            "robots"
            if bare == "/robots.txt"
            else "page"
            if bare in self.host.paths or bare.startswith("/private")
            else "part"
        )
        if kind == "page":
            self.began = self.began or now
        age = now - self.began if self.began else 0.0
        defence = self.host.defence(bare, age)
        passed, made = self._made(client, path, bare, headers, defence if kind != "part" else "", now)
        line = {
            "t": now,
            "host": self.host.name,
            "path": bare,
            "kind": kind,
            "needs": NEEDS[defence],
            "status": made[0],
            "passed": passed,
            "ja4": client.ja4,
            "browserlike": client.browserlike,
            "h2": client.settings is not None,
            "by": client.address,
            "agent": headers.get("user-agent", "")[:160],
            "script": "pass=" in headers.get("cookie", ""),
        }
        self.note(line)
        return made

    def _made(
        self, client: Client, path: str, bare: str, headers: dict[str, str], defence: str, now: float
    ) -> tuple[bool, Answer]:
        if bare == "/robots.txt":
            if self.host.guards_robots and not client.browserlike:
                return False, pages.refused(self.host.manner)
            slow = f"Crawl-delay: {self.host.crawl_delay:g}\n" if self.host.crawl_delay else ""
            return True, (200, {"content-type": "text/plain"}, f"User-agent: *\n{slow}Disallow: /private\n")
        if bare == "/rows":
            return self._rows(path)
        if not defence:
            return True, (404, HTML, "<title>404</title>nothing here")
        if client.address == PROVIDER:
            return defence != "forbidden", self._page(bare) if defence != "forbidden" else pages.refused(1)
        if (over := self._over(now)) is not None:
            return False, over
        if defence == "shell":
            return True, pages.shell(bare, self._nonce(headers))
        if (no := self._no(client, headers, defence)) is not None:
            return False, no
        return True, self._page(bare)

    def _no(self, client: Client, headers: dict[str, str], defence: str) -> Answer | None:
        """Returns the block page of the defence, or None if the client may pass."""
        manner = self.host.manner
        if defence in ("challenge", "cookie", "lure"):
            if client.browserlike and self._proved(headers):
                return None
            nonce = self._nonce(headers)
            if defence == "challenge":
                return pages.challenge(nonce, manner)
            return pages.cookie(nonce) if defence == "cookie" else pages.lure(nonce)
        if defence == "tls" and not client.browserlike:
            return pages.refused(manner)
        if defence == "h2" and not (client.browserlike and client.two):
            return pages.refused(manner + 1)
        if defence == "decoy" and not client.browserlike:
            return pages.decoy()
        if defence == "address":
            return pages.captcha() if manner % 2 else pages.refused(manner)
        return pages.refused(1) if defence == "forbidden" else None

    def _over(self, now: float) -> Answer | None:
        """Returns the answer for too many pages, or None if the address is within its limit."""
        rate = self.host.rate
        if rate is None:
            return None
        while self.came and self.came[0] < now - rate.window:
            self.came.popleft()
        if now >= self.banned and len(self.came) < rate.most:
            self.came.append(now)
            return None
        if now >= self.banned:
            self.banned = now + rate.ban
        return pages.too_many(rate.status, self.banned - now if rate.says else None)

    def _nonce(self, headers: dict[str, str]) -> int:
        nonce = 1000 + len(self.nonces) * 7919 % 1000003
        self.nonces[nonce] = headers.get("user-agent", "")
        return nonce

    def _proved(self, headers: dict[str, str]) -> bool:
        """Returns whether the cookies prove that a browser ran our script, with the user agent that received
        the script."""
        for one in headers.get("cookie", "").split("; "):
            name, _, value = one.partition("=")
            nonce, _, x = value.partition(".")
            if (
                name == "pass"
                and nonce.isdigit()
                and self.nonces.get(int(nonce)) == headers.get("user-agent", "")
            ):
                return x == str(pages.worked(int(nonce)))
        return False

    def _rows(self, path: str) -> tuple[bool, Answer]:
        """Answers the request of a shell's script, which must contain the computed result."""
        asked = {name: values[0] for name, values in parse_qs(urlsplit(path).query).items()}
        nonce = int(asked.get("n", "0"))
        if (
            nonce not in self.nonces
            or asked.get("x") != str(pages.worked(nonce))
            or asked.get("p") not in self.host.paths
        ):
            return False, (403, HTML, "no")
        return True, (200, HTML, self._goods(asked["p"]))

    def _goods(self, path: str) -> str:
        links = list(self.host.paths[1:]) if path == "/" else [f"/private/{len(path)}", *self.host.paths[1:6]]
        return pages.goods(token(self.seed, self.host.name, path), links)

    def _page(self, path: str) -> Answer:
        return pages.page(self._goods(path))
