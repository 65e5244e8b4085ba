"""Creates a temporary certificate authority with the openssl command."""

from __future__ import annotations

import subprocess
from pathlib import Path

from web.plan import Plan

_CONF = """[req]
distinguished_name=dn
prompt=no
[dn]
CN=web under test
[ca]
basicConstraints=critical,CA:TRUE
keyUsage=critical,keyCertSign,cRLSign
[leaf]
subjectAltName={names}
[sign]
default_ca=own
[own]
database={folder}/index.txt
serial={folder}/serial
new_certs_dir={folder}
default_md=sha256
policy=any
unique_subject=no
[any]
commonName=supplied
"""


def make(plan: Plan, folder: Path) -> tuple[Path, Path, Path]:
    """Creates the files of a CA, of a certificate for all hosts of the plan with the fault that `plan.tls`
    names, and of its key."""
    wrong = plan.tls == "wrong-host"
    kind = "DNS" if plan.names else "IP"
    own = ",".join(f"{kind}:{plan.name_of(number)}" for number in plan.all_hosts()[:500])
    conf = folder / "openssl.cnf"
    conf.write_text(_CONF.format(names="DNS:elsewhere.example" if wrong else own, folder=folder))
    (folder / "index.txt").write_text("")
    (folder / "serial").write_text("01\n")
    ca, ca_key, cert, key = (folder / name for name in ("ca.pem", "ca.key", "cert.pem", "cert.key"))
    new = (
        "openssl",
        "req",
        "-new",
        "-newkey",
        "ec",
        "-pkeyopt",
        "ec_paramgen_curve:P-256",
        "-nodes",
        "-config",
        str(conf),
    )
    _run(*new, "-x509", "-days", "30", "-extensions", "ca", "-keyout", str(ca_key), "-out", str(ca))
    if plan.tls == "self-signed":
        _run(*new, "-x509", "-days", "30", "-extensions", "leaf", "-keyout", str(key), "-out", str(cert))
        return ca, cert, key
    _run(*new, "-keyout", str(key), "-out", str(folder / "leaf.csr"))
    years = (
        ("20200101000000Z", "20210101000000Z")
        if plan.tls == "expired"
        else ("20200101000000Z", "20491231000000Z")
    )
    _run(
        "openssl",
        "ca",
        "-batch",
        "-notext",
        "-config",
        str(conf),
        "-name",
        "own",
        "-cert",
        str(ca),
        "-keyfile",
        str(ca_key),
        "-extensions",
        "leaf",
        "-startdate",
        years[0],
        "-enddate",
        years[1],
        "-in",
        str(folder / "leaf.csr"),
        "-out",
        str(cert),
    )
    return ca, cert, key


def _run(*command: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command[:3])} failed: {done.stderr.strip()}")
