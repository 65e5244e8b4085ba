"""The public functions as callers use them: by their full names, with a body as text, or with no body."""

from __future__ import annotations

import subprocess
import sys
from decimal import Decimal

import pytest

import gossamer
from gossamer.blocks import block
from gossamer.identity.cookies import Jar
from gossamer.parsing.encodings import encoding
from gossamer.parsing.links import links
from gossamer.parsing.prices import price
from gossamer.parsing.products import product
from gossamer.parsing.sitemaps import entries
from gossamer.parsing.structured import structured
from gossamer.parsing.text import main_text, markdown
from gossamer.politeness.robots import Robots

PAGE = "<h1>Käfer</h1><p>Ein Käfer ist ein Tier, das im Garten lebt, und dort lebt es gern.</p><a href='ä'>mehr</a>"
AT = "https://example.com/a/"
NAMES = (
    "url.parse",
    "url.canonical",
    "politeness.robots.Robots",
    "blocks.block",
    "parsing.encodings.encoding",
    "parsing.links.links",
    "parsing.sitemaps.entries",
    "parsing.prices.price",
    "parsing.structured.structured",
    "parsing.products.product",
    "parsing.text.main_text",
    "parsing.text.markdown",
    "identity.cookies.Jar",
)


@pytest.mark.parametrize("name", NAMES)
def test_import_gossamer_is_enough(name: str) -> None:
    subprocess.run([sys.executable, "-c", f"import gossamer; gossamer.{name}"], check=True)


def test_rooms_have_no_other_names() -> None:
    for room in (gossamer.parsing, gossamer.politeness, gossamer.identity):
        assert not hasattr(room, "no_such_part")


def test_text_is_a_body_too() -> None:
    raw = PAGE.encode()
    assert links(PAGE, AT) == links(raw, AT, "text/html; charset=utf-8") != []
    assert main_text(PAGE) == main_text(raw, content_type="text/html; charset=utf-8") != ""
    assert "Käfer" in markdown(PAGE, AT)
    assert encoding(PAGE) == encoding("plain") == "utf-8"
    assert entries("<urlset><url><loc>/ä</loc></url></urlset>", AT)[0] == ["https://example.com/%C3%A4"]
    assert not Robots("User-agent: *\nDisallow: /ä").allows("gossamer", "https://example.com/ä")
    assert structured('<script type="application/ld+json">{"name": "Käfer"}</script>')["json_ld"] == [
        {"name": "Käfer"}
    ]
    assert product('<script type="application/ld+json">{"@type": "Product", "name": "Käfer"}</script>')[
        "name"
    ] == ("Käfer")
    jar = Jar()
    jar.take(AT, "id=1; Path=/")
    assert jar.header(AT) == "id=1"


@pytest.mark.parametrize("body", [None, "", b"", bytearray(b"<p>"), memoryview(b"<p>"), "\ud800"])
def test_little_or_no_body(body: bytes | str | None) -> None:
    assert links(body, AT) == []
    assert (entries(body, AT)[1], structured(body)["json_ld"], product(body)["name"]) == ([], [], None)
    assert (main_text(body), block(404, None, body, AT)) == ("", None)
    assert Robots(body).allows("gossamer", AT)
    assert encoding(body)
    assert isinstance(markdown(body), str)


def test_no_url_is_no_failure() -> None:
    assert gossamer.url.parse(None) is gossamer.url.canonical(None) is None
    assert [link.url for link in links("<a href=https://example.org/>a</a><a href=b>b</a>", None)] == [
        "https://example.org/"
    ]
    assert entries("https://example.org/a", None) == (["https://example.org/a"], [])
    jar = Jar()
    jar.take(None, None)
    assert jar.header(None) == ""


@pytest.mark.parametrize("url", ["http://[::1", "", None])
@pytest.mark.parametrize("status", [200, 403, None])
def test_block_at_what_is_no_url(status: int | None, url: str | None) -> None:
    for body in (b"", b"<title>Welcome to nginx!</title>", b"<title>Log in</title><input type=password>"):
        found = block(status, {}, body, url)
        assert found is None or found.kind


def test_price_of_a_number() -> None:
    found = price(12.5, "EUR")
    assert found is not None
    assert (found.amount, found.iso) == (Decimal("12.5"), "EUR")
    assert price(float("nan")) is None
