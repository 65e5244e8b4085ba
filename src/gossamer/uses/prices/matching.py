"""Decides whether two products of different shops are the same, from their identifiers or from their names.

Products with equal identifiers match automatically. All other pairs of products get a score, and a person
decides on the pairs with high scores. Boosted trees compute the score. The coefficients of the trees are in
`product_matching.json`, which `benchmarks/price_matching.py` creates.
"""

from __future__ import annotations

import json
import math
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from decimal import Decimal
from functools import cache, lru_cache
from pathlib import Path
from typing import NamedTuple

MODEL = Path(__file__).with_name("product_matching.json")
"""The path of the data file with the coefficients of the product matching score."""
_GTIN_LENGTHS = (8, 12, 13, 14)
_INTERNAL = ("02", "04", "2", "980", "981", "982", "983", "984", "99")
"""Prefixes of GTIN-13 numbers that shops assign themselves, and of numbers for refunds and coupons."""
_PLACEHOLDERS = frozenset(("01234567890128", "00012345678905", "04012345678901", "05901234123457"))
_WORD = re.compile(r"\d+(?:[.,]\d+)+|[^\W_]+(?:[-/.+][^\W_]+)*")
_PART = re.compile(r"[^\W\d_]+|\d+(?:[.,]\d+)*")
_UNITS: dict[str, tuple[str, Decimal]] = {
    **{name: ("g", Decimal(1)) for name in ("g", "gr", "gram", "grams", "gramm")},
    **{name: ("g", Decimal(1000)) for name in ("kg", "kilo", "kilogram")},
    "mg": ("g", Decimal("0.001")),
    **{name: ("ml", Decimal(1)) for name in ("ml", "milliliter")},
    "cl": ("ml", Decimal(10)),
    **{name: ("ml", Decimal(1000)) for name in ("l", "lt", "ltr", "liter", "litre", "liters", "litres")},
    **{name: ("oz", Decimal(1)) for name in ("oz", "ounce", "ounces")},
    **{name: ("gb", Decimal(1)) for name in ("gb", "go")},
    **{name: ("gb", Decimal(1000)) for name in ("tb", "to")},
}
_PACK_WORDS = "pack|packs|pk|pcs|pieces|piece|count|ct|stk|stück|stueck|pièces|pezzi|piezas|set"
_AMOUNT = re.compile(
    r"(?<![\w.,-])(?:(?P<count>\d{1,3})\s?[x×*]\s?)?(?P<amount>\d{1,5}(?:[.,]\d{1,3})?)\s?"
    rf"(?P<unit>{'|'.join(sorted(_UNITS, key=len, reverse=True))})(?:\s?[x×*]\s?(?P<after>\d{{1,3}})\b)?(?![\w/])"
)
_PIECES = re.compile(
    rf"(?<![\w.,-])(?P<many>\d{{1,4}})(?:er)?[\s-]?(?:{_PACK_WORDS})\b|\b(?:pack|set|box|lot|case)\s(?:of|de|à)\s(?P<of>\d{{1,4}})\b"
)


class Product(NamedTuple):
    """The data of a product in a shop."""

    name: str
    brand: str = ""
    mpn: str = ""
    gtin: str = ""
    price: float | None = None
    currency: str = ""


@lru_cache(maxsize=100_000)
def normal_gtin(text: str) -> str:
    """Returns a GTIN with 14 digits. Returns '' if the check digit is wrong, or if the number is not globally
    unique. Shops assign numbers with the prefixes 02, 04 and 2 themselves, so these numbers are not unique.
    Numbers of coupons (prefix 99), of variable weights, and of documentation examples are also not unique.

    >>> normal_gtin("4006381333931"), normal_gtin("0 36000 29145 2"), normal_gtin("2012345678900")
    ('04006381333931', '00036000291452', '')
    """
    digits = re.sub(r"[\s-]", "", text.rpartition(":")[2])[:20]
    if not (digits.isascii() and digits.isdigit() and len(digits) in _GTIN_LENGTHS):
        return ""
    whole = digits.zfill(14)
    numbers = [int(digit) for digit in whole]
    if (3 * sum(numbers[0::2]) + sum(numbers[1::2])) % 10 or len(set(whole[:-1])) == 1:
        return ""
    if whole.startswith("000000"):  # a GTIN-8
        return "" if whole[6] in "02" else whole
    if whole[0] == "9" or whole[1:].startswith(_INTERNAL) or whole in _PLACEHOLDERS:
        return ""
    return whole


@lru_cache(maxsize=100_000)
def normal_code(text: str) -> str:
    """Normalizes a model number or a brand. The result is in lower case and contains no accents, spaces or
    punctuation.

    >>> normal_code("KX-TG 9343/T"), normal_code("Nestlé")
    ('kxtg9343t', 'nestle')
    """
    plain = unicodedata.normalize("NFKD", text.casefold())
    return "".join(letter for letter in plain if letter.isalnum())


def normal_mpn(product: Product) -> str:
    """Returns the brand and the model number as one key. Returns '' if the brand or the model number is
    missing, or if the model number is too short or has no digit. Different products may share a short model
    number, or a model number without a digit."""
    brand, mpn = normal_code(product.brand), normal_code(product.mpn)
    if not brand or len(mpn) < 4 or not any(map(str.isdigit, mpn)) or len(set(mpn)) < 3:
        return ""
    return f"{brand}\t{mpn}"


@lru_cache(maxsize=100_000)
def quantities(name: str) -> dict[str, frozenset[Decimal]]:
    """Returns the quantities that a name contains, by unit: `g`, `ml`, `oz`, `gb` and `piece`.

    >>> sorted(quantities("Water 6 x 1,5 l")["ml"]), sorted(quantities("Socks, pack of 3")["piece"])
    ([Decimal('9000.0')], [Decimal('3')])
    """
    found: dict[str, set[Decimal]] = {}
    text = name.casefold()
    for match in _AMOUNT.finditer(text):
        unit, factor = _UNITS[match["unit"]]
        count = int(match["count"] or match["after"] or 1)
        found.setdefault(unit, set()).add(Decimal(match["amount"].replace(",", ".")) * factor * count)
    for match in _PIECES.finditer(text):
        if int(pieces := match["many"] or match["of"]) > 1:
            found.setdefault("piece", set()).add(Decimal(pieces))
    return {unit: frozenset(amounts) for unit, amounts in found.items()}


def conflict(left: Product, right: Product) -> str:
    """Returns the reason why two products cannot be the same (`gtin`, `mpn` or `quantity`), or '' if there is
    no reason.

    >>> conflict(Product("Tea 100 g"), Product("Tea 0.25 kg"))
    'quantity'
    """
    numbers = normal_gtin(left.gtin), normal_gtin(right.gtin)
    if all(numbers) and numbers[0] != numbers[1]:
        return "gtin"
    models = normal_code(left.mpn), normal_code(right.mpn)
    if all(models) and not (models[0].startswith(models[1]) or models[1].startswith(models[0])):
        return "mpn"
    one, other = quantities(left.name), quantities(right.name)
    if any(one[unit].isdisjoint(other[unit]) for unit in one.keys() & other.keys()):
        return "quantity"
    if ("piece" in one) != ("piece" in other) and not {"g", "ml", "oz"} & one.keys() & other.keys():
        return "quantity"
    return ""


def certain_match(left: Product, right: Product) -> str:
    """Returns the kind of identifier that two products share: `gtin`, or `mpn` (with the brand). Returns ''
    if the products share no identifier, or if `conflict` finds a contradiction."""
    if conflict(left, right):
        return ""
    if (number := normal_gtin(left.gtin)) and number == normal_gtin(right.gtin):
        return "gtin"
    if (number := normal_mpn(left)) and number == normal_mpn(right):
        return "mpn"
    return ""


def words_of(name: str) -> list[str]:
    """Returns the words of a name in lower case, without accents. A word with a hyphen, a slash or a plus
    sign is split into its parts. If the word contains a digit, the parts are joined, so `DSC-W170` gives
    `dscw170`."""
    text = unicodedata.normalize("NFKD", name.casefold())
    text = "".join(letter for letter in text if not unicodedata.combining(letter))
    found: list[str] = []
    for word in _WORD.findall(text):
        parts = re.split(r"[-/+]", word)
        whole = "".join(parts)
        if len(parts) > 1 and not any(map(str.isdigit, whole)):
            found += parts
        else:
            found.append(whole if not re.search(r"[^\W\d_]", whole) else whole.replace(".", ""))
    return [word for word in found if word]


class Vocabulary:
    """Weights words by how rare they are among the names of all products. A word in one name has the weight
    1, and a word in all names has the weight 0."""

    def __init__(self, names: Iterable[str]) -> None:
        self.counts: Counter[str] = Counter()
        self._size = 1
        for name in names:
            self.counts.update(set(words_of(name)))
            self._size += 1
        self._scale = math.log(self._size + 1)

    def weight(self, word: str) -> float:
        """Returns the weight of a word, 0 to 1."""
        return math.log((self._size + 1) / (self.counts[word] + 0.5)) / self._scale


class Prepared(NamedTuple):
    """A product, and values that are computed once and used in all comparisons of the product."""

    product: Product
    weights: dict[str, float]
    squashed: str
    grams: frozenset[str]
    models: frozenset[str]
    numbers: frozenset[str]
    quantities: dict[str, frozenset[Decimal]]
    brand: str
    mpn: str


def prepare(product: Product, vocabulary: Vocabulary) -> Prepared:
    """Computes the values that `features` needs to compare the product with other products."""
    words = words_of(product.name)
    squashed = "".join(words)
    brand, mpn = normal_code(product.brand), normal_code(product.mpn)
    models = {word for word in words if is_model(word)}
    return Prepared(
        product=product,
        weights={word: vocabulary.weight(word) for word in words},
        squashed=squashed,
        grams=_grams(squashed),
        models=frozenset(models | ({mpn} if mpn else set())),
        numbers=frozenset(
            part.replace(",", ".") for word in words for part in _PART.findall(word) if part[0].isdigit()
        ),
        quantities=quantities(product.name),
        brand=brand,
        mpn=mpn,
    )


def is_model(word: str) -> bool:
    """Whether a word looks like a model number: at least 4 characters with a letter and a digit, or at least
    5 digits."""
    digits = sum(map(str.isdigit, word))
    return (len(word) >= 4 and 0 < digits < len(word) and not _UNIT_WORD.fullmatch(word)) or digits >= 5


_UNIT_WORD = re.compile(r"[\d.,x]+(?:[a-z]{1,3}|watt|inch|volt|pack|pin|pins|bit)")


def _grams(text: str) -> frozenset[str]:
    padded = f" {text} "
    return frozenset(padded[at : at + 3] for at in range(len(padded) - 2))


def _dice(left: frozenset[str], right: frozenset[str]) -> float:
    return 2 * len(left & right) / (len(left) + len(right)) if left and right else 0.0


def _covered(one: Prepared, other: Prepared) -> float:
    """Returns which share of the words of `one` occurs in the name of `other`, from 0 to 1. Each word counts
    by its weight, and spaces are ignored."""
    total = sum(one.weights.values())
    found = sum(
        weight
        for word, weight in one.weights.items()
        if word in other.weights or (len(word) > 2 and word in other.squashed)
    )
    return found / total if total else 0.0


def _missing(one: Prepared, other: Prepared) -> tuple[float, float]:
    """Finds the words of `one` that are missing in the name of `other`. Returns the greatest weight of a
    missing word, and the weighted mean similarity of the missing words to their most similar words in
    `other`."""
    missing = {
        word: weight
        for word, weight in one.weights.items()
        if word not in other.weights and (len(word) < 3 or word not in other.squashed)
    }
    if not missing:
        return 0.0, 1.0
    grams = [_grams(word) for word in other.weights]
    alike = sum(
        weight * max((_dice(_grams(word), one) for one in grams), default=0.0)
        for word, weight in missing.items()
    )
    return max(missing.values()), alike / (sum(missing.values()) or 1.0)


def _same_models(left: Prepared, right: Prepared) -> tuple[float, float, float]:
    """Compares the model numbers in two names. Returns three counts. The first count is the number of model
    numbers that both names contain. The other two counts are the numbers of model numbers that only one name
    contains, with the smaller count first."""
    lacking = [
        sum(word not in other.squashed and word not in other.models for word in one.models)
        for one, other in ((left, right), (right, left))
    ]
    shared = max(len(left.models) - lacking[0], len(right.models) - lacking[1])
    return float(shared), float(min(lacking)), float(max(lacking))


def _agreement(left: str, right: str) -> float:
    """Returns 1 for equal texts, 0.5 if one text contains the other text, -1 for different texts, and 0 if a
    text is missing."""
    if not left or not right:
        return 0.0
    return 1.0 if left == right else 0.5 if left in right or right in left else -1.0


FEATURES = (
    *("jaccard", "overlap", "covered_least", "covered_most", "missing_least", "missing_most"),
    *("alike_least", "alike_most", "trigrams", "grams_contained", "rarest_shared"),
    *("models_shared", "models_lacking_least", "models_lacking_most", "prefix_models"),
    *("numbers_jaccard", "numbers_lacking_least", "numbers_lacking_most", "quantity"),
    *("price", "brand", "brand_in_name", "mpn", "mpn_in_name", "words_least", "words_ratio", "first_word"),
)
"""The names of the features of a pair of products, in the order in which the function `features` returns
their values."""


def features(left: Prepared, right: Prepared) -> list[float]:
    """Returns the features of a pair. The features do not depend on the order of the two products."""
    shared = left.weights.keys() & right.weights.keys()
    common = sum(left.weights[word] for word in shared)
    sums = sum(left.weights.values()), sum(right.weights.values())
    covered = sorted((_covered(left, right), _covered(right, left)))
    missing = _missing(left, right), _missing(right, left)
    tops, alike = sorted(one[0] for one in missing), sorted(one[1] for one in missing)
    lacking = sorted((len(left.numbers - right.numbers), len(right.numbers - left.numbers)))
    numbers = left.numbers | right.numbers
    prices = left.product.price, right.product.price
    sizes = sorted((len(left.weights), len(right.weights)))
    prefix = max((_common_prefix(one, other) for one in left.models for other in right.models), default=0)
    return [
        common / (sums[0] + sums[1] - common or 1.0),
        common / (min(sums) or 1.0),
        *covered,
        *tops,
        *alike,
        _dice(left.grams, right.grams),
        len(left.grams & right.grams) / (min(len(left.grams), len(right.grams)) or 1),
        max((left.weights[word] for word in shared), default=0.0),
        *_same_models(left, right),
        float(prefix),
        len(left.numbers & right.numbers) / len(numbers) if numbers else -1.0,
        *map(float, lacking),
        _quantity(left, right),
        abs(math.log(prices[0] / prices[1])) if prices[0] and prices[1] else -1.0,
        _agreement(left.brand, right.brand),
        _in_name(left.brand, right) + _in_name(right.brand, left),
        _agreement(left.mpn, right.mpn),
        _in_name(left.mpn, right) + _in_name(right.mpn, left),
        float(sizes[0]),
        sizes[0] / (sizes[1] or 1),
        float(next(iter(left.weights), "") == next(iter(right.weights), "")),
    ]


def _common_prefix(left: str, right: str) -> int:
    length = 0
    for one, other in zip(left, right, strict=False):
        if one != other:
            break
        length += 1
    return length


def _in_name(code: str, other: Prepared) -> float:
    return 0.0 if not code else 1.0 if code in other.squashed else -1.0


def _quantity(left: Prepared, right: Prepared) -> float:
    """Compares the quantities in two names, for each unit that occurs in both names. Each unit in which the
    names have the same quantity adds 1 to the result. Each unit in which the quantities differ subtracts
    1."""
    units = left.quantities.keys() & right.quantities.keys()
    return float(sum(-1 if left.quantities[unit].isdisjoint(right.quantities[unit]) else 1 for unit in units))


class MatchModel(NamedTuple):
    """The score model, which consists of boosted trees. A tree is a list of nodes `[feature, threshold, left,
    right]`, or `[value]` for a leaf."""

    base: float
    trees: list[list[list[float]]]
    threshold: float
    """The minimum score at which two products are probably the same."""

    def probability(self, values: Sequence[float]) -> float:
        """Returns the score of a pair, 0 to 1."""
        total = self.base
        for tree in self.trees:
            node = tree[0]
            while len(node) > 1:
                node = tree[int(node[2] if values[int(node[0])] <= node[1] else node[3])]
            total += node[0]
        return 1.0 / (1.0 + math.exp(-total))


@cache
def load_model() -> MatchModel:
    """Loads the score model from the data file MODEL."""
    stored = json.loads(MODEL.read_text("utf-8"))
    if tuple(stored["features"]) != FEATURES:
        raise ValueError(f"{MODEL.name} has other features than this code")
    return MatchModel(stored["base"], stored["trees"], stored["threshold"])


def score(left: Prepared, right: Prepared) -> float:
    """Returns the probability that two products are the same, 0 to 1."""
    return load_model().probability(features(left, right))
