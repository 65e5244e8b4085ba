"""Words beside a number that show what the number means, for example a former price, thousands, a date or a
phone number."""

from __future__ import annotations

import re
from typing import Final

FREE = re.compile(
    r"\b(?:free(?![ -](?:shipping|delivery|returns?|trial))|gratis|gr[aá]tis|kosten(?:los|frei)|kosteloos|gratuite?s?|gratuit[oa]s?|"
    r"бесплатно|безкоштовно|bezpłatn[iey]+|darmow[yea]|za darmo|zdarma|ingyenes|ilmainen|ücretsiz)\b|免费|免費|無料|무료|مجاني|رایگان",
    re.IGNORECASE,
)
SHIPPING = re.compile(
    r"shipping|delivery|returns?\b|trial|versand|liefer|verzend|bezorg|livraison|expédition|env[ií]o|frete|entrega|spedizione|consegna"
    r"|доставк|送料|配送|运费|運費|kargo|wysyłk|dostaw|frakt|fragt|toimitus|doprava|szállítás|배송|\bbuy \d",
    re.IGNORECASE,
)
"""Matches services that are free more often than products are."""
UNIT = re.compile(
    r"\s?(?:ml|cl|kg|g|mg|mm|cm|ft|oz|lbs?|[KMGT]B|pcs|pieces|pack|stars?|reviews?|items|products|results|days?|weeks?|months?|years?|hours?)\b"
)
OTHER = re.compile(
    r"(?<!\d)\d{1,2}([./-])\d{1,2}\1(?:19|20)\d\d(?!\d)|(?<!\d)(?:19|20)\d\d([./-])\d\d\2\d\d(?!\d)"
    r"|\b(?:jan|feb|mar|apr|may|june?|july?|aug|sep|oct|nov|dec)[a-z]*\.?,? (?:\d{1,2}, )?(?:19|20)\d\d\b"
    r"|(?<![\d.,:])(?:[01]?\d|2[0-3]):[0-5]\d(?::[0-5]\d)?(?![\d:])"  # a time
    # phone numbers
    r"|\+\d[\d ().-]{6,}\d|\(0?\d{2,4}\) ?\d{3,4}[ .-]\d{3,4}|(?<![\d-])(?:1-)?(?:\d{3}-)?\d{3}-\d{4}(?![\d-])"
    r"|\b(?:tel|phone|fax|call us|mobile|hotline|telefon|téléphone|тел)\b[^\d]{0,12}\d[\d ()./-]{4,}\d"
    # ratings, versions, page numbers
    r"|\d[\d.,]* ?(?:/ ?(?:5|10)(?![\d.,])|out of \d+)|\bv(?:ersion)?\.? ?\d+(?:\.\d+)+|\bpage \d+(?: of \d+)?"
    r"|\d[\d.,]* ?[x×] ?\d+(?: ?[x×] ?\d+)* ?(?:[cm]?m|in|inch|px|\")(?!\w)"  # measures
    r"|\b(?:in stock|size|größe|taille|talla|qty|quantity|sku|isbn|ean|upc|model)\b[\s:.#]{0,3}(?:[a-z]*-)?\d[\d-]*(?![\d.,])"
    r"|\b(?:buy \d+ get|get|\d+ (?:for|voor|für)) \d+(?![\d.,])|\bbuy \d+",
    re.IGNORECASE,
)
"""Matches numbers that are not a price if no currency is written: dates, times, phone numbers, ratings,
versions, measures and counts."""
POWERS = {"千": 3, "천": 3, "万": 4, "萬": 4, "만": 4, "億": 8, "亿": 8, "억": 8}
MYRIAD = re.compile(r"\s?([万萬만億亿억]|[千천](?![克瓦米]))\s?")
MINOR = re.compile(
    r"\s*(?:(?:and|et|und|i|y|e|и) )?(\d\d?)\s?(?:коп|gr\b|groszy|ct\b|cents?\b|centimes\b|øre|öre|bani|kuruş|céntimos|haléř)"
)
RANGE = re.compile(r"\s*(?:[-−–—~～]|to|bis|till|a|à|al|até|do|до)\s*[-−–]?\s?", re.IGNORECASE)
NAMED = re.compile(r"[^\W\d_]\.? ?\d+ [-–—] \d[\d.,]*[.,]\d\d")
"""Matches a number that belongs to a name, then a dash and a price. `Size 42 – 59,95 €` is not a range."""
_LARGE = re.compile(
    r"\s?(?:(thousand|тыс\.?|тис\.?|tys\.?|tis\.?|tsd\.?|ribu|rb|nghìn|ngàn|bin|mila|mil(?!\.))|(lakhs?|lacs?)"
    r"|(mill?ion(?:s|en|es|i)?|millones|mio|mln|млн|milh(?:ão|ões)|milyon|juta|jt|triệu)|(crores?|cr)"
    r"|(billions?|mrd|bn|млрд|miliardy?|miliar|milyar|tỷ))(?!\w)",
    re.IGNORECASE,
)
_BEGIN = frozenset("tTrRnNbBmMlLcCjJмМтТ")
_THOUSANDS = re.compile(r"[kKmMB](?![^\W_])")
_LETTERS: Final = {"k": 3, "K": 3, "m": 6, "M": 6, "B": 9}
_NO_WORD = r"(?<![^\W_])"
_FORMER = re.compile(
    _NO_WORD
    + r"(?:was|were|previously|formerly|statt|anstatt|uvp|rrp|msrp|m\.r\.p\.?|mrp|srp|pvp[rc]?|originally|regularly|before|usually"
    r"|retail|instead of|(?:list|regular|reg\.?|old|original|retail|normal|usual|full|market|previous|standard) ?price|compared? (?:at|to)"
    r"|antes|avant|au lieu de|bisher|prix (?:conseillé|barré|initial|normal|de base)|precio (?:anterior|normal|original|regular)"
    r"|preço (?:antigo|normal|original)|prezzo (?:di listino|originale|pieno)|anziché|invece di"
    r"|(?:listen|normal|alter |alt|ursprungs|streich)preis|ord(?:inarie)?\.? ?pris|ord\.?|normalpris|tidigare(?: pris)?|førpris|før"
    r"|vejl\. ?(?:ud)?pris|adviesprijs|(?:normale|oude) prijs|(?:normalna|stara) cena|cena (?:regularna|katalogowa)|eski fiyat[ıi]?"
    r"|liste fiyatı|(?:běžná|původní|bežná|pôvodná) cena|было|старая цена|стара ціна|(?<!partir )(?<!lieu )(?<!x )de|van"
    r"|war|era|était|wynosiła|составляла|byla|bola|var|a fost|oli)\W*$|(?:通常価格|参考価格|定価|原价|原價|市场价|정가|希望小売価格)\W*$",
    re.IGNORECASE,
)
_PRESENT = re.compile(
    _NO_WORD
    + r"(?:now|only|just|sale|our|your|special|promo(?:tional)?|offer|deal|today|current|discount(?:ed)?|price|jetzt|nur|preis|ab"
    r"|ahora|oferta|por|maintenant|prix|ora|adesso|prezzo|precio|preço|agora|nu|nå|pris|priset|voor|prijs|teraz|cena|nyní|akční|akcia|şimdi|fiyat[ıi]?|yeni|стало"
    r"|теперь|цена|ціна|сейчас|prețul|hinta)(?: [^\W\d_]+){0,2}\W*$|(?:価格|特価|现价|現價|特价|促销价|판매가|할인가)\W*$",
    re.IGNORECASE,
)
LETTER = re.compile(r"[^\W\d_]")
_SAVED = re.compile(
    r"\b(?:sav(?:e|ings?)|you save|spar(?:en|e|a)?|ersparnis|économi[sez]+|ahorra|risparmi|discount|rabatt|rebate)\W*(?:of|von)?\W*$",
    re.IGNORECASE,
)
_DE, _POR = (
    re.compile(r"(?<!lieu )\b(?:de|van)\W*$", re.IGNORECASE),
    re.compile(r"\b(?:por|voor)\W*$", re.IGNORECASE),
)


def power(text: str, start: int, end: int, places: list[tuple[int, int]]) -> int:
    """Returns the power of ten that is written after a number, or 0 if there is none. A single letter
    (`$1.5K`) counts only if a currency of `places` is just before the number."""
    char = text[end : end + 1]
    if (
        char in _LETTERS
        and _THOUSANDS.match(text, end)
        and any(0 <= start - place[1] < 2 for place in places)
    ):
        return _LETTERS[char]
    if char not in _BEGIN and (char.isalnum() or text[end + 1 : end + 2] not in _BEGIN):
        return 0
    word = _LARGE.match(text, end)
    return (3, 5, 6, 7, 9)[(word.lastindex or 1) - 1] if word else 0


def is_former(label: str) -> bool:
    """Whether the text before a number marks it as a former price or as the amount saved: `was $`, `UVP `."""
    return not label.isspace() and (is_saved(label) or _FORMER.search(label) is not None)


def is_saved(label: str) -> bool:
    """Whether the text before a number marks it as the amount saved."""
    return _SAVED.search(label) is not None


def is_present(label: str, former: str) -> bool:
    """Whether the text before a number marks it as the current price. `former`: the text before a former
    price in front of it. After a former price, no words are needed."""
    if _DE.search(former):
        return _POR.search(label) is not None
    return not is_saved(label) and (not LETTER.search(label) or _PRESENT.search(label) is not None)
