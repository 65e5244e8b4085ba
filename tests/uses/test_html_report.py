"""All reports have one style. It is readable on a phone, in the dark and on paper."""

from __future__ import annotations

import re
from importlib.resources import files

from gossamer.uses.html_report import STYLE, breakable, head, link, table

REPORTS = ("audit/report_html.py", "keywords/report.py", "prices/report_html.py", "ranks/report_html.py")


def test_no_report_has_a_style_or_colours_of_its_own() -> None:
    for name in REPORTS:
        source = files("gossamer.uses").joinpath(name).read_text(encoding="utf-8")
        assert not re.search(
            r"#[0-9a-f]{3}(?:[0-9a-f]{3})?\b|<style|<table|<th\b| style=|<svg|<path|<rect|<circle", source
        ), name


def test_every_colour_has_a_light_and_a_dark_value() -> None:
    named = re.findall(r"(--[\w-]+):(.*?)[;}]", STYLE)
    assert all(re.fullmatch(r"light-dark\(#[0-9a-f]+,#[0-9a-f]+\)", value) for _, value in named)
    assert set(re.findall(r"var\((--[\w-]+)\)", STYLE)) <= {name for name, _ in named}
    assert ":root{color-scheme:light}" in STYLE.partition("@media print")[2], "paper is white"
    assert "@media print" in STYLE
    assert "@media (max-width:640px)" in STYLE


def test_urls_break_between_their_words() -> None:
    assert breakable("a <b> c") == "a &lt;b&gt; c"
    assert link("https://e.example/a-b?c=d").count("<wbr>") == 5
    assert '<h1>Audit of <span class="b">https://<wbr>e.<wbr>example/</span></h1>' in head(
        "Audit of https://e.example/", "", ""
    )


def test_a_stacked_table_shows_its_cells_below_one_another_on_a_phone() -> None:
    assert table(("page",), [[("u", "x")]], stacked=True).startswith(
        '<div class="wide stack" tabindex="0"><table><thead>'
    )
    assert "<thead>" not in table(("",), [[("u", "x")]])


def test_a_column_without_text_is_left_out() -> None:
    shown = table(("page", "variant", "price:n"), [[("", "a"), ("", ""), ("n", "1")]])
    assert re.findall(r"<t[hd]\b[^>]*>([^<]*)", shown) == ["page", "price", "a", "1"]
    assert "variant" in table(("page", "variant"), [])


def test_charts_are_printed_in_two_columns() -> None:
    assert ".charts .chart{width:calc(50%" in STYLE.partition("@media print")[2]


def test_a_narrow_screen_shows_that_a_table_goes_on() -> None:
    phone, printed = STYLE.partition("@media (max-width:640px)")[2].split("@media print")
    assert re.search(r"\.wide:not\(\.stack\)\{background:.* local,\s.* scroll ", phone)
    assert ".bar{zoom:.5" in phone
    # a table of eleven columns with bars is not wider than the paper
    assert ".bar{zoom:.5" in printed
