"""The endless spaces of a web: a calendar, session ids, growing paths, and spam hosts that link to one
another."""

from __future__ import annotations

import zlib

from web.plan import Link, Plan

PREFIXES = ("/cal/", "/grow/", "/shop/", "/events")
GOODS = 12
SPAM_LINKS = 25


def is_trap(plan: Plan, host: int, path: str) -> bool:
    """Returns whether a URL belongs to an endless space. The clean pages of the shop do not."""
    if host < 0:
        return True
    return plan.has("traps") and path.startswith(PREFIXES) and path not in goods(plan)


def goods(plan: Plan) -> tuple[str, ...]:
    """Returns the real pages of the shop. The first pages of the tree link to them without a session id."""
    return tuple(f"/shop/item-{k}.html" for k in range(GOODS)) if plan.has("traps") else ()


def doors(plan: Plan, host: int, i: int) -> list[Link]:
    """Returns the links into the traps on page i of the tree."""
    if not plan.has("traps") or host < 0:
        return []
    found = [f"/shop/item-{k}.html" for k in range(GOODS) if k % min(4, plan.pages) == i]
    if i == 0:
        found += ["/cal/2024/05/", "/events?date=2024-05-01", "/grow/a/"]
    if i == 1:
        found += ["/grow/x/y/", _session(plan, 1, "door")]
    links = [Link(plan.url(host, path), path) for path in found]
    if i in (0, 2) and plan.spam:
        url = plan.url(-1 - (host * 7 + i) % plan.spam)
        links.append(Link(url, url))
    return links


def links(plan: Plan, host: int, path: str) -> list[Link] | None:
    """Returns the links of a page in a trap, or None for other paths. The clean pages of the shop link into a
    trap, too."""
    if host < 0:
        return _spam(plan, host, path)
    if not plan.has("traps"):
        return None
    if path.startswith("/cal/"):
        return _pages(plan, host, _calendar(path))
    if path.startswith("/events?date="):
        return _pages(plan, host, _events(path))
    if path.startswith("/grow/"):
        return _growing(plan, host, path)
    if path.startswith("/shop/item-") and path.partition("?")[0] in goods(plan):
        return _pages(plan, host, [_session(plan, k, path) for k in range(GOODS)])
    return None


def _pages(plan: Plan, host: int, paths: list[str]) -> list[Link] | None:
    return [Link(plan.url(host, path), path) for path in paths] or None


def _session(plan: Plan, k: int, page: str) -> str:
    ident = f"{zlib.crc32(page.encode(), plan.seed):08x}{zlib.crc32(page.encode(), k):08x}"
    name = ("sid", "PHPSESSID", "session_id")[k % 3]
    return f"/shop/item-{k}.html?{name}={ident}"


def _calendar(path: str) -> list[str]:
    parts = path.split("/")[2:-1]
    if not 1 <= len(parts) <= 3 or not all(part.isdecimal() and len(part) < 7 for part in parts):
        return []
    year, month = int(parts[0]), int(parts[1]) if len(parts) > 1 else 1
    after, before = divmod(year * 12 + month, 12), divmod(year * 12 + month - 2, 12)
    out = [f"/cal/{y:04d}/{m + 1:02d}/" for y, m in (after, before)]
    out += [f"/cal/{year + 1}/", f"/cal/{max(year - 1, 0)}/"]
    return (
        out + [f"/cal/{year:04d}/{month:02d}/{day:02d}/" for day in range(1, 29)] if len(parts) == 2 else out
    )


def _events(path: str) -> list[str]:
    year, month, day = (
        int(part) if part.isdecimal() else 1 for part in (*path[13:23].split("-"), "1", "1", "1")[:3]
    )
    days = year * 336 + (month - 1) * 28 + day - 1
    ahead = [(n // 336, n // 28 % 12 + 1, n % 28 + 1) for n in (days + 1, days - 1, days + 28, days + 336)]
    return [f"/events?date={y:04d}-{m:02d}-{d:02d}" for y, m, d in ahead]


def _growing(plan: Plan, host: int, path: str) -> list[Link]:
    """Returns links without a leading slash, on pages that answer at any path, so that the path grows with
    each link."""
    written = ("a/", "b/", "x/y/", "index/help.html")
    return [Link(plan.url(host, path.rpartition("/")[0] + "/" + part), part) for part in written]


def _spam(plan: Plan, host: int, path: str) -> list[Link]:
    """Returns the links of a spam page: to other pages of the same host, and to many other spam hosts."""
    here = zlib.crc32(path.encode(), plan.seed - host)
    own = [f"/offer-{(here + k * 7919) % 1_000_000}.html" for k in range(15)]
    others = {-1 - (here // 3 + k * 611_953) % plan.spam for k in range(SPAM_LINKS)} - {host}
    far = [Link(url, url) for url in (plan.url(other) for other in sorted(others))]
    return [*(Link(plan.url(host, one), one) for one in own), *far]
