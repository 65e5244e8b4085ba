"""The odd URLs of a host: the URLs that each feature of the plan adds, as data. `acts` serves them, and
`truth` judges them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache

from web.plan import Plan, page_of


@dataclass(frozen=True, slots=True)
class Odd:
    """One odd URL of a host. `act` names the behaviour of the server, and `fate` the expected behaviour of
    the crawler (see `Expected`)."""

    path: str
    act: str = "page"
    fate: str = "once"
    status: int | None = 200
    arg: str = ""
    """The argument of the act: the target of a redirect, seconds, or a charset."""
    links: tuple[str, ...] = ()
    """Paths or URLs that its page links to."""
    rel: str = ""
    linked: bool = True
    """Whether one of the first pages of the tree links to this URL. Otherwise the URL is found through
    `via`."""
    via: str = ""
    also: str = ""
    """A second redirect to this URL."""
    errors: tuple[str, ...] = ()
    most: int = 1
    meta: str = ""
    """The content of the page's meta robots element."""
    variants: tuple[str, ...] = ()
    """Other forms of the URL that lead to the same page. The tree links to them, too."""
    title: str = "-"
    """The title: `-` for the usual title, empty if no browser behaviour is defined."""


def private(plan: Plan, host: int) -> list[Odd]:
    """A section that robots.txt forbids in some variants (`truth` decides), with an allowed page inside."""
    rows = [Odd(f"/private/page-{k}.html", links=("/private/deep.html",)) for k in range(4)]
    return [
        *rows,
        Odd("/private/deep.html", linked=False, via="/private/page-0.html"),
        Odd("/private/open/page.html"),
        Odd("/print.html?mode=print"),
    ]


def sitemaps(plan: Plan, host: int) -> list[Odd]:
    """Pages that are listed only in a sitemap."""
    return [Odd(f"/orphan/page-{k}.html", fate="orphan", linked=False) for k in range(6)]


def tracking(plan: Plan, host: int) -> list[Odd]:
    """A page with a query, linked in many equivalent forms. Similar URLs must count as other pages."""
    variants = (
        "/list.html?b=2&a=1",
        "/list.html?a=1&b=2&utm_source=x",
        "/list.html?gclid=9&a=1&b=2",
        "/list.html?a=1&b=2#x",
    )
    rows = [
        Odd("/list.html?a=1&b=2", variants=variants),
        Odd("/list.html?a=1&b=3"),
        Odd("/list.html?a=2&b=2"),
    ]
    return [*rows, Odd("/list.html", variants=("/./list.html", "/guide/../list.html?fbclid=abc"))]


def duplicates(plan: Plan, host: int) -> list[Odd]:
    """The same body under several URLs, each of which is fetched."""
    return [Odd(f"/copy/{name}.html", act="copy", title="One text, many places") for name in ("a", "b", "c")]


def redirects(plan: Plan, host: int) -> list[Odd]:
    """Redirect chains, loops, redirects out of the web, and a redirect that sets a cookie."""
    chain = [*_row("chain", 5), Odd("/r/chain-5", linked=False, via="/r/chain-4")]
    long = [*_row("long", 14, fate="may"), Odd("/r/long-14", fate="never", linked=False, via="/r/long-13")]
    codes = [_hop(f"/r/code-{code}", f"/r/end-{code}", status=code) for code in (301, 303, 307, 308)]
    ends = [Odd(f"/r/end-{code}", linked=False, via=f"/r/code-{code}") for code in (301, 303, 307, 308)]
    ends[0] = replace(ends[0], also="/r/relative")
    loop = ("redirect-loop",)
    return [
        *chain,
        *long,
        *codes,
        *ends,
        _hop("/r/known", "/"),
        _hop("/r/relative", "../r/end-301"),
        _hop("/r/to-private", "/private/page-1.html"),
        _hop("/r/to-metadata", "http://169.254.169.254/latest/meta-data/"),
        _hop("/r/to-closed-port", "http://127.0.0.1:1/"),
        _hop("/r/to-file", "file:///etc/passwd"),
        _hop("/r/other-host", plan.url((host + 1) % plan.hosts)),
        _hop("/r/loop-a", "/r/loop-b", errors=loop),
        _hop("/r/loop-b", "/r/loop-a", linked=False, via="/r/loop-a", errors=loop),
        _hop("/r/self", "/r/self", fate="may", most=2, errors=loop),
        Odd("/r/nowhere", act="status", status=302),
        Odd("/r/bounce", act="bounce", fate="again", most=2),
    ]


def _row(name: str, count: int, **more: object) -> list[Odd]:
    """Returns a chain of redirects from /r/name-0 on. Only the first one is linked."""
    before = ["", *(f"/r/{name}-{k}" for k in range(count))]
    return [
        _hop(f"/r/{name}-{k}", f"/r/{name}-{k + 1}", linked=k == 0, via=before[k], **more)
        for k in range(count)
    ]  # type: ignore[arg-type]


def _hop(path: str, to: str, status: int = 302, fate: str = "once", **more: object) -> Odd:
    return replace(Odd(path, act="redirect", status=status, fate=fate, arg=to), **more)  # type: ignore[arg-type]


def nofollow(plan: Plan, host: int) -> list[Odd]:
    """Links that must not be followed, because of rel, meta robots or a header."""
    return [
        Odd("/nf/rel-0.html", fate="never", rel="nofollow"),
        Odd("/nf/rel-1.html", fate="never", rel="external  NoFollow ugc"),
        Odd("/nf/meta.html", meta="NOINDEX, nofollow", links=("/nf/behind-meta.html",)),
        Odd("/nf/behind-meta.html", fate="never", linked=False, via="/nf/meta.html"),
        Odd("/nf/none.html", meta="none", links=("/nf/behind-none.html",)),
        Odd("/nf/behind-none.html", fate="never", linked=False, via="/nf/none.html"),
        Odd("/nf/noindex.html", meta="noindex", links=("/nf/behind-noindex.html",)),
        Odd("/nf/behind-noindex.html", linked=False, via="/nf/noindex.html"),
        Odd("/nf/header.html", act="x-robots", links=("/nf/behind-header.html",)),
        Odd("/nf/behind-header.html", fate="may", linked=False, via="/nf/header.html"),
    ]


def statuses(plan: Plan, host: int) -> list[Odd]:
    """Answers that are final at the first request, and one that always fails."""
    final = [
        Odd(f"/s/{code}.html", act="status", status=code, errors=("http-4xx",))
        for code in (401, 403, 404, 410, 451)
    ]
    final.append(Odd("/s/204.html", act="status", status=204))
    return [
        *final,
        Odd("/s/500.html", act="status", fate="failing", status=500, errors=("http-5xx",), most=99),
    ]


def flaky(plan: Plan, host: int) -> list[Odd]:
    """URLs that fail at the first request (one of them twice) and then succeed."""
    rows = ("500", "502", "503", "429", "reset")
    once = [Odd(f"/f/{what}-once.html", act="flaky", fate="again", arg=f"{what} 1", most=2) for what in rows]
    return [*once, Odd("/f/500-twice.html", act="flaky", fate="again", arg="500 2", most=3)]


def slow(plan: Plan, host: int) -> list[Odd]:
    return [Odd("/slow/a.html", act="slow"), Odd("/slow/b.html", act="slow-body")]


def types(plan: Plan, host: int) -> list[Odd]:
    """Non-HTML bodies, which get at most one request each."""
    kinds = (
        ("report.pdf", "application/pdf"),
        ("photo.png", "image/png"),
        ("data.zip", "application/zip"),
        ("app.json", "application/json"),
        ("style.css", "text/css"),
        ("clip.mp4", "video/mp4"),
        ("notes.txt", "text/plain"),
    )
    return [Odd(f"/t/{name}", act="type", fate="may", arg=kind, title="") for name, kind in kinds]


def encodings(plan: Plan, host: int) -> list[Odd]:
    """Pages whose bytes contradict their declared encoding. The title is the one that a browser shows, or
    empty if browsers guess."""
    rows = (
        ("latin1-header", "header iso-8859-1 cp1252", "Größe café"),
        ("sjis-meta", "meta shift_jis shift_jis", "日本語のページ"),
        ("euc-header", "header euc-jp euc-jp", "日本語のページ"),
        ("win1251-meta", "meta windows-1251 cp1251", "Привет, мир"),
        ("bom-wins", "header windows-1252 utf-8-sig", "Größe 日本"),
        ("utf16-bom", "header utf-8 utf-16", "Größe 日本"),
        ("koi8-meta", "meta koi8-r koi8-r", "Привет"),
        ("header-beats-meta", "both utf-8 utf-8", "Größe 日本"),
        ("lying-latin1", "header iso-8859-1 utf-8", "Größe".encode().decode("cp1252")),
        ("gb-meta", "meta gb2312 gb18030", "中文网页"),
        ("none", "none - utf-8", ""),
        ("unknown", "header x-nonsense utf-8", ""),
    )
    return [Odd(f"/e/{name}.html", act="encoding", arg=arg, title=shown) for name, arg, shown in rows]


def keepalive(plan: Plan, host: int) -> list[Odd]:
    """URLs whose server closes a kept connection when the next request arrives. The crawler has to send the
    request again on a new connection."""
    return [Odd(f"/ka/{k}.html", act="close-kept", fate="again", most=2) for k in range(3)]


def lies(plan: Plan, host: int) -> list[Odd]:
    """Bodies that contradict their headers."""
    broken = ("reset", "parse", "timeout", "too-large")
    bad = ("truncated", "bad-chunk", "chunk-cut", "bad-status")
    rows = [Odd(f"/l/{act}.html", act=act, fate="failing", errors=broken, most=99, title="") for act in bad]
    soft = ("short-length", "not-gzip", "not-brotli", "gzip-cut", "twice-length", "bad-header", "header-bomb")
    rows += [Odd(f"/l/{act}.html", act=act, fate="may", most=99, title="", errors=broken) for act in soft]
    return [*rows, Odd("/l/chunked.html", act="chunked"), Odd("/l/until-close.html", act="until-close")]


def hang(plan: Plan, host: int) -> list[Odd]:
    """Answers that never end. The server closes them after ten minutes."""
    acts = ("hang", "hang-head", "hang-body", "drip", "drip-head")
    return [
        Odd(f"/h/{act}.html", act=act, fate="failing", errors=("timeout",), most=99, title="") for act in acts
    ]


def endless(plan: Plan, host: int) -> list[Odd]:
    """Bodies without an end, and one that announces 10 GB."""
    too = ("too-large", "timeout")
    acts = ("endless", "endless-chunks", "tiny-chunks", "huge-length")
    return [
        Odd(f"/endless/{act}.html", act=act, fate="failing", errors=too, most=99, title="") for act in acts
    ]


def bombs(plan: Plan, host: int) -> list[Odd]:
    """Small bodies that decode to 64 MiB or more, deeply nested HTML, and a page with very many links."""
    kinds = ("gzip", "gzip2", "br", "zstd", "deflate")
    wrong = ("too-large", "parse", "reset")
    rows = [
        Odd(f"/bomb/{k}.html", act="bomb", arg=k, fate="failing", errors=wrong, most=99, title="")
        for k in kinds
    ]
    return [
        *rows,
        Odd("/bomb/deep.html", act="deep", fate="may"),
        Odd("/bomb/links.html", act="many-links", fate="may"),
    ]


GROUPS: dict[str, Callable[[Plan, int], list[Odd]]] = {
    "private": private,
    "sitemaps": sitemaps,
    "tracking": tracking,
    "duplicates": duplicates,
    "redirects": redirects,
    "nofollow": nofollow,
    "status": statuses,
    "flaky": flaky,
    "slow": slow,
    "types": types,
    "encodings": encodings,
    "keepalive": keepalive,
    "lies": lies,
    "hang": hang,
    "endless": endless,
    "bombs": bombs,
}


@lru_cache(maxsize=512)
def odds(plan: Plan, host: int) -> tuple[Odd, ...]:
    """Returns all odd URLs of a plain host."""
    return tuple(one for name in plan.features if name in GROUPS for one in GROUPS[name](plan, host))


def kind(plan: Plan, host: int, path: str) -> str:
    """Returns the feature that an odd path belongs to."""
    return next(
        (n for n in plan.features if n in GROUPS for one in GROUPS[n](plan, host) if one.path == path), "page"
    )


def writings(plan: Plan, host: int, one: Odd) -> list[tuple[str, str]]:
    """Returns the links of the tree to an odd URL, as (rel, URL) of each of its forms."""
    return [(one.rel, plan.url(host, where)) for where in (one.path, *one.variants)]


@lru_cache(maxsize=512)
def table(plan: Plan, host: int) -> dict[str, Odd]:
    """Returns the odd URLs of a host, keyed by path with sorted query."""
    return {page_of("http://x" + one.path)[8:]: one for one in odds(plan, host)}
