"""More result pages in the structures of 2017 to 2025. At the time of writing, the parser could not read
three of them: `plain_2019` (its headings), `mobile_2022` (its snippets), and `bing_2020` with new class names
(its answer block)."""

from __future__ import annotations

from collections.abc import Callable

from parsing.ranks.layout_years import Words, bing_page, desktop_page, in_order, mobile_page
from parsing.ranks.ranks_pages import page


def desktop_2022(words: Words) -> bytes:
    """Returns a page with pairs of results from one site, the second of each pair indented, and with a result
    that has a picture."""

    def one(number: int, url: str, _: Words) -> str:
        inner = (
            f'<div class="jtfYYd"><div class="jGGQ5e" data-header-feature="0"><div class="yuRUbf"><a href="{url}" data-ved="2ah" ping="/url?x"><br><h3 class="LC20lb MBeuO DKV0Md">Result {number}</h3>'
            f'<div class="TbwUpd NJjxre"><cite class="iUh30 qLRx3b tjvcx" role="text">{url[8:-5]}<span class="dyjrff qzEoUe" role="text"> › page</span></cite></div></a><div class="B6fmyf"><div class="eFM0qc"><a class="fl iUh30" href="https://translate.google.com/translate?u={url}"><span>{words.translate}</span></a></div></div></div></div>'
            f'<div class="LnpumSThVEWMIsDaAMZIo" data-content-feature="2"><a href="{url}" tabindex="-1"><img></a></div><div class="Z26q7c UK95Uc" data-content-feature="1"><div class="VwiC3b yXK7lf MUxGbd"><span class="MUxGbd wuQ4Ob WZ8Tjf">Mar 3, 2022 — </span><span>A snippet.</span></div></div></div>'
        )
        if number == 4:
            return f'<ul class="FxLDp"><li class="MYVUIe"><div class="g tF2Cxc" data-hveid="CA">{inner}</div></li></ul>'
        return f'<div class="hlcw0c"><div class="g tF2Cxc" data-hveid="CA" lang="en" style="width:600px">{inner}</div></div>'

    forum = '<div class="ULSxyf"><div class="g eejeod"><div role="heading" aria-level="2">Twitter</div><g-section-with-header><div class="DOqJne"><g-link><a href="https://twitter.com/shoes"><h3 class="LC20lb">Shoes (@shoes) · Twitter</h3></a></g-link></div></g-section-with-header></div></div>'
    return desktop_page(in_order(one, words, range(1, 7)) + forum + in_order(one, words, range(7, 11)), words)


def desktop_2025(words: Words) -> bytes:
    """Returns a page with an AI overview, results with expanded links, and a block of products."""

    def one(number: int, url: str, _: Words) -> str:
        sub = (
            f'<div class="HiHjCd"><a href="{url}/red">Red</a> · <a href="{url}/blue">Blue</a></div>'
            if number == 2
            else ""
        )
        return (
            f'<div class="MjjYud"><div class="wHYlTd Ww4FFb vt6azd tF2Cxc asEBEc" data-hveid="CA" data-rpos="{number}"><div class="N54PNb BToiNc"><div class="kb0PBd A9Y9g jGGQ5e" data-snf="x5WNvb"><div class="yuRUbf"><div class="b8lM7"><span class="V9tjod"><a class="zReHs" jsname="UWckNb" href="{url}" data-ved="2ah" ping="/url?x"><h3 class="LC20lb MBeuO DKV0Md">Result {number}</h3><br>'
            f'<div class="notranslate ESMNde HGLrXd ojE3Fb"><span class="VuuXrf">Site</span><cite class="tLk3Jb">{url}</cite></div></a></span></div></div></div><div class="kb0PBd A9Y9g" data-sncf="1" data-snf="nke7rc"><div class="VwiC3b yXK7lf p4wth r025kc"><span>A snippet.</span></div></div>{sub}</div></div></div>'
        )

    overview = '<div class="MjjYud"><div id="eKIzJc"><div class="YzCcne" data-mcpr><div role="heading" aria-level="2">AI Overview</div><div>Shoes are worn on feet.</div><ul><li><a href="https://source.example/"><div role="heading">Source</div></a></li></ul></div></div></div>'
    return desktop_page(overview + in_order(one, words, range(1, 11)), words)


def mobile_2018(words: Words) -> bytes:
    def one(number: int, url: str, _: Words) -> str:
        return (
            f'<div class="srg"><div class="mnr-c xpd O9g5cc uUPGi"><div class="U3THc"><div class="KJDcUb"><a class="C8nzq BmP5tf amp_r" data-amp="{url}" href="{url}" data-ved="0ah" ping="/url?x"><div class="MUxGbd v0nnCb" aria-level="3" role="heading"><span>Result {number}</span></div>'
            f'<div class="QbfRef"><span class="ZseVEf"><span aria-label="AMP"></span></span><span class="dTe0Ie qV8iec">{url[8:-5]} › page</span></div></a></div></div><div class="hJNv6b"></div><div class="LZ8hH"><div class="JTuIPc"><div class="BmP5tf"><div class="MUxGbd yDYNvb">A snippet.</div></div></div></div></div></div>'
        )

    asked = f'<div class="mnr-c"><div role="heading" aria-level="2">{words.asked}</div><div class="related-question-pair"><g-accordion-expander><div>Why shoes?</div><div><a class="C8nzq" href="https://answer.example/"><div role="heading" aria-level="3">Answer page</div></a></div></g-accordion-expander></div></div>'
    return mobile_page(in_order(one, words, range(1, 5)) + asked + in_order(one, words, range(5, 11)), words)


def mobile_2022(words: Words) -> bytes:
    def one(number: int, url: str, _: Words) -> str:
        return (
            f'<div><div class="mnr-c xpd O9g5cc uUPGi"><div class="P8ujBc v5yQqb jqWpsc" data-ved="2ah"><a class="C8nzq BmP5tf d5oMvf" role="presentation" href="{url}" data-ved="2ah" ping="/url?x"><div class="Zu0yb UGIkD qzEoUe">{url[8:-5]}</div></a><a class="C8nzq BmP5tf" href="{url}" data-ved="2ah" ping="/url?x"><div class="MUxGbd v0nnCb lyLwlc" role="heading" aria-level="3"><div>Result {number}</div></div></a></div>'
            '<div class="yDYNvb lEBKkf"><div class="MUxGbd yDYNvb lyLwlc">A snippet.</div></div></div></div>'
        )

    return mobile_page(in_order(one, words, range(1, 11)), words)


def plain_2019(words: Words) -> bytes:
    def one(number: int, url: str, _: Words) -> str:
        return (
            f'<div><div class="ZINbbc xpd O9g5cc uUPGi"><div class="kCrYT"><a href="/url?q={url}&amp;sa=U&amp;ved=2ah&amp;usg=AOv"><div class="BNeawe vvjwJb AP7Wnd">Result {number}</div><div class="BNeawe UPmit AP7Wnd">{url[8:-5]} › page</div></a></div><div class="x54gtf"></div>'
            '<div class="kCrYT"><div><div class="BNeawe s3v9rd AP7Wnd"><div><div><div class="BNeawe s3v9rd AP7Wnd">A snippet.</div></div></div></div></div></div></div></div>'
        )

    return page(
        f'<form action="/search"><input name="q" value="shoes"></form><div id="main">{in_order(one, words, range(1, 11))}<footer>Next</footer></div>',
        lang=words.lang,
    )


def bing_2020(words: Words) -> bytes:
    def one(number: int, url: str, _: Words) -> str:
        return f'<li class="b_algo" data-bm="{number}"><div class="b_title"><h2><a href="{url}" h="ID=SERP,51.1">Result {number}</a></h2><div class="b_suffix b_secondaryText nowrap"><a href="https://translator.example/?u={url}">{words.translate}</a></div></div><div class="b_caption"><div class="b_attribution" u="1|5"><cite>{url}</cite></div><p>A snippet.</p></div></li>'

    answer = '<li class="b_ans b_top"><div class="b_algo"><div class="rwrl rwrl_pri"><p>Shoes are worn.</p></div><h2><a href="https://snippet.example/">Snippet page</a></h2><div class="b_attribution"><cite>snippet.example</cite></div></div></li>'
    return bing_page(answer + in_order(one, words, range(1, 11)), words)


def bing_mobile_2022(words: Words) -> bytes:
    def one(number: int, url: str, _: Words) -> str:
        return f'<li class="b_algo" data-bm="{number}"><div class="b_algoheader"><a href="{url}" h="ID=SERP,51.1"><div class="b_imgcap_alttitle"><div class="b_attribution"><cite>{url}</cite></div></div><h2>Result {number}</h2></a></div><div class="b_caption"><p class="b_lineclamp3">A snippet.</p></div></li>'

    return bing_page(in_order(one, words, range(1, 11)), words)


MORE_LAYOUTS: dict[tuple[str, str], Callable[[Words], bytes]] = {
    ("google", "desktop 2022"): desktop_2022,
    ("google", "desktop 2025"): desktop_2025,
    ("google", "mobile 2018"): mobile_2018,
    ("google", "mobile 2022"): mobile_2022,
    ("google", "plain 2019"): plain_2019,
    ("bing", "2020"): bing_2020,
    ("bing", "mobile 2022"): bing_mobile_2022,
}
