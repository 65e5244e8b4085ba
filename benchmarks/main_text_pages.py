"""Measures the quality of the main text on generated pages in the markup of content systems, with peers.

    python benchmarks/main_text_pages.py [SEED [PAGES]]

The pages follow the templates of 29 content systems and forums (`data/article_templates.txt`). Each page has
several modules with different numbers of paragraphs. Around the modules are teasers, comments, share buttons,
a note about the author, a cookie notice, a menu and a footer. The expected text consists of the summary and
the paragraphs. The 95 % intervals come from 1,000 draws with replacement.
"""

from __future__ import annotations

import random
import re
import sys
from collections.abc import Callable
from pathlib import Path
from string import Template

from extraction import Pair, interval, mean_f1, parts

from gossamer.parsing.text import main_text

_FILE = Path(__file__).parent / "data" / "article_templates.txt"
SYSTEMS = {
    name.strip(): rest.strip().split("\n--\n")
    for name, _, rest in (part.partition("\n") for part in _FILE.read_text("utf-8").split("\n== ")[1:])
}
_WORDS = re.findall(
    r"\w+",
    """
river council report market winter bridge school harbour engine museum garden island teacher budget
station forest glacier library village festival minister orchard factory concert railway lantern
meadow captain planted opened measured counted repaired promised visited announced finished carried
followed reached built quiet narrow early northern careful public ancient distant heavy steady
modern hollow bright several many
""",
)


def sentence(chance: random.Random) -> str:
    words = [chance.choice(_WORDS) for _ in range(chance.randint(6, 18))]
    return f"{' '.join(words).capitalize()}, {chance.choice(_WORDS)} {chance.choice(_WORDS)}."


def paragraph(chance: random.Random, sentences: int) -> str:
    return " ".join(sentence(chance) for _ in range(sentences))


def around(chance: random.Random) -> dict[str, str]:
    """Returns the parts of a page that do not belong to its main text."""
    teasers = "".join(
        f'<div class="teaser"><h3><a href="/{n}">{sentence(chance)}</a></h3><p>{sentence(chance)}</p></div>'
        for n in range(chance.randint(2, 8))
    )
    said = "".join(
        f'<li class="comment"><b>Ann</b><p>{paragraph(chance, chance.randint(1, 4))}</p></li>'
        for _ in range(chance.randint(0, 6))
    )
    return {
        "teasers": teasers,
        "comments": f'<div id="comments" class="comments-area"><h2>Comments</h2><ol>{said}</ol></div>',
        "share": '<div class="share"><a href="#">Share</a> <a href="#">Tweet</a></div>',
        "author": f'<div class="author-box"><h4>Ann Bell</h4><p>{sentence(chance)}</p></div>',
    }


def page(chance: random.Random, system: str) -> tuple[bytes, str, str]:
    """Returns a page, its title and its main text."""
    whole, module = SYSTEMS[system]
    leads = [paragraph(chance, 2), paragraph(chance, 2)]
    said = [lead for lead, name in zip(leads, ("$lead<", "$lead2<"), strict=True) if name in whole]
    modules = ""
    for _ in range(chance.randint(2, 7)):
        many = [paragraph(chance, chance.randint(1, 5)) for _ in range(chance.randint(1, 4))]
        said += many
        modules += Template(module).substitute(
            text="".join(f"<p>{one}</p>" for one in many), lines="<br><br>".join(many)
        )
    title = sentence(chance)
    body = Template(whole).substitute(
        title=title, lead=leads[0], lead2=leads[1], modules=modules, **around(chance)
    )
    menu = "".join(f'<li><a href="/{word}">{word}</a></li>' for word in chance.sample(_WORDS, 8))
    html = (
        f"<!DOCTYPE html><html lang=en><head><meta charset=utf-8><title>{title} | Site</title></head><body>"
        f'<div class="header"><ul class="menu">{menu}</ul></div><div class="cookie-banner"><p>We use cookies.</p></div>'
        f'{body}<div class="footer"><p>{sentence(chance)}</p></div></body></html>'
    )
    return html.encode(), title, "\n\n".join(said)


def main(seed: int, count: int) -> None:
    chance = random.Random(seed)
    names = sorted(SYSTEMS)
    pages = [(name, *page(chance, name)) for name in names for _ in range(count // len(names))]
    ways: dict[str, Callable[[bytes], str]] = {"gossamer, fast": main_text}
    try:
        import trafilatura

        ways["gossamer, best"] = lambda body: main_text(body, quality="best")
        ways["trafilatura"] = lambda body: trafilatura.extract(body, fast=True, include_comments=False) or ""
    except ImportError:
        pass
    for way, work in ways.items():
        scores: dict[str, list[Pair]] = {}
        for name, body, title, text in pages:
            # removes the title, because a title before the text is neither right nor wrong
            found = work(body).replace(title, "", 1)
            scores.setdefault(name, []).append(parts(text, found))
        every = [one for many in scores.values() for one in many]
        print(f"{way:16} F1 {interval(mean_f1, every)}, {len(every)} pages of {len(scores)} systems")
        print(f"{'':16} {', '.join(f'{name} {mean_f1(many):.3f}' for name, many in scores.items())}")


if __name__ == "__main__":
    numbers = [int(one) for one in sys.argv[1:] if one.isdecimal()]
    main(*(numbers + [1, 250][len(numbers) :])[:2])
