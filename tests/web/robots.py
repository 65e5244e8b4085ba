"""The robots.txt of a host: its variants, their answers, and the paths that they forbid."""

from __future__ import annotations

from dataclasses import dataclass, field

from web.plan import Plan

RULES = "User-agent: *\nDisallow: /private/\nDisallow: /*?mode=print\nAllow: /private/open/\n"
FOREIGN = "User-agent: otherbot\nDisallow: /\n\n"
HOPS = 5  # RFC 9309, 2.3.1.2: a crawler should follow at least five consecutive redirects


@dataclass(frozen=True, slots=True)
class Answer:
    """One answer to /robots.txt. `act` is a name from `acts`."""

    status: int
    body: bytes = b""
    headers: tuple[tuple[str, str], ...] = field(default=(("Content-Type", "text/plain"),))
    act: str = ""


VARIANTS = (
    "missing",
    "allow",
    "empty",
    "part",
    "none",
    "agent",
    "delay",
    "rate",
    "403",
    "500",
    "500-once",
    "hang",
    "chain",
    "big",
    "html",
    "bom",
)


def variant(plan: Plan, host: int) -> str:
    """Returns the variant of a host. For spam hosts and the front door, robots.txt is missing."""
    return plan.robots[host % len(plan.robots)] if 0 <= host < plan.hosts else "missing"


def delay(plan: Plan, host: int) -> float:
    """Returns the delay between requests in the host's robots.txt, in seconds, or 0 if there is none."""
    what = variant(plan, host)
    asked = plan.crawl_delay[host % len(plan.crawl_delay)]
    if what == "rate":
        return asked if asked >= 1 else 1 / round(1 / asked)
    return asked if what == "delay" else 0.0


def closed(plan: Plan, host: int, path: str) -> bool:
    """Returns whether the host's robots.txt forbids a path to a crawler named gossamer."""
    what = variant(plan, host)
    if what in ("none", "500", "hang"):
        return True
    if what in ("missing", "allow", "empty", "403", "html", "rate") or path.startswith("/private/open/"):
        return False
    return path.startswith("/private/") or "?mode=print" in path


def names_sitemaps(plan: Plan, host: int) -> bool:
    """Returns whether the host's robots.txt lists its sitemaps."""
    return plan.has("sitemaps") and variant(plan, host) not in (
        "missing",
        "403",
        "500",
        "hang",
        "html",
        "big",
    )


def requests(plan: Plan, host: int) -> tuple[int, int]:
    """Returns the minimum and maximum number of requests for /robots.txt that one crawl makes on a host
    within the lifetime of the file."""
    what = variant(plan, host)
    return (1, 99) if what in ("500", "hang") else (2, 2) if what == "500-once" else (1, 1)


def answer(plan: Plan, host: int, path: str, tries: int) -> Answer | None:
    """Returns the answer to /robots.txt or to a hop of its redirect chain, or None for other paths. `tries`
    counts from 1."""
    what = variant(plan, host)
    if path == "/robots.txt":
        if what == "chain":
            return _redirect("/robots-hop-1.txt")
        return _first(plan, host, what, tries)
    if what == "chain" and path.startswith("/robots-hop-") and path[12:-4].isdecimal():
        k = int(path[12:-4])
        return _redirect(f"/robots-hop-{k + 1}.txt") if k < HOPS else _text(plan, host, RULES)
    return None


def _redirect(to: str) -> Answer:
    return Answer(301, b"", (("Location", to),))


def _text(plan: Plan, host: int, text: str, before: bytes = b"") -> Answer:
    if plan.has("sitemaps"):
        text += f"\nSitemap: {plan.url(host, '/sitemap.xml')}\n"
    return Answer(200, before + text.encode())


def _first(plan: Plan, host: int, what: str, tries: int) -> Answer:
    text = {
        "allow": "User-agent: *\nAllow: /\n",
        "empty": "",
        "part": FOREIGN + RULES,
        "none": "User-agent: *\nDisallow: /\n",
        "agent": "User-agent: *\nDisallow: /\n\n" + RULES.replace("*\n", "Gossamer\n", 1),
        "delay": RULES + f"Crawl-delay: {delay(plan, host):g}\n",
        "rate": f"User-agent: *\nDisallow:\nRequest-rate: {_rate(delay(plan, host))}\n",
        "500-once": RULES,
        "bom": RULES,
    }
    if what == "500" or (what == "500-once" and tries == 1):
        return Answer(500, b"oops")
    if what in ("missing", "403"):
        return Answer(404 if what == "missing" else 403, RULES.replace("/private/", "/").encode())
    if what == "hang":
        return Answer(0, act="hang")
    if what == "html":
        page = b"<!DOCTYPE html><html><body><p>Welcome!</p>\n<pre>\nnot robots\n</pre></body></html>"
        return Answer(200, page, (("Content-Type", "text/html"),))
    if what == "big":
        junk = (
            b"# nothing to see in this line, nor in the ten thousand that follow it, it is all for the size\n"
            * 11_000
        )
        return Answer(200, RULES.encode() + junk + b"User-agent: *\nDisallow: /late/\n")
    return _text(plan, host, text[what], b"\xef\xbb\xbf" if what == "bom" else b"")


def _rate(seconds: float) -> str:
    return f"{round(1 / seconds)}/1" if 0 < seconds < 1 else f"1/{seconds:g}"
