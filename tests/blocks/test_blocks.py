"""Tests of block detection with tables of pages: imitations of the vendors' markup, pages that only
resemble blocks, and the saved pages of the shared data."""

from __future__ import annotations

import ast
import base64
import gzip
import json
import re
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from blocks.block_notices import NONE, NOTICES
from blocks.block_pages import AKAMAI, BLOCKED, FINE, HTML, SHELLS, URL, either, page, seen
from gossamer.blocks import KINDS, NAMES, Block, block, challenges, needs_rendering, vendors
from gossamer.blocks.challenges import WALLS
from gossamer.blocks.response import Answer, visible_part
from gossamer.blocks.signs import CODE, WIDGETS
from gossamer.blocks.signs import NOTICES as TABLE
from gossamer.blocks.site_rules import seen_by
from gossamer.blocks.vendors import VENDORS
from support.repetitions import repetitions

ROOT = Path(__file__).parents[2]
SHARED = ROOT / ".." / "shared" / "data"


@pytest.mark.parametrize(
    ("vendor", "kind", "found"), BLOCKED + NOTICES, ids=lambda value: value if isinstance(value, str) else ""
)
def test_blocks(vendor: str, kind: str, found: Block | None) -> None:
    assert found is not None
    assert (found.vendor, found.kind) == (vendor, kind), found.signs
    assert found.signs
    assert all(len(sign) < 100 for sign in found.signs)


def test_table_knows_every_vendor_and_kind() -> None:
    assert {vendor for vendor, _, _ in BLOCKED} == set(NAMES)
    assert {kind for _, kind, _ in BLOCKED} == set(KINDS)
    manual = (ROOT / "docs" / "blocks.md").read_text() if (ROOT / "docs" / "blocks.md").exists() else ""
    assert [word for word in (*NAMES, *KINDS) if manual and f"`{word}`" not in manual] == []


@pytest.mark.parametrize("name", FINE | NONE)
def test_pages_are_no_blocks(name: str) -> None:
    assert (FINE | NONE)[name] is None


def test_a_status_alone_is_told_from_a_notice() -> None:
    for bare in (
        seen(403, b""),
        seen(403, page("403 Forbidden", "nginx")),
        seen(403, page("Access denied", "You are not authorized to access this page.")),
        seen(429, b""),
        seen(401, b""),
    ):
        assert bare is not None
        assert bare.bare
    assert not any(
        found.bare
        for found in (seen(403, AKAMAI), seen(403, page("Blocked", "You have been blocked")))
        if found
    )


def test_headers_in_any_form() -> None:
    pairs = [("CF-Mitigated", "challenge"), ("Set-Cookie", "a=1"), ("set-cookie", "b=2")]
    for headers in (pairs, iter(pairs), dict(pairs)):
        assert str(block(403, headers, b"", URL)) == "cloudflare challenge"


def shared(name: str) -> list[dict[str, Any]]:
    file = SHARED / f"{name}.jsonl.gz"
    if not file.exists():
        pytest.skip("../shared/data is not here")
    return [json.loads(line) for line in gzip.decompress(file.read_bytes()).splitlines()]


def test_saved_pages() -> None:
    """Exactly the blocked pages of the shared data are detected as blocks."""
    wrong = []
    for row in shared("blocks"):
        found = either(row["status"], row["headers"], base64.b64decode(row["html"]["b64"]), row["url"])
        if (found is not None) != row["blocked"]:
            wrong.append((row["id"], found))
    assert wrong == []


@pytest.mark.parametrize(
    "name", ["articles-zyte", "products", "serp-parser", "serp-websearcher", "structured-recipes"]
)
def test_real_pages_are_no_blocks(name: str) -> None:
    wrong = []
    for row in shared(name):
        for value in row.values():
            if isinstance(value, dict) and set(value) == {"b64"}:
                body = base64.b64decode(value["b64"])
                found = either(200, HTML, body, row.get("url") or URL) if b"<" in body[:500] else None
                wrong += [(row.get("id"), found)] if found else []
                if name in ("articles-zyte", "products") and needs_rendering(
                    200, HTML, body, row.get("url") or URL
                ):
                    wrong.append((row.get("id"), None))
    assert wrong == []


@pytest.mark.parametrize(("needed", "body"), SHELLS)
def test_shells_need_rendering(needed: bool, body: bytes) -> None:
    assert needs_rendering(200, HTML, body, URL) is needed
    assert not needs_rendering(404, HTML, body, URL)


MARKUP = st.lists(
    st.sampled_from(
        [
            b"<title>",
            b"</title>",
            b"<script>",
            b"</script",
            b"<!--",
            b"-->",
            b"Access denied",
            b"captcha",
            b"<input type=password",
            b"class='g-recaptcha'",
            b"\xff\xfe",
            b"&#",
            b"charset=hex",
            b"charset=idna",
            b"Your IP has been blocked",
            "доступ".encode(),
            b"<a ",
            b"error code: 1020",
            b"cloudflare",
            b">",
            b"'",
        ]
    )
).map(b"".join)


@settings(max_examples=repetitions(150), deadline=None)
@given(
    st.integers(100, 999),
    st.dictionaries(st.text(max_size=12), st.text(max_size=30), max_size=4),
    MARKUP | st.binary(max_size=300),
    st.text(max_size=60),
)
def test_never_fails(status: int, headers: dict[str, str], body: bytes, url: str) -> None:
    found = block(status, headers, body, url)
    assert found is None or (found.vendor in NAMES and found.kind in KINDS and found.signs)
    needs_rendering(status, headers, body, url)
    for detector in (*VENDORS, *WALLS):
        detector(Answer(status, headers, body, url))


@pytest.mark.parametrize(
    "part",
    [
        b"<",
        b"<script>",
        b"<title",
        b"<input ",
        b'class="',
        b"captcha ",
        b"<noscript>",
        b"error ",
        b"<!--",
        b"your ip ",
        b"<a href='",
        b"<>",
        b"access ",
    ],
)
def test_hostile_pages_cost_little(part: bytes) -> None:
    """A regular expression that restarts at each position would take minutes on these pages."""
    body = b"<title>Denied</title>captcha" + part * ((112 << 10) // len(part))
    began = time.process_time()
    for status in (200, 403, 503):
        block(status, HTML, body, URL)
    assert time.process_time() - began < 2


def test_what_is_hidden_is_not_read() -> None:
    assert visible_part(b"a<script>b</script>c<!-- d -->e<style>f").replace(b"</script>", b" ").split() == [
        b"a",
        b"c",
        b"e",
    ]


def given_marks() -> set[bytes]:
    """Return each mark that a detector looks for: the constants given to `marks`, and the marks of the
    tables."""
    found = {mark for _, marks in TABLE for mark in marks} | {
        mark for _, _, marks in WIDGETS for mark in marks
    }
    for module in (vendors, challenges):
        for node in ast.walk(ast.parse(Path(module.__file__).read_text())):
            if (
                isinstance(node, ast.Call)
                and isinstance(node.func, ast.Attribute)
                and node.func.attr == "marks"
            ):
                found |= {
                    part.value
                    for part in node.args
                    if isinstance(part, ast.Constant) and isinstance(part.value, bytes)
                }
    return found


def test_one_pass_tells_of_every_mark() -> None:
    # these marks are searched only in pages that refuse access
    refusals = {mark for kind, marks in TABLE if kind == "denied" for mark in marks}
    assert len(given_marks()) > 150
    assert sorted(mark for mark in given_marks() - refusals if not CODE.search(mark)) == []


@pytest.mark.parametrize("mark", sorted(given_marks()))
def test_many_words_hide_no_mark(mark: bytes) -> None:
    """If the HTML code of a page identifies a block, the detected block does not depend on the amount of
    text."""
    short, long = (
        b"<title>DROP</title><script>" + mark + b"</script><p>" + b"kettles " * n for n in (60, 200)
    )
    assert either(200, HTML, short, URL) == either(200, HTML, long, URL)


def test_an_exception_of_a_site_names_the_vendor_or_the_kind_or_both() -> None:
    answer = (403, {"cf-mitigated": "challenge"}, b"<title>Just a moment</title>", "https://a.example/")
    found = seen_by([], *answer)
    assert found is not None
    for name in (found.vendor, found.kind, f"{found.vendor} {found.kind}"):
        assert seen_by([re.compile(f"!{name}")], *answer) is None, name
    assert seen_by([re.compile("!captcha")], *answer) == found
