"""The list of all checks. An audit runs the checks in this list."""

from __future__ import annotations

from typing import Final

from gossamer.uses.audit.checks import content, hosts, indexability, links, status, titles, urls
from gossamer.uses.audit.checks.audit_check import AuditCheck

CHECKS: Final[tuple[AuditCheck, ...]] = (
    *status.CHECKS,
    *indexability.CHECKS,
    *urls.CHECKS,
    *titles.CHECKS,
    *content.CHECKS,
    *hosts.CHECKS,
    *links.CHECKS,
)
GROUPS: Final = tuple(dict.fromkeys(check.group for check in CHECKS))


def check_of(name: str) -> AuditCheck | None:
    """Returns the check with this id, or None."""
    return next((check for check in CHECKS if check.id == name), None)
