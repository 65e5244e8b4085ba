"""Targets of redirects: the bytes of the Location header, relative to the URL."""

from __future__ import annotations

import pytest

from gossamer.url.redirects import redirect_target


@pytest.mark.parametrize(
    ("location", "target"),
    [
        ("/a\x85", "https://example.com/a%85"),
        ("/a\xa0", "https://example.com/a%A0"),
        ("/caf\xe9?q=\xe9", "https://example.com/caf%E9?q=%E9"),
        ("/é".encode().decode("latin-1"), "https://example.com/%C3%A9"),
        ("//bücher.example/".encode().decode("latin-1"), "https://xn--bcher-kva.example/"),
        ("/日本", "https://example.com/%E6%97%A5%E6%9C%AC"),
        (" b#c ", "https://example.com/b"),
        ("mailto:a@b", None),
        ("http://[", None),
    ],
)
def test_the_bytes_of_a_location_are_percent_encoded(location: str, target: str | None) -> None:
    assert redirect_target(location, "https://example.com/a") == target
