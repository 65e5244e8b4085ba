"""Parses a TLS ClientHello (RFC 8446 section 4.1.2) into the notation of the captures, and computes its
JA3 and JA4 fingerprints."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from typing import Any

NAMES = {
    0: "server_name",
    5: "status_request",
    10: "supported_groups",
    11: "ec_point_formats",
    13: "signature_algorithms",
    16: "application_layer_protocol_negotiation",
    18: "signed_certificate_timestamp",
    21: "padding",
    23: "extended_master_secret",
    27: "compress_certificate",
    28: "record_size_limit",
    34: "delegated_credentials",
    35: "session_ticket",
    41: "pre_shared_key",
    43: "supported_versions",
    45: "psk_key_exchange_modes",
    51: "keyshare",
    17513: "application_settings",
    17613: "application_settings_new",
    65037: "encrypted_client_hello",
    65281: "renegotiation_info",
}
VERSIONS = {
    0x0304: "TLS_VERSION_1_3",
    0x0303: "TLS_VERSION_1_2",
    0x0302: "TLS_VERSION_1_1",
    0x0301: "TLS_VERSION_1_0",
}


def grease(value: int) -> bool:
    """Return whether a value is a GREASE value (RFC 8701)."""
    return value & 0x0F0F == 0x0A0A and value >> 8 == value & 0xFF


class Bytes:
    """Reads numbers and vectors from bytes."""

    def __init__(self, data: bytes) -> None:
        self.data, self.at = data, 0

    def take(self, n: int) -> bytes:
        self.at += n
        return self.data[self.at - n : self.at]

    def number(self, n: int) -> int:
        return int.from_bytes(self.take(n), "big")

    def vector(self, n: int) -> bytes:
        return self.take(self.number(n))

    def __bool__(self) -> bool:
        return self.at < len(self.data)


def numbers(data: bytes, size: int) -> list[Any]:
    found = [int.from_bytes(data[i : i + size], "big") for i in range(0, len(data), size)]
    return ["GREASE" if size == 2 and grease(one) else one for one in found]


@dataclass
class Hello:
    """A ClientHello in the notation of the captures: numbers, the word GREASE, and extensions in the order
    sent."""

    record_version: str
    handshake_version: str
    session_id_length: int
    ciphersuites: list[Any]
    comp_methods: list[int]
    extensions: list[dict[str, Any]]
    raw: list[int] = field(default_factory=list)

    @classmethod
    def parse(cls, data: bytes) -> Hello:
        record_version, body, rest = int.from_bytes(data[1:3], "big"), b"", data
        while rest[:1] == b"\x16" and len(body) < 4 + int.from_bytes(body[1:4] or b"\0", "big"):
            body += rest[5 : 5 + int.from_bytes(rest[3:5], "big")]
            rest = rest[5 + int.from_bytes(rest[3:5], "big") :]
        hello = Bytes(body[4:])
        version = hello.number(2)
        hello.take(32)
        session, suites = hello.vector(1), numbers(hello.vector(2), 2)
        compressions, found, raw = list(hello.vector(1)), [], []
        inner = Bytes(hello.vector(2))
        while inner:
            kind = inner.number(2)
            raw.append(kind)
            found.append(extension(kind, inner.vector(2)))
        return cls(
            VERSIONS[record_version], VERSIONS[version], len(session), suites, compressions, found, raw
        )

    def get(self, name: str) -> dict[str, Any]:
        return next((one for one in self.extensions if one["type"] == name), {})

    def ja3(self) -> str:
        """Return the JA3 text with sorted extensions (because browsers shuffle them) and without GREASE."""
        own = sorted(one for one in self.raw if not grease(one) and one not in (21, 41))
        groups = [one for one in self.get("supported_groups")["supported_groups"] if one != "GREASE"]
        suites = [one for one in self.ciphersuites if one != "GREASE"]
        parts = [suites, own, groups, self.get("ec_point_formats").get("ec_point_formats", [])]
        return "771," + ",".join("-".join(map(str, part)) for part in parts)

    def ja4(self) -> str:
        """Return the JA4 fingerprint (FoxIO's TLS client fingerprint)."""
        suites = sorted(f"{one:04x}" for one in self.ciphersuites if one != "GREASE")
        kinds = sorted(f"{one:04x}" for one in self.raw if not grease(one) and one not in (0, 16))
        several = len([one for one in self.raw if not grease(one)])
        versions = self.get("supported_versions").get("supported_versions", [])
        newest = "13" if "TLS_VERSION_1_3" in versions else "12"
        alpn = self.get("application_layer_protocol_negotiation").get("alpn_list", ["00"])[0]
        schemes = ",".join(
            f"{one:04x}"
            for one in self.get("signature_algorithms").get("sig_hash_algs", [])
            if one != "GREASE"
        )
        head = f"t{newest}{'d' if 0 in self.raw else 'i'}{len(suites):02}{several:02}{alpn[0]}{alpn[-1]}"
        return "_".join([head, short(",".join(suites)), short(",".join(kinds) + "_" + schemes)])


def short(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def extension(kind: int, data: bytes) -> dict[str, Any]:
    name = "GREASE" if grease(kind) else NAMES.get(kind, str(kind))
    out: dict[str, Any] = {"type": name}
    if name not in ("server_name", "padding", "pre_shared_key", "encrypted_client_hello"):
        out["length"] = len(data)
    body = Bytes(data)
    match name:
        case "supported_groups":
            out["supported_groups"] = numbers(body.vector(2), 2)
        case "ec_point_formats":
            out["ec_point_formats"] = list(body.vector(1))
        case "application_layer_protocol_negotiation" | "application_settings" | "application_settings_new":
            listed, found = Bytes(body.vector(2)), []
            while listed:
                found.append(listed.vector(1).decode())
            out["alpn_list" if name.startswith("application_layer") else "alps_alpn_list"] = found
        case "status_request":
            out["status_request_type"] = data[0]
        case "signature_algorithms" | "delegated_credentials":
            out["sig_hash_algs"] = numbers(body.vector(2), 2)
        case "keyshare":
            listed, shares = Bytes(body.vector(2)), []
            while listed:
                group = listed.number(2)
                shares.append(
                    {"group": "GREASE" if grease(group) else group, "length": len(listed.vector(2))}
                )
            out["key_shares"] = shares
        case "psk_key_exchange_modes":
            out["psk_ke_mode"] = data[1]
        case "supported_versions":
            out["supported_versions"] = [VERSIONS.get(one, one) for one in numbers(body.vector(1), 2)]
        case "compress_certificate":
            out["algorithms"] = numbers(body.vector(1), 2)
        case "record_size_limit":
            out["record_size_limit"] = body.number(2)
    return out
