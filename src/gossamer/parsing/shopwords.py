"""How shops write what `shop` looks for: classes, labels and phrases, in the languages of many shops."""

from __future__ import annotations

import re
from typing import Final

OTHERS: Final = re.compile(
    r"related|recommend|similar|carousel|upsell|cross-?sell|also|sponsor|recently|accessor|bundle|"
    r"footer|minicart|mini-cart|header|"
    r"\bnav|menu|breadcrumb|review|shipping|delivery|versand|swiper|slick-|suggest",
    re.IGNORECASE,
)
"""Classes and ids of what is about other products, or no product at all."""
OLD: Final = re.compile(
    r"old|was|before|strike|regular|list-?price|rrp|uvp|msrp|crossed|original|previous|saving|"
    r"discount-|unit|per-|from-|instal|"
    r"label|range|filter|symbol|currency|month|compare|basis|text-?price",
    re.IGNORECASE,
)
"""Classes and ids of prices that are not the price."""
PRICES: Final = (
    "[itemprop~=price]",
    "[data-price], [data-product-price]",
    '[id*="price" i], [class*="price" i]',
    '[class*="preis" i], [class*="prix" i], [class*="prezzo" i], [class*="precio" i], [class*="preco" i], [class*="cena" i]',
    '[id*="preis" i], [id*="prix" i], [id*="cena" i]',
)
LABELS: Final = {
    "sku": re.compile(
        r"sku|asin|item\s*(?:no\.?|number|id|#)|product\s*(?:code|id|no\.?|number)|web\s*id|"
        r"style\s*(?:no\.?|number|code)|article\s*(?:no\.?|number)|"
        r"art(?:ikel)?[.\s-]*(?:nr|nummer|no)\.?|bestell(?:nummer|-?nr\.?)|réf(?:érence|\.)?|"
        r"ref(?:erencia|erência|\.)?|"
        r"c[oó]d(?:igo|ice|\.)?(?:\s*(?:do\s*|de\s*|del\s*)?(?:prod(?:uto|ucto|otto)|articolo|art[ií]culo))?|"
        r"katalogov[éeá]\s*č[ií]slo|k[óo]d(?:\s*(?:produktu|tovaru|zboží))?|артикул|код\s*товара|"
        r"ebay item number|型号|品番|商品番号|商品编号",
        re.IGNORECASE,
    ),
    "brand": re.compile(
        r"(?:make\s*/\s*)?manufacturer|make(?=\s*:)|brand(?:\s*name)?|marke|hersteller|marca|marque|"
        r"fabricante|fabricant|produttore|značka|v[ýy]robc[ae]|producent|merk|"
        r"varem[æe]rke|varumärke|бренд|производитель|ブランド|メーカー|品牌",
        re.IGNORECASE,
    ),
    "gtin": re.compile(
        r"ean(?:[\s-]*(?:13|code|kód))?|gtin(?:-?\d+)?|upc|isbn(?:-?1[03])?|código de barras", re.IGNORECASE),
}  # fmt: skip
GONE: Final = re.compile(
    r"currently unavailable|out of stock|sold out|no longer available|not available|unavailable|"
    r"nicht (?:verfügbar|lieferbar|auf lager)|ausverkauft|"
    r"épuisé|rupture de stock|indisponible|agotado|no disponible|esgotado|indispon[ií]vel|esaurito|"
    r"non disponibile|niet (?:op voorraad|leverbaar)|uitverkocht|"
    r"vypredan|vyprodán|nedostupn|niedostępn|slutsåld|udsolgt|utsolgt|loppu|нет в наличии|распродан|"
    r"品切れ|売り切れ|在庫なし|缺货|售罄|已售完",
    re.IGNORECASE,
)
THERE: Final = re.compile(
    r"in stock|instock|available|auf lager|lieferbar|vorrätig|verfügbar|en stock|disponible|"
    r"em stock|dispon[ií]vel|disponibil|op voorraad|leverbaar|skladem|skladom|"
    r"na sklad|dostępn|i lager|på lager|varastossa|в наличии|есть на складе|在庫あり|有货|现货",
    re.IGNORECASE,
)
STOCK: Final = re.compile(r"(?:^|[\s_-])(?i:availab|stock|instock|outofstock|out-of-stock|sold)|Availab|Stock|SoldOut")
"""Elements that say whether a thing can be had: not those of what is unavailable among its variants or pictures."""
MARKS: Final = " \n\t\r:#№.\u200e\u200f\u202a\xa0-–|"
SAYS: Final = re.compile(r"[\s\u200e]*[:|–-]")
APART: Final = frozenset(("br", "p", "div", "li", "td", "th", "tr", "dt", "dd"))
BUY: Final = re.compile(
    r"add[\s_-]*to[\s_-]*(?:cart|bag|basket|trolley)|buy[\s_-]*(?:it[\s_-]*)?now|addtocart|"
    r"in den (?:warenkorb|einkaufswagen)|jetzt kaufen|ajouter au panier|acheter|"
    r"añadir|agregar al carrito|comprar|adicionar|aggiungi al carrello|acquista|in winkel(?:wagen|"
    r"mand)|bestellen|do koš[ií]ka|koupit|kúpiť|do koszyka|"
    r"kup teraz|lägg i|legg i|læg i|lisää ostoskoriin|купить|в корзину|カートに入れる|加入购物车|加入購物車|"
    r"立即购买|購買|長바구니|장바구니|/cart/add|place bid",
    re.IGNORECASE,
)
IDS: Final = frozenset(
    ("sku", "pid", "productid", "product_id", "products_id", "itemid", "item_id", "id", "item", "article", "asin", "variantid", "skuid")
)  # fmt: skip
IN_PATH: Final = re.compile(
    r"(?<![A-Za-z0-9])(?:[A-Za-z]{1,4}[-_]?)?(\d{5,20})(?![A-Za-z0-9])|"
    r"(?<![A-Za-z0-9])([A-Z0-9]{8,14})(?![A-Za-z0-9])")  # fmt: skip
BRANDED: Final = re.compile(r"(?:^|[\s_-])product[\w-]*[-_]brand(?:[-_]?name)?(?:\s|$)", re.IGNORECASE)
EMBEDDED: Final = {
    "sku": re.compile(r"""\\?["'](?:sku|productSku|product_sku)\\?["']\s?:\s?\\?["']([\w./-]{3,40})\\?["']"""),
    "brand": re.compile(
        r"""\\?["'](?:brand|brandName|brand_name|manufacturer)\\?["']\s?:\s?\\?["']([^"'\\{}<>]{2,40})\\?["']"""
    ),
}
STORE: Final = re.compile(
    r"(?:visit|besuchen? sie|besuche|visita|visitez|visite) (?:the |den |lo |la |le |a loja |"
    r"la tienda )*(?:boutique |store |tienda )?(?:de |di |von )?(.+?)[ -](?:store|stores|"
    r"shop)\b", re.IGNORECASE)  # fmt: skip
LABELLED: Final = re.compile(rf"(?<![^\W\d_])(?:{LABELS['brand'].pattern})\s*:", re.IGNORECASE)
NO_BRAND: Final = re.compile(
    r"[{}<>$]|\b(?:brands|marken|marcas|marques|marche|null|undefined|none|n/?a)\b", re.IGNORECASE
)
DOLLARS: Final = {
    "ar": "ARS", "au": "AUD", "ca": "CAD", "cl": "CLP", "co": "COP", "hk": "HKD", "mx": "MXN", "nz": "NZD", "sg": "SGD", "tw": "TWD",
    "uy": "UYU",
}  # fmt: skip
"""What a bare `$` is in these countries."""
