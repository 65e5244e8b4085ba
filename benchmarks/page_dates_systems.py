"""Measures page dates on generated pages in the markup of content systems and in 48 languages.

    python benchmarks/page_dates_systems.py [SEED [PAGES]] [failures]

htmldate (extra `text`) is measured on the same pages in the same run. The pages follow the templates of
content systems (`data/date_templates.txt`), with dates in the forms of 48 languages
(`data/date_languages.txt`). No page has metadata. Around the date are traps: the year of the copyright, dates
of comments and of teasers of other articles, a date in a sentence, a later date of a change, the current
date, coming events, and relative dates. Templates whose names begin with "no" have no date of publication.
For their pages, the right result is None.

Every second system and every second language was looked at while the rules were written. Each group is scored
separately. The intervals are 95 % Wilson intervals.
"""

from __future__ import annotations

import logging
import random
import sys
from datetime import date, datetime, timedelta
from pathlib import Path
from string import Template
from typing import NamedTuple

from main_text_pages import paragraph, sentence
from page_dates import ours, theirs
from page_dates_hidden import wilson

FOLDER = Path(__file__).parent / "data"
SYSTEMS = {
    name.strip(): rest.strip()
    for name, _, rest in (
        part.partition("\n") for part in (FOLDER / "date_templates.txt").read_text("utf-8").split("\n== ")[1:]
    )
}
TODAY = date(2026, 11, 24)
CLOCKS = {
    "de": "Aktuelles Datum und Uhrzeit:",
    "fr": "La date/heure actuelle est",
    "es": "Fecha y hora actual:",
}


class Language(NamedTuple):
    tag: str
    label: str
    update: str
    ago: str
    words: str
    numbers: str
    months: list[str]

    def written(self, day: date, in_words: bool = True) -> str:
        """Returns a day in the form of the language. Persian has its own calendar, and Thai has its own
        years."""
        year, month, number = persian(day) if self.tag == "fa" else (day.year, day.month, day.day)
        year += 543 if self.tag == "th" else 0
        text = self.words if in_words else self.numbers
        for name, value in (
            ("{0d}", f"{number:02}"),
            ("{d}", str(number)),
            ("{0m}", f"{month:02}"),
            ("{m}", str(month)),
            ("{y}", str(year)),
            ("{month}", self.months[month - 1]),
        ):
            text = text.replace(name, value)
        digits = {"fa": "۰۱۲۳۴۵۶۷۸۹", "bn": "০১২৩৪৫৬৭৮৯"}.get(self.tag)
        return text.translate(str.maketrans("0123456789", digits)) if digits else text


def persian(day: date) -> tuple[int, int, int]:
    """Returns the Persian year, month and day.

    The Persian year begins at the spring equinox. The equinox is on 20 March in Gregorian leap years, and
    since 2029 also in the years after leap years. In all other years, the equinox is on 21 March.
    """

    def start(year: int) -> date:
        return date(year, 3, 20 if year % 4 == 0 or (year >= 2029 and year % 4 == 1) else 21)

    year = day.year if day >= start(day.year) else day.year - 1
    since = (day - start(year)).days
    month, number = divmod(since, 31) if since < 186 else divmod(since - 186, 30)
    return year - 621, month + (1 if since < 186 else 7), number + 1


def languages() -> list[Language]:
    lines = (FOLDER / "date_languages.txt").read_text("utf-8").splitlines()
    found = []
    for line in lines:
        if not line.startswith("#"):
            tag, label, update, ago, words, numbers, months = line.split("; ")
            found.append(Language(tag, label, update, ago, words, numbers, months.split("|")))
    return found


def page(chance: random.Random, system: str, language: Language) -> tuple[bytes, str, str]:
    """Returns a page, its URL, and its day of publication. The day is '' if the page has none."""
    day = date(2009, 1, 1) + timedelta(chance.randrange(6300))
    later, before = day + timedelta(chance.randint(2, 200)), day - timedelta(chance.randint(2, 900))
    title, slug = sentence(chance), f"{chance.choice('abcdef')}-story-{chance.randint(100, 999)}"
    traps = {one for one in ("copyright", "said", "changed", "others", "comments") if chance.random() < 0.6}

    def form(one: date) -> str:
        return language.written(one, chance.random() < 0.7)

    others = "".join(
        f'<div class="teaser"><a href="/n{n}"><h3>{sentence(chance)}</h3></a><span class="date">'
        f"{form(day + timedelta(chance.randint(-400, 300)))}</span><p>{sentence(chance)}</p></div>"
        for n in range(chance.randint(2, 6))
    )
    said = "".join(
        f'<li class="comment"><b>Ann</b> <span class="comment-date">{form(day + timedelta(chance.randint(0, 90)))}</span>'
        f"<p>{sentence(chance)}</p></li>"
        for _ in range(chance.randint(1, 5))
    )
    text = [f"<p>{paragraph(chance, chance.randint(2, 5))}</p>" for _ in range(chance.randint(3, 7))]
    if "said" in traps:
        text.insert(
            chance.randint(1, len(text)),
            f"<p>{sentence(chance)} In the village, {language.written(before)} {sentence(chance)}</p>",
        )
    changed = f"{language.update} {language.written(later)}"
    body = Template(SYSTEMS[system]).substitute(
        title=title,
        slug=slug,
        date=language.written(day),
        number=language.written(day, False),
        either=form(day),
        iso=day.isoformat(),
        later=later.isoformat(),
        before=form(before),
        after=language.written(TODAY + timedelta(chance.randint(5, 90))),
        label=language.label,
        update=changed,
        changed=f"<span>{changed}</span>" if "changed" in traps or "updated time" in system else "",
        ago=language.ago,
        epoch=int(datetime(day.year, day.month, day.day, 12).timestamp()) * 1000,
        today=language.written(TODAY),
        clock=CLOCKS.get(language.tag, "It is currently"),
        text="".join(text),
        teasers=others if "others" in traps else "",
        comments=f'<ol class="comment-list">{said}</ol>' if "comments" in traps else "",
    )
    right = f"© {day.year - 3}–{TODAY.year} Example" if "copyright" in traps else ""
    html = (
        f'<!DOCTYPE html><html lang="{language.tag}"><head><meta charset="utf-8"><title>{title}</title></head><body>'
        f'<ul class="menu"><li><a href="/">Home</a></li></ul>{body}<footer>{right}</footer></body></html>'
    )
    return (
        html.encode(),
        f"https://www.example.com/{slug}",
        "" if system.startswith("no ") else day.isoformat(),
    )


def line(found: list[tuple[str, str]]) -> str:
    dated = [one for one in found if one[1]]
    none = [one for one in found if not one[1]]
    parts = []
    if dated:
        parts.append(
            f"{len(dated)} with a date: right {wilson(sum(got == day for got, day in dated), len(dated))}, "
            f"none {sum(not got for got, _ in dated)}"
        )
    if none:
        parts.append(f"{len(none)} without: none {wilson(sum(not got for got, _ in none), len(none))}")
    return "; ".join(parts)


def main(seed: int, count: int, failures: bool) -> None:
    logging.disable()
    chance = random.Random(seed)
    every, names = languages(), list(SYSTEMS)
    pages = []
    for _ in range(count):
        system, language = chance.randrange(len(names)), chance.randrange(len(every))
        pages.append((system, language, *page(chance, names[system], every[language])))
    for way, find in (("gossamer", ours), ("htmldate", theirs)):
        groups: dict[str, list[tuple[str, str]]] = {}
        for system, language, body, url, day in pages:
            got = find(body, url)
            kind = (
                ("system seen", "system only scored")[system % 2]
                + ", "
                + ("language seen", "language only scored")[language % 2]
            )
            for group in ("all", kind, f"  {names[system]}", f"   {every[language].tag}"):
                groups.setdefault(group, []).append((got, day))
            if failures and way == "gossamer" and got != day and kind == "system seen, language seen":
                print("FAILED", names[system], every[language].tag, "wanted", day or None, "got", got or None)
        print(f"{way}, {len(pages)} pages")
        for group in sorted(
            groups, key=lambda name: (name.startswith("   "), name.startswith("  "), name != "all", name)
        ):
            if way == "gossamer" or not group.startswith(" "):
                print(f"  {group:42} {line(groups[group])}")


if __name__ == "__main__":
    numbers = [int(one) for one in sys.argv[1:] if one.isdecimal()]
    seed, count = (numbers + [1, 2000][len(numbers) :])[:2]
    main(seed, count, failures="failures" in sys.argv)
