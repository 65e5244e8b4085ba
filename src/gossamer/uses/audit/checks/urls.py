"""Checks of the URLs of pages."""

from __future__ import annotations

import re
from typing import Final
from urllib.parse import parse_qsl

from gossamer.uses.audit.checks.audit_check import NOTICE, AuditCheck
from gossamer.uses.audit.model import PageFacts

MAX_URL_CHARS: Final = 115
_UPPER: Final = re.compile(r"(?<!%)(?<!%[0-9A-F])[A-Z]")
_LANGUAGE: Final = re.compile(
    r"(?<=[/_-])[a-z]{2,3}-(?:[A-Z][a-z]{3}-)?(?:[A-Z]{2}|[A-Z][a-z]{3})(?=[/._-]|$)"
)
"""A language code, such as `en-GB`. Its capital letters are part of its usual spelling."""
_PAGE_NUMBERS: Final = frozenset(("page", "p", "pg", "paged", "pagina", "seite"))


def path_of(url: str) -> str:
    """Returns the path of a URL.

    >>> path_of("https://example.com/a/b?c#d")
    '/a/b'
    """
    rest = url.partition("://")[2].partition("#")[0].partition("?")[0]
    return "/" + rest.partition("/")[2]


def url_uppercase(facts: PageFacts) -> str:
    """Finds a path with capital letters."""
    path = path_of(facts.url)
    return path[:200] if _UPPER.search(_LANGUAGE.sub("", path)) else ""


def url_parameters(facts: PageFacts) -> str:
    """Finds a URL with parameters other than the number of a page of a list."""
    query = facts.url.partition("#")[0].partition("?")[2]
    names = [name for name, _ in parse_qsl(query[:4000], keep_blank_values=True)]
    return ", ".join(names)[:200] if set(names) - _PAGE_NUMBERS else ""


CHECKS: Final = (
    AuditCheck(
        id="url-uppercase",
        group="urls",
        severity=NOTICE,
        title="URLs with capital letters",
        fix="Write the path in small letters, and redirect the other spellings: each spelling is a page of its own.",
        test=url_uppercase,
    ),
    AuditCheck(
        id="url-underscore",
        group="urls",
        severity=NOTICE,
        title="URLs with underscores",
        fix="Separate words by hyphens.",
        test=lambda facts: path_of(facts.url)[:200] if "_" in path_of(facts.url) else "",
    ),
    AuditCheck(
        id="url-parameters",
        group="urls",
        severity=NOTICE,
        title="URLs with parameters",
        fix="Give the page a path of its own, or name the page without parameters as its canonical URL.",
        test=url_parameters,
    ),
    AuditCheck(
        id="url-long",
        group="urls",
        severity=NOTICE,
        title=f"URLs longer than {MAX_URL_CHARS} characters",
        fix="Shorten the path.",
        test=lambda facts: f"{len(facts.url)} characters" if len(facts.url) > MAX_URL_CHARS else "",
    ),
    AuditCheck(
        id="url-double-slash",
        group="urls",
        severity=NOTICE,
        title="URLs with an empty folder (//)",
        fix="Correct the links, and redirect to the URL with one slash.",
        test=lambda facts: path_of(facts.url)[:200] if "//" in path_of(facts.url) else "",
    ),
)
