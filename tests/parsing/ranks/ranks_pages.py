"""Result pages written for the tests, in structures that Google and Bing have used."""

from __future__ import annotations

from collections.abc import Callable

SITES = tuple(f"https://site{number}.example/page" for number in range(1, 11))
"""The targets of the organic results of a complete page, in order."""


def page(body: str, title: str = "shoes - Google Search", lang: str = "en") -> bytes:
    """Returns a complete HTML page."""
    return f'<!doctype html><html lang="{lang}"><head><title>{title}</title></head><body>{body}</body></html>'.encode()


def google(
    blocks: str, *, before: str = "", after: str = "", rhs: str = "", lang: str = "en", query: str = "shoes"
) -> bytes:
    """Returns a desktop page as of 2026. `before` and `after` are blocks of ads."""
    return page(
        f'<form action="/search"><textarea name="q">{query}</textarea></form>'
        '<div id="main" class="main"><div id="cnt"><div id="rcnt"><div id="center_col" role="main">'
        f'<div id="taw"><div id="tvcap">{before}</div></div><div id="res"><div id="topstuff"></div><div id="search">'
        f'<div data-hveid="CAE"><h1 class="bNg8Rb">Search Results</h1><div id="rso">{blocks}</div></div></div></div>'
        f'{after}<div id="botstuff"><div role="navigation"><a href="/search?q=shoes&amp;start=10">2</a></div></div>'
        f'</div>{rhs}</div></div></div><div id="sfooter" role="contentinfo">Help</div>',
        lang=lang,
    )


def organic(url: str, title: str, snippet: str = "A snippet.", inside: str = "") -> str:
    """Returns one organic result as of 2026."""
    return (
        '<div class="MjjYud"><div class="A6K0A" data-rpos="1"><div class="tF2Cxc" data-hveid="CAI" data-ved="2ah">'
        f'<div class="yuRUbf" data-snf="x"><a jsname="UWckNb" href="{url}" data-ved="2ah" ping="/url?x"><h3 class="LC20lb">{title}</h3>'
        f"<cite>{url}</cite></a></div>"
        f'<div class="VwiC3b" data-sncf="1"><span>{snippet}</span></div></div></div>{inside}</div>'
    )


def organics(first: int = 1, last: int = 10) -> str:
    return "".join(organic(SITES[number - 1], f"Result {number}") for number in range(first, last + 1))


def questions(heading: str = "People also ask", *texts: str) -> str:
    """Returns a "People also ask" block."""
    pairs = "".join(
        f'<div class="related-question-pair" data-q="{text}"><div role="button" aria-expanded="false">{text}</div></div>'
        for text in texts or ("Which shoes last?", "Are shoes warm?")
    )
    return (
        f'<div class="MjjYud"><div class="cUnQKe" data-initq="shoes"><div role="heading" aria-level="2">{heading}</div>'
        f"{pairs}</div></div>"
    )


def headed(heading: str, *targets: str) -> str:
    """Returns a block with a heading and cards, for example top stories."""
    cards = "".join(
        f'<a href="{url}"><div role="heading" aria-level="3">Card {url}</div></a>' for url in targets
    )
    return (
        f'<div class="ULSxyf"><div class="MjjYud"><div role="heading" aria-level="2">{heading}</div>'
        f"<g-scrolling-carousel>{cards}</g-scrolling-carousel></div></div>"
    )


def text_ad(url: str, title: str, *sitelinks: str) -> str:
    """Returns one text ad."""
    below = "".join(f'<a href="{url}/{name}">{name}</a>' for name in sitelinks)
    return (
        f'<div class="uEierd"><div data-text-ad="1" data-hveid="CAA"><span>Sponsored</span><a href="{url}" data-rw="/aclk?x">'
        f'<div role="heading" aria-level="3">{title}</div><span>{url}</span></a><div>Buy now.</div>{below}</div></div>'
    )


def google_2016() -> bytes:
    """Returns a page of 2016, whose headings contain the links and whose links are redirects through the
    engine."""
    blocks = "".join(
        f'<div class="g"><div class="rc" data-hveid="3"><h3 class="r"><a href="/url?sa=t&amp;url={url}&amp;ved=0ah" '
        f"onmousedown=\"return rwt(this)\">Result {number}</a></h3><div class='s'><div><div class='f kv'><cite class='_Rm'>{url}</cite></div>"
        f"<span class='st'>A snippet.</span></div></div></div></div>"
        for number, url in enumerate(SITES, 1)
    )
    ad = (
        '<div id="tads"><ol><li class="ads-ad"><h3><a href="https://ad.example/">An ad</a></h3>'
        '<div class="ads-visurl"><cite>ad.example</cite></div></li></ol></div>'
    )
    asked = (
        '<div class="g kno-kp"><div class="related-questions-pair"><div class="related-question-pair"><g-accordion-expander><div role="button">Which shoes last?</div>'
        '<div class="g"><div class="rc"><h3 class="r"><a href="https://answer.example/">An answer</a></h3><cite>answer.example</cite></div></div></g-accordion-expander></div></div></div>'
    )
    return page(
        '<input name="q" value="shoes"><div id="main"><div id="cnt"><div id="rcnt"><div id="center_col">'
        f'<div id="taw">{ad}</div><div id="res"><div id="topstuff"></div><div id="search"><div id="ires"><div id="rso">'
        f'<div class="_NId"><div class="srg">{blocks}</div></div><div class="_NId">{asked}</div></div></div></div></div>'
        '</div><div id="rhs"><div id="rhs_block"><h2>Complementary Results</h2>Shoes are worn.</div></div></div></div></div><div id="foot">1 2 3</div>'
    )


def google_2019() -> bytes:
    """Returns a page of 2019, whose links contain the headings and which begins with a featured snippet."""
    blocks = "".join(
        f'<div class="g"><div data-hveid="3"><div class="rc"><div class="r"><a href="{url}" ping="/url?x"><h3 class="LC20lb">Result {number}</h3>'
        f'<div class="TbwUpd"><cite class="iUh30">{url}</cite></div></a></div><div class="s"><span class="st">A snippet.</span></div></div></div></div>'
        for number, url in enumerate(SITES, 1)
    )
    featured = (
        '<div class="bkWMgd"><h2 class="bNg8Rb">Featured snippet from the web</h2><div class="g mnr-c g-blk"><div class="xpdopen">'
        '<div class="g"><div class="rc"><div class="r"><a href="https://snippet.example/" ping="/url?x"><h3 class="LC20lb">Answer</h3><cite>snippet.example</cite></a>'
        "</div></div></div></div></div></div>"
    )
    return page(
        '<input name="q" value="shoes"><div id="main"><div id="cnt"><div id="rcnt"><div id="center_col"><div id="res"><div id="search">'
        f'<div id="rso">{featured}<div class="bkWMgd"><h2 class="bNg8Rb">Web results</h2><div class="srg">{blocks}</div></div></div></div></div>'
        '</div></div></div></div><div id="foot">1 2 3</div>'
    )


def google_without_javascript() -> bytes:
    """Returns the page for browsers without JavaScript, 2019 to 2024."""
    blocks = "".join(
        f'<div><div class="Gx5Zad fP1Qef xpd EtOod pkphOe"><div class="egMi0 kCrYT"><a href="/url?q={url}&amp;sa=U&amp;ved=2ah">'
        f'<h3 class="zBAuLc l97dzf"><div class="BNeawe vvjwJb AP7Wnd">Result {number}</div></h3><div class="BNeawe">{url}</div></a></div>'
        f'<div class="kCrYT"><div class="BNeawe s3v9rd AP7Wnd">A snippet.</div></div></div></div>'
        for number, url in enumerate(SITES, 1)
    )
    return page(
        f'<form><input name="q" value="shoes"></form><div id="main">{blocks}<footer>Next</footer></div>'
    )


def google_mobile() -> bytes:
    """Returns a page for mobile phones, 2018 to 2023. Its headings are not `h3`, and it shows hosts as
    text."""
    blocks = "".join(
        f'<div class="mnr-c xpd O9g5cc uUPGi"><div class="KJDcUb"><a class="C8nzq BmP5tf" href="{url}" data-ved="2ah" ping="/url?x">'
        f'<div class="MUxGbd v0nnCb" role="heading" aria-level="3">Result {number}</div><span class="qzEoUe">{url.removeprefix("https://")}</span></a></div>'
        f'<div class="JTuIPc"><div class="s3v9rd">A snippet.</div></div></div>'
        for number, url in enumerate(SITES, 1)
    )
    stories = headed("Top stories", "https://news.example/1", "https://news.example/2")
    return page(
        '<input name="q" value="shoes"><div id="main"><div id="cnt"><div id="rcnt"><div id="center_col"><div id="res"><div id="search">'
        f'<div id="rso">{stories}<div class="srg">{blocks}</div></div></div></div></div></div></div></div><div id="botstuff">More</div>'
    )


def bing(items: str, context: str = "", lang: str = "en") -> bytes:
    return page(
        '<header id="b_header"><input id="sb_form_q" name="q" value="shoes"></header><div id="b_content"><main><ol id="b_results">'
        f'{items}<li class="b_pag"><a class="sb_pagS">1</a></li></ol></main><aside><ol id="b_context">{context}</ol></aside></div><footer>Help</footer>',
        title="shoes - Search",
        lang=lang,
    )


def bing_item(url: str, title: str, kind: str = "b_algo") -> str:
    return (
        f'<li class="{kind}" data-id="1" iid="SERP.1"><h2><a href="{url}" h="ID=SERP,1">{title}</a></h2>'
        f'<div class="b_caption"><div class="b_attribution"><cite>{url}</cite></div><p>A snippet.</p></div></li>'
    )


def bing_items() -> str:
    return "".join(bing_item(url, f"Result {number}") for number, url in enumerate(SITES, 1))


GOOGLE_ERAS: dict[str, Callable[[], bytes]] = {
    "2016": google_2016,
    "2019": google_2019,
    "mobile": google_mobile,
    "without JavaScript": google_without_javascript,
    "2026": lambda: google(organics()),
}

WALLS: dict[tuple[str, str, str], bytes] = {
    ("google", "captcha", "sorry"): page(
        '<form id="captcha-form" action="index" method="post"><div class="g-recaptcha" data-sitekey="k"></div></form>'
        "<div>Our systems have detected unusual traffic from your computer network.</div>",
        title="https://www.google.com/search?q=shoes",
    ),
    ("google", "captcha", "German"): page(
        "<p>Unsere Systeme haben ungewöhnlichen Datenverkehr aus Ihrem Computernetzwerk festgestellt.</p>"
    ),
    ("bing", "captcha", "characters"): page('<div class="captcha"><p>Enter the characters you see</p></div>'),
    ("bing", "captcha", "turnstile"): page(
        '<div id="b_captcha"><div class="cf-turnstile"></div>One last step</div>'
    ),
    ("google", "consent", "English"): page(
        '<h1>Before you continue to Google</h1><form action="https://consent.google.com/save"><button>Accept all</button></form>'
    ),
    ("google", "consent", "German"): page(
        "<h1>Bevor Sie zu Google weitergehen</h1><button>Alle akzeptieren</button>"
    ),
    ("google", "consent", "Japanese"): page("<h1>Google にアクセスする前に</h1><button>同意</button>"),
    ("google", "soft_block", "JavaScript"): page(
        '<noscript><meta http-equiv="refresh" content="0;url=/httpservice/retry/enablejs?sei=x"><div>Please click '
        '<a href="/httpservice/retry/enablejs?sei=x">here</a> if you are not redirected within a few seconds.</div></noscript>'
    ),
    ("google", "soft_block", "nothing shown"): page("<script>var x = 1</script>"),
    ("google", "no_results", "English"): google(
        "", before="<p>Your search - <em>shoes</em> - did not match any documents.</p>"
    ),
    ("google", "no_results", "French"): google(
        "<p>Aucun document ne correspond aux termes de recherche spécifiés</p>"
    ),
    ("google", "no_results", "Japanese"): google("<p>shoes に一致する情報は見つかりませんでした。</p>"),
    ("google", "no_results", "Polish"): google("<p>Podana fraza – shoes – nie została odnaleziona.</p>"),
    ("bing", "no_results", "English"): bing('<li class="b_no"><h1>There are no results for shoes</h1></li>'),
    ("bing", "no_results", "German"): bing("<li><h1>Es gibt keine Ergebnisse für shoes</h1></li>"),
    ("google", "layout_unknown", "another site"): page("<h1>A shop</h1><p>We sell shoes of all kinds.</p>"),
    ("google", "layout_unknown", "tomorrow's layout"): page(
        "".join(f'<section><a href="{url}"><h3>Result</h3></a></section>' for url in SITES)
    ),
    ("google", "layout_unknown", "empty"): b"<html><body><p>Nothing to see here at all.",
    ("google", "soft_block", "no bytes"): b"",
}
"""Pages without positions, keyed by engine, verdict and name."""
