"""Parsing: what is in a body. Pure functions of bytes: any bytes, no I/O, bounded time and memory, no
exception.

addresses    what the links of a document are relative to
encodings    which encoding a body is in, and its text; labels: the names of encodings
html         a page as the crawler sees it: title, language, robots, canonical, hrefs, text
links        every link of a page with its text and kind
sitemaps     URLs of sitemaps and feeds; sitemap_text: their bytes as text
paths        what lies where in JSON
prices       an amount and a currency out of a text; currencies: how they are written
products     a product page as one record; nodes: structured data of any syntax as one kind; shop: what pages show,
             shopprices, shopbrands, shopstock: of it the price, the brand, whether there is any; shopstate: what their scripts say
structured   JSON-LD, microdata, Open Graph and RDFa of a page; loose: JSON as pages write it; microdata, rdfa: these two
text         the text that a reader sees, the main text, Markdown; article: the blocks of a main text
view         what a site function sees of a page; selectors: what it selects
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gossamer.parsing import encodings, links, pdf, prices, products, sitemaps, structured, text

__all__ = ["encodings", "links", "pdf", "prices", "products", "sitemaps", "structured", "text"]


def __getattr__(name: str) -> Any:
    """Parts that users name are loaded when they are first used."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import importlib

    return importlib.import_module(f"{__name__}.{name}")
