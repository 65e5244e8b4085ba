"""Tests of `--fail-on`: the grammar of its expressions and the values of their names."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.errors import UsageError
from gossamer.items.quality_gates import NAMES, WINDOW_PAGES, Window, number_value, parse
from gossamer.model.quality import SitePart
from gossamer.model.summary import Summary

SUMMARY = Summary(
    crawl="c",
    state="finished",
    reason=None,
    started_at="2026-01-01T00:00:00Z",
    elapsed=2.0,
    found=120,
    pages=90,
    redirected=5,
    items=7,
    succeeded=80,
    unchanged=0,
    gone=0,
    failed=0,
    skipped={"robots": 9, "content-type": 1},
    retried=3,
    dead=10,
    pending=5,
    bytes=1000,
    pages_per_second=45.0,
    hosts=2,
    errors={"dns": 4, "http-4xx": 6},
    outputs=[],
)


@pytest.mark.parametrize(
    ("text", "holds"),
    [
        ("success<0.95", True),
        ("success < 80%", False),
        ("success==0.8", True),
        ("dead>0", True),
        ("dead>10", False),
        ("pages<100", True),
        ("pages>=90", True),
        ("pages!=90", False),
        ("items<=7", True),
        ("skipped>9", True),
        ("skipped.robots==9", True),
        ("skipped.content-type>1", False),
        ("skipped.depth>0", False),
        ("errors>=10", True),
        ("errors.http-4xx>5", True),
        ("dead>0 and pages<10", False),
        ("dead>0 or pages<10", True),
        ("dead>99 or pages<10 or items>1", True),
        ("dead>99 and pages<10 or items>1", True),
        ("items>1 or dead>99 and pages<10", True),
        ("(items>1 or dead>99) and pages<10", False),
        ("pages_per_second<50 and elapsed<3", True),
    ],
)
def test_expressions(text: str, holds: bool) -> None:
    assert parse(text).test(SUMMARY) is holds


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("", "incomplete"),
        ("success", "incomplete"),
        ("succes<1", "did you mean success?"),
        ("success<", "incomplete"),
        ("success=0.9", "understood"),
        ("success<abc", "not a number"),
        ("success<0.9 and", "incomplete"),
        ("success<0.9 pages>1", "is unexpected"),
        ("(dead>0", ") is missing"),
        ("dead>0)", "is unexpected"),
        ("__import__('os')", "understood"),
        ("skipped.robot>1", "did you mean skipped.robots?"),
        ("dead>0; dead>0", "understood"),
        ("dead>-1", "understood"),
        ("(" * 500 + "dead>0" + ")" * 500, ""),
        ("0.9>success", "unknown measurement '0.9'"),
        ("success<95", "success is a share"),
        ("dead>0 or coverage.a.b<101%", "coverage.a.b is a share"),
        ("drift>1.5", "is a share"),
        ("dead>5%", "dead is a count"),
        ("errors.dns<1%", "errors.dns is a count"),
    ],
)
def test_mistakes_name_what_is_wrong(text: str, hint: str) -> None:
    with pytest.raises(UsageError, match="gate") as caught:
        parse(text)
    assert hint in str(caught.value)


@given(st.text(alphabet="succes <>=!0123456789.%()andorpg_-", max_size=60))
def test_any_text_is_an_expression_or_a_usage_error(text: str) -> None:
    try:
        assert parse(text).test(SUMMARY) in (True, False)
    except UsageError:
        pass


def test_every_name_has_a_number() -> None:
    assert all(isinstance(number_value(SUMMARY, name), float) for name in NAMES)


def test_nothing_fetched_is_no_success() -> None:
    empty = Summary("c", "finished", None, "", 0, 0, 0, 0, 0, 0, 0, {}, 0, 0, 0, 0, 0, 0, {}, [])
    assert parse("success<0.5").test(empty)


def test_a_gate_fires_once_and_again_after_the_crawl_was_resumed() -> None:
    window = Window({"": [parse("pause if success<0.9")]}, {})
    bad = SitePart("w1", WINDOW_PAGES, {"pages": WINDOW_PAGES, "succeeded": WINDOW_PAGES // 2})
    assert [failure.gate.text for failure in window.saw([bad])] == ["pause if success<0.9"]
    assert window.saw([bad]) == []
    window.forget()
    assert [failure.gate.text for failure in window.saw([bad])] == ["pause if success<0.9"]
