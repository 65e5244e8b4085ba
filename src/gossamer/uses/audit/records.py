"""The records of an audit, as outputs of rows receive them: one of the audit itself, and one of each finding."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any, Final

import msgspec

from gossamer.uses.audit.database import AuditDatabase
from gossamer.uses.audit.model import AuditSummary


class _OfAudit(msgspec.Struct, kw_only=True):
    id: str
    """The id of the record, which is its key."""
    site: str
    """The first page of the site."""
    audit: int
    time: datetime
    """The time when the audit began."""


class AuditResultRecord(_OfAudit, kw_only=True):
    """The counts of an audit."""

    state: str
    whole: bool
    reasons: list[str]
    pages: int
    recent: int
    indexable: int
    links: int
    errors: int
    warnings: int
    notices: int
    infos: int
    new: int
    fixed: int


class AuditFindingRecord(_OfAudit, kw_only=True):
    """A finding of a check."""

    check: str
    group: str
    severity: str
    state: str
    """The state of the check, for example `checked` or `likely`."""
    title: str
    url: str
    target: str
    detail: str
    new: bool
    """Whether the previous audit did not have the finding."""


KINDS: Final[dict[str, type[msgspec.Struct]]] = {
    "audit": AuditResultRecord,
    "audit_finding": AuditFindingRecord,
}
_FINDINGS: Final = "SELECT check_id, url, target, detail, is_new FROM findings WHERE audit = ? ORDER BY check_id, url, target"
KeyedRow = tuple[str, Mapping[str, Any]]


def _id(*parts: object) -> str:
    told = "\0".join(map(str, parts))
    return hashlib.blake2b(told.encode("utf-8", "replace"), digest_size=12).hexdigest()


def read_records(database: AuditDatabase, summary: AuditSummary, kind: str) -> Iterator[KeyedRow]:
    """Yields the records of a kind (a key of KINDS), each with its key."""
    began = next(one.started for one in database.audits() if one.number == summary.audit)
    milliseconds = int(began * 1000)  # MongoDB stores no more digits
    time = datetime.fromtimestamp(milliseconds / 1000, UTC)
    # two databases, or one that was deleted, may have audits of a site with the same number
    audit = (summary.url, summary.audit, milliseconds)
    shared = {"site": summary.url, "audit": summary.audit, "time": time}
    if kind == "audit":
        own = {
            name: getattr(summary, name)
            for name in AuditResultRecord.__struct_fields__
            if name not in shared | {"id": 0}
        }
        yield (key := _id(*audit)), {"id": key, **shared, **own}
        return
    checks = {one.id: one for one in summary.checks}
    for name, url, target, detail, is_new in database.rows(_FINDINGS, [summary.audit]):
        if (check := checks.get(name)) is None:  # a check of a newer version
            continue
        key = _id(*audit, name, url, target)
        yield (
            key,
            {
                "id": key,
                **shared,
                "check": name,
                "group": check.group,
                "severity": check.severity,
                "state": check.state,
                "title": check.title,
                "url": url,
                "target": target,
                "detail": detail,
                "new": bool(is_new),
            },
        )
