"""Page bodies: realistic HTML of the planned size, generated from the page's own random numbers."""

from __future__ import annotations

from functools import lru_cache
from html import escape
from random import Random

from web import graph, traps, truth
from web.odd import Odd
from web.plan import Link, Plan

_STYLE = "body{font:16px/1.5 serif;margin:0 auto;max-width:60rem}nav li{display:inline}article p{text-align:justify}"
_SCRIPT = 'window.data=window.data||[];function track(e){if(e&&"</a>"!==e.target){data.push([Date.now(),e.target])}}'
_ROOT = (
    '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n<title>{title}</title>\n'
    '<meta name="viewport" content="width=device-width, initial-scale=1">\n{meta}'
    '<meta name="description" content="About {title}">\n<meta property="og:title" content="{title}">\n'
    '<link rel="canonical" href="{url}">\n<link rel="stylesheet" href="/static/site.css?v=31">\n'
    '<link rel="icon" href="/static/icon.png">\n<style>{style}</style>\n<script>{script}</script>\n'
    '<script type="application/ld+json">{{"@type": "Article", "headline": "{title}", "url": "{url}"}}</script>\n'
    "</head>\n<body>\n"
)
_SMALL = '<!DOCTYPE html>\n<html>\n<head><meta charset="utf-8"><title>{title}</title>{meta}</head>\n<body>\n<h1>{title}</h1>\n'
_TEXTS = tuple(graph.WORDS[n % 33] + " " * (n > 50) + graph.WORDS[n * 5 % 33] * (n > 50) for n in range(99))
_END = "<!-- <a href='/in-a-comment.html'>not a link</a> -->\n</article>\n</main>\n<footer><ul>\n"
_ONSETS = ("b", "br", "c", "d", "f", "g", "l", "m", "n", "p", "r", "s", "st", "t", "v")
_RHYMES = ("a", "e", "i", "o", "u", "an", "er", "il", "or", "un")
_SHORT = (
    "the",
    "of",
    "and",
    "to",
    "in",
    "is",
    "it",
    "was",
    "for",
    "on",
    "with",
    "as",
    "by",
    "at",
    "from",
    "that",
)
_MEAN = 318  # average bytes of a paragraph, including its end tag


@lru_cache(maxsize=4)
def paragraphs(seed: int) -> tuple[bytes, ...]:
    """Returns the supply of text: 400 open paragraphs of about 330 bytes, with a heading before every
    ninth."""
    rng = Random(seed)
    syllables = [a + b for a in _ONSETS for b in _RHYMES]
    words = [*graph.WORDS, *graph.SECTIONS, *(_SHORT * 5), "café", "Größe", "naïve", "R&amp;D"]
    words += ["".join(rng.choices(syllables, k=rng.choice((1, 2, 2, 3)))) for _ in range(1500)]
    out = []
    for n in range(400):
        sentences = (" ".join(rng.choices(words, k=rng.randint(6, 18))).capitalize() + "." for _ in range(4))
        heading = f'<h2 id="part-{n % 10}">{rng.choice(graph.WORDS).title()}</h2>\n' if n % 9 == 4 else ""
        out.append(f"{heading}<p>{' '.join(sentences)} ".encode())
    return tuple(out)


def anchor(link: Link, text: str) -> str:
    where = link.written
    if "&" in where:
        where = escape(where)
    return f'<a href="{where}" rel="{link.rel}">{text}</a>' if link.rel else f'<a href="{where}">{text}</a>'


@lru_cache(maxsize=4)
def blocks(seed: int) -> tuple[bytes, ...]:
    """Returns the supply of text without links: 100 blocks of 8 paragraphs, which never change and are
    therefore compressed once."""
    rng, end = Random(seed + 1), b"</p>\n"
    return tuple(b"".join(text + end for text in rng.sample(paragraphs(seed), 8)) for _ in range(100))


def page(plan: Plan, host: int, i: int) -> list[bytes]:
    """Returns the body of page i of the tree in pieces: head, navigation and text with links first, then
    blocks of constant text, then the footer."""
    title, url = escape(graph.title(host, i)), plan.url(host, graph.path(i))
    links = graph.links(plan, host, i)
    cut = len(links) // 8
    head = _ROOT.format(title=title, url=url, style=_STYLE, script=_SCRIPT, meta="")
    nav = f'<header class="site"><a name="top"></a><nav><ul>\n{_items(links[:cut])}</ul></nav></header>\n'
    middle, foot = links[cut : len(links) - cut], _items(links[len(links) - cut :])
    inline = [anchor(link, _TEXTS[n % 99]) for n, link in enumerate(middle)]
    parts = [f'{head}{nav}<main>\n<article id="a{i}">\n<h1>{title}</h1>\n'.encode()]
    room = plan.size - len(parts[0]) - sum(map(len, inline)) - 2 * len(inline) - len(foot) - 200
    count = max(1, room // _MEAN)
    many = max(0, count - 20) // 8
    rng = graph.dice(plan, host, -1 - i)
    texts = rng.choices(paragraphs(plan.seed), k=count - 8 * many)
    for n, text in enumerate(texts):
        here = inline[n * len(inline) // len(texts) : (n + 1) * len(inline) // len(texts)]
        parts += (text, ", ".join(here).encode(), b"</p>\n")
    end = f"{_END}{foot}</ul>\n<p>Number {i} of {plan.pages}, web {host}, seed {plan.seed}.</p></footer>\n</body>\n</html>\n"
    return [b"".join(parts), *rng.choices(blocks(plan.seed), k=many), end.encode()]


def _items(links: list[Link]) -> str:
    return "".join([f"<li>{anchor(link, _TEXTS[n % 99])}</li>\n" for n, link in enumerate(links)])


def small(title: str, links: list[Link], meta: str = "", text: str = "") -> bytes:
    """Returns a short page: title, links, a text."""
    robots = f'<meta name="ROBOTS" content="{meta}">' if meta else ""
    head = _SMALL.format(title=escape(title), meta=robots)
    return f"{head}<ul>\n{_items(links)}</ul>\n{text}</p>\n</body>\n</html>\n".encode()


def odd_page(plan: Plan, host: int, one: Odd) -> bytes:
    """Returns the page of an odd URL."""
    text = paragraphs(plan.seed)[sum(one.path.encode()) % 400].decode()
    return small(truth.odd_title(host, one) or one.path, truth.odd_links(plan, host, one), one.meta, text)


def trap_page(plan: Plan, host: int, path: str) -> bytes | None:
    """Returns the page at a path of an endless space, or None for other paths."""
    links = traps.links(plan, host, path)
    if links is None:
        return None
    text = paragraphs(plan.seed)[sum(path.encode()) % 400].decode()
    return small(truth.trap_title(host, path), links, text=text)
