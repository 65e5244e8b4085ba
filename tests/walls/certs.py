"""Creates a certificate authority that is valid for a day, and a certificate for given names."""

from __future__ import annotations

import base64
import datetime
import hashlib
from pathlib import Path
from typing import NamedTuple

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID


class Certificate(NamedTuple):
    """The files of a certificate and its key. `spki` is the hash by which Chromium can be made to trust the
    certificate."""

    file: Path
    key: Path
    spki: str


def make(folder: Path, names: list[str]) -> Certificate:
    """Creates the certificate. The certificate of the authority is `ca.pem` in the folder."""
    authority, key = ec.generate_private_key(ec.SECP256R1()), ec.generate_private_key(ec.SECP256R1())
    root = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "walls")])
    now = datetime.datetime.now(datetime.UTC)

    def signed(
        subject: x509.Name, public: ec.EllipticCurvePublicKey, *more: x509.ExtensionType
    ) -> x509.Certificate:
        made = x509.CertificateBuilder().subject_name(subject).issuer_name(root).public_key(public)
        made = made.serial_number(x509.random_serial_number()).not_valid_before(
            now - datetime.timedelta(days=1)
        )
        made = made.not_valid_after(now + datetime.timedelta(days=30))
        for one in more:
            made = made.add_extension(one, isinstance(one, x509.BasicConstraints))
        return made.sign(authority, hashes.SHA256())

    ca = signed(root, authority.public_key(), x509.BasicConstraints(True, None))
    leaf = signed(
        x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, names[0])]),
        key.public_key(),
        x509.SubjectAlternativeName([x509.DNSName(name) for name in names]),
    )
    pem = serialization.Encoding.PEM
    (folder / "ca.pem").write_bytes(ca.public_bytes(pem))
    (folder / "leaf.pem").write_bytes(leaf.public_bytes(pem))
    private = key.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    (folder / "leaf.key").write_bytes(private)
    public = key.public_key().public_bytes(
        serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    spki = base64.b64encode(hashlib.sha256(public).digest()).decode()
    return Certificate(folder / "leaf.pem", folder / "leaf.key", spki)
