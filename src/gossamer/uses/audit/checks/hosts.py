"""Checks of hosts: certificates, http, and rules for crawlers of AI companies (`host_probe`)."""

from __future__ import annotations

from typing import Final

from gossamer.uses.audit.checks.audit_check import ERROR, INFO, WARNING, AuditCheck
from gossamer.uses.audit.host_probe import EXPIRING_DAYS
from gossamer.uses.audit.model import Severity


def _of_host(name: str, severity: Severity, title: str, fix: str, group: str = "security") -> AuditCheck:
    """Returns a check. The check reports the rows of `host_findings` whose column `fact` contains the id of
    the check."""
    return AuditCheck(
        id=name,
        group=group,
        severity=severity,
        title=title,
        fix=fix,
        sql=f"SELECT url, '', detail FROM host_findings WHERE fact = '{name}'",
        needs="hosts",
        thing="hosts",
    )


CHECKS: Final = (
    _of_host(
        "http-no-redirect",
        WARNING,
        "Hosts whose http does not lead to https",
        "Redirect every http address to its https address (301), or visitors stay without encryption.",
    ),
    _of_host(
        "certificate-expired",
        ERROR,
        "Certificates that are not valid now",
        "Renew the certificate: browsers refuse the site.",
    ),
    _of_host(
        "certificate-expiring",
        WARNING,
        f"Certificates that end within {EXPIRING_DAYS} days",
        "See why the renewal did not run: it should have by now.",
    ),
    _of_host(
        "certificate-name",
        ERROR,
        "Certificates for another name",
        "Get a certificate that has this name, too, with and without www.",
    ),
    _of_host(
        "certificate-untrusted",
        ERROR,
        "Certificates that browsers do not trust",
        "Send the intermediate certificates, too, or get a certificate of a public authority.",
    ),
    _of_host(
        "ai-crawler-rules",
        INFO,
        "Rules of robots.txt for AI crawlers",
        "Nothing to fix: see whether this is as intended.",
        group="AI",
    ),
    _of_host(
        "llms-txt",
        INFO,
        "An llms.txt for language models",
        "Nothing to fix: see whether its links are up to date.",
        group="AI",
    ),
)
