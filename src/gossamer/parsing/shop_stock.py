"""Whether what a product's page sells can be had, by what the page shows: words, buttons, short texts, in the
languages of many shops."""

from __future__ import annotations

import re
from typing import Final

from gossamer.parsing.html import attribute_of
from gossamer.parsing.shop_page import MOST, Element, Shop, called, hidden, said

FRAME_DEPTH: Final = 30
"""Ancestors of a button that are looked at for a header, a menu, a footer."""
_STOCKED: Final = (
    '[id*="availab" i], [class*="availab" i], [class*="stock" i], [id*="stock" i], [class*="sold" i], [data-testid*="stock" i], '
    '[data-test*="stock" i], '
    '[data-testid*="availab" i], [data-test*="availab" i], [class*="dispon" i], [class*="verfuegbar" i], [class*="lager" i], '
    '[class*="dispo" i]'
)
_GONE: Final = (
    r"currently unavailable|out of stock|outofstock|sold out|no longer (?:available|in stock)|(?:is |currently )?not available|"
    r"not in stock|unavailable|"
    r"(?:zur ?zeit |derzeit |momentan |leider |aktuell )?nicht (?:mehr )?(?:verfügbar|lieferbar|auf lager|vorrätig)|ausverkauft|"
    r"vergriffen|"
    r"épuisé|(?:en )?rupture|(?:actuellement |temporairement )?indisponible|non disponible|plus disponible|victime de son succès|"
    r"agotad[oa]|sin stock|sin existencias|no disponible|fuera de stock|esgotad[oa]|sem stock|sem estoque|indispon[ií]vel|"
    r"esaurit[oa]|non (?:è )?(?:più )?disponibil\w*|niet (?:meer )?(?:op voorraad|leverbaar|beschikbaar)|uitverkocht|tijdelijk uit|"
    r"vyp?redan|vyprodán|nen[ií] sklad|nedostupn|niedostępn|brak (?:towaru|w magazynie|na stanie)|wyprzedan|produkt chwilowo|"
    r"slutsåld|slut i lager|ej i lager|udsolgt|utsolgt|ikke på lager|loppu|nincs (?:raktáron|készleten)|elfogyott|stokta yok|"
    r"tükendi|stoc epuizat|"
    r"нет в наличии|немає в наявності|распродан|εξαντλ|μη διαθέσιμο|nije dostup|rasprodan|hết hàng|stok habis|"
    r"fora de (?:estoque|stock)|esgotat|nie je sklad|indisponibil|nu este [iî]n stoc|ei varastossa|няма в наличност|изчерпан|"
    r"nema na (?:zalihi|stanju)|ni na zalogi|läbi müüdud|išparduot|izpārdot|nav pieejam|εκτός αποθέματος|\bhabis\b|"
    r"在庫切れ|在庫[はが]あり?ません|入荷待ち|无货|無貨|缺貨|[补補][货貨]中|售完|재고 ?없|نفدت? |نفذت? |غير متاح|"
    r"ناموجود|אזל |לא במלאי|สินค้าหมด|"
    r"غير متوفر|品切れ|売り切れ|在庫なし|完売|缺货|售罄|已售完|품절"
)
_SOON: Final = r"pre-?order|pre-?sale|vorbestell|précommande|preventa|pré-venda|prenota ora|preordina|předobjedn|предзаказ|予約"
_BACK: Final = r"(?:on |available (?:on|for) )?back-?order|nachbestellt"
_THERE: Final = (
    r"in stock|instock|available|\d+ (?:left|available)|auf lager|lieferbar|vorrätig|verfügbar|versandfertig|lagernd|en stock|"
    r"en existencia|in magazzino|na stanie|có hàng|"
    r"disponible|hay stock|em stock|em estoque|dispon[ií]vel|disponibil|op voorraad|leverbaar|skladem|skladom|"
    r"na sklad|dostępn|w magazynie|i lager|på lager|varastossa|raktáron|készleten|stokta|în stoc|в наличии|"
    r"в наявності|есть на складе|διαθέσιμο|na zalih|còn hàng|在庫あり|有货|"
    r"现货|現貨|有[貨库庫]|재고 있음|متوفر|موجود|במלאי|มีสินค้า|na zalogi|laos olemas|yra sandėlyje|pieejam|tersedia|saatavilla|"
    r"на складі|в наличност|σε απόθεμα"
)
_FIRST: Final = r"(?:\W|\d+ (?:[^\W\d]\w* )?|temporarily |sorry,? |this (?:item|product) is |currently )*"
_STANDING: Final = {
    word: (re.compile(pattern, re.IGNORECASE), re.compile(f"{_FIRST}(?:{pattern})", re.IGNORECASE))
    for word, pattern in (
        ("OutOfStock", _GONE),
        ("PreOrder", _SOON),
        ("BackOrder", _BACK),
        ("InStock", _THERE),
    )
}
"""What says each word of schema.org: anywhere in a text, and at its beginning."""
_STOCK: Final = re.compile(
    r"(?:^|[\s_-])(?i:availab|stock|instock|outofstock|out-of-stock|sold|dispon|dispo(?![a-z])|verfuegbar|lager)|Availab|Stock|"
    r"SoldOut"
)
"""Elements that say whether a thing can be had: not those of what is unavailable among its variants or
pictures."""
_BUY: Final = re.compile(
    r"add[\s_-]*to[\s_-]*(?:my[\s_-]*)?(?:cart|bag|basket|trolley)|buy[\s_-]*(?:it[\s_-]*)?now|(?:btn-|to-?)cart(?![a-z])|tobasket|"
    r"in den (?:warenkorb|einkaufswagen)|in die einkaufstasche|(?:jetzt|sofort)[ -]?kaufen|ajouter au panier|acheter|"
    r"añadir|agregar al carrito|comprar|adicionar|aggiungi al carrello|acquista|in (?:de |mijn )?winkel(?:wagen|"
    r"mand)|bestellen|do koš[ií]ka|koupit|kúpiť|do koszyka|"
    r"kup teraz|lägg i|legg i|læg i|lisää ostoskoriin|kosárba|sepete ekle|adaugă în coș|купить|в корзину|купити|"
    r"до кошика|στο καλάθι|u košaricu|mua ngay|vào giỏ|カートに入れる|加入购物车|"
    r"加入購物車|立即购买|購買|장바구니|구매하기|カートに追加|購入する|(?:أضف|اضف|إضافة) (?:إلى|الى|ل)|הוס(?:ף|פה) לסל|ใส่ตะกร้า|keranjang|"
    r"beli sekarang|v košarico|u korpu|į krepšelį|pievienot grozam|lisa (?:ostu)?korvi|количката|به سبد|/cart/add|place bid",
    re.IGNORECASE,
)
_FRAME: Final = re.compile(
    r"(?<![a-z])(?:(?<!product[-_])header|masthead|top-?bar|nav|navbar|navigation|footer|mini-?(?:cart|basket|bag)|(?:cart|basket)-(?:link|icon|drawer|widget|"
    r"preview|flyout|count))(?![a-z])",
    re.IGNORECASE,
)
"""Classes and ids of the parts that every page of a shop has, whatever it shows."""
_FRAMES: Final = frozenset(("header", "nav", "footer"))
_FRAME_ROLES: Final = frozenset(("banner", "navigation", "contentinfo"))
_CART: Final = re.compile(
    r"(?:^|/)(?:(?:shopping|view|my|show)[-_]?)?(?:cart|basket|bag|checkout|warenkorb|einkaufswagen|panier|carrito|cesta|carrinho|carrello|winkelwagen|"
    r"winkelmand|ko[sš][ií]k|koszyk|varukorg|kurv|handlekurv|ostoskori|kos[aá]r|sepet|cos|korzina)(?:/view|/index)?(?:\.\w{2,5})?/?(?:[?#](?!.*add).*)?$",
    re.IGNORECASE,
)
"""Addresses of the cart itself: a link there shows it, and puts nothing in."""
_MESSAGE: Final = re.compile(
    r"(?:notify|e-?mail|alert) me|back in stock|benachrichtig|prévenez|(?:m')?alerte[rz]|avísame|avise-?me|avvisami|powiadom|hlídat|"
    r"houd me op de hoogte|mail mij|bevaka|入荷",
    re.IGNORECASE,
)
"""Buttons to be told when a thing can be had again."""


def shown_availability(shop: Shop) -> str | None:
    """A word of schema.org by what is said where it is said, by a button, or by a short text; None where
    nothing tells."""
    for element in shop.tree.select(_STOCKED)[:MOST]:
        text = said(element) if _STOCK.search(called(element)) and not hidden(element) else ""
        if 0 < len(text) < 400 and (word := standing(text)) and not shop.elsewhere(element):
            return word
    buttons = shop.tree.select(
        "button, input[type=submit], input[type=button], input[type=image], a, form[action]"
    )
    word, other = _by_buttons(buttons[:3000], shop)
    if word:
        return word
    for element, text in shop.small:
        if (
            len(text) <= 60
            and (word := standing(text, whole=True))
            and not (hidden(element) or shop.elsewhere(element))
        ):
            return word
    return "InStock" if other else None


def _by_buttons(buttons: list[Element], shop: Shop) -> tuple[str | None, bool]:
    """What the buttons of the product itself offer, and whether any other button or form sells; one that only
    promises a message stands for none to buy."""
    message = form = other = False
    for element in buttons:
        if _buys(element):
            if _of_the_frame(element, shop):
                continue
            own = not shop.elsewhere(element)
            if own and element.tag != "form":
                return "InStock", True
            form, other = form or own, True
        elif element.tag not in ("a", "form"):
            text = f"{said(element)} {attribute_of(element, 'value')}".strip()[:60]
            word = standing(text, whole=True)
            if word not in (None, "InStock") and not shop.elsewhere(element):
                return word, other
            message = message or (_MESSAGE.search(text) is not None and not hidden(element))
    return "OutOfStock" if message else "InStock" if form else None, other


def _buys(element: Element) -> bool:
    if "disabled" in element.attrs:
        return False
    signs = " ".join(
        (said(element)[:60], *(attribute_of(element, name)[:200] for name in ("value", "alt", "action")))
    )
    if element.tag == "a" and _CART.search(attribute_of(element, "href")[:300].strip()):
        return _BUY.match(signs.strip()) is not None
    return _BUY.search(f"{signs} {called(element)[:200]}") is not None


def _of_the_frame(element: Element, shop: Shop) -> bool:
    """Whether an element is part of what every page of the shop has: its header, menu, footer, small cart.
    What is around the heading is not."""
    node: object = element
    for _ in range(FRAME_DEPTH):
        if not isinstance(node, Element) or node in shop.above:
            return False
        if node.tag in _FRAMES or attribute_of(node, "role").lower() in _FRAME_ROLES:
            return True
        if node is not element and node.tag not in ("body", "main") and _FRAME.search(called(node)[:200]):
            return True
        node = node.parent
    return False


def standing(text: str, whole: bool = False) -> str | None:
    """The word of schema.org for what a text says of a thing's being there; `whole`: from its beginning.

    >>> standing("Currently out of stock"), standing("Nicht auf Lager"), standing("Available for pre-order"), standing("red")
    ('OutOfStock', 'OutOfStock', 'PreOrder', None)
    """
    return next(
        (
            word
            for word, (there, first) in _STANDING.items()
            if (first.match(text) if whole else there.search(text))
        ),
        None,
    )
