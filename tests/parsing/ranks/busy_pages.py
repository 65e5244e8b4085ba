"""Result pages with many blocks beside the organic results, in the structures that Google used in 2017 and
2021."""

from __future__ import annotations

from parsing.ranks.ranks_pages import SITES, page


def _result_2017(url: str, n: int, inside: str = "") -> str:
    return f'<div class="g"><!--m--><div class="rc" data-hveid="{n}"><h3 class="r"><a href="{url}" onmousedown="return rwt(this)" data-ved="0ah">Result {n}</a></h3><div class="s"><div><div class="f kv _SWb" style="white-space:nowrap"><cite class="_Rm">{url}</cite><div class="action-menu ab_ctl"><a class="_Fmb ab_button" href="#"></a><ol><li><a class="fl" href="https://webcache.googleusercontent.com/search?q=cache:x">Cached</a></li></ol></div></div><span class="st">A snippet.</span>{inside}</div></div></div><!--n--></div>'


def busy_2017() -> bytes:
    """A page with many blocks, in the structure of 2017."""
    video = '<div class="g"><div class="rc"><h3 class="r"><a href="https://www.youtube.com/watch?v=1" data-ved="x">Video result</a></h3><div class="s"><div><div class="th _lyb _YQd"><a href="https://www.youtube.com/watch?v=1"><img></a></div></div><div><cite class="_Rm">https://www.youtube.com/watch?v=1</cite><span class="st"><span class="f">1 Jan 2016 - 3 min</span> Clip.</span></div></div></div></div>'
    news = '<g-section-with-header class="_Tyo"><h3 class="_MRj">Top stories</h3><g-scrolling-carousel><g-inner-card class="_Hrk"><a class="_Ykk" href="https://news.example/1"><div class="_IRj">Story one</div><cite>News</cite></a></g-inner-card></g-scrolling-carousel></g-section-with-header>'
    inthenews = '<div class="g"><div class="card-section _Xyd"><h3 class="_MRj">In the news</h3><div><a class="_Dk" href="https://news.example/2">Story two</a><cite>News</cite></div></div></div>'
    images = '<div class="g" id="imagebox_bigimages"><div class="_Icb _kk _wI"><a href="/search?q=shoes&amp;tbm=isch">Images for shoes</a></div><div class="rg_ul"><a href="/imgres?imgurl=x&amp;imgrefurl=https://img.example/"><img></a></div></div>'
    twitter = '<div class="g"><g-section-with-header><div class="_oxk"><g-link><h3 class="r"><a href="https://twitter.com/shoes" data-ved="q">Shoes (@shoes) · Twitter</a></h3><cite>https://twitter.com/shoes</cite></g-link></div><g-scrolling-carousel><g-inner-card><a href="https://twitter.com/shoes/1">Tweet</a></g-inner-card></g-scrolling-carousel></g-section-with-header></div>'
    local = '<div class="g"><div class="_gt"><div class="_M4k"><div id="lu_map"></div><div class="_Xhb"><a class="_axi" data-cid="1" href="#"><div class="_rl">Shoe shop</div></a><a class="yYlJEf" href="https://local.example/">Website</a></div></div></div></div>'
    paa = '<div class="g kno-kp mnr-c g-blk"><div class="kp-blk _Z7"><div class="_Qbd">People also ask</div><div class="related-questions-pair"><div class="related-question-pair"><g-accordion-expander><div class="_rhf">Why shoes?</div><div class="mod"><span>Because.</span><div class="g"><div class="rc"><h3 class="r"><a href="https://answer.example/" data-ved=1>Answer page</a></h3><cite>answer.example</cite></div></div></div></g-accordion-expander></div></div></div></div>'
    feat = '<div class="g mnr-c g-blk" data-hveid="20"><div class="kp-blk _Z7 _Rqb"><div class="xpdopen"><div class="_OKe"><div class="mod"><span class="_Tgc">Answer text.</span></div><div class="g"><div class="rc"><h3 class="r"><a href="https://snippet.example/" data-ved=3>Snippet page</a></h3><cite>snippet.example</cite></div></div></div></div></div></div>'
    sl = '<table class="nrgt"><tr class="mslg"><td><div class="sld vsc"><h3 class="r"><a class="l" href="https://site1.example/a" data-ved=4>Sub A</a></h3><div class="st">x</div></div></td><td><div class="sld vsc"><h3 class="r"><a class="l" href="https://site1.example/b" data-ved=4>Sub B</a></h3></div></td></tr></table>'
    ads = '<div id="tads"><ol><li class="ads-ad"><h3><a style="display:none" href="/aclk?x"></a><a href="https://ad.example/">An ad</a></h3><div class="ads-visurl"><cite>ad.example</cite></div><div class="ads-creative">Buy</div></li></ol></div>'
    body = "".join(
        [
            feat,
            _result_2017(SITES[0], 1) + sl,
            inthenews,
            video,
            _result_2017(SITES[1], 2),
            images,
            _result_2017(SITES[2], 3),
            paa,
            _result_2017(
                SITES[3],
                4,
                inside='<div class="osl"><a class="fl" href="https://site4.example/x">X</a></div>',
            ),
            news,
            local,
            twitter,
            _result_2017(SITES[4], 5),
            '<div class="srg">' + "".join(_result_2017(SITES[i], i + 1) for i in range(5, 10)) + "</div>",
        ]
    )
    rhs = '<div id="rhs"><div id="rhs_block"><div class="g mnr-c rhsvw kno-kp g-blk"><div class="kp-blk"><div class="kno-ecr-pt">Shoe</div><h3 class="r"><a href="https://en.wikipedia.org/wiki/Shoe">Wikipedia</a></h3></div></div></div></div>'
    return page(
        f'<input name="q" value="shoes"><div id="main"><div id="cnt"><div class="mw" id="ucs"></div><div class="mw"><div id="rcnt"><div class="col"><div id="center_col"><div id="taw">{ads}</div><div class="med" id="res"><div id="topstuff"></div><div id="search"><div id="ires"><div id="rso">{body}</div></div></div><div id="bottomads"></div><div id="extrares"><div id="botstuff"><div id="brs"><h3 class="med">Searches related to shoes</h3><p><a href="/search?q=red+shoes">red shoes</a></p></div></div></div></div></div></div><div class="col">{rhs}</div></div></div></div></div><div id="foot">1 2</div>'
    )


DUE_2017 = [SITES[0], "https://www.youtube.com/watch?v=1", *SITES[1:]]


def _result_2021(url: str, n: int, inside: str = "") -> str:
    return f'<div class="g"><div class="tF2Cxc" data-hveid="C{n}" data-ved="2ah"><div class="yuRUbf"><a href="{url}" data-ved="2ah" ping="/url?x"><br><h3 class="LC20lb DKV0Md">Result {n}</h3><div class="TbwUpd NJjxre"><cite class="iUh30 qLRx3b tjvcx">{url}</cite></div></a><div class="B6fmyf"><div class="eFM0qc"><a class="fl iUh30" href="https://translate.google.com/translate?u={url}"><span>Translate this page</span></a></div></div></div><div class="IsZvec"><div class="VwiC3b yXK7lf"><span>A snippet.</span></div>{inside}</div></div></div>'


def busy_2021() -> bytes:
    """A page with many blocks, in the structure of 2021."""
    feat = '<div class="ULSxyf"><div><h2 class="bNg8Rb">Featured snippet from the web</h2><div><block-component><div class="webanswers"><div class="ifM9O"><div class="xpdopen"><div class="hgKElc">Answer.</div><div class="g"><div class="tF2Cxc"><div class="yuRUbf"><a href="https://snippet.example/" data-ved=1><h3 class="LC20lb">Snippet page</h3><cite>snippet.example</cite></a></div></div></div></div></div></div></block-component></div></div></div>'
    paa = '<div class="ULSxyf"><div jscontroller="x"><div data-hveid="CA"><div class="oIk2Cb"><div class="q8U8x" role="heading" aria-level="2"><span>People also ask</span></div></div><div data-initq="shoes"><div jsname="Cpkphb"><div class="related-question-pair" data-q="Why shoes?"><div role="button" aria-expanded="false"><span>Why shoes?</span></div><div><div class="g"><div class="yuRUbf"><a href="https://answer.example/" data-ved=2><h3 class="LC20lb">Answer</h3><cite>answer.example</cite></a></div></div></div></div></div></div></div></div></div>'
    ind = f'<div class="hlcw0c">{_result_2021(SITES[1], 2)}<ul class="FxLDp"><li class="MYVUIe">{_result_2021(SITES[2], 3)}</li></ul></div>'
    sl = '<table class="jmjoTe"><tr class="mslg"><td><div class="usJj9c"><h3 class="r"><a class="l" href="https://site1.example/a" data-ved=4>Sub A</a></h3><div class="zz3gNc">x</div></div></td></tr></table>'
    vids = '<div class="ULSxyf"><g-section-with-header class="yG4QQe"><div class="e2BEnf U7izfe"><h3 aria-level="2" role="heading"><a href="/search?q=shoes&amp;tbm=vid">Videos</a></h3></div><div class="gdvVb"><div><a href="https://www.youtube.com/watch?v=2" data-ved=5><div role="heading" aria-level="3">Clip</div><cite>youtube.com</cite></a></div></div></g-section-with-header></div>'
    img = '<div class="ULSxyf"><div id="imagebox_bigimages"><div id="iur"><h3 class="GmE3X" role="heading" aria-level="2"><a href="/search?q=shoes&amp;tbm=isch">Images for shoes</a></h3><div data-lpage="https://img.example/"><a href="https://img.example/"><img></a></div></div></div></div>'
    vres = '<div class="g dFd2Tb"><div class="DhN8Cf" data-ved=7><a href="https://vid.example/v" data-ved=8><h3 class="LC20lb">Video result</h3><cite class="iUh30">https://vid.example</cite></a><div class="P7xzyf">1:00</div></div></div>'
    pasf = '<div class="d86Vh" style="display:none"><div id="eob_1" class="exp-outline"><h4>People also search for</h4><a href="/search?q=boots">boots</a></div></div>'
    body = (
        feat
        + _result_2021(SITES[0], 1)
        + sl
        + paa
        + ind
        + vids
        + _result_2021(SITES[3], 4, pasf)
        + img
        + vres
        + "".join(f'<div class="hlcw0c">{_result_2021(SITES[i], i + 1)}</div>' for i in range(4, 10))
    )
    return page(
        f'<input name="q" value="shoes"><div class="main" id="main"><div id="cnt"><div id="rcnt"><div class="D6j0vc"><div id="center_col"><div id="taw"><div id="tvcap"></div></div><div class="eqAnXb" id="res" role="main"><div id="topstuff"></div><div id="search"><div data-hveid="CA"><h1 class="Uo8X3b">Search Results</h1><div class="v7W49e" data-async-context="query:shoes" id="rso">{body}</div></div></div><div id="bottomads"></div></div><div id="botstuff"><div data-abe><div id="bres"><div role="heading" aria-level="3">Related searches</div><a href="/search?q=red+shoes">red shoes</a></div></div></div></div></div></div></div></div><div id="footcnt"><div id="fbar">Help</div></div>'
    )


DUE_2021 = [*SITES[:4], "https://vid.example/v", *SITES[4:]]
