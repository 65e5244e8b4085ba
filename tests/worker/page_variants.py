"""Variants of real pages: changes that a site makes to a page that stays the same (`benchmarks/alike.py`,
`test_near_duplicates.py`)."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterable

LANGUAGES = {
    "en": "and the Home Sign in Help Contact Imprint Privacy Cart Search News Offers Account Shipping Returns Terms About us Careers Press "
    "Newsletter subscribe choose language more topics follow us share",
    "de": "und der Startseite Anmelden Hilfe Kontakt Impressum Datenschutz Warenkorb Suche Neuigkeiten Angebote Konto Versand Rückgabe "
    "Bedingungen Über uns Karriere Presse Newsletter abonnieren Sprache wählen weitere Themen folgen Sie teilen",
    "fr": "et le Accueil Connexion Aide Contact Mentions Confidentialité Panier Recherche Actualités Offres Compte Livraison Retours "
    "Conditions propos Carrières Presse Lettre abonner choisir langue autres sujets suivez nous partager",
}
ADS = (
    "save now limited offer buy today exclusive deal discount free shipping best price new collection order online click "
    "here sale ends soon premium quality guaranteed members only join trial"
)
MONTHS = "January February March April May June July August September October November December"
WORDS = (
    "time year people way day man thing woman life child world school state family student group country problem hand "
    "part place case week company system program question work government number night point home water room mother area "
    "money story fact month lot right study book eye job word business issue side kind head house service friend father "
    "power hour game line end member law car city community name president team minute idea body information back parent "
    "face others level office door health person art war history party result change morning reason research moment air "
    "teacher force education"
)
_LINK = re.compile(r'(<a\b[^>]*?href=")([^"#]+)(")', re.IGNORECASE)
_LONG = re.compile(r">([^<>]{60,})<")
_MONTH = re.compile(rf"\b(?:{'|'.join(MONTHS.split())})( \d{{1,2}}),? (?:19|20)\d\d\b")
_CODE = re.compile(r"(<(?:script|style)\b.*?</(?:script|style)>)", re.DOTALL | re.IGNORECASE)


def text_of(body: bytes) -> str:
    """Returns a saved page as text, decoded with its declared encoding."""
    declared = re.search(rb"charset=[\"']?([\w-]+)", body[:3000])
    try:
        return body.decode(declared[1].decode() if declared else "utf-8", "replace")
    except LookupError:
        return body.decode("utf-8", "replace")


def some(words: str, chance: random.Random, least: int, most: int) -> str:
    """Returns between `least` and `most` random words."""
    return " ".join(chance.choice(words.split()) for _ in range(chance.randint(least, most)))


def wrapped(page: str, chance: random.Random, language: str) -> str:
    """Adds a header, a footer and a notice in a language."""
    words = LANGUAGES[language]

    def links(n: int) -> str:
        return "".join(
            f'<li><a href="/{chance.randrange(9999)}">{some(words, chance, 1, 3)}</a></li>' for _ in range(n)
        )

    above = (
        f'<header><div class="logo">{some(words, chance, 3, 3)}</div><nav><ul>{links(20)}</ul></nav></header>'
    )
    below = (
        f"<footer><ul>{links(20)}</ul><p>{some(words, chance, 25, 25)}.</p></footer>"
        f'<div id="cookie-notice"><p>{some(words, chance, 30, 30)}.</p><button>OK</button></div>'
    )
    page = re.sub(r"(<body[^>]*>)", lambda found: found[1] + above, page, count=1, flags=re.IGNORECASE)
    return re.sub(r"</body>|\Z", lambda _: below + "</body>", page, count=1, flags=re.IGNORECASE)


def translated(page: str, chance: random.Random) -> str:
    """Adds the frame of a site in another language."""
    return wrapped(page, chance, chance.choice(["de", "fr"]))


def tracking(page: str, chance: random.Random) -> str:
    """Adds a session parameter to the links of the page."""
    session = f"{chance.randrange(1 << 40):x}"
    return _LINK.sub(
        lambda a: f"{a[1]}{a[2]}{'&amp;' if '?' in a[2] else '?'}utm_source=x&amp;sid={session}{a[3]}", page
    )


def dates(page: str, chance: random.Random) -> str:
    """Changes the dates of the page, as on another day."""

    def day() -> str:
        return f"{chance.randint(1, 28)} {chance.choice(MONTHS.split())} {chance.randint(2001, 2025)}"

    page = _MONTH.sub(
        lambda _: f"{chance.choice(MONTHS.split())} {chance.randint(1, 28)}, {chance.randint(2001, 2025)}",
        page,
    )
    page = re.sub(
        r"\b(?:19|20)\d\d-\d\d-\d\d\b",
        lambda _: f"{chance.randint(2001, 2025)}-{chance.randint(1, 12):02}-{chance.randint(1, 28):02}",
        page,
    )
    seen = f"Updated {day()}, {chance.randint(0, 23)}:{chance.randint(10, 59)} &middot; {chance.randint(2, 999)} views"
    return put(page, [f'<div class="x{chance.randrange(99)}">{seen}</div>'], chance, first=True)


def ads(page: str, chance: random.Random) -> str:
    """Adds one to four advertisements, half of them without a name that marks them as such."""

    def one() -> str:
        text, n = some(ADS, chance, 8, 25), chance.randrange(99)
        return chance.choice(
            [
                f'<div class="ad-slot"><p>{text}</p></div>',
                f"<aside><p>{text}</p></aside>",
                f'<div class="q{n}"><a href="/out?{n}">{text}</a></div>',
                f"<p>{' '.join(text.split()[:10])}</p>",
            ]
        )

    return put(page, [one() for _ in range(chance.randint(1, 4))], chance)


def related(page: str, chance: random.Random) -> str:
    """Adds a list of related links."""
    links = "".join(
        f'<li><a href="/r{chance.randrange(9999)}">{some(WORDS, chance, 4, 9)}</a></li>' for _ in range(8)
    )
    return re.sub(
        r"</body>|\Z",
        lambda _: f"<h3>Related</h3><ul>{links}</ul></body>",
        page,
        count=1,
        flags=re.IGNORECASE,
    )


def edits(page: str, chance: random.Random, share: float = 0.01) -> str:
    """Removes, replaces or extends one word of a hundred."""

    def edited(found: re.Match[str]) -> str:
        words = found[1].split(" ")
        for j in range(len(words)):
            if chance.random() < share:
                words[j] = chance.choice(
                    ["", chance.choice(WORDS.split()), f"{words[j]} {chance.choice(WORDS.split())}"]
                )
        return f">{' '.join(words)}<"

    at = max(page.lower().find("<body"), 0)
    parts = _CODE.split(page[at:])
    return page[:at] + "".join(part if j % 2 else _LONG.sub(edited, part) for j, part in enumerate(parts))


def several(page: str, chance: random.Random) -> str:
    """Makes several of these changes at once."""
    return edits(dates(ads(wrapped(page, chance, "fr"), chance), chance), chance, 0.005)


KINDS: dict[str, Callable[[str, random.Random], str]] = {
    "tracking": tracking,
    "dates": dates,
    "ads": ads,
    "related": related,
    "edits": edits,
    "several": several,
}


def sibling(page: str, chance: random.Random) -> str | None:
    """Returns the page of another product in the same words, with another name and other prices. Returns None
    if the page has no name in a heading."""
    found = re.findall(r"<h1\b[^>]*>(.*?)</h1>", page, re.DOTALL | re.IGNORECASE)
    name = " ".join(re.sub(r"<[^>]+>", " ", found[0]).split()) if len(found) == 1 else ""
    if len(name) < 5 or name not in page:
        return None
    other = some(WORDS, chance, 2, 5).title()
    page = page.replace(name, other)
    page = re.sub(
        r"(<title\b[^>]*>).*?(</title>)",
        lambda m: f"{m[1]}{other}{m[2]}",
        page,
        flags=re.DOTALL | re.IGNORECASE,
    )
    page = re.sub(
        r"(<h1\b[^>]*>).*?(</h1>)", lambda m: f"{m[1]}{other}{m[2]}", page, flags=re.DOTALL | re.IGNORECASE
    )
    return re.sub(r"\b\d+[.,]\d\d\b", lambda _: f"{chance.randint(1, 900)}.{chance.randint(10, 99)}", page)


def put(page: str, bits: Iterable[str], chance: random.Random, first: bool = False) -> str:
    """Inserts texts after random paragraphs of the body, or after the first paragraph."""
    at = max(page.lower().find("<body"), 0)
    ends = [found.end() for found in re.finditer(r"</(?:p|h1|h2|ul|table)>", page[at:], re.IGNORECASE)] or [
        page[at:].find(">") + 1
    ]
    for spot, bit in sorted(((ends[0] if first else chance.choice(ends), bit) for bit in bits), reverse=True):
        page = page[: at + spot] + bit + page[at + spot :]
    return page
