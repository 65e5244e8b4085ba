"""Parsers for the contents of a response body. The parsers accept any bytes, do no I/O, limit their use of
time and memory, and raise no exceptions.

encodings      the encoding of a body, and its text
base_url       the URL to which the links of a page are relative
html           a page as the crawler needs it: title, language, robots, canonical, hrefs, text
links          every link of a page with its text and kind
forms          forms with their fields
tables         tables as rows
selectors      CSS and XPath
sitemaps       URLs of sitemaps and feeds
structured     JSON-LD, microdata, Open Graph and RDFa of a page (parsers: microdata, rdfa, lenient_json)
embedded       data in scripts (parser: js_literals)
prices         an amount and a currency in a text (their written forms: price_words, currencies)
ranks          result pages of Google and Bing as typed results
products       a product page as one record, its offers, and all of its prices (the visible page: shop_page, shop_words)
dates          dates in texts (their written forms: date_words)
pagedates      when a page was published and modified
text           the main text of a page, also as Markdown (parts: article, content_text, visible_text)
shown          the tree without hidden text, with shadow roots and frames
words          words and symbols of a text in any script
language       the language of a text
pdf            the text of a PDF (in an isolated_process that runs pdf_process)
thumbnails     thumbnails of an image (in an isolated_process that runs thumbnail_process)
page_cost      how much time and memory a page may take, and which pages are costly
nesting        pages whose elements are nested deeply
page_view      a page in the form that site functions receive
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gossamer.parsing import encodings, links, pdf, prices, products, ranks, sitemaps, structured, text

__all__ = ["encodings", "links", "pdf", "prices", "products", "ranks", "sitemaps", "structured", "text"]


def __getattr__(name: str) -> Any:
    """Imports a public submodule when it is first used."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import importlib

    return importlib.import_module(f"{__name__}.{name}")
