"""Detects the vendors' own block pages. Each vendor has one pure function, which takes an Answer and returns
a Block or None.

A header that occurs only in refusals is enough to recognize a block page. A vendor's string in the code of a
page is evidence of a block only if the response has little text or a status that is typical of refusals. On
other pages, the string may come from a sensor or widget with which the vendor protects the page.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from gossamer.blocks.response import Answer, Block, clip
from gossamer.model.lazy_pattern import lazy_pattern

_CF_CODE = lazy_pattern(
    rb"(?:cf-error-code[^<>]{0,40}>|error code:? ?|\"error_code\": ?|/error-|error )(1[0-9]{3})(?![0-9])"
)
_CF_BLOCKS = (b"1005", b"1006", b"1007", b"1008", b"1009", b"1010", b"1011", b"1012", b"1015", b"1020")
"""Cloudflare's error codes for visitors that it refuses. Cloudflare's other error codes are for problems of
the site."""
_AKAMAI_REFERENCE = lazy_pattern(r"reference ?#\s?[0-9a-f]+\.[0-9a-f]+\.|errors\.edgesuite\.net")
_DATADOME = lazy_pattern(
    rb"(?:ct|geo)\.captcha-delivery\.com|captcha-delivery\.com\\?/(?:captcha|interstitial|[ci]\.js)"
)
_INCAPSULA_SCRIPT = lazy_pattern(rb"_incapsula_resource\?swjiylwa=[0-9a-f]+,")
_ANUBIS = lazy_pattern(
    rb"<script[^<>]{0,80}id=[\"']?anubis_(?:challenge|version)|within\.website/x/cmd/anubis/(?:static/js|api/)"
)


def cloudflare(page: Answer) -> Block | None:
    """Detects Cloudflare: JavaScript and managed challenges, captchas, errors 1005 to 1020, the block page of
    its WAF."""
    if mitigated := page.headers.get("cf-mitigated"):
        kind = "challenge" if "challenge" in mitigated else "denied"
        return Block("cloudflare", kind, (f"header cf-mitigated: {clip(mitigated)}",))
    if page.status == 402 and "crawler-price" in page.headers:
        return Block("cloudflare", "denied", ("header crawler-price",))
    if not page.alone:
        return None
    if signs := page.marks(b"/cdn-cgi/l/chk_captcha", b"cf-captcha-container", b'id="captcha-bypass"'):
        return Block("cloudflare", "captcha", signs)
    signs = page.marks(
        b"cf_chl_opt",
        b"__cf_chl_",
        b"cf-chl-",
        b"/cdn-cgi/l/chk_jschl",
        b"jschl_vc",
        b"jschl-answer",
        b"cf-browser-verification",
        b"cf-challenge-running",
        b"cf-please-wait",
        b"challenge-platform/h/b/orchestrate",
        b"challenge-platform/h/g/orchestrate",
    )
    if not signs and page.title == "just a moment...":
        signs = ("title: just a moment...",)
    if signs:
        return Block("cloudflare", "challenge", signs)
    return _cloudflare_refusal(page)


def _cloudflare_refusal(page: Answer) -> Block | None:
    own = b"cloudflare" in page.low or "cloudflare" in page.headers.get("server", "").lower()
    if not own:
        return None
    code = _CF_CODE.search(page.low)
    if code and code[1] in _CF_BLOCKS and (page.refuses or b"cf-error" in page.low):
        kind = "rate-limit" if code[1] == b"1015" else "denied"
        return Block("cloudflare", kind, (f"page: error {code[1].decode()}",))
    signs = page.marks(
        b'data-translate="block_headline"',
        b"used cloudflare to restrict access",
        b"cf-wrapper cf-error-overview",
    )
    if page.title == "attention required! | cloudflare":
        signs = ("title: attention required! | cloudflare", *signs)
    if not signs and page.status in (403, 429):
        signs = page.marks(b"<center>cloudflare</center>")
    return Block("cloudflare", _limit(page), signs) if signs else None


def datadome(page: Answer) -> Block | None:
    """Detects DataDome: its captcha, its device check and its block page, each as a page or as JSON."""
    signs: tuple[str, ...] = ()
    if page.status in (401, 403, 405, 429):
        signs = tuple(
            f"header {name}" for name in ("x-dd-b", "x-datadome", "x-datadome-cid") if name in page.headers
        )
        if "datadome=" in page.headers.get("set-cookie", ""):
            signs += ("cookie datadome",)
    named = page.alone and page.may_have_marks and b"captcha-delivery.com" in page.low
    if (
        named
        and (found := _DATADOME.search(page.low))
        and (page.refuses or found[0].decode() not in page.text)
    ):
        signs += (f"page: {found[0].decode()}",)
    if not signs:
        return None
    low = page.low
    if re.search(rb"['\"]t['\"] ?: ?['\"]bv['\"]|[?&]t=bv\b", low):
        return Block("datadome", "denied", signs)
    if b"/interstitial" in low or re.search(rb"['\"]rt['\"] ?: ?['\"]i['\"]", low):
        return Block("datadome", "challenge", signs)
    return Block("datadome", "captcha" if b"captcha-delivery.com" in low else "denied", signs)


def akamai(page: Answer) -> Block | None:
    """Detects Akamai: the edge's Access Denied page and Bot Manager's challenges."""
    if page.alone:
        challenge = page.marks(
            b"/_sec/cp_challenge",
            b"sec-if-cpt",
            b"sec-cpt-if",
            b"bm-verify",
            b"/_sec/verify",
            b"akamai_validation",
            b"sec-cp-challenge",
        )
        if challenge:
            return Block("akamai", "challenge", challenge)
        found = (
            _AKAMAI_REFERENCE.search(page.text)
            if page.has_little_text and ("#" in page.text or "edgesuite" in page.text)
            else None
        )
        if found and (
            page.status in (403, 429)
            or "denied" in (page.text if page.refuses else page.title or page.text[:40])
        ):
            return Block("akamai", _limit(page), (f"text: {clip(found[0])}",))
    server = page.headers.get("server", "").lower()
    if page.status in (403, 429) and server.startswith("akamaighost"):
        return Block("akamai", _limit(page), ("header server: akamaighost", f"status {page.status}"))
    return None


def perimeterx(page: Answer) -> Block | None:
    """Detects PerimeterX, now HUMAN: the press-and-hold check and the block page, each as a page or as
    JSON."""
    if page.status in (403, 429) and (found := [name for name in page.headers if name.startswith("x-px")]):
        return Block("perimeterx", _limit(page), (f"header {clip(found[0])}", f"status {page.status}"))
    if not page.alone:
        return None
    signs = page.marks(
        b"px-captcha",
        b"captcha.px-cdn.net",
        b"captcha.px-cloud.net",
        b"captcha.perimeterx.net",
        b"pxcaptchasrc",
        b"pxcaptchauisrc",
        b"_pxoncaptchasuccess",
        b"_pxblockedurl",
    )
    if signs:
        return Block("perimeterx", "captcha", signs)
    if page.may_have_marks and b'"blockscript"' in page.low and b'"appid":"px' in page.low.replace(b" ", b""):
        return Block("perimeterx", "captcha", ("page: blockScript",))
    if page.title.startswith("access to this page has been denied"):
        signs = page.marks(
            b"_pxappid", b"_pxuuid", b"_pxvid", b"perimeterx", b"px-cloud.net", b"human security"
        )
    if signs:
        return Block("perimeterx", "denied", signs)
    if page.status in (403, 429) and re.search(r"\b_px(?:hd|3|2|vid)=", page.headers.get("set-cookie", "")):
        return Block("perimeterx", _limit(page), ("cookie _px", f"status {page.status}"))
    return None


def imperva(page: Answer) -> Block | None:
    """Detects Imperva, formerly Incapsula: its JavaScript challenge, its incident page, and the interruption
    page of Advanced Bot Protection."""
    if not page.alone:
        return None
    incident = page.marks(
        b"incapsula incident id", b"incident_id=", b"powered by imperva", b"protected by imperva"
    )
    if page.text.startswith("request unsuccessful. incapsula incident id"):
        incident += ("text: request unsuccessful. incapsula incident id",)
    if incident and (page.refuses or b"_incapsula_resource" in page.low or incident[-1].startswith("text")):
        human = page.marks(b"g-recaptcha", b"h-captcha", b"hcaptcha.com", b"edet=12")
        return Block("imperva", "captcha" if human else "denied", incident + human)
    signs = page.marks(b"onprotectioninitialized", b"reeseskipexpirationcheck", b"isimpervaspasupport")
    if (
        page.has_little_text
        and page.may_have_marks
        and (found := _INCAPSULA_SCRIPT.search(page.low) or _lone_script(page))
    ):
        signs += (f"page: {found[0].decode()[:40]}",)
    if signs:
        return Block("imperva", "challenge", signs)
    edge = _imperva_edge(page)
    if edge and "pardon our interruption" in page.title + page.text:
        return Block("imperva", "challenge", (edge, "text: pardon our interruption"))
    if edge and page.status in (403, 429) and page.has_little_text:
        return Block("imperva", _limit(page), (edge, f"status {page.status}"))
    return None


def _lone_script(page: Answer) -> re.Match[bytes] | None:
    """Finds Incapsula's script on a page that contains nothing else. A page that contains Incapsula's script
    and other content is not necessarily a block page."""
    return (
        re.search(rb"_incapsula_resource", page.low) if len(page.low) < 3000 and len(page.text) < 60 else None
    )


def _imperva_edge(page: Answer) -> str:
    if "x-iinfo" in page.headers:
        return "header x-iinfo"
    if page.headers.get("x-cdn", "").lower() in ("imperva", "incapsula"):
        return "header x-cdn"
    return "cookie incap" if re.search(r"incap_ses_|visid_incap_", page.headers.get("set-cookie", "")) else ""


def aws_waf(page: Answer) -> Block | None:
    """Detects AWS WAF: its challenge and captcha, and the load balancer's refusal."""
    action = page.headers.get("x-amzn-waf-action", "").lower()
    if action in ("challenge", "captcha", "block"):
        kind = "denied" if action == "block" else action
        return Block("aws-waf", kind, (f"header x-amzn-waf-action: {action}",))
    if (page.alone or page.status == 202) and (signs := page.marks(b"gokuprops", b"awswafcookiedomainlist")):
        human = page.marks(
            b"captcha.awswaf.com",
            b"captcha.js",
            b"awswafcaptcha",
            b"captcha-container",
            b"human verification",
        )
        return Block("aws-waf", "captcha" if human else "challenge", signs + human)
    if (
        page.has_little_text
        and not page.fields
        and (signs := page.marks(b"awswafcaptcha.rendercaptcha", b"awswafintegration.forcerefreshtoken"))
    ):
        return Block("aws-waf", "captcha" if "captcha" in signs[0] else "challenge", signs)
    if page.status == 403 and page.headers.get("server", "").lower().startswith("awselb"):
        return Block("aws-waf", "denied", ("header server: awselb", "status 403"))
    return None


def cloudfront(page: Answer) -> Block | None:
    """Detects the block pages of CloudFront, which refuses visitors because of their country or because of a
    rule of the site."""
    if page.status in (403, 429) or (page.has_little_text and b"request blocked" in page.low):
        if b"generated by cloudfront (cloudfront)" in page.low or (
            page.refuses and b"generated by cloudfront" in page.low
        ):
            return Block("cloudfront", _limit(page), ("text: generated by cloudfront",))
        server, cache = page.headers.get("server", "").lower(), page.headers.get("x-cache", "").lower()
        if (
            page.status == 403
            and server == "cloudfront"
            and cache.startswith(("error from cloudfront", "lambdageneratedresponse"))
        ):
            return Block("cloudfront", "denied", (f"header x-cache: {cache}", "status 403"))
    return None


def distil(page: Answer) -> Block | None:
    """Detects Distil Networks, now part of Imperva: its identification page, its captcha and its block
    page."""
    if not page.alone:
        return None
    if signs := page.marks(b"distil_r_captcha", b"distilcaptchaform", b"distil_captcha", b"distil-captcha"):
        return Block("distil", "captcha", signs)
    if signs := page.marks(b"distil_identify_cookie", b"distil_ident_block"):
        return Block("distil", "challenge", signs)
    signs = page.marks(b"distil_r_blocked", b"distilnetworks.com")
    if page.status in (401, 403, 405, 416, 429, 456) and "x-distil-cs" in page.headers:
        signs += ("header x-distil-cs",)
    if page.has_little_text and "pardon our interruption" in (page.title or page.text[:200]):
        signs += ("title: pardon our interruption",)
    if not signs:
        return None
    human = page.marks(b"g-recaptcha", b"funcaptcha", b"h-captcha", b"geetest")
    return Block("distil", "captcha" if human else "denied", signs + human)


def kasada(page: Answer) -> Block | None:
    """Detects Kasada: the page that loads its challenge, usually with status 429."""
    if page.status in (403, 429) and (
        found := [name for name in page.headers if name.startswith("x-kpsdk-")]
    ):
        return Block("kasada", "challenge", (f"header {clip(found[0])}", f"status {page.status}"))
    if page.alone and page.marks(b"kpsdk") and (b"/ips.js" in page.low or page.refuses):
        return Block("kasada", "challenge", page.marks(b"kpsdk", b"/ips.js"))
    if page.alone and (signs := page.marks(b"/2d206a39-8ed7-437e-a3be-862e0f06eea3/ips.js")):
        return Block("kasada", "challenge", signs)
    return None


def anubis(page: Answer) -> Block | None:
    """Detects Anubis: its proof of work and its refusal."""
    signs: tuple[str, ...] = ()
    if page.may_have_marks and b"anubis" in page.low and (found := _ANUBIS.search(page.low)):
        signs = (f"page: {clip(found[0].decode('latin-1'))}",)
    elif page.alone:
        signs = page.marks(b"/.within.website/x/cmd/anubis/", b"/.within.website/x/xess/")
    if page.status in (401, 403, 429, 500) and "techaro.lol-anubis" in page.headers.get("set-cookie", ""):
        signs += ("cookie techaro.lol-anubis",)
    if not signs:
        return None
    refused = "oh noes!" in page.title + page.text and b"anubis_challenge" not in page.low
    return Block("anubis", "denied" if refused else "challenge", signs)


def _limit(page: Answer) -> str:
    return "rate-limit" if page.status == 429 else "denied"


VENDORS: tuple[Callable[[Answer], Block | None], ...] = (
    cloudflare,
    datadome,
    akamai,
    perimeterx,
    aws_waf,
    kasada,
    anubis,
    imperva,
    cloudfront,
    distil,
)
