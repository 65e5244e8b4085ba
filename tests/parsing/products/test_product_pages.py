"""Small pages in the style of various shops, written for these tests. Each test separates the data of the
product from the rest of the page."""

from __future__ import annotations

import json
from typing import Any

import pytest

from gossamer.parsing.products import product

URL = "https://shop.example/lamps/red-lamp-4711234.html"


def found(html: str, url: str = URL) -> dict[str, str]:
    return {name: str(value) for name, value in product(html.encode(), url).items() if value is not None}


def ld(value: Any) -> str:
    return f'<script type="application/ld+json">{json.dumps(value)}</script>'


PRICES = {
    "of what is called a price, the one of today": (
        "<p class=price-standard>1 099 Kč</p><p class=price-final>899 Kč</p><p class=price-more>743 Kč bez DPH</p>",
        "899",
        "CZK",
    ),
    "what is struck out in a price's element is none of it": (
        "<div class=price-box><p class=old-price>29,99 zł</p> <p>24,99 zł</p></div>",
        "24.99",
        "PLN",
    ),
    "struck out by its style": (
        "<p style='text-decoration: line-through'>2.499,90 TL</p><p>1.899,90 TL</p>",
        "1899.90",
        "TRY",
    ),
    "a list price by its word": (
        "<div class=prezzo-l>Listino: € 149,00</div><div class=prezzo>€ 119,00</div>",
        "119.00",
        "EUR",
    ),
    "a price of a month by its word": (
        "<p class=price>ab 19,90 € mtl.</p><p class=price>Kaufpreis 599,00 €</p>",
        "599.00",
        "EUR",
    ),
    "a class that has but the letters of an old one": ("<p class='price bold'>5,00 €</p>", "5.00", "EUR"),
    "called nothing": (
        "<ul><li>Code 5</li></ul><h2>$31.20</h2><p>Ex Tax: $26.00</p><h3>Related products</h3><p class=price>$4.00</p>",
        "31.20",
        "USD",
    ),
    "by the names for tests": (
        "<i data-test=product-price>$129.99</i><i data-test=reg>$159.99</i>",
        "129.99",
        "USD",
    ),
    "in the header of the product": (
        "<div class=product-header><h1>A</h1><p class=price>5,00 €</p></div>",
        "5.00",
        "EUR",
    ),
    "two without a currency, which the scripts have": (
        '<p class=sales><i class=sales-price__former>249,-</i><i class=sales-price>219,-</i></p><script>x = {"currency": "EUR"}</script>',
        "219",
        "EUR",
    ),
    "before the heading": ("<div><b>CHF 1499.–</b><h1>Red lamp</h1></div>", "1499", "CHF"),
    "in a data layer": (
        "<script>push({items: [{item_id: 'A-7', item_name: 'Red lamp', price: 119.95}], currency: 'EUR'})</script>",
        "119.95",
        "EUR",
    ),
    "a microdata property outside of any item": (
        "<meta itemprop=price content=799.00><meta itemprop=priceCurrency content=PLN>",
        "799.00",
        "PLN",
    ),
}


@pytest.mark.parametrize("name", PRICES)
def test_prices(name: str) -> None:
    html, amount, currency = PRICES[name]
    record = found(html if "<h1" in html else f"<h1>Red lamp</h1>{html}")
    assert (record["price"], record["currency"]) == (amount, currency)


@pytest.mark.parametrize(
    ("language", "currency"), [("da", "DKK"), ("nb-NO", "NOK"), ("sv", "SEK"), ("", "SEK")]
)
def test_crowns_are_those_of_the_language(language: str, currency: str) -> None:
    assert found(f"<html lang='{language}'><h1>A</h1><p class=price>499,00 kr.</p>")["currency"] == currency


@pytest.mark.parametrize(
    ("url", "currency"),
    [("https://shop.tw/p", "TWD"), ("https://shop.com.hk/p", "HKD"), ("https://shop.example/p", "CNY")],
)
def test_a_yuan_is_that_of_the_country(url: str, currency: str) -> None:
    assert found("<h1>A</h1><p class=price>990元</p>", url)["currency"] == currency


NUMBERS = {
    "the one beside a label is the shop's, that for machines its database's": (
        ld({"@type": "Product", "name": "Red lamp", "sku": "238887908"})
        + "<p><b>Product Code - </b>39139301</p>",
        "39139301",
    ),
    "label and value in elements of their own": (
        "<i>Internet # </i><span>Item #:</span><span>BB-7782</span>",
        "BB-7782",
    ),
    "capitals in parts": ("<p><span>SKU:</span>HT-NVY</p>", "HT-NVY"),
    "no longer than three": ("<p>SKU: A12</p>", "A12"),
    "a label in a property": (
        "<div itemscope itemtype=http://schema.org/Product><b itemprop=name>A</b><b itemprop=sku>SKU LUR-11</b></div>",
        "LUR-11",
    ),
    "other products hold theirs, too": (
        "<ul><li data-sku=999-11>Blue</li><li data-sku=999-12>Green</li></ul>",
        "4711234",
    ),
    "around the heading": (
        "<ul><li data-sku=999-11>a<li data-sku=999-12>b</ul><article data-product-id=203-44><h1>Red lamp</h1></article>",
        "203-44",
    ),
    "of a variant": (
        ld(
            {
                "@type": "ProductGroup",
                "name": "Red lamp",
                "hasVariant": [{"@type": "Product", "name": "Red lamp S", "sku": "RL-S"}],
            }
        ),
        "RL-S",
    ),
    "in the object that has the name": (
        '<script>{"products":[{"id":"90455","name":"Red lamp"},{"id":"90456","name":"Blue lamp"}]}</script>',
        "90455",
    ),
    "under a heading over other products stand theirs": (
        ld({"@type": "Product", "name": "Red lamp", "sku": "20-4456"})
        + "<div><h2>You may also like</h2><div><b>Blue lamp</b><p>Art.-Nr.: 20-9999</p></div></div>",
        "20-4456",
    ),
    "a colon as wide as a letter": ("<li>商品编号：100056612</li>", "100056612"),
    "in the object that has the title, by a longer key": (
        '<script>{"parentPartNumber":"22ABC","title":"Red lamp"}</script>',
        "22ABC",
    ),
    "the maker's where the shop has none": ("<p>Part Number: LM8UU-R</p>", "LM8UU-R"),
}


@pytest.mark.parametrize("name", NUMBERS)
def test_numbers(name: str) -> None:
    html, number = NUMBERS[name]
    url = "https://shop.example/red-lamp" if "4711234" not in number else URL
    assert found(html if "<h1" in html else f"<h1>Red lamp</h1>{html}", url)["sku"] == number


BRANDS = {
    "the picture of a maker": (
        "<div class=brandLogo><a href=/nakia/><img src=n.png alt=Nakia></a></div>",
        "Nakia",
    ),
    "a link to the brand's page, beside the heading": ("<p>by <a href=/brands/nakia>Nakia</a></p>", "Nakia"),
    "a picture beside a label": (
        "<div><span>Producent:</span> <a href=/n><img alt=Nakia src=n.png></a></div><div><span>Kod producenta:</span> KE-1600</div>",
        "Nakia",
    ),
    "a link to all of it": ("<a href=/b/nakia/-/N-5 class=shop-brand>Shop all Nakia</a>", "Nakia"),
    "a picture called a logo": ("<a class=pdp-brand href=/x><img alt='Nakia logo' src=n.png></a>", "Nakia"),
    "a maker's number is none": ("<p>Hersteller-Nr.: 4003530</p><p>Hersteller: Nakia</p>", "Nakia"),
    "a store without the word behind": ("<a id=bylineInfo>Visita la tienda de Nakia</a>", "Nakia"),
    "in the header of the product": ("<p class=product-header__brand>Marque Nakia</p>", "Nakia"),
    "called a vendor": ("<span class=product-vendor>Nakia</span>", "Nakia"),
    "in the object that has the name": (
        '<script>{"product":{"name":"Red lamp","brand":{"id":"b7","name":"Nakia"}},"x":{"name":"Blue lamp","brand":{"name":"Other"}}}</script>',
        "Nakia",
    ),
    "a publisher is none": (
        '<dl><dt>Editore:<dd>Nakia</dl><script>{"name":"Red lamp","brand":"Nakia"}</script>',
        None,
    ),
    "the shop's own logo is none": ("<div class=brand><img src=logo.png alt=Shop></div>", None),
    "other products' are none": (
        "<section class=related-products><p class=product-brand>Other</p></section>",
        None,
    ),
}


@pytest.mark.parametrize("name", BRANDS)
def test_brands(name: str) -> None:
    html, brand = BRANDS[name]
    assert found(f"<body><div><h1>Red lamp</h1>{html}</div>").get("brand") == brand


STANDING = {
    "a button that sells nothing": (
        "<form action=/cart/add><button disabled>Sold Out</button></form>",
        "OutOfStock",
    ),
    "a button that only promises a message": ("<button>Email me when back in stock</button>", "OutOfStock"),
    "other products are sold": (
        "<p>Temporarily out of stock</p><div class=related><button>Add to cart</button></div>",
        "OutOfStock",
    ),
    "a size that is gone is not the product": (
        "<ul><li>S - Agotado</li><li>M</li></ul><button>Añadir a la cesta</button>",
        "InStock",
    ),
    "a part that is not shown": (
        "<p class='stock hidden'>Out of stock</p><p class=stock>In stock</p>",
        "InStock",
    ),
    "by the names for tests": ("<div data-test=outOfStockMessage>Out of stock</div>", "OutOfStock"),
    "no longer": ("<p id=availability_value>Questo prodotto non è più disponibile</p>", "OutOfStock"),
    "before it is out": ("<div class=stock-info>Available for pre-order</div>", "PreOrder"),
    "a button that is a picture": ("<input type=image src=b.gif alt='Add to Cart'>", "InStock"),
    "a short text": ("<p>Sofort lieferbar</p><p>9 units in stock</p>", "InStock"),
    "a name with a prefix": (
        ld({"@type": "Product", "name": "Red lamp", "offers": {"availability": "schema:PreOrder"}}),
        "PreOrder",
    ),
    "nothing": ("<p>Red</p>", None),
    "a link to the cart in the header": ("<header><a class=btn-cart href=/cart>Cart</a></header>", None),
    "in a header that is a div": (
        "<div class=site-header><a class='to-cart' href=/cart>Cart (0)</a></div>",
        None,
    ),
    "in a header by its role": ("<div role=banner><button>Add to cart</button></div>", None),
    "a form in the header": ("<header><form action=/cart/add></form></header>", None),
    "a word of the menu": ("<nav><a href=/x>Comprar</a></nav>", None),
    "a word of the footer": ("<footer><a href=/help>Bestellen</a></footer>", None),
    "the small cart": ("<div class=mini-cart><a class=btn-cart href=/checkout>x</a></div>", None),
    "a link to the cart anywhere": ("<a class=btn-cart href=/en/warenkorb.html?x=1><i></i></a>", None),
    "a link to the cart that says what it adds": (
        "<a class=add-to-cart href='/cart?add=3'><i></i></a>",
        "InStock",
    ),
    "the product's own header": ("<div class=product-header><button>Buy now</button></div>", "InStock"),
}


@pytest.mark.parametrize("name", STANDING)
def test_availability(name: str) -> None:
    html, word = STANDING[name]
    assert found(f"<h1>Red lamp</h1>{html}").get("availability") == word


@pytest.mark.parametrize(
    ("there", "gone"),
    [
        ("在庫あり", "在庫切れ"),
        ("有貨", "缺貨"),
        ("재고 있음", "재고 없음"),
        ("متوفر", "نفدت الكمية"),
        ("במלאי", "אזל מהמלאי"),
        ("มีสินค้า", "สินค้าหมด"),
        ("Saatavilla", "Ei varastossa"),
        ("Na zalogi", "Ni na zalogi"),
        ("Na zalihi", "Nema na zalihi"),
        ("В наличност", "Няма в наличност"),
        ("Skladom", "Nie je skladom"),
        ("În stoc", "Indisponibil"),
        ("Em estoque", "Fora de estoque"),
        ("Tersedia", "Habis"),
        ("Na stanie", "Brak na stanie"),
        ("Raspoloživo", "Nije na zalihi"),
        ("На стању", "Нема на стању"),
        ("На залиха", "Распродадено"),
        ("Stoklarımızda", "Stokta bulunmuyor"),
        ("Mevcut", "Mevcut değil"),
        ("موجود", "اتمام موجودی"),
        ("На склад", "Не е на склад"),
        ("Есть на складе", "Нет на складе"),
        ("Til á lager", "Ekki til á lager"),
        ("Laos", "Ei ole laos"),
        ("У наяўнасці", "Няма ў наяўнасці"),
        ("Në stok", "Jashtë stokut"),
        ("Қоймада бар", "Қоймада жоқ"),
        ("Mavjud", "Mavjud emas"),
        ("Stokda var", "Stokda yoxdur"),
        ("მარაგშია", "არ არის მარაგში"),
        ("Առկա է", "Առկա չէ"),
        ("स्टॉक में", "स्टॉक में नहीं"),
        ("উপলব্ধ স্টকে আছে", "স্টক শেষ"),
        ("Ada stok", "Kehabisan stok"),
        ("Нөөцөд байгаа", "Нөөцөд байхгүй"),
        ("En estoc", "Sense estoc"),
    ],
)
def test_availability_in_the_words_of_many_languages(there: str, gone: str) -> None:
    for text, word in ((there, "InStock"), (gone, "OutOfStock")):
        assert found(f"<h1>Red lamp</h1><p class=stock>{text}</p>").get("availability") == word


@pytest.mark.parametrize(
    "text",
    [
        "Přidat do košíku",
        "Kupi",
        "Додај у корпу",
        "Додај во кошничка",
        "Shto në shportë",
        "У кошык",
        "Себетке қосу",
        "Savatga qo'shish",
        "Səbətə əlavə et",
        "კალათაში დამატება",
        "Ավելացնել զամբյուղ",
        "Setja í körfu",
        "Cumpără acum",
        "Megveszem",
        "Afegeix al cistell",
        "Saskira gehitu",
        "קנה עכשיו",
        "कार्ट में जोड़ें",
        "কার্টে যোগ করুন",
        "Tambah ke troli",
        "放入購物車",
        "Сагсанд нэмэх",
    ],
)
def test_buttons_in_the_words_of_many_languages(text: str) -> None:
    assert found(f"<h1>Red lamp</h1><a href='#'>{text}</a>").get("availability") == "InStock"


@pytest.mark.parametrize(
    ("brand", "number"),
    [
        ("Mærke", "Varenummer"),
        ("العلامة التجارية", "رقم المنتج"),
        ("מותג", "מק״ט"),
        ("Zīmols", "Preces kods"),
    ],
)
def test_labels_in_the_words_of_many_languages(brand: str, number: str) -> None:
    record = found(
        f"<h1>Red lamp</h1><table><tr><th>{brand}<td>Nakia<tr><th>{number}<td>RL-77</table>",
        "https://shop.example/a",
    )
    assert (record["brand"], record["sku"]) == ("Nakia", "RL-77")
