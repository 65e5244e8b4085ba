"""Reads captures of real browsers (`shared/data/browser-signatures.jsonl.gz`), and extracts the parts that
are comparable with a recorded connection."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

from collectors.impersonated.client_hello import Hello
from collectors.impersonated.recording_server import Seen

FILE = Path(__file__).parents[4] / "shared" / "data" / "browser-signatures.jsonl.gz"
# The name of a capture -> the name of our browser that is compared with the capture.
OURS = {
    "chrome_99.0.4844.51_win10": "chrome99",
    "chrome_101.0.4951.67_win10": "chrome101",
    "chrome_107.0.5304.107_win10": "chrome107",
    "chrome_118.0.5993.117_linux": "chrome118",
    "chrome_119.0.6045.199_macOS": "chrome119",
    "chrome_120.0.6099.109_macOS": "chrome120",
    "chrome_131.0.6778.81_android": "chrome131_android",
    "chrome_133.0.6943.55": "chrome133",
    "chrome_136.0.7103.93": "chrome136",
    "chrome_150.0.7871.127_macOS": "chrome150",
    "edge_118.0.2088.76_linux": "edge118",
    "firefox_135.0.1_linux": "firefox135",
    "firefox_144.0.0_linux": "firefox144",
    "safari_15.3_macos11.6.4": "safari153",
    "safari_26.0.1_macOS": "safari2601",
    "safari_26.0_iOS": "safari260_ios",
    "safari_26.0_macOS": "safari260",
    "tor_14.5_macOS": "tor145",
}
# PASSING: extensions whose presence depends on the length of the hello and on earlier visits. DRAWN:
# extensions whose length or data is random.
PASSING = ("padding", "pre_shared_key")
DRAWN = ("server_name", "encrypted_client_hello", "GREASE")


def captures() -> dict[str, dict[str, Any]]:
    """Return the browser signatures, keyed by the name of the capture. Without the shared data, return an
    empty dict."""
    if not FILE.is_file():
        return {}
    with gzip.open(FILE, "rt") as lines:
        return {row["id"]: row["signature"] for row in map(json.loads, lines)}


def hello_of(found: Hello | dict[str, Any], shuffled: bool) -> dict[str, Any]:
    """Return the comparable parts of a ClientHello. `shuffled`: the browser randomizes the order of its
    extensions."""
    given = found if isinstance(found, dict) else vars(found)
    kept = [
        {
            name: value
            for name, value in one.items()
            if not (name in ("length", "data") and one["type"] in DRAWN)
        }
        for one in given["extensions"]
        if one["type"] not in PASSING
    ]
    if shuffled:  # all extensions are shuffled except GREASE, which is first and last
        assert [kept[0]["type"], kept[-1]["type"]] == ["GREASE", "GREASE"]
        kept.sort(key=lambda one: json.dumps(one, sort_keys=True))
    names = ("record_version", "handshake_version", "session_id_length", "ciphersuites", "comp_methods")
    return {**{name: given[name] for name in names}, "extensions": kept}


def frames_of(frames: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the client's frames before its first request, without the acknowledgement of the server's
    settings."""
    kept = []
    for frame in frames:
        if frame["frame_type"] == "HEADERS":
            break
        if frame.get("settings") != []:
            kept.append({name: value for name, value in frame.items() if name != "stream_id" or value})
    return [{name: value for name, value in frame.items() if name != "stream_id"} for frame in kept]


def told(capture: dict[str, Any]) -> dict[str, Any]:
    """Return the HEADERS frame of the captured request: pseudo-headers and headers in order, in the form
    `name: value`."""
    found: dict[str, Any] = next(one for one in capture["http2"]["frames"] if one["frame_type"] == "HEADERS")
    return found


def lines(seen: Seen, request: int = -1) -> list[str]:
    """Return the headers of a request in the notation of the captures."""
    return [f"{name}: {value}" for name, value in seen.headers(request)]
