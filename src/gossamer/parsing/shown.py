"""Makes the tree that a reader sees: without hidden text and permalink signs, and with the content of shadow
roots and of documents inside a page (`iframe srcdoc`).

A collapsed answer in a list of questions stays in the tree, because a reader can open it. The words are in
`data/main_text_words.txt`.
"""

from __future__ import annotations

import copy
import re
from collections import Counter
from collections.abc import Iterator
from functools import cache
from itertools import islice
from typing import Final

import turbohtml

from gossamer.data import alternatives
from gossamer.parsing.nesting import MAX_DEPTH, is_deep

MAX_ELEMENTS: Final = 2_000
"""Maximum number of elements of each kind that are examined per page."""
MAX_MEASURED_CHARS: Final = 100_000_000
"""Maximum product of the number of hidden elements that are examined and the length of the page's text. All
further elements are kept."""
MAX_FRAMES, MAX_NESTED = 500, 3
"""Maximum number of shadow roots and frames per page and level, and the number of levels."""
MAX_SIGN_CHARS: Final = 40
_LEVELS_UP: Final = 3
_CANDIDATES: Final = (
    '[hidden], [style*="display" i], [class*="sort" i], template[shadowrootmode], iframe[srcdoc], '
    'a[href*="#"]'
)
_NO_DISPLAY: Final = re.compile(r"(?<![\w-])display\s*:\s*none", re.IGNORECASE)
_QUESTIONS: Final = frozenset(("h1", "h2", "h3", "h4", "h5", "h6", "dt"))
_QUESTION_MARKS: Final = ("?", "？", "؟")
_QUESTION_CHARS: Final = 300
"""Maximum number of characters of an element that may be a question or a control."""
_CONTROLS: Final = 'button, summary, [aria-expanded], [role="button"]'

Element = turbohtml.Element


@cache
def _names(section: str) -> re.Pattern[str]:
    """Returns a pattern that finds, in a class, the names of a section of the word list."""
    return re.compile(rf"(?<![^\W_])(?:{alternatives('main_text_words', section)})(?![^\W_])", re.IGNORECASE)


@cache
def _permalinks() -> re.Pattern[str]:
    return re.compile(alternatives("main_text_words", "permalinks"), re.IGNORECASE)


def shown(tree: turbohtml.Document) -> turbohtml.Document:
    """Returns the tree that a reader sees. This is the tree itself, or a changed copy.

    >>> shown(turbohtml.parse("<p>one and two</p><p hidden>three</p>")).to_text().strip()
    'one and two'
    """
    if not any(_changes(one) for one in tree.select(_CANDIDATES)[:MAX_ELEMENTS]):
        return tree
    tree = copy.deepcopy(tree)
    found = tree.select(_CANDIDATES)[:MAX_ELEMENTS]
    for element in _hidden(tree, [one for one in found if _is_hidden(one)]):
        element.decompose()
    for element in found:
        if _is_permalink(element):
            element.decompose()
    for _ in range(MAX_NESTED):
        for element in tree.select("template[shadowrootmode], iframe[srcdoc]")[:MAX_FRAMES]:
            is_frame = element.tag == "iframe"
            _replace(element, _attribute(element, "srcdoc") if is_frame else element.inner_html)
    return tree


def _attribute(element: Element, name: str) -> str:
    value = element.attrs.get(name)
    return value if isinstance(value, str) else " ".join(value or ())


def _replace(element: Element, markup: str) -> None:
    """Replaces an element by the elements in some markup. Markup with deeply nested elements is left out."""
    if markup.count("<") < MAX_DEPTH or not is_deep(
        markup.encode("utf-8", "replace"), "text/html; charset=utf-8"
    ):
        inner = turbohtml.parse(markup, positions=False, allow_declarative_shadow_roots=False).select_one(
            "body"
        )
        element.insert_adjacent_html("beforebegin", f" <div>{inner.inner_html}</div> " if inner else "")
    element.decompose()


def _changes(element: Element) -> bool:
    """Whether an element that `_CANDIDATES` selects is a reason to change the tree."""
    return element.tag in ("template", "iframe") or _is_hidden(element) or _is_permalink(element)


def _is_hidden(element: Element) -> bool:
    attributes = element.attrs
    if "hidden" in attributes and _attribute(element, "hidden").lower() != "until-found":
        return True
    if "style" in attributes and _NO_DISPLAY.search(_attribute(element, "style")):
        return True
    return "class" in attributes and _names("hidden_names").search(_attribute(element, "class")) is not None


def _is_permalink(element: Element) -> bool:
    """Whether an element is a link to a part of a page whose text is only a sign, such as `¶`."""
    if element.tag != "a" or "#" not in _attribute(element, "href"):
        return False
    text = element.text
    return len(text) <= MAX_SIGN_CHARS and _permalinks().fullmatch(text.strip()) is not None


def _hidden(tree: turbohtml.Document, found: list[Element]) -> Iterator[Element]:
    """Yields the hidden elements that a reader cannot open and that have less than half of the page's text. A
    page with more hidden text is shown by its script."""
    body = tree.select_one("body")
    if body is None or not found:
        return
    total = len(body.text) - sum(len(one.text) for one in body.select("script, style, noscript"))
    found = found[: 1 + MAX_MEASURED_CHARS // (total + 1)]
    controlled = _controlled(tree)
    headed = Counter(_shape(one) for one in found if _question_before(one) is not None)
    for element in found:
        if len(element.text) * 2 < total and not _is_answer(element, controlled, headed[_shape(element)]):
            yield element


def _controlled(tree: turbohtml.Document) -> set[str]:
    """Returns the ids of the elements that a button or a link of the page opens."""
    found: set[str] = set()
    for name in ("aria-controls", "data-target", "data-bs-target", "href"):
        for element in tree.select(f"[{name}]")[:MAX_ELEMENTS]:
            value = _attribute(element, name)
            if name == "aria-controls" or value.startswith("#"):
                found.update(value.replace("#", "").split())
    return found


def _shape(element: Element) -> tuple[str, str]:
    return element.tag, _attribute(element, "class")


def _question_before(element: Element) -> Element | None:
    """Returns the element before an answer, or before the box that begins with the answer, if it is a heading or
    a control. Otherwise returns None."""
    for _ in range(_LEVELS_UP):
        before = next((one for one in islice(element.previous_siblings, 5) if isinstance(one, Element)), None)
        if before is not None:
            return before if _is_question(before) else None
        if not isinstance(element.parent, Element):
            return None
        element = element.parent
    return None


def _is_question(element: Element) -> bool:
    text = element.text[: _QUESTION_CHARS + 1].rstrip()
    if len(text) > _QUESTION_CHARS:
        return False
    return (
        element.tag in _QUESTIONS
        or text.endswith(_QUESTION_MARKS)
        or element.matches(_CONTROLS)
        or element.select_one(_CONTROLS) is not None
    )


def _is_answer(element: Element, controlled: set[str], alike: int) -> bool:
    """Whether a reader can open a hidden element, like an answer in a list of questions or a tab. `alike`: the
    number of such elements below headings."""
    role, names = _attribute(element, "role"), _attribute(element, "class")
    if (
        role in ("dialog", "alertdialog", "menu")
        or element.tag in ("nav", "form")
        or _names("overlay_names").search(names)
    ):
        return False
    if (
        _attribute(element, "id") in controlled
        or role == "tabpanel"
        or _names("withheld_names").search(names)
    ):
        return True
    around = [one for one in islice(element.ancestors, _LEVELS_UP) if isinstance(one, Element)]
    if _names("collapsed_names").search(" ".join([names, *(_attribute(one, "class") for one in around)])):
        return True
    before = _question_before(element)
    if before is None:
        return False
    return before.tag not in _QUESTIONS or alike > 1 or before.text.rstrip().endswith(_QUESTION_MARKS)
