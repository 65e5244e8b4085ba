"""Parameters that say who follows a link, not where it leads: the canonical URL leaves them out."""

from __future__ import annotations

import re
from collections.abc import Iterable
from urllib.parse import unquote

# After the global rules of ClearURLs and the documents of the services named. A word here costs pages where a
# site uses
# it for something else, so words in general use (`ref`, `source`, `mc`, `s`) are not in it.
TRACKING = (
    # Google
    "utm",
    "utm_*",
    "ga_*",
    "_ga",
    "_ga_*",
    "_gl",
    "_gac",
    "gs_l",
    "gclid",
    "gclsrc",
    "dclid",
    "gbraid",
    "wbraid",
    "gad_source",
    "gad_campaignid",
    "srsltid",
    # Yandex
    "yclid",
    "ymclid",
    "ysclid",
    "_openstat",
    # Meta
    "fbclid",
    "fb_*",
    "action_object_map",
    "action_type_map",
    "action_ref_map",
    "action__map",
    "igshid",
    "igsh",
    "mibextid",
    # other networks
    "msclkid",
    "twclid",
    "__twitter_impression",
    "ttclid",
    "li_fat_id",
    "rdt_cid",
    "sccid",
    "epik",
    "__cft__*",
    "__xts__*",
    "__tn__",
    "outbrainclickid",
    "tblci",
    "vmcid",
    "yadclid",
    "yadordid",
    "gdfms",
    "gdftrk",
    "gdffi",
    # shops and portals: where on which page a link stood
    "pf_rd_*",
    "pd_rd_*",
    "_trkparms",
    "_trksid",
    "algo_pvid",
    "algo_expid",
    "algo_exp_id",
    "guccounter",
    "guce_referrer",
    "guce_referrer_sig",
    "wprov",
    "lipi",
    # tools for mail, campaigns and statistics
    "mkt_tok",
    "hmb_*",
    "otm_*",
    "cmpid",
    "os_ehash",
    "wt_mc",
    "wt_zmc",
    "wtmc",
    "wtzmc",
    "wtrid",
    "echobox",
    "spm",
    "vn_*",
    "tracking_source",
    "ceneo_spo",
    "itm_*",
    "__hsfp",
    "__hssc",
    "__hstc",
    "_hsenc",
    "_hsmi",
    "__s",
    "hsctatracking",
    "hsa_*",
    "mc_*",
    "ml_subscriber",
    "ml_subscriber_hash",
    "oly_anon_id",
    "oly_enc_id",
    "rb_clickid",
    "s_cid",
    "s_kwcid",
    "vero_conv",
    "vero_id",
    "wickedid",
    "pk_*",
    "piwik_*",
    "mtm_*",
    "matomo_*",
    "_branch_match_id",
    "irclickid",
    "irgwc",
    "cjevent",
    "ck_subscriber_id",
    "zanpid",
    "dicbo",
    "_kx",
    "ef_id",
    "_ke",
    "_ly_c",
    "_ly_r",
    "at_medium",
    "at_campaign",
    "at_custom*",
    "bsft_*",
    "cm_mmc*",
    "dm_i",
    "elqtrackid",
    "elqtrack",
    "elqaid",
    "elqat",
    "intcmp",
    "mkwid",
    "pcrid",
    "rtkcid",
    "stm_*",
    "trk_contact",
    "trk_module",
    "trk_msg",
    "trk_sid",
    "utmccn",
    "utmcct",
    "utmcmd",
    "utmcsr",
    "utmctr",
    "xtor",
)
SESSIONS = (
    "phpsessid",
    "jsessionid",
    "aspsessionid*",
    "cfid",
    "cftoken",
    "zenid",
    "oscsid",
    "xtcsid",
    "sid=?",
    "sess=?",
    "sessid=?",
    "session=?",
    "sessionid=?",
    "session_id=?",
    "session-id=?",
)

KEEP, DROP, BY_VALUE = range(3)
_IN_PATH = re.compile(
    r";(?:jsessionid|phpsessid|sessionid|sid)=[^;/]*"  # servlets, PHP
    r"|/(?:\((?:[a-z]\([^()/]*\))+\))(?=/)",  # ASP.NET without cookies
    re.IGNORECASE,
)
_HEX = re.compile(r"(?=.*[0-9])(?=.*[a-f])[0-9a-f]{8,}|[0-9a-f]{16,}", re.IGNORECASE)
_RANDOM = re.compile(r"(?=(?:[^0-9]*[0-9]){3})[0-9a-z,]{22,}", re.IGNORECASE)


class DroppedParameters:
    """Which parameters the canonical URL leaves out.

    `words` are names in any case: `gclid`; `utm_*` for all names that begin so; `sid=?` for a name that is
    dropped only where its value looks made by a machine (`made_by_machine`), since `?sid=42` is a page.
    Session ids in the path (`;jsessionid=...`, `/(S(...))/`) are dropped when `jsessionid` is among the
    words.

    >>> DroppedParameters(["utm_*"]).query("utm_source=x&b=2&a=1")
    'a=1&b=2'
    """

    __slots__ = ("_known", "_names", "_paths", "_prefixes", "_valued", "words")

    def __init__(self, words: Iterable[str]) -> None:
        self.words = tuple(words)
        lower = [word.lower() for word in self.words]
        self._names = frozenset(word for word in lower if word[-1:] not in "*?")
        self._prefixes = tuple(word[:-1] for word in lower if word.endswith("*"))
        self._valued = frozenset(word[:-2] for word in lower if word.endswith("=?"))
        self._paths = "jsessionid" in self._names
        self._known: dict[str, int] = {}

    def __or__(self, words: Iterable[str]) -> DroppedParameters:
        """With more words."""
        return DroppedParameters((*self.words, *words))

    def query(self, query: str) -> str:
        """A query (without `?`) without the dropped parameters and sorted by name; equal names keep their
        order."""
        known = self._known
        kept = []
        for pair in query.split("&"):
            name, _, value = pair.partition("=")
            fate = known.get(name)
            if fate is None:
                fate = self._learn(name)
            if fate == KEEP or (fate == BY_VALUE and not made_by_machine(value)):
                kept.append((name, pair))
        if len(kept) > 1:
            kept.sort(key=_name)
        return "&".join([pair for _, pair in kept if pair])

    def path(self, path: str) -> str:
        """A path without the session ids in it."""
        return _IN_PATH.sub("", path) if self._paths else path

    def _learn(self, name: str) -> int:
        plain = unquote(name).lower().lstrip("?")
        if plain in self._names or (self._prefixes and plain.startswith(self._prefixes)):
            fate = DROP
        else:
            fate = BY_VALUE if plain in self._valued else KEEP
        if len(name) <= 64:  # names are the web's: neither their number nor their length may grow in memory
            if len(self._known) >= 4096:
                self._known.clear()
            self._known[name] = fate
        return fate


def made_by_machine(value: str) -> bool:
    """Whether a parameter's value looks like a session id, and not like a number or a name that a person
    chose.

    Hexadecimal of 8 or more with letters and digits in it, or of 16 or more; 22 or more letters and digits.

    >>> made_by_machine("9f86d081884c7d65"), made_by_machine("42"), made_by_machine("react-conf-2024-keynote")
    (True, False, False)
    """
    return 8 <= len(value) <= 256 and bool(_HEX.fullmatch(value) or _RANDOM.fullmatch(value))


def _name(pair: tuple[str, str]) -> str:
    return pair[0]


DEFAULT_DROP = DroppedParameters((*TRACKING, *SESSIONS))
