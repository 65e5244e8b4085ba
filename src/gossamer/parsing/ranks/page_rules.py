"""Reads the data file of the result pages: selectors, words and phrases of each engine."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec

from gossamer.errors import ConfigError

if TYPE_CHECKING:
    import turbohtml

PATH: Final = Path(__file__).with_name("result_pages.json")
"""The path of the data file that is part of the package."""
_ANY_TEXT: Final = "…"
_MAX_LABEL_CHARS: Final = 60
_MAX_LABEL_PARTS: Final = 4
_ENDS: Final = " \t\r\n:：·•›»>"


class DatedSelector(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A CSS selector, and the years in which it matched saved pages, for example `2018-2026`."""

    css: str
    seen: str = ""


class Feature(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The rules that recognize the blocks of one type.

    - `inside`: selectors of the blocks of this type. The selectors use ids, attributes or element names.
    - `classes`: further selectors of the blocks of this type. The selectors use class names. `classes` are
      ignored on a page whose class names are all new.
    - `signs`: selectors of elements that are typical of this type. If an unknown block contains an element
      that matches one of these selectors, the type of the block is `type`.
    - `entries`: selectors of the entries inside the block. The first selector that matches is used.
    - `one`: whether the block contains a single result instead of several entries.
    - `aside`: whether the block is beside the main column. Blocks beside the main column have the last
      positions.
    """

    type: str
    inside: tuple[DatedSelector, ...] = ()
    classes: tuple[DatedSelector, ...] = ()
    signs: tuple[str, ...] = ()
    entries: tuple[str, ...] = ()
    one: bool = False
    aside: bool = False


class EngineRules(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The rules of one engine. docs/ranks-parsing.md explains the fields."""

    base: str
    own_paths: frozenset[str]
    main: tuple[str, ...]
    more: tuple[str, ...]
    header: tuple[str, ...]
    chain: tuple[str, ...]
    headings: tuple[str, ...]
    weak_headings: tuple[str, ...]
    link_marks: frozenset[str]
    block_marks: tuple[str, ...]
    cite: str
    titles: tuple[str, ...]
    query: tuple[str, ...]
    page: tuple[str, ...]
    foot: tuple[str, ...]
    classes: tuple[DatedSelector, ...]
    snippets: tuple[str, ...]
    never: tuple[DatedSelector, ...]
    never_classes: tuple[DatedSelector, ...]
    ignore: tuple[str, ...]
    sitelinks: tuple[DatedSelector, ...]
    indented: tuple[DatedSelector, ...]
    features: tuple[Feature, ...]
    walls: dict[str, tuple[str, ...]]


class _File(msgspec.Struct, forbid_unknown_fields=True):
    version: str
    engines: dict[str, EngineRules]
    headings: dict[str, dict[str, list[str]]]
    phrases: dict[str, dict[str, list[str]]]
    labels: dict[str, dict[str, list[str]]] = {}
    about: str = ""


class PageRules:
    """A data file: its version, the rules of each engine, and the words of all languages."""

    def __init__(self, file: _File) -> None:
        self.version: Final = file.version
        self.engines: Final = file.engines
        self._headings = {
            plain(word): kind
            for kind, languages in file.headings.items()
            for words in languages.values()
            for word in words
            if _ANY_TEXT not in word
        }
        self._open_headings = [
            (*(plain(part) for part in word.split(_ANY_TEXT, 1)), kind)
            for kind, languages in file.headings.items()
            for words in languages.values()
            for word in words
            if _ANY_TEXT in word
        ]
        self._ad_labels = {plain(word) for words in file.labels.get("ad", {}).values() for word in words}
        self._phrases = {
            kind: tuple(plain(word) for words in languages.values() for word in words)
            for kind, languages in file.phrases.items()
        }

    def heading_type(self, text: str) -> str:
        """Returns the type of the block that has this heading, or '' if the heading is not known."""
        text = plain(text[:200])
        if found := self._headings.get(text):
            return found
        for start, end, kind in self._open_headings:
            if text.startswith(start) and text.endswith(end) and len(text) > len(start) + len(end):
                return kind
        return ""

    def is_ad_label(self, element: turbohtml.Element) -> bool:
        """Whether the whole text of an element is a label of ads in any language."""
        # most elements of a page have children, and a label has at most a few
        if len(element.children) > _MAX_LABEL_PARTS:
            return False
        text = element.text
        return len(text) <= _MAX_LABEL_CHARS and plain(text) in self._ad_labels

    def phrase(self, kind: str, text: str) -> str:
        """Returns the first phrase of a kind, such as `captcha`, that a text contains, or ''. `text`: a text
        that `plain` has normalized."""
        return next((words for words in self._phrases.get(kind, ()) if words in text), "")


def plain(text: str) -> str:
    """Normalizes a text for comparison: in lower case, with one kind of apostrophe and single spaces.

    >>> plain(" People\\n also ask: ")
    'people also ask'
    """
    return " ".join(text.casefold().replace("’", "'").split()).strip(_ENDS)


def load(path: Path | str) -> PageRules:
    """Reads a data file. Raises ConfigError with the place of the mistake if the file is malformed."""
    try:
        body = Path(path).read_bytes()
    except OSError as error:
        raise ConfigError(f"cannot read the data file {path}: {error.strerror}") from None
    try:
        rules = PageRules(msgspec.json.decode(body, type=_File))
    except msgspec.MsgspecError as error:
        raise ConfigError(f"the data file {path} is malformed: {error}") from None
    for name, engine in rules.engines.items():
        _check_selectors(path, name, engine)
    return rules


@cache
def default() -> PageRules:
    """Returns the rules of the data file that is part of the package."""
    return PageRules(msgspec.json.decode(PATH.read_bytes(), type=_File))


def css_of(engine: EngineRules) -> list[str]:
    """Returns all CSS selectors of an engine."""
    found = [
        *engine.main,
        *engine.more,
        *engine.header,
        *engine.headings,
        *engine.weak_headings,
        *engine.block_marks,
    ]
    found += [
        engine.cite,
        *engine.titles,
        *engine.ignore,
        *engine.query,
        *engine.page,
        *engine.foot,
        *engine.snippets,
    ]
    for group in (engine.classes, engine.never, engine.never_classes, engine.sitelinks, engine.indented):
        found += [one.css for one in group]
    for feature in engine.features:
        found += [one.css for one in (*feature.inside, *feature.classes)]
        found += [*feature.signs, *feature.entries]
    found += [css for group in engine.walls.values() for css in group]
    return found


def _check_selectors(path: Path | str, name: str, engine: EngineRules) -> None:
    import turbohtml

    page = turbohtml.parse("<p>")
    for css in css_of(engine):
        try:
            page.select(css)
        except ValueError as error:
            raise ConfigError(
                f"the data file {path} has a malformed selector for {name}: {css} ({error})"
            ) from None
    for one in engine.chain:
        if not re.fullmatch(r"[\w-]+", one):
            raise ConfigError(f"the data file {path}: {name}.chain contains {one!r}, which is not an id")
