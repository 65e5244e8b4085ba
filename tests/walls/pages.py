"""The pages of the hosts, and the block pages that replace them. The block pages imitate those of vendors,
without any of their code."""

from __future__ import annotations

Answer = tuple[int, dict[str, str], str]
HTML = {"content-type": "text/html; charset=utf-8"}
WORDS = (
    "It is made of steel and boils a litre of water in a while. The handle stays cool, the lid closes by itself, and the spout pours"
    " without a drop beside the cup. It comes in four colours and is mended for ten years by those who made it."
)
WORK = "let x=%d;for(let i=0;i<20000;i++)x=(x*16807)%%2147483647;"
"""JavaScript code for a computation that takes a moment."""


def worked(nonce: int) -> int:
    """Returns the result of that computation."""
    x = nonce
    for _ in range(20000):
        x = x * 16807 % 2147483647
    return x


def goods(token: str, links: list[str]) -> str:
    """Returns the main content of a page."""
    rows = "".join(f"<p>{WORDS}</p>" for _ in range(8))
    listed = "".join(f'<li><a href="{link}">Kettle {link}</a></li>' for link in links)
    return f'<main class="goods" data-token="{token}"><h1>Kettles of many kinds</h1>{rows}<ul>{listed}</ul></main>'


def page(inner: str, title: str = "A shop of many kettles") -> Answer:
    """Returns a page of the host."""
    head = f"<!doctype html><html><head><title>{title}</title></head>"
    return 200, HTML, f"{head}<body>{inner}</body></html>"


def shell(path: str, nonce: int) -> Answer:
    """Returns a page whose content a script loads."""
    script = (
        f"{WORK % nonce}fetch('/rows?p='+encodeURIComponent('{path}')+'&n={nonce}&x='+x).then(r=>r.text())"
    )
    fill = ".then(t=>{document.getElementById('root').innerHTML=t})"
    return (
        200,
        HTML,
        (
            "<!doctype html><html><head><title>A shop of many kettles</title></head><body><div id=root></div>"
            f"<noscript>You need to enable JavaScript to run this app.</noscript><script>{script}{fill}</script></body></html>"
        ),
    )


def _pass(nonce: int) -> str:
    return f"{WORK % nonce}document.cookie='pass={nonce}.'+x+';path=/';location.reload();"


def cookie(nonce: int) -> Answer:
    """Returns a page that contains only a script that sets a cookie."""
    return 200, HTML, f"<html><head><script>{_pass(nonce)}</script></head><body></body></html>"


def lure(nonce: int) -> Answer:
    """Returns a page that looks like a normal page. A client that runs its script gets the true page
    instead."""
    poor = "".join(f"<p>All about tea, part {n}. {WORDS}</p>" for n in range(6))
    return page(
        f"<div class=text>{poor}</div><script>{_pass(nonce)}</script>", "Tea and how it is made at home"
    )


def decoy() -> Answer:
    """Returns a page without the content that the true page has."""
    poor = "".join(f"<p>All about tea, part {n}. {WORDS}</p>" for n in range(6))
    return page(f"<div class=text>{poor}</div>", "Tea and how it is made at home")


def challenge(nonce: int, manner: int) -> Answer:
    """Returns an interstitial page whose script proves that a browser runs it."""
    if manner % 3 == 0:
        head = HTML | {"server": "cloudflare", "cf-mitigated": "challenge"}
        body = f"<script>window._cf_chl_opt={{}};{_pass(nonce)}</script><noscript>Enable JavaScript and cookies to continue</noscript>"
        return (
            403,
            head,
            f"<!doctype html><html><head><title>Just a moment...</title></head><body>{body}</body></html>",
        )
    if manner % 3 == 1:
        body = f"<h1>Checking your browser before accessing this site.</h1><script>{_pass(nonce)}</script>"
        return 503, HTML, f"<html><head><title>DDoS protection</title></head><body>{body}</body></html>"
    body = f"<script>window.gokuProps={{}};{_pass(nonce)}</script><noscript>verify that you're not a robot</noscript>"
    return (
        202,
        HTML | {"x-amzn-waf-action": "challenge"},
        f"<html><head><title></title></head><body>{body}</body></html>",
    )


def refused(manner: int) -> Answer:
    """Returns the refusal for a client that is not a browser or does not come from an accepted address."""
    if manner % 3 == 0:
        where = "You don't have permission to access this on this server.<p>Reference #18.2f1e1202.1700000000.1a2b3c"
        return (
            403,
            HTML | {"server": "AkamaiGHost"},
            f"<html><title>Access Denied</title><h1>Access Denied</h1>{where}</html>",
        )
    if manner % 3 == 1:
        return (
            403,
            HTML | {"server": "nginx"},
            "<html><head><title>403 Forbidden</title></head><h1>403 Forbidden</h1></html>",
        )
    body = "<h1>Sorry, you have been blocked</h1><p>Cloudflare Ray ID: 8f00ba</p>"
    return (
        403,
        HTML | {"server": "cloudflare"},
        f"<html><title>Attention Required! | Cloudflare</title>{body}</html>",
    )


def captcha() -> Answer:
    """Returns a captcha for a client that does not come from an accepted address."""
    script = (
        "<script>var dd={'rt':'c','cid':'x','hsh':'y','t':'fe','host':'geo.captcha-delivery.com'}</script>"
    )
    body = f"<html><head><title>shop</title></head><body><p>Please enable JS</p>{script}</body></html>"
    return 403, HTML | {"x-datadome": "protected", "server": "DataDome"}, body


def too_many(status: int, after: float | None) -> Answer:
    """Returns the answer for too many pages from one address."""
    if status == 403:
        return (
            403,
            HTML | {"server": "nginx"},
            "<html><head><title>403 Forbidden</title></head><h1>403 Forbidden</h1></html>",
        )
    more = {} if after is None else {"retry-after": str(int(after) + 1)}
    return (
        429,
        HTML | more,
        "<html><head><title>429 Too Many Requests</title></head><h1>429 Too Many Requests</h1></html>",
    )
