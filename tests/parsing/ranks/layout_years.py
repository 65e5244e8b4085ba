"""Result pages in the structures that Google and Bing used from 2016 to 2024, written from memory of that
markup.

Each page has the ten results of `SITES` between ads, questions, stories and other blocks. The texts of the
blocks may be in any language.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterable
from typing import NamedTuple

from parsing.ranks.ranks_pages import SITES, page


class Words(NamedTuple):
    """The texts of a language and its writing direction."""

    lang: str
    results: str
    ad: str
    asked: str
    stories: str
    images: str
    related: str
    translate: str


WORDS = (
    Words(
        *("en", "Web results", "Sponsored", "People also ask", "Top stories", "Images for shoes"),
        *("Related searches", "Translate this page"),
    ),
    Words(
        *("de", "Webergebnisse", "Anzeige", "Ähnliche Fragen", "Schlagzeilen", "Bilder zu shoes"),
        *("Ähnliche Suchanfragen", "Diese Seite übersetzen"),
    ),
    Words(
        *("ar", "نتائج الويب", "إعلان", "أسئلة أخرى", "أهم الأخبار", "صور shoes"),
        *("عمليات بحث متعلّقة", "ترجمة هذه الصفحة"),
    ),
    Words(
        *("ja", "ウェブ検索結果", "広告", "関連する質問", "トップニュース", "shoesの画像"),
        *("関連する検索キーワード", "このページを訳す"),
    ),
)


def in_order(one: Callable[[int, str, Words], str], words: Words, numbers: Iterable[int]) -> str:
    return "".join(one(number, SITES[number - 1], words) for number in numbers)


def _direction(body: str, words: Words) -> bytes:
    whole = page(body, lang=words.lang)
    return whole.replace(b"<body>", b'<body dir="rtl" class="srp rtl">') if words.lang == "ar" else whole


def desktop_page(blocks: str, words: Words, ads: str = "", bottom: str = "", rhs: str = "") -> bytes:
    return _direction(
        '<div id="searchform"><form action="/search" id="tsf"><input class="gLFyf" name="q" value="shoes"></form></div>'
        '<div id="top_nav"><div id="hdtb" role="navigation"><a href="/search?q=shoes&amp;tbm=isch">Images</a></div></div>'
        '<div class="main" id="main"><div id="cnt"><div class="mw"><div id="rcnt"><div class="col"><div id="center_col">'
        f'<div id="taw"><div id="tvcap">{ads}</div></div><div class="med" id="res" role="main"><div id="topstuff"></div>'
        f'<div id="search"><div data-hveid="CAA"><div data-async-context="query:shoes" id="rso">{blocks}</div></div></div></div>'
        f'<div id="bottomads">{bottom}</div><div id="botstuff"><div id="bres"><div role="heading" aria-level="3">{words.related}</div>'
        '<a href="/search?q=red+shoes">red shoes</a></div></div></div></div>'
        f'<div class="col">{rhs}</div></div></div></div></div><div id="foot" role="navigation"><table id="nav"><tr><td class="cur">1</td>'
        '<td><a href="/search?q=shoes&amp;start=10">2</a></td></tr></table></div><div id="fbar">Help</div>',
        words,
    )


def desktop_2018(words: Words) -> bytes:
    def one(number: int, url: str, _: Words) -> str:
        return (
            f'<div class="g"><div data-hveid="{number}"><div class="rc"><h3 class="r"><a href="{url}" ping="/url?sa=t&amp;url={url}">Result {number}</a></h3>'
            f'<div class="s"><div><div class="f hJND5c TbwUpd"><cite class="iUh30">{url}</cite><div class="action-menu ab_ctl"><a class="GHDvEf ab_button" href="#" role="button"></a>'
            f'<ol class="action-menu-panel"><li class="action-menu-item"><a class="fl" href="https://webcache.googleusercontent.com/search?q=cache:{url}">Cached</a></li></ol></div></div>'
            '<span class="st"><span class="f">3 Mar 2018 - </span>A <em>snippet</em>.</span><div class="slp f"><div class="V0aQKb"><g-review-stars>Rating: 4.5</g-review-stars></div></div></div></div></div></div></div>'
        )

    asked = (
        f'<div class="bkWMgd"><div class="g kno-kp mnr-c g-blk"><div class="ifM9O"><div class="PaDRi"><h2 class="L3Nubf">{words.asked}</h2></div>'
        '<div class="related-questions-pair" data-initq="shoes"><g-accordion-expander><div class="cbphWd">Why shoes?</div><div class="gy6Qzb" style="display:none">'
        '<div class="g"><div class="rc"><h3 class="r"><a href="https://answer.example/">Answer page</a></h3><cite>answer.example</cite></div></div></div></g-accordion-expander></div></div></div></div>'
    )
    stories = (
        f'<div class="bkWMgd"><g-section-with-header><div class="e2BEnf U7izfe"><h3 aria-level="2" role="heading">{words.stories}</h3></div><g-scrolling-carousel>'
        '<g-inner-card><a href="https://news.example/1"><div class="mRnBbe" role="heading" aria-level="3">Story</div><cite>News</cite></a></g-inner-card></g-scrolling-carousel></g-section-with-header></div>'
    )
    images = f'<div class="bkWMgd"><div class="g" id="imagebox_bigimages"><div class="_Icb"><a href="/search?q=shoes&amp;tbm=isch">{words.images}</a></div><a href="/imgres?imgurl=x"><img></a></div></div>'
    ad = (
        f'<div id="tads" aria-label="{words.ad}"><ol><li class="ads-ad" data-hveid="9"><div class="ad_cclk"><h3 class="ellip"><a style="display:none" href="/aclk?sa=l&amp;x"></a>'
        f'<a class="V0MxL" href="https://ad.example/">An ad</a></h3><div class="ads-visurl"><span class="Z98Wse">{words.ad}</span><cite class="UdQCqe">ad.example</cite></div></div><div class="ellip ads-creative">Buy</div></li></ol></div>'
    )
    first = f'<div class="bkWMgd"><h2 class="bNg8Rb">{words.results}</h2><div class="srg">{in_order(one, words, range(1, 4))}</div></div>'
    rest = f'<div class="bkWMgd"><h2 class="bNg8Rb">{words.results}</h2><div class="srg">{in_order(one, words, range(4, 11))}</div></div>'
    rhs = '<div id="rhs"><div id="rhs_block"><div class="g mnr-c rhsvw kno-kp g-blk"><div class="kp-blk knowledge-panel"><div data-attrid="title" role="heading">Shoe</div><a href="https://en.wikipedia.org/wiki/Shoe">Wikipedia</a></div></div></div></div>'
    return desktop_page(first + asked + stories + images + rest, words, ad, rhs=rhs)


def desktop_2020(words: Words) -> bytes:
    def one(number: int, url: str, _: Words) -> str:
        return (
            f'<div class="g"><!--m--><div class="rc" data-hveid="CAk"><div class="yuRUbf"><a href="{url}" data-ved="2ah" ping="/url?x"><br><h3 class="LC20lb DKV0Md"><span>Result {number}</span></h3>'
            f'<div class="TbwUpd NJjxre"><cite class="iUh30 Zu0yb tjvcx">{url[8:-5]}<span class="dyjrff"> › page</span></cite></div></a><div class="B6fmyf"><div class="TbwUpd"><cite>{url[8:-5]}</cite></div>'
            f'<div class="eFM0qc"><g-popup jsname="V68bde"><div role="button" aria-expanded="false"></div><div style="display:none" jsname="iXRGG"><a class="fl" href="https://webcache.googleusercontent.com/search?q=cache:{url}">Cached</a></div></g-popup>'
            f'<a class="fl" href="https://translate.google.com/translate?hl=en&amp;u={url}">{words.translate}</a></div></div></div><div class="IsZvec"><div><span class="aCOpRe"><span>A snippet.</span></span></div></div></div><!--n--></div>'
        )

    asked = (
        f'<div><div class="g kno-kp mnr-c g-blk"><div class="cUnQKe"><div class="xXq91c"><div role="heading" aria-level="2">{words.asked}</div></div><div data-initq="shoes">'
        '<div class="related-question-pair" data-q="Why shoes?"><g-accordion-expander><div class="z9gcx" role="button" aria-expanded="false">Why shoes?</div><div class="gy6Qzb"><div class="mod"></div><div class="g"><div class="rc"><div class="yuRUbf">'
        '<a href="https://answer.example/" ping="/url?y"><br><h3 class="LC20lb DKV0Md">Answer page</h3><cite>answer.example</cite></a></div></div></div></div></g-accordion-expander></div></div></div></div></div>'
    )
    videos = (
        '<div><div class="CKaj1c"><g-section-with-header><div class="e2BEnf"><h3 role="heading" aria-level="2">Videos</h3></div><g-scrolling-carousel><g-inner-card class="VoEfsd"><div class="y8AWGd">'
        '<a href="https://www.youtube.com/watch?v=1"><div role="heading" aria-level="3">Clip</div></a></div></g-inner-card></g-scrolling-carousel></g-section-with-header></div></div>'
    )
    twin = f'<div class="hlcw0c">{in_order(one, words, (3, 4))}</div>'
    ad = (
        f'<div id="tads" aria-label="{words.ad}"><div class="uEierd"><div class="d5oMvf cUezCb luh4tb O9g5cc uUPGi" data-text-ad="1"><div class="ad_cclk"><a class="Krnil" data-rw="/aclk?x" href="https://ad.example/">'
        f'<div class="CCgQ5" role="heading" aria-level="3"><span>An ad</span></div><div class="f2"><span>{words.ad}</span><span class="x2VHCd">ad.example</span></div></a></div><div class="MUxGbd yDYNvb">Buy</div></div></div></div>'
    )
    return desktop_page(
        in_order(one, words, (1, 2)) + asked + twin + videos + in_order(one, words, range(5, 11)), words, ad
    )


def desktop_2023(words: Words) -> bytes:
    def one(number: int, url: str, _: Words) -> str:
        return (
            '<div class="MjjYud"><div class="g Ww4FFb vt6azd tF2Cxc asEBEc" lang="en" data-hveid="CAsQAA" data-ved="2ah"><div class="N54PNb BToiNc cvP2Ce" data-snc="x"><div class="kb0PBd cvP2Ce jGGQ5e" data-snf="x5WNvb" data-snhf="0">'
            f'<div class="yuRUbf"><div><span jscontroller="msmzHf"><a jsname="UWckNb" href="{url}" data-ved="2ah" ping="/url?x"><br><h3 class="LC20lb MBeuO DKV0Md">Result {number}</h3><div class="notranslate TbwUpd YmJh3d NJjxre iUh30 ojE3Fb">'
            f'<span class="H9lube"><img></span><div><span class="VuuXrf">Site</span><div class="byrV5b"><cite class="qLRx3b tjvcx GvPZzd cHaqb" role="text">{url}</cite></div></div></div></a></span>'
            '<div class="B6fmyf byrV5b Mg1HEd"><div class="csDOgf BCF2pd L48a4c"><div jsname="Fho0Cc"><span role="button" aria-label="About this result"></span></div></div></div></div></div></div>'
            f'<div class="kb0PBd cvP2Ce" data-sncf="1" data-snf="nke7rc"><div class="VwiC3b yXK7lf lVm3ye r025kc hJNv6b"><span>A snippet.</span></div></div></div></div></div>'
        )

    asked = (
        f'<div class="MjjYud"><div class="cUnQKe"><div class="Wt5Tfe"><div class="bNeKS"><div role="heading" aria-level="2">{words.asked}</div></div><div data-initq="shoes" jsname="N760b">'
        '<div class="related-question-pair" data-q="Why shoes?" jsname="yEVEwb"><div role="button" aria-expanded="false">Why shoes?</div><div class="bCOlv" style="display:none"><div class="g"><div class="yuRUbf">'
        '<a jsname="UWckNb" href="https://answer.example/"><h3 class="LC20lb">Answer page</h3><cite>answer.example</cite></a></div></div></div></div></div></div></div></div>'
    )
    stories = (
        f'<div class="MjjYud"><g-section-with-header class="yG4QQe TBC9ub"><div class="oIk2Cb" role="heading" aria-level="2">{words.stories}</div><div class="aUSklf"><div class="m7jPZ" role="heading" aria-level="3"><a class="WlydOe" href="https://news.example/1">'
        '<div class="n0jPhd" role="heading" aria-level="3">Story</div></a></div></div></g-section-with-header></div>'
    )
    indented = (
        '<div class="MjjYud"><div class="hlcw0c"><div class="g Ww4FFb vt6azd tF2Cxc asEBEc"><div class="yuRUbf"><a jsname="UWckNb" ping="/url?x" href="'
        f'{SITES[5]}"><h3 class="LC20lb">Result 6</h3><cite>{SITES[5]}</cite></a></div><div class="VwiC3b">A snippet.</div></div></div></div>'
    )
    ad = (
        f'<div id="tads" aria-label="{words.ad}"><div class="uEierd"><div class="vdQmEd fP1Qef EtOod pkphOe"><div data-text-ad="1"><span class="U3A9Ac">{words.ad}</span><div class="v5yQqb"><a class="sVXRqc" data-rw="/aclk?x" href="https://ad.example/">'
        '<div class="CCgQ5 vCa9Yd" role="heading" aria-level="3"><span>An ad</span></div><span class="x2VHCd">https://ad.example</span></a></div><div class="MUxGbd yDYNvb lyLwlc">Buy</div></div></div></div></div>'
    )
    rest = in_order(one, words, range(7, 11))
    return desktop_page(
        in_order(one, words, range(1, 6)) + asked + indented + stories + rest,
        words,
        bottom=ad.replace("tads", "tadsb"),
    )


def mobile_page(blocks: str, words: Words, ads: str = "") -> bytes:
    return _direction(
        '<header id="header"><form action="/search"><input class="gLFyf" name="q" value="shoes"></form></header><div id="main"><div id="cnt"><div id="rcnt"><div id="center_col">'
        f'<div id="taw">{ads}</div><div id="res" role="main"><div id="topstuff"></div><div id="search"><div id="ires"><div id="rso">{blocks}</div></div></div></div><div id="bottomads"></div>'
        f'<div id="extrares"><div id="botstuff"><div id="brs"><div role="heading" aria-level="2">{words.related}</div><a href="/search?q=red+shoes">red shoes</a></div></div></div></div></div></div></div>'
        '<div id="foot"><a href="/search?q=shoes&amp;start=10">2</a></div>',
        words,
    )


def mobile_2017(words: Words) -> bytes:
    def one(number: int, url: str, _: Words) -> str:
        amp = f'class="amp_r" data-amp="{url}/amp" data-amp-cur="{url}/amp" ' if number == 2 else ""
        return (
            f'<div class="g card-section mnr-c" data-hveid="{number}"><div class="_Z1m"><a {amp}class="_Olt _bCp" href="{url}" data-ved="0ah" ping="/url?x">'
            f'<div class="_mLo" role="heading" aria-level="3">Result {number}</div><div class="_lY"><span class="_pJs">{url[8:-5]}</span></div></a></div><div class="_H1m"><div class="_ees">A snippet.</div></div></div>'
        )

    stories = f'<div class="_NId"><g-card class="mnr-c"><div class="_T1b" role="heading" aria-level="2">{words.stories}</div><g-scrolling-carousel><g-inner-card><a class="amp_r" href="https://news.example/1"><div role="heading" aria-level="3">Story</div></a></g-inner-card></g-scrolling-carousel></g-card></div>'
    ad = (
        '<div id="tads"><ol><li class="ads-fr" data-text-ad="1"><a class="C8nzq" href="https://ad.example/"><div role="heading" aria-level="3">An ad</div><div>'
        f"{words.ad} ad.example</div></a></li></ol></div>"
    )
    return mobile_page(
        f'<div class="srg">{in_order(one, words, range(1, 4))}</div>{stories}<div class="_NId"><div class="srg">{in_order(one, words, range(4, 11))}</div></div>',
        words,
        ad,
    )


def mobile_2020(words: Words) -> bytes:
    def one(number: int, url: str, _: Words) -> str:
        return (
            f'<div class="mnr-c xpd O9g5cc uUPGi"><div class="KJDcUb"><a class="C8nzq BmP5tf" href="{url}" data-ved="2ah" ping="/url?x"><div class="UFQ0Gb"><span class="qzEoUe">{url[8:-5]}</span><span> › page</span></div>'
            f'<div class="MUxGbd v0nnCb" role="heading" aria-level="3">Result {number}</div></a></div><div class="hJNv6b"></div><div class="JTuIPc"><div class="pIpgAc xUNVye"><div class="MUxGbd yDYNvb">A snippet.</div></div></div></div>'
        )

    asked = (
        f'<div><div class="mnr-c xpd cUnQKe"><div role="heading" aria-level="2">{words.asked}</div><div data-initq="shoes"><div class="related-question-pair" data-q="Why shoes?"><g-accordion-expander><div role="button" aria-expanded="false">Why shoes?</div>'
        '<div><a class="C8nzq BmP5tf" href="https://answer.example/"><div role="heading" aria-level="3">Answer page</div></a></div></g-accordion-expander></div></div></div></div>'
    )
    videos = '<div><div class="mnr-c"><g-section-with-header><h3 role="heading" aria-level="2">Videos</h3><g-scrolling-carousel><g-inner-card><a href="https://www.youtube.com/watch?v=1"><div role="heading" aria-level="3">Clip</div></a></g-inner-card></g-scrolling-carousel></g-section-with-header></div></div>'
    return mobile_page(
        f'<div class="srg"><div>{"</div><div>".join(in_order(one, words, (n,)) for n in (1, 2, 3))}</div></div>{asked}{videos}<div class="srg">{in_order(one, words, range(4, 11))}</div>',
        words,
    )


def mobile_2023(words: Words) -> bytes:
    def one(number: int, url: str, _: Words) -> str:
        return (
            '<div class="MjjYud"><div class="Ww4FFb vt6azd xpd EtOod pkphOe" data-hveid="CA"><div class="mnr-c xpd O9g5cc uUPGi"><div data-snc="x"><div class="KJDcUb" data-snf="x5WNvb">'
            f'<a class="cz3goc BmP5tf" jsname="UWckNb" href="{url}" data-ved="2ah" ping="/url?x"><div class="UFQ0Gb"><div class="H9lube"><img></div><span class="OSrXXb">Site</span><div class="fKmH1e">{url[8:-5]}</div></div>'
            f'<div class="zTpPx"><div class="v7jaNc ynAwRc MBeuO q8U8x" role="heading" aria-level="3"><span>Result {number}</span></div></div></a></div><div class="LZ8hH" data-sncf="1"><div class="VwiC3b MUxGbd yDYNvb">A snippet.</div></div></div></div></div></div>'
        )

    return mobile_page(in_order(one, words, range(1, 11)), words)


def plain_2016(words: Words) -> bytes:
    """Returns the result page for browsers without scripts, which is laid out with a table."""

    def one(number: int, url: str, _: Words) -> str:
        return (
            f'<div class="g"><h3 class="r"><a href="/url?q={url}&amp;sa=U&amp;ved=0ah&amp;usg=AFQ">Result {number}</a></h3><div class="s"><div class="kv" style="margin-bottom:2px"><cite>{url}</cite>'
            f'<div class="_nBb"><div style="display:inline" onclick="google.sham(this);" aria-expanded="false" aria-haspopup="true"><span class="_O0"></span></div><div style="display:none" class="am-dropdown-menu"><ul><li><a class="_Zkb" href="/url?q=http://webcache.googleusercontent.com/search%3Fq%3Dcache:{url}">Cached</a></li></ul></div></div></div><span class="st">A snippet.</span><br></div></div>'
        )

    images = f'<div class="g" id="images"><h3 class="r"><a href="/search?q=shoes&amp;tbm=isch">{words.images}</a></h3><div><a href="/imgres?imgurl=x"><img></a></div></div>'
    news = f'<div class="g"><h3 class="r"><a href="/search?q=shoes&amp;tbm=nws">{words.stories}</a></h3><div><a href="/url?q=https://news.example/1&amp;sa=U">Story</a></div></div>'
    return _direction(
        '<form action="/search" id="tsf"><input name="q" value="shoes"></form><table id="mn"><tr><td id="leftnav"></td><td valign="top"><div id="center_col"><div class="sd" id="resultStats">About 10 results</div><div id="res"><div id="topstuff"></div>'
        f'<div id="search"><div id="ires"><ol>{in_order(one, words, (1, 2))}{images}{news}{in_order(one, words, range(3, 11))}</ol></div></div></div></div>'
        '<div id="foot"><table id="nav"><tr><td><b>1</b></td><td><a href="/search?q=shoes&amp;start=10">2</a></td></tr></table></div></td></tr></table>',
        words,
    )


def plain_2024(words: Words) -> bytes:
    """Returns the result page for old mobile phones."""

    def one(number: int, url: str, _: Words) -> str:
        return (
            f'<div><div class="ezO2md"><div><div><a class="fuLhoc ZWRArf" href="/url?q={url}&amp;sa=U&amp;ved=2ah"><span class="CVA68e qXLe6d fuLhoc ZWRArf">Result {number}</span><span class="qXLe6d dXDvrc"><span class="fYyStc">{url[8:-5]}</span></span></a></div>'
            '<table class="VeHcBf"><tr><td><span class="qXLe6d FrIlee"><span class="fYyStc">A snippet.</span></span></td></tr></table></div></div></div>'
        )

    return _direction(
        f'<form action="/search"><input name="q" value="shoes"></form><div id="main">{in_order(one, words, range(1, 11))}<div><div class="ezO2md"><span>{words.related}</span><a href="/search?q=red+shoes">red shoes</a></div></div><footer>Next</footer></div>',
        words,
    )


def bing_page(blocks: str, words: Words, before: str = "") -> bytes:
    return _direction(
        '<header id="b_header"><form action="/search" id="sb_form"><input id="sb_form_q" name="q" value="shoes"></form></header><div id="b_content"><div id="b_pole">'
        f'</div><main aria-label="{words.results}"><div id="b_tween"><span class="sb_count">10 results</span></div><ol id="b_results">{before}{blocks}<li class="b_msg b_canvas">Some results were removed</li>'
        '<li class="b_pag"><nav role="navigation"><ul class="sb_pagF"><li><a class="sb_pagS">1</a></li><li><a href="/search?q=shoes&amp;first=11">2</a></li></ul></nav></li></ol></main>'
        '<aside><ol id="b_context"><li class="b_ans"><h2>Shoe</h2><a href="https://en.wikipedia.org/wiki/Shoe">Wikipedia</a></li></ol></aside></div><footer id="b_footer">Help</footer>',
        words,
    )


def bing_2016(words: Words) -> bytes:
    def one(number: int, url: str, _: Words) -> str:
        deep = (
            f'<ul class="b_vlist2col b_deep"><li><h3 class="deeplink_title"><a href="{url}/deep" h="ID=SERP,5.1">Deep</a></h3><p>Below.</p></li></ul>'
            if number == 1
            else ""
        )
        return (
            f'<li class="b_algo"><h2><a href="{url}" h="ID=SERP,5{number}.1">Result {number}</a></h2><div class="b_caption"><div class="b_attribution" u="0|5"><cite>{url}</cite><a href="#" aria-label="Actions" class="trgr_icon"><span class="c_tlbxTrg"></span></a>'
            f'</div><p><span class="news_dt">3/3/2016</span>&nbsp;· A snippet.</p>{deep}</div></li>'
        )

    ads = '<li class="b_ad"><ul><li><div class="sb_add sb_adTA"><h2><a href="https://www.bing.com/aclk?ld=x&amp;u=https%3a%2f%2fad.example%2f">An ad</a></h2><div class="b_caption"><div class="b_attribution"><cite>ad.example</cite></div><p>Buy</p></div></div></li></ul></li>'
    images = f'<li class="b_ans b_mop b_imgans"><h2><a href="/images/search?q=shoes">{words.images}</a></h2><div class="b_slideexp"><a href="/images/search?q=shoes&amp;id=1"><img></a></div></li>'
    news = f'<li class="b_ans"><h2><a href="/news/search?q=shoes">{words.stories}</a></h2><div class="na_cl"><a href="https://news.example/1">Story</a></div></li>'
    related = f'<li class="b_ans"><div class="b_rs"><h2>{words.related}</h2><ul class="b_vList"><li><a href="/search?q=red+shoes">red shoes</a></li></ul></div></li>'
    return bing_page(
        in_order(one, words, (1, 2, 3)) + images + news + in_order(one, words, range(4, 11)) + related,
        words,
        ads,
    )


def bing_2024(words: Words) -> bytes:
    def one(number: int, url: str, _: Words) -> str:
        target = base64.urlsafe_b64encode(url.encode()).decode().rstrip("=")
        link = f"https://www.bing.com/ck/a?!&amp;&amp;p=0a1b&amp;ptn=3&amp;ver=2&amp;hsh=4&amp;u=a1{target}&amp;ntb=1"
        return (
            f'<li class="b_algo" data-id iid="SERP.51{number}" data-bm="{number}"><div class="b_tpcn"><a class="tilk" aria-label="Site" href="{link}" h="ID=SERP,51.1"><div class="tpic"><div class="wr_fav"><img></div></div><div class="tptxt"><div class="tptt">Site</div>'
            f'<div class="tpmeta"><div class="b_attribution" u="0"><cite>{url}</cite></div></div></div></a></div><h2><a href="{link}" h="ID=SERP,51.2">Result {number}</a></h2><div class="b_caption"><p class="b_lineclamp2 b_algoSlug"><span class="algoSlug_icon">WEB</span>A snippet.</p></div></li>'
        )

    asked = f'<li class="b_ans" data-bm="20"><div class="b_rrsr"><h2>{words.asked}</h2><div class="rqnaAcfHdr"><div class="df_qntext">Why shoes?</div><div class="rwrl"><a href="https://answer.example/">Answer page</a></div></div></div></li>'
    video = '<li class="b_ans b_vidAns"><h2><a href="/videos/search?q=shoes">Videos</a></h2><div class="mc_vtvc"><a href="/videos/riverview/relatedvideo?q=shoes">Clip</a></div></li>'
    ads = '<li class="b_ad b_adTop"><ul><li data-bm="1"><div class="sb_add sb_adTA"><div class="b_tpcn"></div><h2><a href="https://www.bing.com/aclick?ld=x&amp;u=aHR0cHMlM2ElMmYlMmZhZC5leGFtcGxlJTJm">An ad</a></h2><div class="b_caption"><p>Buy</p></div></div></li></ul></li>'
    return bing_page(
        in_order(one, words, (1,))
        + asked
        + in_order(one, words, range(2, 6))
        + video
        + in_order(one, words, range(6, 11)),
        words,
        ads,
    )


LAYOUTS: dict[tuple[str, str], Callable[[Words], bytes]] = {
    ("google", "desktop 2018"): desktop_2018,
    ("google", "desktop 2020"): desktop_2020,
    ("google", "desktop 2023"): desktop_2023,
    ("google", "mobile 2017"): mobile_2017,
    ("google", "mobile 2020"): mobile_2020,
    ("google", "mobile 2023"): mobile_2023,
    ("google", "plain 2016"): plain_2016,
    ("google", "plain 2024"): plain_2024,
    ("bing", "2016"): bing_2016,
    ("bing", "2024"): bing_2024,
}
"""The function that builds the page, keyed by engine and layout."""
