"""Parsers: what is in a body. They take any bytes, do no I/O, limit time and memory, and raise no exceptions.

encodings      the encoding of a body, and its text; base_url: what its links are relative to
html           a page as the crawler needs it: title, language, robots, canonical, hrefs, text
links          every link of a page with its text and kind
forms          forms with their fields; tables: tables as rows; selectors: CSS and XPath
sitemaps       URLs of sitemaps and feeds
structured     JSON-LD, microdata, Open Graph and RDFa of a page; microdata, rdfa, lenient_json: their parsers
embedded       data in scripts; js_literals: JavaScript literals
prices         an amount and a currency in a text; price_words, currencies: how they are written
products       a product page as one record; shop_page, shop_words: what the page itself shows
dates          dates in texts; date_words: how they are written; pagedates: when a page was published
text           the visible text, the main text, Markdown; article, content_text, visible_text: their parts
language       the language of a text
pdf            the text of a PDF, read in pdf_process; isolated_process: how such a process is used
thumbnails     thumbnails of an image, made in thumbnail_process
limits         what a page may cost to parse
page_view      a page as site functions see it
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gossamer.parsing import encodings, links, pdf, prices, products, sitemaps, structured, text

__all__ = ["encodings", "links", "pdf", "prices", "products", "sitemaps", "structured", "text"]


def __getattr__(name: str) -> Any:
    """Imports a public submodule when it is first used."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import importlib

    return importlib.import_module(f"{__name__}.{name}")
