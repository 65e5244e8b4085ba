"""What the code of the tutorials would store, as their texts describe it. The code reads the pages with parsel
and regular expressions, and uses nothing of gossamer."""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import urlsplit

from parsel import Selector


def product_hash(pages: dict[str, str]) -> dict[str, dict[str, Any]]:
    """The parser of the shop: each product in a hash by its id. Follows links with `/shop/page/` and without `#`."""
    found: dict[str, dict[str, Any]] = {}
    to_visit, seen = ["/shop/"], set()
    while to_visit:
        path = to_visit.pop(0)
        seen.add(path)
        page = Selector(pages[path])
        for product in page.css(".product"):
            one = product.css("a[data-product_id]").attrib["data-product_id"]
            found[one] = {
                "id": int(one),
                "name": product.css("h2::text").get(),
                "price": product.css(".amount::text").get(),
            }
        links = page.css("a::attr(href)").getall()
        to_visit += [link for link in links if "/shop/page/" in link and "#" not in link and link not in seen]
    return found


def quote_lists(pages: dict[str, str]) -> dict[str, list[str]]:
    """The parser of quotes: the texts in one list per author."""
    found: dict[str, list[str]] = {}
    for path in ("/", "/page/2/"):
        for quote in Selector(pages[path]).css(".quote"):
            name = f"crawling:quote:{quote.css('.author::text').get()}"
            found.setdefault(name, []).append(quote.css(".text::text").get() or "")
    return found


def title_hash(pages: dict[str, str], base: str) -> dict[str, str | None]:
    """The default parser: titles by URL."""
    linked = Selector(pages["/"]).css("main a::attr(href)").getall()
    return {base + path: Selector(pages[path]).css("title::text").get() for path in ("/", *linked)}


def price(page: str, own: str | None) -> float:
    """The price parser: the domain's own selector first, then common classes, then `data-price`."""
    selector = Selector(page)
    for css in filter(None, (own, ".price", ".amount")):
        if (text := selector.css(f"{css}::text").get()) and (match := re.search(r"[\d.,]+", text)):
            return float(match[0].replace(",", ""))
    return float(selector.css("[data-price]").attrib["data-price"])


def keyword_records(pages: dict[str, str], base: str, words: list[str]) -> list[dict[str, Any]]:
    """The keyword records: whole words in the text without script, style, nav, footer and header."""
    found = []
    for path, page in pages.items():
        cut = re.sub(r"(?s)<(script|style|nav|footer|header)\b.*?</\1>", " ", page)
        text = " ".join(" ".join(Selector(cut).xpath("//text()").getall()).split()).lower()
        for word in words:
            if frequency := len(re.findall(rf"\b{re.escape(word)}\b", text)):
                record = {"keyword": word, "frequency": frequency, "url": base + path}
                found.append({**record, "domain": urlsplit(base).netloc})
    return found


def rank_records(keyword: str, page: str) -> list[dict[str, Any]]:
    """The records of a result page: the first 20 results, with position, title, URL, snippet and domain."""
    found = []
    for result in Selector(page).css("div.tF2Cxc, li.b_algo")[:20]:
        link = result.css("a:has(h3), h2 a")
        url = link.attrib["href"]
        record = {"keyword": keyword, "position": len(found) + 1, "url": url, "domain": urlsplit(url).netloc}
        record["title"] = (link.css("h3::text").get() or link.css("::text").get() or "").strip()
        record["snippet"] = (
            result.css(".VwiC3b span::text").get() or result.css("p::text").get() or ""
        ).strip()
        found.append(record)
    return found
