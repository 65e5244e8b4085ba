"""Text that a reader does not see, and text in shadow roots and frames, in texts, tables and the search."""

from __future__ import annotations

import pytest

from gossamer.parsing.html import parse
from gossamer.parsing.tables import tables
from gossamer.parsing.text import main_text, markdown
from gossamer.uses.search.sources import of_page

LONG = "This sentence is long enough to be one of an article's own, for it has more than eighty characters."
BODY = f"<p>{LONG} 1</p><p>{LONG} 2</p><p>{LONG} 3</p>"


def _page(part: str) -> bytes:
    return f"<title>Tea</title><article><h1>Tea</h1><p>{LONG} 1</p>{part}<p>{LONG} 2</p><p>{LONG} 3</p></article>".encode()


@pytest.mark.parametrize(
    "part",
    [
        f"<p hidden>{LONG} odd</p>",
        f"<p style='color:red; DISPLAY : none'>{LONG} odd</p>",
        f"<div style=display:none><p>{LONG} odd</p></div>",
        f"<h2>Terms</h2><div hidden>{LONG} odd</div>",
        f"<button data-target='#a'>More</button><div id=a class='modal' hidden>{LONG} odd</div>",
        "<h2>Rules<a href='#rules'>odd</a></h2>".replace("odd", "¶"),
        "<h2>Rules <a class=headerlink href='#rules'>Link to this heading</a></h2>",
    ],
)
def test_text_that_is_not_shown_is_in_no_text(part: str) -> None:
    page = _page(part)
    found = of_page("https://e.example/", "2026", page, "text/html")
    assert found is not None
    for text in (main_text(page), markdown(page), parse(page, None, None).text, found.text, found.headings):
        assert not {"odd", "¶", "Link"} & set(text.split()), text
        assert "Rules¶" not in text


@pytest.mark.parametrize(
    "part",
    [
        f"<h3>How much?</h3><div style='display:none'>{LONG} odd</div>",
        f"<dl><dt>Black<dd hidden>{LONG} odd<dt>Green<dd hidden>{LONG} odd</dl>",
        f"<div class=faq-item><b>Price</b><div class=faq-answer hidden>{LONG} odd</div></div>",
        f"<div><button aria-expanded=false>Price</button></div><div hidden>{LONG} odd</div>",
        f"<a href=#rest>All</a><div id=rest style=display:none><p>{LONG} odd</p></div>",
        f"<details><summary>Price</summary><p>{LONG} odd</p></details>",
        f"<p hidden=until-found>{LONG} odd</p>",
        f"<div class=subscriber-only style=display:none><p>{LONG} odd</p></div>",
        f"<tea-box><template shadowrootmode=open><p>{LONG} odd</p></template>light</tea-box>",
        f"<iframe srcdoc='<p>{LONG.replace(chr(39), '&amp;#39;')} odd</p>'></iframe>",
    ],
)
def test_text_that_a_reader_can_open_is_in_all_texts(part: str) -> None:
    page = _page(part)
    found = of_page("https://e.example/", "2026", page, "text/html")
    assert found is not None
    for text in (main_text(page), parse(page, None, None).text, found.text):
        assert "odd" in text.split(), text


def test_a_page_that_its_script_shows_is_read() -> None:
    page = f"<title>Tea</title><div id=app style='display:none'><article><h1>Tea</h1>{BODY}</article></div>".encode()
    assert LONG in main_text(page)


def test_sort_keys_and_hidden_cells_are_in_no_table() -> None:
    page = b"""<table><tr><th>City<th>People<tr><td>Rome<a href=#rome>#</a><td><span class=sortkey>0028</span>2.8
        <tr><td>Oslo<td><span style='display: none'>0007</span>0.7<td hidden>9</table>"""
    assert [one.rows for one in tables(page)] == [[["Rome", "2.8"], ["Oslo", "0.7"]]]


def test_reading_a_text_does_not_change_the_page() -> None:
    document = parse(_page(f"<p hidden id=a>{LONG}</p>"), None, None)
    assert "odd" not in document.text
    assert document.tree.select_one("#a") is not None


def test_deep_frames_do_no_harm() -> None:
    deep = "<a><table>" * 600 + "odd"
    for part in (
        f"<iframe srcdoc='{deep}'></iframe>",
        f"<x-a><template shadowrootmode=open>{deep}</template></x-a>" * 2,
    ):
        assert LONG in main_text(_page(part))
