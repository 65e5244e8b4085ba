"""ISO 4217 currency codes, and the ways in which people write currencies."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

# Each line has a code and the ways to write it. A form that several currencies share belongs to the most
# common one, so that currency's line comes first.
_TABLE = """
USD $ US$ $US USD$ U$S U$ dollars dollar ¢ долларов доллара доллар долл.
EUR € euros euro Eur EURO Euro Euros евро ευρώ
GBP £ ￡ UK£ GBP£ stg
JPY ¥ ￥ 円 JP¥ yen
CNY 元 CN¥ RMB 人民币 yuan
INR ₹ Rs Re rupees Rupees रू. रू र ரூ રૂ
RUB ₽ руб. руб р. Р. р Р Rub. rub. Rub rub rubles roubles
KRW ₩ ￦ 원 won
TRY ₺ TL tl YTL
UAH ₴ гривень гривні грн. грн hrn hrn.
ILS ₪ NIS ש״ח ש"ח ש'ח ש’ח שח ש.ח ش.ج
THB ฿ บาท Baht baht
VND ₫ đ Đ VNĐ vnđ VNd
PHP ₱ PhP Php P
NGN ₦
CRC ₡ colones
PYG ₲ Gs. Gs
KZT ₸ тенге тг. тг
GEL ₾ ლარი ლ lari
AZN ₼ ман. ман
AUD A$ AU$ AUD$ $A
CAD C$ CA$ CAD$ CDN$ CDN CND Can$
NZD NZ$ NZD$
HKD HK$ HKD$ 港幣 港币 港元
SGD S$ SG$ SGD$
BRL R$ reais BRL$
MXN MX$ Mex$ MXN$
TWD NT$ NTD NT 新台幣 新臺幣 台幣 臺幣 新台币
CZK Kč kč KČ Kc Kcs korun
SEK kr Kr KR SKr
DKK Dkr DKr dkr
NOK Nkr NKr nkr
ISK Íkr ikr
PLN zł Zł ZŁ złotych zloty zl Zl
HUF Ft forint
BGN лева лв. лв lv lv. leva
RON lei Lei LEI leu Leu
IDR Rp
MYR RM
CHF SFr. sFr. SFr sFr Fr. fr. Fr franken Franken francs franc
ZAR R rand
KWD KD K.D. د.ك. د.ك
AED د.إ. د.إ درهم Dhs. Dhs Dh. DH DHS
SAR ر.س. ر.س ريال SR S.R. ﷼
QAR QR ر.ق. ر.ق Q.R.
OMR R.O. RO ر.ع. ر.ع
BHD BD .د.ب د.ب. د.ب
JOD JD د.ا. د.ا د.أ. د.أ J.D.
IQD ID ع.د د.ع. د.ع د.
EGP E£ £E LE L.E. جنيه ج.م. ج.م
SDG ج.س. ج.س
MAD د.م. د.م Dirhams DHs
TND DT د.ت. د.ت D.T.
DZD DA دج. دج د.ج. د.ج دينار
LYD LD ل.د. ل.د د.ل. د.ل
LBP L£ LL ل.ل. ل.ل
SYP LS £S ل.س. ل.س
YER YR ر.ي. ر.ي
IRR ر.إ. ریال تومان تومن Toman toman
AFN ؋ Afs Af
PKR ₨ روپے روپیہ
LKR රු. රු
NPR रु. रु नेरू
BDT ৳ Tk. Tk tk টাকা টকা
BTN Nu. Nu
MVR MRf Rf. Rf .ރ ރ.
MUR MURs
SCR SRe
ALL Lek lek Lekë
AMD ֏ դրամ դր. դր
ANG NAƒ NAf. NAf ƒ
AOA Kz kwz Kwz
ARS AR$ ARS$
AWG Afl. Afl
BAM KM км КМ
BBD Bds$ BBD$
BIF FBu Fbu
BMD BD$
BND B$
BOB Bs. Bs $b
BWP Pula
BYN Br Rbl Бр
BZD BZ$
CDF FC
CLP CLP$ CL$
COP COL$ COP$
CUC CUC$
CUP $MN CUP$ MN$
CVE Esc. Esc
DJF Fdj
DOP RD$
ERN Nfk ናቕፋ ናቅፋ
ETB ብር Birr birr
FJD FJ$
FKP FK£
GHS GH₵ GH¢ GHC ₵
GIP Gib£
GMD D
GNF FG
GTQ Q
GYD GY$ G$
HNL L
HRK kn kn.
HTG G
JMD J$ JA$
KES KSh. KSh Ksh. Ksh
KGS сом с
KHR ៛
KMF CF
KPW 원화
KYD CI$
LAK ₭N ₭ ກີບ
LRD LR$ LD$
LTL Lt
LVL Ls
MGA Ar
MKD денари ден. ден
MMK Ks K
MNT ₮ төгрөг
MOP MOP$ MOP 澳門幣
MRU UM أ.م. أ.م
MWK MK
MZN MT MTn
NAD N$
NIO NIO$
PAB B/. B/
PEN S/. S/ S'
RSD dinara Dinara дин. дин Дин. Дин din. din Din
RWF R₣ FRw RF
SBD SI$
SHP Sh£
SLL Le
SOS Sh.So. Sh Sh.
SRD Sr$ SRD$
SSP SS£
STN Db
SVC ₡C
TJS SM ЅМ сомонӣ
TOP T$ PT
TTD TT$ TTD$
TZS TSh TSh.
UGX USh USh.
UYU $U UYU$
UZS so'm so‘m soʻm so’m som сўм сум
VES Bs.S. Bs.S Bs.F. Bs.F BsF
VUV VT Vt
WST WS$ SAT
XAF FCFA CFA F.CFA Fr.CFA FrCFA
XCD EC$
XPF ₣ FCFP CFPF CFP
XCG Cg.
ZMW ZK
ZWL Z$
DEM DM
ITL ₤ Lit. Lit
ESP ₧ Pts Pts. pesetas
GRD ₯ Δρχ δρχ
FIM mk
BTC ₿
"""
# Current codes, then on the last line replaced currencies and two codes that ISO never assigned (BTC, SPL).
_CODES = """
AED AFN ALL AMD ANG AOA ARS AUD AWG AZN BAM BBD BDT BGN BHD BIF BMD BND BOB BRL BSD BTN BWP BYN BYR BZD CAD CDF CHF CLF
CLP CNH CNY COP CRC CUC CUP CVE CZK DJF DKK DOP DZD EGP ERN ETB EUR FJD FKP GBP GEL GHS GIP GMD GNF GTQ GYD HKD HNL HRK
HTG HUF IDR ILS INR IQD IRR ISK JMD JOD JPY KES KGS KHR KMF KPW KRW KWD KYD KZT LAK LBP LKR LRD LSL LTL LVL LYD MAD MDL
MGA MKD MMK MNT MOP MRO MRU MUR MVR MWK MXN MYR MZN NAD NGN NIO NOK NPR NZD OMR PAB PEN PGK PHP PKR PLN PYG QAR RON RSD
RUB RUR RWF SAR SBD SCR SDG SEK SGD SHP SLE SLL SOS SRD SSP STD STN SVC SYP SZL THB TJS TMT TND TOP TRY TTD TWD TZS UAH
UGX USD UYU UZS VED VEF VES VND VUV WST XAF XAG XAU XCD XCG XDR XOF XPF YER ZAR ZMK ZMW ZWD ZWG ZWL
DEM ITL FRF ESP PTE NLG BEF ATS IEP FIM GRD EEK SIT SKK CYP MTL BTC SPL
"""
_WORDS = """
ALL BAM BOB COP CUP DOP GEL LAK MAD MOP PEN RON SAR SIT SOS TOP TRY MAN YEN DIN SOM WON
"""
"""Codes and forms that are also ordinary words. They mean a currency only beside a number."""


class Spellings(NamedTuple):
    """The written forms of currencies, and patterns that find them."""

    iso: dict[str, str]
    """Written form -> ISO 4217 code."""
    sure: re.Pattern[str]
    """Matches symbols, codes and names that mean a currency anywhere in a text."""
    unsure: re.Pattern[str]
    """Matches forms that mean a currency only beside a number: `R`, `Lek`, `nzd`."""
    dollars: frozenset[str]
    """The codes of the currencies that a bare `$` may stand for."""


SHARED = {
    **dict.fromkeys(("¥", "￥"), ("CNY", "CNH")),
    **dict.fromkeys(("£", "￡"), ("EGP", "LBP", "GIP", "FKP", "SHP", "IEP", "SYP")),
    "C$": ("NIO",),
    "B$": ("BSD", "BBD"),
    "G$": ("GYD",),
    "元": ("TWD", "HKD", "MOP"),
    "₨": ("PKR", "LKR", "MUR", "SCR", "NPR"),
}
"""Signs that several currencies share, with the codes of the less common ones. A sign stands for one of these
codes if the text also names that currency: `¥99 CNY`."""
NATIONS = (
    (
        re.compile("dollar|доллар|долл"),
        re.compile(
            "(canad|kanad|канад)|(austral|австрал)|(new zealand|néo-?zéland|neuseel)|(hong[ -]?kong|гонконг)|"
            "(singap|сингап)|(taiwan|taïwan|тайван)|(jamai[ck])|(trinidad)|(fiji)|(namibi)|(brunei)|(bahami)|(barbadi)|(beli[zs]e)|(liberia)",
            re.IGNORECASE,
        ),
        [
            "CAD",
            "AUD",
            "NZD",
            "HKD",
            "SGD",
            "TWD",
            "JMD",
            "TTD",
            "FJD",
            "NAD",
            "BND",
            "BSD",
            "BBD",
            "BZD",
            "LRD",
        ],
    ),
    (
        re.compile("[Rr]upees"),
        re.compile("(pakistan)|(sri lanka)|(nepal)|(mauriti)|(seychell)", re.IGNORECASE),
        ["PKR", "LKR", "NPR", "MUR", "SCR"],
    ),
)
"""Currency words that several countries share. Each row has the word, the stems of country names, and the
currency code for each stem. A country name in the same text decides which currency the word means."""


@lru_cache(maxsize=1)
def spellings() -> Spellings:
    """Returns the forms and patterns of all currencies. They are built on the first call."""
    iso: dict[str, str] = {}
    for line in _TABLE.split("\n"):
        code, *forms = line.split() or [""]
        for form in forms:
            iso.setdefault(form, code)
    codes, words = _CODES.split(), set(_WORDS.split())
    known = set(iso)
    iso |= {code: code for code in codes}
    sure = {form for form in known if _sure(form) and form.upper() not in words} | (set(codes) - words)
    unsure = (known - sure) | (set(codes) & words)
    unsure |= {code.lower() for code in codes if code not in words}
    iso |= {code.lower(): code for code in codes}
    dollars = frozenset(code for form, code in iso.items() if "$" in form)
    return Spellings(iso, re.compile(_any(sure)), re.compile(_any(unsure)), dollars)


def _sure(form: str) -> bool:
    """Whether a form clearly means a currency: it contains a symbol, or it is a word of at least 4 letters (3
    outside of ASCII). Shorter abbreviations may mean something else."""
    letters = sum(char.isalpha() for char in form)
    if any(not char.isalpha() and char not in ".'’‘ʻ/:-=\"״" for char in form):
        return True
    long = letters >= (4 if form.isascii() else 3)
    return long or form in ("Kč", "zł")


def _any(forms: set[str]) -> str:
    """Returns a pattern that matches any of the forms, the longest first. A letter at an end of a form must
    not touch another letter. Exceptions are `руб`, which has many endings, and Thai, Chinese, Japanese and
    Korean, which put no spaces between words.

    The pattern is grouped by first letter, and the lookbehind comes after that letter. So most positions of a
    text are skipped at once.
    """
    groups: dict[str, list[str]] = {}
    for form in sorted(forms, key=lambda form: (-len(form), form)):
        right = r"(?![^\W\d_])" if _spaced(form[-1]) and form != "руб" else ""
        groups.setdefault(form[0], []).append(re.escape(form[1:]) + right)
    parts = []
    for first, rests in groups.items():
        left = rf"(?<![^\W\d_]{first})" if _spaced(first) else ""
        parts.append(re.escape(first) + left + f"(?:{'|'.join(rests)})")
    return "|".join(parts)


def _spaced(char: str) -> bool:
    """Whether a character is a letter of a script that puts spaces between words."""
    return char.isalpha() and not ("\u0e00" <= char <= "\u0eff" or char >= "\u2e80")
