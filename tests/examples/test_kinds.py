"""Tests of the example sites on further pages of the same kinds, which are not among the saved pages."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from gossamer.model.item import plain_fields
from gossamer.model.page import Page
from gossamer.parsing.page_view import PageView
from gossamer.sites import load
from gossamer.sites.page_functions import PageResult, run

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


def read(name: str, url: str, body: str) -> PageResult:
    (site,) = load(EXAMPLES / f"{name}.py")
    kind = [("content-type", "text/html; charset=utf-8")]
    parsed = run(site, PageView(Page(url, 200, kind, body.encode(), 0.0, 0.0, len(body))))
    assert parsed.error is None, parsed.detail
    return parsed


def amount(text: str, sign: str = "&pound;", *, last: bool = False) -> str:
    """Return the HTML of an amount in the format of WooCommerce."""
    symbol = f'<span class="woocommerce-Price-currencySymbol">{sign}</span>'
    inner = f"{text}&nbsp;{symbol}" if last else f"{symbol}{text}"
    return f'<span class="woocommerce-Price-amount amount"><bdi>{inner}</bdi></span>'


def product(price: str, more: str = "", name: str = "Kettle", number: str = 'data-product_id="7"') -> str:
    return (
        f'<li class="product type-product post-7 {more}"><a href="/shop/kettle/"><h2 class="woocommerce-loop-product__title">{name}</h2>'
        f'<span class="price">{price}</span></a><a {number} href="?add-to-cart=7" rel="nofollow">Add</a></li>'
    )


def shop(*products: str, around: str = "{}") -> list[dict[str, Any]]:
    page = around.format(f'<ul class="products columns-4">{"".join(products)}</ul>')
    return [plain_fields(item) for item in read("shop", "https://scrapeme.live/shop/", page).items]  # type: ignore[arg-type]


READ = "screen-reader-text"
PRICES = [
    (amount("63.00"), "63.00"),
    ("", None),
    ("Price on request", None),
    (amount("0.00"), "0.00"),
    (f"<del>{amount('20.00')}</del> <ins>{amount('15.00')}</ins>", "15.00"),
    (f"<del>{amount('20.00')}</del> <ins>{amount('0.00')}</ins>", "0.00"),
    (
        (
            f"<del>{amount('20.00')}</del> <span class={READ}>Original price was: &pound;20.00.</span>"
            f"<ins>{amount('15.00')}</ins><span class={READ}>Current price is: &pound;15.00.</span>"
        ),
        "15.00",
    ),
    (f"{amount('10.00')} &ndash; {amount('20.00')}", "10.00"),
    (
        f"<del>{amount('12.00')} &ndash; {amount('25.00')}</del> <ins>{amount('10.00')} &ndash; {amount('20.00')}</ins>",
        "10.00",
    ),
    (
        f"{amount('10.00')} &ndash; {amount('20.00')}<span class={READ}>Price range: &pound;10.00 through &pound;20.00</span>",
        "10.00",
    ),
    (f"From: {amount('10.00')}", "10.00"),
    (f'{amount("3.50")} <small class="woocommerce-price-suffix">incl. 20% VAT</small>', "3.50"),
    (amount("1.299,00", "&euro;", last=True), "1299.00"),
    (amount("1 299,00", "kr", last=True), "1299.00"),
    (amount("1'299.00", "CHF"), "1299.00"),
    (amount("12,50", "z&#322;", last=True), "12.50"),
    (amount("1,20,000", "&#8377;"), "120000"),
    (amount("1,980", "&yen;"), "1980"),
    (amount("19.990", "&#36;"), "19990"),
    (amount("1.299,90", "R&#36;"), "1299.90"),
    (amount("1,299.50", "&#x62f;.&#x625;", last=True), "1299.50"),
    (amount("12 990", "Ft", last=True), "12990"),
    (amount("150.000", "Rp"), "150000"),
    (amount("12.500", "KD"), "12.500"),
    (amount("۱۲۳٬۰۰۰", "تومان", last=True), "123000"),
]


@pytest.mark.parametrize(("html", "want"), PRICES)
def test_prices_of_a_shop(html: str, want: str | None) -> None:
    (item,) = shop(product(html))
    assert item["price"] == (None if want is None else Decimal(want))


def test_products_without_a_button_and_names_with_markup() -> None:
    sold_out = product(amount("1.00"), "outofstock", "Caf&eacute; <b>No.</b>&nbsp;5\n&amp; more 🫖", "")
    assert shop(sold_out) == [
        {
            "id": 7,
            "name": "Café No. 5 & more 🫖",
            "price": Decimal("1.00"),
            "url": "https://scrapeme.live/shop/kettle/",
        }
    ]


@pytest.mark.parametrize("section", ["related products", "up-sells upsells products"])
def test_what_is_shown_beside_is_no_product_of_the_page(section: str) -> None:
    assert (
        shop(product(amount("1.00")), around=f'<section class="{section}"><h2>See also</h2>{{}}</section>')
        == []
    )


def test_the_next_page_alone_is_followed() -> None:
    links = (
        '<a class="prev page-numbers" href="/shop/">x</a><a class="page-numbers" href="/shop/page/1/">1</a>'
        '<a class="next page-numbers" href="/shop/page/3/">x</a>'
    )
    parsed = read(
        "shop", "https://scrapeme.live/shop/page/2/", f'<ul class="products">{product("")}</ul>{links}'
    )
    assert [request.url for request in parsed.requests] == ["https://scrapeme.live/shop/page/3/"]


QUOTE = (
    '<div class="quote"><span class="text">“Odd &amp; “even”.”</span><span>by <small class="author">É. Zola</small>'
    '<a href="/author/E-Zola">(about)</a></span><div class="tags">Tags:{}</div></div>'
)


@pytest.mark.parametrize("path", ["", "page/9/", "tag/love/", "tag/love/page/2/"])
def test_quotes_of_any_listing(path: str) -> None:
    url = f"https://quotes.toscrape.com/{path}"
    body = (
        "<h1><a href=/>Quotes</a></h1>" + QUOTE.format("") + QUOTE.format("<a class=tag href=/tag/a/>a-b</a>")
    )
    parsed = read("quotes", url, body)
    assert [plain_fields(item) for item in parsed.items] == [  # type: ignore[arg-type]
        {"text": "Odd & “even”.", "author": "É. Zola", "author_page": "/author/E-Zola", "tags": tags}
        for tags in ([], ["a-b"])
    ]
    assert {request.url for request in parsed.requests} == {"https://quotes.toscrape.com/author/E-Zola"}


@pytest.mark.parametrize("path", ["login", "js/", "scroll", "tableful/", "tag/"])
def test_other_pages_of_the_quotes_site_give_nothing(path: str) -> None:
    parsed = read(
        "quotes", f"https://quotes.toscrape.com/{path}", "<h1><a href=/>Quotes</a></h1>" + QUOTE.format("")
    )
    assert (parsed.items, parsed.requests) == ([], [])


def test_a_book_with_what_pages_have() -> None:
    body = (
        "<ul class=breadcrumb><li><a href=../../index.html>Home</a></ul><h1>It's Only the Himalayas é</h1><p class=price_color>Â£45.17</p>"
        "<table><tr><th>UPC</th><td>a22124811bfa8350</td></tr><tr><th>Price</th><td>Â£45.17</td></tr></table>"
    )
    parsed = read("books", "https://books.toscrape.com/catalogue/its-only-the-himalayas_981/index.html", body)
    assert [plain_fields(item) for item in parsed.items] == [  # type: ignore[arg-type]
        {"upc": "a22124811bfa8350", "title": "It's Only the Himalayas é", "price": Decimal("45.17")}
    ]
    assert parsed.requests == []
