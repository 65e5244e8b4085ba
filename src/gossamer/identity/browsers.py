"""A table of browsers by name. For each browser, the table describes the TLS fingerprint, the HTTP/2
settings, and the headers with their order.

curl_cffi imitates the TLS fingerprint and the HTTP/2 settings. `target` is the browser's name in curl_cffi.
The headers in this file are copied from captures of real browsers. Tests compare the headers of navigations
with captures, and the headers of script requests with a live Chromium.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import NamedTuple

CHROMIUM, FIREFOX, WEBKIT = "chromium", "firefox", "webkit"
_SYSTEMS = {
    "Windows": "Windows NT 10.0; Win64; x64",
    "macOS": "Macintosh; Intel Mac OS X 10_15_7",
    "Linux": "X11; Linux x86_64",
    "Android": "Linux; Android 10; K",
}


class Browser(NamedTuple):
    """One version of a browser on one operating system. `target`, `http2`: as in `Guise`. `hints`: the client
    hints that the browser sends, in order."""

    name: str
    engine: str
    version: int
    agent: str
    target: str
    hints: tuple[tuple[str, str], ...] = ()
    language: str = "en-US,en;q=0.9"
    encodings: str = "gzip, deflate, br, zstd"
    http2: str = ""
    mobile: bool = False

    @property
    def family(self) -> str:
        """The browser's name without the version: `safari_ios` for `safari260_ios`."""
        return "".join(sign for sign in self.name if not sign.isdigit())


def brands(version: int, brand: str) -> str:
    """Returns Chromium's `sec-ch-ua`: the real brands and an invented one, in an order that depends on the
    version. Source: `GenerateGreasedBrandVersionList` in components/embedder_support/user_agent_utils.cc.

    >>> brands(150, "Google Chrome")
    '"Not;A=Brand";v="8", "Chromium";v="150", "Google Chrome";v="150"'
    """
    signs = " (:-./);=?_"
    nobody = f'"Not{signs[version % 11]}A{signs[(version + 1) % 11]}Brand";v="{(8, 99, 24)[version % 3]}"'
    order = version % 6
    if version < 107:  # older versions used a fixed invented brand, and before 102 also a fixed order
        nobody = '" Not A;Brand";v="99"'
        order = order if version > 101 else 0
    parts = (nobody, f'"Chromium";v="{version}"', f'"{brand}";v="{version}"')
    places = ((0, 1, 2), (0, 2, 1), (1, 0, 2), (1, 2, 0), (2, 0, 1), (2, 1, 0))[order]
    out = [""] * 3
    for part, place in zip(parts, places, strict=True):
        out[place] = part
    return ", ".join(out)


def _chromium(
    version: int,
    system: str,
    *,
    name: str = "",
    edge: str = "",
    full: str = "",
    target: str = "",
    agent: str = "",
    http2: str = "",
) -> Browser:
    """Returns the `Browser` for one version of Chrome. If `edge` is set, returns the `Browser` for this
    version of Edge instead. `full`: the version in the user agent. The default is the major version followed
    by zeros (`124.0.0.0`), which recent browsers send."""
    name = name or f"{'edge' if edge else 'chrome'}{version}"
    mobile = system == "Android"
    full = full or f"{version}.0.0.0"
    agent = agent or (
        f"Mozilla/5.0 ({_SYSTEMS[system]}) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/{full}"
        f"{' Mobile' if mobile else ''} Safari/537.36{edge and ' Edg/' + edge}"
    )
    hints = (
        ("sec-ch-ua", brands(version, "Microsoft Edge" if edge else "Google Chrome")),
        ("sec-ch-ua-mobile", f"?{mobile:d}"),
        ("sec-ch-ua-platform", f'"{system}"'),
    )
    encodings = "gzip, deflate, br" + (", zstd" if version >= 123 else "")
    return Browser(
        name, CHROMIUM, version, agent, target or name, hints, encodings=encodings, http2=http2, mobile=mobile
    )


def _firefox(version: int, language: str = "en-US,en;q=0.5", name: str = "", target: str = "") -> Browser:
    agent = (
        f"Mozilla/5.0 (Macintosh; Intel Mac OS X 10.15; rv:{version}.0) Gecko/20100101 Firefox/{version}.0"
    )
    return Browser(
        name or f"firefox{version}", FIREFOX, version, agent, target or f"firefox{version}", (), language
    )


def _safari(
    name: str, shown: str, *, ios: str = "", zstd: bool = False, language: str = "en-US,en;q=0.9"
) -> Browser:
    """Returns the `Browser` for one version of Safari. `shown`: the version in the user agent. `ios`: the
    version of iOS, '' for macOS."""
    system = f"iPhone; CPU iPhone OS {ios} like Mac OS X" if ios else "Macintosh; Intel Mac OS X 10_15_7"
    end = "Mobile/15E148 Safari/604.1" if ios else "Safari/605.1.15"
    agent = f"Mozilla/5.0 ({system}) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/{shown} {end}"
    encodings = "gzip, deflate, br" + (", zstd" if zstd else "")
    version = int(shown.partition(".")[0])
    return Browser(name, WEBKIT, version, agent, name, (), language, encodings, mobile=bool(ios))


_NO_LIMIT = "1:65536;2:0;4:6291456;6:262144"
"""Chromium's HTTP/2 settings from version 118 on, which do not limit the number of streams."""
_ALL = (
    _chromium(99, "Windows", full="99.0.4844.51"),
    _chromium(100, "Windows", full="100.0.4896.75"),
    _chromium(101, "Windows", full="101.0.4951.67"),
    *(_chromium(version, "Windows") for version in (104, 107, 110, 116)),
    _chromium(118, "Linux", target="chrome116", http2=_NO_LIMIT),
    *(_chromium(version, "macOS") for version in (119, 120, 123, 124, 131)),
    _chromium(133, "macOS", target="chrome133a"),
    *(_chromium(version, "macOS") for version in (136, 142, 145, 146, 150)),
    _chromium(
        99,
        "Android",
        name="chrome99_android",
        agent="Mozilla/5.0 (Linux; Android 12; Pixel 6) AppleWebKit/537.36 "
        "(KHTML, like Gecko) Chrome/99.0.4844.58 Mobile Safari/537.36",
    ),
    _chromium(131, "Android", name="chrome131_android"),
    _chromium(99, "Windows", full="99.0.4844.51", edge="99.0.1150.30"),
    _chromium(101, "Windows", full="101.0.4951.64", edge="101.0.1210.47"),
    _chromium(118, "Linux", edge="118.0.2088.76", target="chrome116", http2=_NO_LIMIT),
    _chromium(146, "Windows", edge="146.0.0.0", target="chrome146"),
    _chromium(150, "Windows", edge="150.0.0.0", target="chrome150"),
    _firefox(133),
    _firefox(135),
    _firefox(144),
    _firefox(147, "en-US,en;q=0.9"),
    _firefox(128, name="tor145", target="tor145"),
    _safari("safari153", "15.3", language="en-us"),
    _safari("safari155", "15.5", language="en-GB,en-US;q=0.9,en;q=0.8"),
    _safari("safari170", "17.0"),
    _safari("safari172_ios", "17.2", ios="17_2"),
    _safari("safari180", "18.0"),
    _safari("safari180_ios", "18.0", ios="18_0"),
    _safari("safari184", "18.4"),
    _safari("safari184_ios", "18.4", ios="18_0"),
    _safari("safari260", "26.0", zstd=True),
    _safari("safari260_ios", "26.0", ios="26_0", zstd=True),
    _safari("safari2601", "26.0.1"),
)
BROWSERS = {browser.name: browser for browser in _ALL}
CURRENT = {
    "chrome": "chrome150",
    "edge": "edge150",
    "firefox": "firefox147",
    "safari": "safari2601",
    "safari_ios": "safari260_ios",
    "chrome_android": "chrome131_android",
    "tor": "tor145",
}
"""Maps the name of each browser family to the newest version of the browser. A family name without a version,
such as `chrome`, means this newest version."""
ANY = ("chrome",) * 6 + ("safari",) * 2 + ("edge", "firefox")
"""The browsers from which `any` chooses. The tuple contains each browser one or more times, roughly in
proportion to the browser's share among desktop users. Phone browsers are left out, because sites may show
other pages to phones."""
NAMES = ("any", *CURRENT, *BROWSERS)


def browsers_named(name: str) -> tuple[Browser, ...]:
    """Returns the browsers that a name covers. For the name `any`, the result contains common browsers
    several times, so that a random choice yields them more often (see ANY). Raises ValueError for an unknown
    name."""
    if name == "any":
        return tuple(BROWSERS[CURRENT[family]] for family in ANY)
    found = BROWSERS.get(CURRENT.get(name, name))
    if found is None:
        raise ValueError(f"there is no browser {name!r}; see docs/getting.md for their names")
    return (found,)


def drivable(names: Sequence[str]) -> tuple[str, ...]:
    """Returns the browsers of `names` that a real Chromium can imitate: desktop browsers with its engine.

    >>> drivable(["edge", "firefox", "chrome_android"])
    ('edge150',)
    """
    found = (browser for name in names for browser in browsers_named(name))
    return tuple(browser.name for browser in found if browser.engine == CHROMIUM and not browser.mobile)


def browser_for(names: Sequence[str], seed: str) -> Browser:
    """Chooses one of the browsers that `names` covers. The same seed always chooses the same browser. Raises
    ValueError for an unknown name.

    >>> browser_for(["chrome150"], "x").name, browser_for(["any"], "x") == browser_for(["any"], "x")
    ('chrome150', True)
    """
    drawn = [browser for name in names for browser in browsers_named(name)]
    number = int.from_bytes(hashlib.blake2b(seed.encode(), digest_size=8).digest(), "big")
    return drawn[number % len(drawn)]
