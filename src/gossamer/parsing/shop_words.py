"""Word lists and patterns with which `shop_page` and `products` read product pages: classes, labels and
phrases in the languages of many shops."""

from __future__ import annotations

import re
from typing import Final

CALLED: Final = frozenset(
    (
        "class",
        "id",
        "data-test",
        "data-testid",
        "data-test-id",
        "data-qa",
        "data-hook",
        "data-automation",
        "data-automation-id",
        "data-cy",
    )
)
"""Attributes in which the authors of a page name its elements."""
OTHERS: Final = re.compile(
    r"related|recommend|similar|carousel|upsell|up-sell|cross-?sell|also|sponsor|recently|accessor|bundle|"
    r"footer|minicart|mini-cart|(?<!product)(?<!product[-_])header|"
    r"\bnav|menu|breadcrumb|crumbs|review|shipping|delivery|versand|swiper|slick-|suggest|teaser|featured-product",
    re.IGNORECASE,
)
"""Classes and ids of page sections about other products, or about no product."""
MORE: Final = re.compile(
    r"(?:related|similar|recommended|featured|suggested|other|more|recently viewed|popular|best ?sell\w+)\b.{0,20}\b(?:products?|"
    r"items?|articles?|viewed)|"
    r"(?:you (?:may|might|could)|customers?|people|others?|often|frequently|goes well|pairs? well|complete|shop the)\b|"
    r"(?:ähnliche|weitere|verwandte|passende|empfohlene|zuletzt|das könnte|kunden|wird oft|zubehör|dazu passt|andere)\b|"
    r"(?:produits|articles) (?:similaires|associés|liés|complémentaires)|vous aimerez|les clients|à découvrir|"
    r"(?:productos|artículos) (?:relacionados|similares)|también (?:te|le)|quizás|los clientes|"
    r"(?:prodotti|articoli) (?:correlati|simili)|potrebbe|ti potrebbero|chi ha|"
    r"produtos (?:relacionados|semelhantes|similares)|também|quem (?:viu|comprou)|"
    r"gerelateerde|vergelijkbare|anderen|bekijk ook|klanten|"
    r"podobne|polecane|powiązane|inni klienci|zobacz|podobné|související|mohlo by|zákazníci|"
    r"relaterade|liknande|andra|похожие|рекоменд|с этим товаром|関連|おすすめ|相关|推荐",
    re.IGNORECASE,
)
"""Headings of sections about other products."""
_BEFORE: Final = (
    r"(?<![a-z])(?:old|was)(?![a-z]{4})|(?-i:Old|Was)|before|strike|list-?price|rrp|uvp|pvp|msrp|crossed|original|previous|former|"
    r"anterior|antig[uo]|ancien|barr[eé]|statt|streich|alt(?:er)?-?preis|listino|vecchio|(?<![a-z])oud|przekre|(?<![a-z])stara|"
    r"puvodn|compare|-?text-?price"
)
STRUCK: Final = re.compile(_BEFORE, re.IGNORECASE)
"""Classes and ids of former prices."""
OLD: Final = re.compile(
    rf"{_BEFORE}|regular|saving|discount-|unit|per-|from-|instal|label|(?<![a-z])range|filter|symbol|currency|month|basis",
    re.IGNORECASE,
)
"""Classes and ids of prices that are not the product's price, such as unit prices and savings."""
NOW: Final = re.compile(
    r"final|current|special|(?<![a-z])(?:sale|sales|now)(?![a-z])|(?-i:Sale|Now)|selling|topay|actu[ae]l|atual|"
    r"aktuell|attuale|huidig|promo",
    re.IGNORECASE,
)
"""Classes and ids of the current price."""
NOT_NOW: Final = re.compile(
    r"\b(?:uvp|rrp|msrp|pvpr?|was|statt|listino|list price|reg\.?(?= )|bez dph|bez vat|bez daně|netto|"
    r"(?:excl?|exkl)(?:\.|luding|usive)? ?(?:of )?(?:tax|vat|btw|gst|mwst|ust|moms)|zzgl\.? (?:mwst|ust)|ht|hors taxes?|"
    r"iva (?:esclusa|excluido)|"
    r"najniższa|save|économisez|sie sparen|ahorra|risparmi|bespaar|you save|mtl|monatlich|per month|a month|mensuales|"
    r"cuotas|prestações|rate[ni]?|instal\w+|\d+ ?x (?:de|sem|sin))(?!\w)|\+ ?iva|\bп/?м\b|税抜|/ ?mo(?:nth)?\b",
    re.IGNORECASE,
)
"""Words beside prices that are not the current price: former prices, prices without taxes, monthly rates."""
BARE_PRICE: Final = re.compile(r"[^\d%]{0,12}\d[\d.,'’ \u00a0\u202f]{0,14}[^\d%]{0,14}")
PRICED: Final = ("content", "data-price", "data-product-price", "data-price-amount")
PRICES: Final = (
    "[itemprop~=price]",
    "[data-price], [data-product-price], [data-price-amount]",
    '[id*="price" i], [class*="price" i]',
    '[data-testid*="price" i], [data-test*="price" i], [data-qa*="price" i], [data-hook*="price" i]',
    (
        '[class*="preis" i], [class*="prix" i], [class*="prezzo" i], [class*="precio" i], '
        '[class*="preco" i], [class*="cena" i]'
    ),
    '[class*="prijs" i]',
    '[id*="preis" i], [id*="prix" i], [id*="cena" i]',
)
_NO: Final = r"(?:nummer|number|no\.?|nr\.?|num\.?|id|code|#)"
LABELS: Final = {
    "sku": re.compile(
        rf"sku|asin|tcin|item\s*{_NO}|item(?=\s*:)|product\s*(?:{_NO}|ref(?:erence)?\.?)|web\s*id|internet\s*#|"
        rf"stock\s*{_NO}|"
        rf"cat(?:alog(?:ue)?)?\.?\s*{_NO}|style\s*{_NO}|article\s*{_NO}|listing\s*id|ad\s*id|"
        rf"(?:art(?:ikel)?|prod(?:ukt)?)[.\s-]*{_NO}|artikel(?=\s*:)|bestell[.\s-]?(?:nummer|nr\.?)|anzeigen(?:nummer|-?id)|"
        r"réf(?:érence|\.)?(?:\s*(?:du\s*)?(?:produit|article))?|code\s*(?:article|produit)|"
        r"ref(?:erence|erencia|erência|\.)?(?:\s*(?:no\.?|number))?(?=[\s:.]|$)|riferimento|"
        r"c[oó]d(?:igo|ice|\.)?(?:\s*(?:do\s*|de\s*|del\s*|di\s*)?(?:prod(?:uto|ucto|otto|\.)?|art(?:icolo|[ií]culo|\.)?))?|"
        r"(?:katalogov[éeá]|objednac[íi])\s*č[ií]slo|(?:numer|nr|indeks)\s*(?:katalogowy|produktu)|indeks|"
        r"k[óo]d(?:\s*(?:produktu|tovaru|zboží|produs))?|cikkszám|termékkód|vare(?:nr|nummer)\.?|art\.?nr\.?|tuote(?:numero|koodi)|"
        r"(?:ürün|stok)\s*kodu|артикул|код\s*товара|"
        r"رمز المنتج|رقم المنتج|کد (?:کالا|محصول)|מק[\"״]ט|รหัสสินค้า|kode (?:produk|barang)|prekės kodas|preces kods|tootekood|"
        r"код (?:товару|на продукта)|"
        r"ebay item number|型号|κωδικός|šifra|mã sản phẩm|상품\s?(?:번호|코드)|品番|商品番号|商品コード|商品编号|货号",
        re.IGNORECASE,
    ),
    "mpn": re.compile(
        rf"mpn|code(?=\s*:)|(?:model|part|mfr\.?|mfg\.?|manufacturer)(?:\s*part)?\s*{_NO}|model(?=\s*:)|(?:hersteller|"
        rf"modell|teile)[.\s-]*{_NO}|"
        r"kod\s*producenta|(?:modello|modelo|modèle)(?=\s*:)|型番",
        re.IGNORECASE,
    ),
    "brand": re.compile(
        r"(?:make\s*/\s*)?manufacturer|make(?=\s*:)|brand(?:\s*name)?|marke|hersteller|marca|marka|marque|märke|(?:manufactured|"
        r"made) by|"
        r"fabricante|fabricant|produttore|značka|v[ýy]robc[ae]|producent|merk|vendor(?=\s*:)|"
        r"varem[æe]rke|varumärke|mærke|marcă|producător|zīmols|ražotājs|kaubamärk|tootja|gamintojas|prekės ženklas|znamka|"
        r"العلامة التجارية|الماركة|برند|מותג|ยี่ห้อ|แบรนด์|(?:tuote)?merkki|márka|gyártó|бренд|производител[ья]?|виробник|марка|μάρκα|"
        r"κατασκευαστής|proizvođač|thương hiệu|merek|브랜드|제조사|ブランド|メーカー|品牌",
        re.IGNORECASE,
    ),
    "publisher": re.compile(
        r"publisher|imprint|verlag|herausgeber|éditeur|editore|editorial|editora?|uitgeverij?|wydawnictwo|wydawca|"
        r"nakladatel(?:ství)?|"
        r"förlag|forlag|издательство|出版社",
        re.IGNORECASE,
    ),
    "gtin": re.compile(
        r"ean(?:[\s-]*(?:13|code|kód))?|gtin(?:-?\d+)?|upc|isbn(?:-?1[03])?|código de barras", re.IGNORECASE
    ),
}
ANY_LABEL: Final = re.compile("|".join(pattern.pattern for pattern in LABELS.values()), re.IGNORECASE)
LABEL: Final = re.compile(r"[^\W\d_][\w .-]{1,24}:\s")
"""A text that begins with a label, such as `Weight: `."""
NUMBERED: Final = (
    "[itemprop~=sku], [data-sku], [data-product-sku], [data-item-number], [class~=sku], [id=sku]"
)
HELD: Final = ("content", "data-sku", "data-product-sku", "data-item-number")
ENTITIES: Final = ("data-product-id", "data-pid", "data-item-id", "data-article-id")
"""Attributes that contain a product id of the shop for its scripts. Used for pages that show no better
number."""
MARKS: Final = " \n\t\r:：#№.\u200e\u200f\u202a\xa0-–|"
SAYS: Final = re.compile(r"[\s\u200e]*[:：|–]|\s+-\s")
APART: Final = frozenset(("br", "p", "div", "li", "td", "th", "tr", "dt", "dd"))
HIDDEN: Final = re.compile(r"(?:^|\s)(?:hidden|d-none|hide|is-hidden|u-hidden)(?:\s|$)")
IDS: Final = frozenset(
    (
        "sku",
        "pid",
        "productid",
        "product_id",
        "products_id",
        "itemid",
        "item_id",
        "id",
        "item",
        "article",
        "asin",
        "variantid",
        "skuid",
    )
)
IN_PATH: Final = re.compile(
    r"(?<![A-Za-z0-9])(?:[A-Za-z]{1,4}[-_]?)?(\d{5,20})(?![A-Za-z0-9])|"
    r"(?<![A-Za-z0-9])([A-Z0-9]{8,14})(?![A-Za-z0-9])"
)
BRANDED: Final = re.compile(r"(?:^|[\s_-])product[\w-]*[-_]brand(?:[-_]?name)?(?:\s|$)", re.IGNORECASE)
MAKERS: Final = (
    '[class*="brand" i], [id*="brand" i], [class*="manufacturer" i], [class*="vendor" i], '
    '[class*="designer" i], '
    '[class*="supplier" i], '
    '[class*="producer" i], [class*="hersteller" i], [class*="marque" i], [class*="marca" i], '
    '[class*="marke" i], [class*="merk" i], '
    '[data-testid*="brand" i], [data-test*="brand" i]'
)
MAKER: Final = re.compile(
    r"brand(?!ing)|manufacturer|vendor|designer|supplier|producer|hersteller|(?<![a-z])(?:marque(?!e)|marca|marke(?!t)|merke?(?![a-z]))",
    re.IGNORECASE,
)
OF_MAKER: Final = re.compile(
    r"[/_.-](?:brands?|marken?|marques?|marcas?|marche|merke[nr]?|manufacturers?|hersteller|fabricantes?|vendors?|designers?|"
    r"producers?|producenci|"
    r"producent|znacky|znacka|vyrobc[ei])[/_=-][\w%]",
    re.IGNORECASE,
)
"""URLs of brand pages."""
CURRENCY: Final = re.compile(
    r"""\\?["']?currency(?:Code)?\\?["']?\s?:\s?\\?["']([A-Z]{3})\\?["']""", re.IGNORECASE
)
EMBEDDED: Final = {
    "currency": re.compile(
        r"""\\?["'](?:currency|currencyCode|priceCurrency)\\?["']\s?:\s?\\?["']([A-Z]{3})\\?["']"""
    ),
    "sku": re.compile(
        r"""\\?["'](?:sku|productSku|product_sku)\\?["']\s?:\s?\\?["']([\w./-]{3,40})\\?["']"""
    ),
    "brand": re.compile(
        r"""\\?["'](?:brand|brandName|brand_name|manufacturer|vendor)\\?["']\s?:\s?\\?["']([^"'\\{}<>]{2,40})\\?["']"""
    ),
}


def _keyed(keys: str, value: str) -> re.Pattern[str]:
    """Returns a pattern for one of several keys of an object, followed by the value."""
    return re.compile(
        rf"""(?:[{{,\s"']|^)(?:{keys})\\?["']?\s?:\s?\\?["']?({value})\\?["']?\s*(?:[,}}\]\n]|$)"""
    )


BRAND_OBJECT: Final = re.compile(
    r"""("(?:brand|manufacturer|vendor)"\s?:\s?)\{[^{}"]{0,5}(?:"(?!name")\w{1,20}"\s?:\s?[^{},]{1,80},\s?){0,5}"""
    r""""name"\s?:\s?("[^"{}]{1,60}")[^{}]{0,300}\}"""
)
STATE: Final = {
    "sku": tuple(
        _keyed(keys, r"[\w./-]{0,30}\d[\w./-]{0,30}")
        for keys in (
            r"sku|item_sku|productSku|product_sku",
            r"item_id|itemId|item_number|\w{0,12}(?:[aA]rticle|[pP]art|[iI]tem|[sS]tyle)(?:Number|No)|productCode|product_code|code",
            "productId|product_id|id",
        )
    ),
    "brand": (
        _keyed(r"brand|item_brand|brandName|brand_name|manufacturer|vendor", r"""[^"'\\{}<>,\n]{2,40}"""),
    ),
    "price": (_keyed(r"price|item_price|salePrice", r"\d{1,9}\.\d\d?"),),
    "currency": (_keyed(r"currency|currencyCode|priceCurrency", "[A-Z]{3}"),),
}
"""Patterns for the fields of a product object in a script, the most reliable keys first. A price must have
decimals, because one without may be in cents."""
LOGO: Final = re.compile(r"^logo (?:of |von |de )?|[ -]+logo$", re.IGNORECASE)
STORE: Final = re.compile(
    r"(?:visit|besuchen? sie|besuche|visita|visitez|visite|bezoek|odwiedź|besök) (?:the |den |lo |la |le |de |a loja |"
    r"la tienda )*(?:boutique |store |tienda |sklep )?(?:de |di |von |marki )?(.+?)(?:[ -](?:stores?|shop|butiken)\b|$)|"
    r"(?:shop|see|view|browse|discover) (?:all|more)(?: products)?(?: from| by)? (.+?)(?: products)?$|"
    r"(?:more|other products) (?:from|by) (.+)$|(?:mehr|weitere artikel|alle (?:artikel|produkte)) von (.+)$|"
    r"(?:tous les (?:produits|articles)|voir tout)(?: de)? (.+)$|(?:alles|meer) van (.+)$",
    re.IGNORECASE,
)
LABELLED: Final = re.compile(rf"(?<![^\W\d_])(?:{LABELS['brand'].pattern})\s*[:：]", re.IGNORECASE)
NO_BRAND: Final = re.compile(
    r"[{}<>$]|\b(?:brands|marken|marcas|marques|marche|null|undefined|none|n/?a|(?:our|all) \w+)\b",
    re.IGNORECASE,
)
SIGNS: Final = {
    "$": {
        "ar": "ARS",
        "au": "AUD",
        "ca": "CAD",
        "cl": "CLP",
        "co": "COP",
        "hk": "HKD",
        "mx": "MXN",
        "nz": "NZD",
        "sg": "SGD",
        "tw": "TWD",
        "uy": "UYU",
    },
    "kr": {
        "dk": "DKK",
        "da": "DKK",
        "no": "NOK",
        "nb": "NOK",
        "nn": "NOK",
        "is": "ISK",
        "se": "SEK",
        "sv": "SEK",
    },
    "¥": {"cn": "CNY", "zh": "CNY", "jp": "JPY", "ja": "JPY"},
    "rs": {"pk": "PKR", "lk": "LKR", "np": "NPR", "mu": "MUR", "in": "INR"},
}
"""Currencies that share a sign, by country code or language code."""
