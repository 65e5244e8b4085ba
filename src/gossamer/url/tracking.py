"""The query parameters that track visitors and have no influence on the page. The canonical URL omits these
parameters."""

from __future__ import annotations

import re
from collections.abc import Iterable
from urllib.parse import unquote

from gossamer.model.lazy_pattern import lazy_pattern

# The names come from the global rules of ClearURLs and from the documentation of the services that the
# comments name. If a site uses a tracking name for something else, the crawl loses pages. Names in general
# use (`ref`, `source`, `mc`, `s`) are therefore not in the list.
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
    # used by shops and portals for the position of the link on the page
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
    # used by tools for mail, campaigns and statistics
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
_IN_PATH = lazy_pattern(
    r";(?:jsessionid|phpsessid|sessionid|sid)=[^;/]*"  # servlets, PHP
    r"|/(?:\((?:[a-z]\([^()/]*\))+\))(?=/)",  # cookieless ASP.NET
    re.IGNORECASE,
)
_HEX = lazy_pattern(r"(?=.*[0-9])(?=.*[a-f])[0-9a-f]{8,}|[0-9a-f]{16,}", re.IGNORECASE)
_RANDOM = lazy_pattern(r"(?=(?:[^0-9]*[0-9]){3})[0-9a-z,]{22,}", re.IGNORECASE)


class DroppedParameters:
    """A set of parameters that the canonical URL omits.

    `words` contains names of parameters, such as `gclid`. The names are case-insensitive. `utm_*` means all
    names with this prefix. `sid=?` means that the parameter is omitted only if its value looks machine-made
    (`made_by_machine`), because `?sid=42` may select a page. If the words include `jsessionid`, the canonical
    URL also omits session ids in the path, such as `;jsessionid=...` and `/(S(...))/`.

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
        """Returns a new set that contains the words of this set and the given words."""
        return DroppedParameters((*self.words, *words))

    def query(self, query: str) -> str:
        """Removes the dropped parameters from a query, and sorts the other parameters by name. `query` does
        not contain the `?`. Parameters with equal names keep their order."""
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
        """Returns a path without its session ids."""
        return _IN_PATH.sub("", path) if self._paths else path

    def _learn(self, name: str) -> int:
        plain = unquote(name).lower().lstrip("?")
        if plain in self._names or (self._prefixes and plain.startswith(self._prefixes)):
            fate = DROP
        else:
            fate = BY_VALUE if plain in self._valued else KEEP
        # names come from the web, so their number and their length are limited
        if len(name) <= 64:
            if len(self._known) >= 4096:
                self._known.clear()
            self._known[name] = fate
        return fate


def made_by_machine(value: str) -> bool:
    """Returns whether a parameter's value looks like a session id rather than a number or a name that a
    person chose.

    A session id is a hexadecimal text of at least 16 characters. If a hexadecimal text contains both letters
    and digits, 8 characters are enough. A text of at least 22 letters and digits that contains at least 3
    digits is also a session id.

    >>> made_by_machine("9f86d081884c7d65"), made_by_machine("42"), made_by_machine("react-conf-2024-keynote")
    (True, False, False)
    """
    return 8 <= len(value) <= 256 and bool(_HEX.fullmatch(value) or _RANDOM.fullmatch(value))


def _name(pair: tuple[str, str]) -> str:
    return pair[0]


DEFAULT_DROP = DroppedParameters((*TRACKING, *SESSIONS))
