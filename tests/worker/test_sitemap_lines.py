"""Sitemap lines in robots.txt get the same checks as any other URL from a site."""

from __future__ import annotations

import pytest

from gossamer.url.scope import Scope


@pytest.mark.parametrize(
    ("url", "host", "reason"),
    [
        ("file:///etc/passwd", "", "filter"),
        ("ftp://h.example/s.xml", "h.example", "filter"),
        ("http://u:p@h.example/s.xml", "u:p@h.example", "filter"),
        ("http://h.example:22/s.xml", "h.example:22", "filter"),
        ("http://h.example/" + "a" * 3000, "h.example", "trap"),
        ("https://other.example/s.xml", "other.example", None),
    ],
)
def test_what_is_no_web_url_is_a_counted_skip(url: str, host: str, reason: str | None) -> None:
    assert Scope.of(["https://h.example/"]).unfit(url, host) == reason
