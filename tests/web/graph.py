"""The link tree of a host: page i, its path, its depth and its links. The plan alone determines each of them.

Page 0 is `/`. Page i has the first links to the pages i*fanout+1 .. i*fanout+fanout, so every page is
reachable. All other links of page i go to pages up to these, so the depth in the tree is the true depth.
Nothing is stored, so 200,000 pages take no memory.
"""

from __future__ import annotations

import random
from functools import lru_cache

from web import odd, traps
from web.plan import TRACKERS, Link, Plan

SECTIONS = (
    "guide",
    "reference",
    "news",
    "history",
    "tutorial",
    "library",
    "people",
    "places",
    "science",
    "music",
    "garden",
    "kitchen",
)
WORDS = (
    "river",
    "lantern",
    "harbour",
    "meadow",
    "copper",
    "winter",
    "signal",
    "orchard",
    "granite",
    "ribbon",
    "compass",
    "thunder",
    "violet",
    "anchor",
    "paper",
    "falcon",
    "market",
    "timber",
    "pepper",
    "silver",
    "window",
    "saddle",
    "mirror",
    "garnet",
    "island",
    "bottle",
    "candle",
    "marble",
    "tunnel",
    "velvet",
    "cotton",
    "bridge",
    "summer",
)
CARRIERS = 25  # the first pages of a host, in turn, contain the links to odd URLs and traps
WAYS = 6


def path(i: int) -> str:
    """Returns the path of page i.

    >>> path(0), path(5)
    ('/', '/library/winter-orchard-5.html')
    """
    if i == 0:
        return "/"
    return f"/{SECTIONS[i % 12]}/{WORDS[i % 33]}-{WORDS[i * 7 // 5 % 33]}-{i}.html"


def index(plan: Plan, where: str) -> int | None:
    """Returns the number of the page at a path without a query, or None."""
    if where == "/":
        return 0
    tail = where.rpartition("-")[2]
    number = tail[:-5]
    if not tail.endswith(".html") or not number.isdecimal() or len(number) > 9:
        return None
    i = int(number)
    return i if i < plan.pages and path(i) == where else None


def title(host: int, i: int) -> str:
    return (
        f"{WORDS[i % 33].title()} & {WORDS[i * 7 // 5 % 33]} \N{EN DASH} №\N{NO-BREAK SPACE}{i} of web {host}"
    )


def depth(plan: Plan, i: int) -> int:
    """Returns the smallest number of links from page 0."""
    steps = 0
    while i > 0:
        i = (i - 1) // plan.fanout
        steps += 1
    return steps


def dice(plan: Plan, host: int, i: int) -> random.Random:
    """Returns the page's own random generator, which is the same in every process."""
    return random.Random((plan.seed * 10_007 + host) * 1_000_000_007 + i)


def targets(plan: Plan, host: int, i: int, rng: random.Random) -> list[int]:
    """Returns the different pages that page i links to, with its children first. There are `plan.links` of
    them if there are enough pages."""
    child, last = i * plan.fanout + 1, min(plan.pages - 1, i * plan.fanout + plan.fanout)
    found = dict.fromkeys(range(child, last + 1))
    near = (*range(min(8, last + 1)), (i - 1) // plan.fanout, i - 1, i + 1)
    found.update(dict.fromkeys(j for j in near if 0 <= j <= last and j != i))
    room = min(plan.links, last) - len(found)
    draw = rng.random
    for _ in range(8 * room if room > 0 else 0):
        j = int(draw() * (last + 1))
        if j != i and j not in found:
            found[j] = None
            room -= 1
            if not room:
                break
    return list(found)


def links(plan: Plan, host: int, i: int) -> list[Link]:
    """Returns the hrefs of page i in document order: children, other pages, links to odd URLs and traps,
    repetitions."""
    rng = dice(plan, host, i)
    origin, own = plan.origin(host), path(i)
    draw = rng.random
    chosen = targets(plan, host, i, rng)
    paths = [path(j) for j in chosen]
    tracked = plan.has("tracking")
    out: list[Link] = []
    for n, (j, to) in enumerate(zip(chosen, paths, strict=True)):
        if tracked and (j % 5 == 0 or n % 17 == 3):
            to = f"{to}?{_tracking(j + n)}"
        out.append(Link(origin + to, write(origin, to, own, int(draw() * WAYS))))
    carried = [
        *_carried(plan, host, i),
        *traps.doors(plan, host, i),
        *(_elsewhere(plan, host, i) if i < CARRIERS else ()),
    ]
    out.extend(carried)
    again = [one if n % 3 else _part(origin, one) for n, one in enumerate(out) if not one.rel]
    room = max(0, plan.hrefs - len(out))
    out += (again * (room // len(again) + 1))[:room] if again else []
    return out


def _part(origin: str, link: Link) -> Link:
    """Returns another link to the same target, written with a fragment."""
    return Link(link.url, link.url.removeprefix(origin) + "#part-4")


def write(origin: str, to: str, own: str, way: int) -> str:
    """Writes a link in one of several forms: absolute, without a scheme, relative to the root or to the page,
    with a fragment or with spaces."""
    if way == 0:
        return origin + to
    if way == 1:
        return origin.partition(":")[2] + to
    if way == 2:
        return to + "#top"
    if way == 3 and own.count("/") == 2:
        return ".." + to
    if way == 4 and own.rpartition("/")[0] == to.rpartition("/")[0]:
        return to.rpartition("/")[2] or "./"
    return f" {to}\n" if way == 5 else to


def _tracking(n: int) -> str:
    name = TRACKERS[n % len(TRACKERS)]
    return f"{name}=mail{n % 7}&utm_medium=web" if name != "utm_medium" else "utm_medium=feed"


def carrier(plan: Plan, k: int) -> int:
    """Returns the page that links to the k-th linked odd URL of a host."""
    return k % min(plan.pages, CARRIERS)


@lru_cache(maxsize=512)
def _bundles(plan: Plan, host: int) -> dict[int, list[Link]]:
    bundles: dict[int, list[Link]] = {}
    for k, one in enumerate(one for one in odd.odds(plan, host) if one.linked):
        for rel, where in odd.writings(plan, host, one):
            bundles.setdefault(carrier(plan, k), []).append(Link(where, where, rel))
    return bundles


def _carried(plan: Plan, host: int, i: int) -> list[Link]:
    return _bundles(plan, host).get(i, [])


def _elsewhere(plan: Plan, host: int, i: int) -> list[Link]:
    """Returns the links that leave the host: to the first page of another host, and to sites outside of this
    web."""
    out = []
    if plan.hosts > 1 and i < 3:
        url = plan.url((host + 1 + i) % plan.hosts)
        out.append(Link(url, url))
    if plan.has("external"):
        out += [
            Link(url, url) for url in (f"https://elsewhere.example/page-{i}", "http://other.example/?q=1&a=2")
        ]
    return [one for one in out if one.url != plan.url(host)]
