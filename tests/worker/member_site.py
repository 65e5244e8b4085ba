"""A site for members: a log-in form with a token, cookies that expire, and an account that is locked when it
logs in twice."""

from __future__ import annotations

import asyncio
import contextlib
import secrets
from collections import Counter
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from urllib.parse import parse_qs, urlsplit

from support.byte_servers import Asked, Server, answer, serving

PASSWORD = "CANARY-password-"
"""A password is this text plus the user's name. Only the environment and the club contain it."""


@dataclass
class Club:
    """A club site. `pages` is the number of pages. A log-in expires after `life` pages. No user sees the
    `forbidden` pages. With `turning`, the cookie changes after each page. A log-in takes `slow` seconds."""

    pages: int = 20
    life: int = 1_000_000
    forbidden: tuple[str, ...] = ()
    turning: bool = False
    slow: float = 0.0
    robots: str = ""
    sids: dict[str, str] = field(default_factory=dict)
    left: Counter[str] = field(default_factory=Counter)
    tokens: dict[str, str] = field(default_factory=dict)
    logins: Counter[str] = field(default_factory=Counter)
    wrong: Counter[str] = field(default_factory=Counter)
    locked: set[str] = field(default_factory=set)
    shown: Counter[str] = field(default_factory=Counter)
    """The number of pages shown, by user."""
    seen: dict[str, set[tuple[str, str]]] = field(default_factory=dict)
    """The addresses and browsers of the requests, by user."""
    asked: list[tuple[float, str]] = field(default_factory=list)
    posts: list[Asked] = field(default_factory=list)

    def of(self, asked: Asked) -> tuple[dict[str, str], str]:
        pairs = [
            part.strip().partition("=") for part in asked.headers.get("cookie", "").split(";") if part.strip()
        ]
        return {name: value for name, _, value in pairs}, asked.line.split(" ")[1]

    async def reply(self, asked: Asked, writer: asyncio.StreamWriter) -> bool:
        cookies, target = self.of(asked)
        self.asked.append((asyncio.get_running_loop().time(), target))
        path = urlsplit(target).path
        if path == "/robots.txt":
            writer.write(
                answer(self.robots.encode(), 200 if self.robots else 404, "Content-Type: text/plain")
            )
        elif path == "/login":
            writer.write(await self.login(asked, cookies))
        elif path == "/logout":
            self.left[cookies.get("sid", "")] = 0
            writer.write(answer(b"bye"))
        else:
            writer.write(
                self.page(
                    path, cookies, (writer.get_extra_info("peername")[0], asked.headers.get("user-agent", ""))
                )
            )
        return asked.headers.get("connection") == "close"

    async def login(self, asked: Asked, cookies: dict[str, str], wrong: bool = False) -> bytes:
        if asked.line.startswith("POST"):
            self.posts.append(asked)
            await asyncio.sleep(self.slow)
            given = {name: values[0] for name, values in parse_qs(asked.body.decode()).items()}
            user = given.get("user", "")
            right = given.get("csrf") == self.tokens.pop(cookies.get("pre", ""), None) is not None
            if not right or given.get("go") != "in" or asked.headers.get("origin") is None:
                return answer(b"<title>Forged</title>no token", 403)
            if given.get("password") != PASSWORD + user or user in self.locked:
                self.wrong[user] += 1
                wrong = True
            else:
                if any(self.sids[sid] == user and self.left[sid] > 0 for sid in self.sids):
                    self.locked.add(user)
                self.logins[user] += 1
                return answer(
                    b"", 302, f"Set-Cookie: sid={self.sid(user, self.life)}; Path=/; HttpOnly", "Location: /"
                )
        pre, token = secrets.token_hex(8), secrets.token_hex(8)
        self.tokens[pre] = token
        form = (
            "<form action=/search><input name=q></form>"
            f"<form method=post action='/login?step=2'><input type=hidden name=csrf value={token}>"
            f"<input name=user><input type=password name=password><button name=go value=in>Log in</button></form>"
            f"{'<p>Wrong user or password' if wrong else ''}"
        )
        return answer(f"<title>Log in</title>{form}".encode(), 200, f"Set-Cookie: pre={pre}; Path=/login")

    def sid(self, user: str, left: int) -> str:
        sid = "CANARY-cookie-" + secrets.token_hex(8)
        self.sids[sid], self.left[sid] = user, left
        return sid

    def page(self, path: str, cookies: dict[str, str], who: tuple[str, str]) -> bytes:
        sid = cookies.get("sid", "")
        if self.left[sid] <= 0 or self.sids[sid] in self.locked or path in self.forbidden:
            return answer(b"", 302, f"Location: /login?next={path}")
        user = self.sids[sid]
        self.left[sid] -= 1
        self.shown[user] += 1
        self.seen.setdefault(user, set()).add(who)
        links = "".join(f'<a href="/p/{n}">x</a>' for n in range(1, self.pages)) if path == "/" else ""
        headers = []
        if self.turning:
            left, self.left[sid] = self.left[sid], 0
            headers.append(f"Set-Cookie: sid={self.sid(user, left)}; Path=/; Max-Age=600")
        text = f"<title>{path}</title><h1>Members alone</h1>{links}<a class=out href=/logout>Log out</a>"
        return answer(text.encode(), 200, *headers)


@contextlib.asynccontextmanager
async def open_club(club: Club, host: str = "127.0.0.1") -> AsyncIterator[Server]:
    async with serving(club.reply, host) as server:
        yield server
