"""The part of a page's text that comparisons of pages use."""

from __future__ import annotations

import time

import pytest

from gossamer.parsing.content_text import gist_of
from gossamer.parsing.html import parse

STORY = "The kettle was put on the stove before dawn, and nobody in the house heard it sing. " * 4


def said(body: str, head: str = "<title>Tea</title>") -> str:
    return " ".join(
        gist_of(
            parse(f"{head}<body>{body}".encode(), "text/html; charset=utf-8", "http://a.example/").tree
        ).text.split()
    )


@pytest.mark.parametrize(
    "around",
    [
        "<nav><a href=/>Home</a> and more</nav>",
        "<footer>Imprint</footer>",
        "<aside>Read this, too</aside>",
        "<script>var x = 1</script><style>p {}</style>",
        "<form><input><button>Search</button></form>",
        "<div class='ad-slot'>Buy now</div>",
        "<div id=cookie-notice>We bake</div>",
        "<ul><li><a href=/1>One story</a><li><a href=/2>Another one</a></ul>",
    ],
)
def test_what_surrounds_a_text_is_left_out(around: str) -> None:
    assert said(f"{around}<p>{STORY}</p>") == said(f"<p>{STORY}</p>{around}") == STORY.strip()


def test_a_link_within_a_sentence_stays() -> None:
    assert "the stove" in said(
        f"<p>{STORY} It stood on <a href=/stove>the stove</a>, where it always stands.</p>"
    )


def test_what_is_most_of_the_text_stays_whatever_it_is_called() -> None:
    assert said(f"<div class=sidebar>{STORY}</div>") == STORY.strip()


def test_the_heading_is_the_only_h1_else_the_title() -> None:
    def head(body: str) -> str:
        return gist_of(
            parse(f"<title>Tea</title><body>{body}".encode(), "text/html", "http://a.example/").tree
        ).head

    assert head("<h1>Green tea</h1>") == "Green tea"
    assert head("<h1>Logo</h1><h1>Green tea</h1>") == head("") == "Tea"


@pytest.mark.parametrize(
    "body",
    [
        "<div class=ad>x" * 40_000,
        "<div><a href=/>x</a>" * 40_000,
        "<p>" + "<a href=/>x</a> " * 100_000,
        "<i class=share>x</i>" * 100_000,
    ],
)
def test_no_page_is_looked_at_without_end(body: str) -> None:
    tree = parse(body.encode(), "text/html", "http://a.example/").tree
    began = time.process_time()
    gist_of(tree)
    assert time.process_time() - began < 5
