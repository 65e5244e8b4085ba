"""Further start tags of body and html add attributes to the first one. The parser reads a limited number of
them."""

from __future__ import annotations

import pytest

from gossamer.parsing.html import parse
from gossamer.parsing.links import hrefs

URL = "https://e.com/"


@pytest.mark.parametrize("tag", ["<body", "<HTML", "<bOdY/"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_attributes_of_many_bodies_do_not_fill_the_memory(tag: str, encoding: str) -> None:
    """Each start tag copies all earlier attributes, so 100,000 tags would take 100 GB."""
    text = "<p>before" + "".join(f"{tag} a{n}>" for n in range(100_000)) + "<a href=x>after</a>"
    document = parse(text.encode(encoding), "text/html", URL)
    assert document.text == "beforeafter"
    assert hrefs(document)[0] == ["x"]


def test_few_tags_after_one_with_many_attributes_do_not_fill_the_memory() -> None:
    """These 400 tags take 4 KB of a page of 1.1 MB, but would take 1.6 GB of memory. Their position must not
    matter."""
    many = " ".join(f"a{n:x}" for n in range(160_000))
    text = f"<p>before<body {many}>" + "".join(f"<body b{n:x}>" for n in range(400))
    tree = parse(text.encode(), "text/html", URL).tree
    assert len(tree.select("wbr")) > 350


def test_pages_put_together_of_pages_stay_as_they_are() -> None:
    one = "<html lang=en><body class=x><p>{}</p></body></html>".format("word " * 20)
    document = parse((one * 150).encode(), "text/html", URL)
    assert document.text.split() == ["word"] * 3000
    assert not document.tree.select("wbr")
