"""The identity that Chromium shows during a session. The identity consists of the user agent, client hints,
languages, window size, time zone and graphics card. The functions have no side effects."""

from __future__ import annotations

import hashlib
import json
import re
from functools import lru_cache
from importlib import resources
from typing import Any, NamedTuple

_PLATFORMS = {
    "Windows": ("Win32", "10.0.0", "x86"),
    "macOS": ("MacIntel", "14.5.0", "arm"),
    "Linux": ("Linux x86_64", "6.1.0", "x86"),
}
_SCREENS = {
    "Windows": ((1920, 1080, 1.0), (1536, 864, 1.25), (1366, 768, 1.0)),
    "macOS": ((1440, 900, 2.0), (1512, 982, 2.0), (1728, 1117, 2.0)),
    "Linux": ((1920, 1080, 1.0), (1680, 1050, 1.0)),
}
"""Common screens for each operating system. Each screen consists of a width, a height and a device pixel
ratio."""
_BARS = 120
"""The height in pixels of a browser window's title and tool bars."""
_GRAPHICS = {
    "Windows": (
        "Google Inc. (Intel)",
        "ANGLE (Intel, Intel(R) UHD Graphics 630 (0x00003E9B) Direct3D11 vs_5_0 ps_5_0, D3D11)",
    ),
    "macOS": ("Google Inc. (Apple)", "ANGLE (Apple, ANGLE Metal Renderer: Apple M1, Unspecified Version)"),
    "Linux": ("Google Inc. (Intel)", "ANGLE (Intel, Mesa Intel(R) UHD Graphics 620 (KBL GT2), OpenGL 4.6)"),
}
CORES = 8
_MOST_LIVE = {
    "us": "America/New_York",
    "ca": "America/Toronto",
    "br": "America/Sao_Paulo",
    "mx": "America/Mexico_City",
    "ru": "Europe/Moscow",
    "au": "Australia/Sydney",
    "id": "Asia/Jakarta",
    "cn": "Asia/Shanghai",
    "kz": "Asia/Almaty",
    "es": "Europe/Madrid",
    "pt": "Europe/Lisbon",
    "de": "Europe/Berlin",
    "ar": "America/Argentina/Buenos_Aires",
    "cl": "America/Santiago",
    "nz": "Pacific/Auckland",
    "ua": "Europe/Kyiv",
    "cd": "Africa/Kinshasa",
    "ec": "America/Guayaquil",
    "my": "Asia/Kuala_Lumpur",
    "mn": "Asia/Ulaanbaatar",
    "uz": "Asia/Tashkent",
}
"""Maps each country with several time zones to the zone in which most people live."""


class BrowserFingerprint(NamedTuple):
    """The identity that a browser shows to sites. `agent`, `language` and `hints` are header values
    (`Accept-Language`, `sec-ch-ua...`). `session` determines the window size."""

    agent: str
    language: str
    hints: tuple[tuple[str, str], ...]
    session: str = ""
    zone: str = ""
    """An IANA time zone, or '' for the time zone of the machine."""

    @property
    def system(self) -> str:
        """The operating system: Windows, macOS or Linux."""
        return dict(self.hints)["sec-ch-ua-platform"].strip('"')


def context_arguments(fingerprint: BrowserFingerprint) -> dict[str, Any]:
    """Returns the arguments for Playwright's `new_context`."""
    screens = _SCREENS[fingerprint.system]
    drawn = hashlib.blake2b(fingerprint.session.encode(), digest_size=2).digest()
    width, height, scale = screens[int.from_bytes(drawn, "big") % len(screens)]
    found = {
        "user_agent": fingerprint.agent,
        "viewport": {"width": width, "height": height - _BARS},
        "screen": {"width": width, "height": height},
        "device_scale_factor": scale,
    }
    return found | ({"timezone_id": fingerprint.zone} if fingerprint.zone else {})


def user_agent_override(fingerprint: BrowserFingerprint) -> dict[str, Any]:
    """Returns the arguments of CDP's `Emulation.setUserAgentOverride`. The user agent and the client hints
    describe the same browser."""
    platform, version, architecture = _PLATFORMS[fingerprint.system]
    brands = re.findall(r'"([^"]*)";v="([^"]*)"', dict(fingerprint.hints)["sec-ch-ua"])
    return {
        "userAgent": fingerprint.agent,
        "acceptLanguage": re.sub(r";q=[\d.]+", "", fingerprint.language),
        "platform": platform,
        "userAgentMetadata": {
            "brands": [{"brand": name, "version": number} for name, number in brands],
            "fullVersionList": [{"brand": name, "version": f"{number}.0.0.0"} for name, number in brands],
            "platform": fingerprint.system,
            "platformVersion": version,
            "architecture": architecture,
            "bitness": "64",
            "model": "",
            "mobile": False,
            "wow64": False,
        },
    }


def graphics_script(fingerprint: BrowserFingerprint) -> str:
    """Returns JavaScript that runs before the page's scripts and makes the browser report a graphics card
    that fits the operating system."""
    text = resources.files("gossamer.collectors.browser").joinpath("fingerprint.js").read_text("utf-8")
    return f"({text.partition(chr(10))[2]})({json.dumps(_GRAPHICS[fingerprint.system])})"


@lru_cache(300)
def time_zone(country: str) -> str:
    """Returns the time zone in which most people in a country live, or '' for an unknown country.

    >>> time_zone("de"), time_zone("jp"), time_zone("us"), time_zone("")
    ('Europe/Berlin', 'Asia/Tokyo', 'America/New_York', '')
    """
    if country in _MOST_LIVE or not country:
        return _MOST_LIVE.get(country, "")
    lines = resources.files("tzdata").joinpath("zoneinfo", "zone.tab").read_text("utf-8").splitlines()
    rows = (line.split("\t") for line in lines if not line.startswith("#"))
    return next((row[2] for row in rows if row[0] == country.upper()), "")
