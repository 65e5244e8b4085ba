"""Reads RDFa Lite (`vocab`, `typeof`, `property`, `resource`, `prefix`) and `about`. Returns the data as
nodes of expanded JSON-LD."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Final, NamedTuple

import turbohtml

from gossamer.parsing.microdata import Nearest, attribute_value, read_text

Element = turbohtml.Element

MAX_ELEMENTS: Final = 50_000
"""Maximum number of elements with RDFa attributes that are read."""
MAX_CHARS: Final = 8_000_000
"""Maximum number of characters of all values of a page together."""
MAX_NAMES: Final = 20
"""Maximum number of names in a `property` attribute, and of types in a `typeof` attribute."""
MAX_UNIQUE_VALUES: Final = 100
"""If a property has more than MAX_UNIQUE_VALUES values, duplicate values are no longer removed."""
_MARKS: Final = "[property], [typeof], [vocab], [prefix], [about], [resource]"
_PREFIX: Final = re.compile(r"([\w-]+):[ \t\n\r\f]++(\S++)")
_INITIAL: Final = {
    "og": "http://ogp.me/ns#",
    "article": "http://ogp.me/ns/article#",
    "book": "http://ogp.me/ns/book#",
    "music": "http://ogp.me/ns/music#",
    "profile": "http://ogp.me/ns/profile#",
    "video": "http://ogp.me/ns/video#",
    "product": "http://ogp.me/ns/product#",
    "schema": "http://schema.org/",
    "foaf": "http://xmlns.com/foaf/0.1/",
    "dc": "http://purl.org/dc/terms/",
    "dcterms": "http://purl.org/dc/terms/",
    "dc11": "http://purl.org/dc/elements/1.1/",
    "gr": "http://purl.org/goodrelations/v1#",
    "v": "http://rdf.data-vocabulary.org/#",
    "skos": "http://www.w3.org/2004/02/skos/core#",
    "rdf": "http://www.w3.org/1999/02/22-rdf-syntax-ns#",
    "rdfs": "http://www.w3.org/2000/01/rdf-schema#",
    "owl": "http://www.w3.org/2002/07/owl#",
    "xsd": "http://www.w3.org/2001/XMLSchema#",
    "cc": "http://creativecommons.org/ns#",
    "sioc": "http://rdfs.org/sioc/ns#",
    "vcard": "http://www.w3.org/2006/vcard/ns#",
    "ctag": "http://commontag.org/ns#",
    "ical": "http://www.w3.org/2002/12/cal/icaltzd#",
    "rev": "http://purl.org/stuff/rev#",
    "void": "http://rdfs.org/ns/void#",
}
"""The prefixes of the RDFa initial context and of Open Graph, which need no declaration."""


class _Scope(NamedTuple):
    """The RDFa context inside an element: the subject, the vocabulary and the declared prefixes."""

    subject: str
    vocab: str
    prefixes: dict[str, str]


def rdfa(tree: turbohtml.Document, url: str, resolve: Callable[[str], str]) -> list[dict[str, Any]]:
    """Returns the resources that a page describes. `resolve` makes a URL absolute. Never raises.

    A node has the keys `@id`, `@type` (a list) and one key per property IRI with a list of `{"@value": text}`
    or `{"@id": node}`. The `@id` of a resource without an IRI is a blank node label such as `_:b0`.
    Properties outside of any resource belong to the page's URL.

    >>> tree = turbohtml.parse('<p vocab="http://schema.org/" typeof=Book><b property=name>It</b>')
    >>> rdfa(tree, "", str)
    [{'@id': '_:b0', '@type': ['http://schema.org/Book'], 'http://schema.org/name': [{'@value': 'It'}]}]
    """
    if tree.select_one("[property]") is None and tree.select_one("[typeof]") is None:
        return []
    return _RdfaReader(tree, url, resolve).nodes()


class _RdfaReader:
    def __init__(self, tree: turbohtml.Document, url: str, resolve: Callable[[str], str]) -> None:
        self._marked = tree.select(_MARKS)[:MAX_ELEMENTS]
        self._nearest = Nearest(self._marked)
        self._resolve = resolve
        root = tree.root
        spaces = {
            name[6:]: str(value)
            for name, value in (root.attrs if root else {}).items()
            if name[:6] == "xmlns:"
        }
        self._top = _Scope(url, "", {**_INITIAL, **spaces})
        self._scopes: dict[Element, _Scope] = {}
        self._nodes: dict[str, dict[str, Any]] = {}
        self._unnamed = 0
        self._characters = MAX_CHARS

    def nodes(self) -> list[dict[str, Any]]:
        for element in self._marked:
            above = self._nearest.above(element)
            self._scopes[element] = self._read(element, self._top if above is None else self._scopes[above])
        return [node for node in self._nodes.values() if len(node) > 1]

    def _read(self, element: Element, around: _Scope) -> _Scope:
        """Adds the statements of an element to the nodes. Returns the scope for the element's descendants."""
        attributes = element.attrs
        vocab = attribute_value(element, "vocab").strip() if "vocab" in attributes else around.vocab
        prefixes = around.prefixes
        if "prefix" in attributes:
            prefixes = {
                **prefixes,
                **{name.lower(): iri for name, iri in _PREFIX.findall(attribute_value(element, "prefix"))},
            }
        scope = _Scope(around.subject, vocab, prefixes if len(prefixes) < 1000 else around.prefixes)
        names = self._expanded(attribute_value(element, "property"), scope)
        types = self._expanded(attribute_value(element, "typeof"), scope)
        subject = self._reference(element, ("about",)) or around.subject
        thing = self._reference(element, ("resource", "href", "src"))
        if "typeof" in attributes:
            literal = bool(names) and ("content" in attributes or "datatype" in attributes)
            own = None if names and not literal else self._reference(element, ("about",))
            inner = own or thing or self._blank()
            kinds = self._node(inner).setdefault("@type", [])
            kinds += [kind for kind in types if kind not in kinds]
            if literal:
                self._say(inner, names, self._value(element, None))
            else:
                self._say(subject, names, {"@id": inner})
            return scope._replace(subject=inner)
        if names:
            self._say(subject, names, self._value(element, thing))
            return scope._replace(subject=subject)
        return scope._replace(subject=self._reference(element, ("about", "resource")) or subject)

    def _reference(self, element: Element, names: tuple[str, ...]) -> str | None:
        for name in names:
            if name in element.attrs:
                value = attribute_value(element, name).strip().removeprefix("[").removesuffix("]")
                return value if value.startswith("_:") else self._resolve(value)
        return None

    def _blank(self) -> str:
        self._unnamed += 1
        return f"_:b{self._unnamed - 1}"

    def _node(self, name: str) -> dict[str, Any]:
        return self._nodes.setdefault(name, {"@id": name})

    def _say(self, subject: str, names: list[str], value: dict[str, str]) -> None:
        for name in names:
            said = self._node(subject).setdefault(name, [])
            if len(said) > MAX_UNIQUE_VALUES or value not in said:
                said.append(value)

    def _value(self, element: Element, thing: str | None) -> dict[str, str]:
        if "content" in element.attrs:
            return {"@value": attribute_value(element, "content")}
        if thing is not None and "datatype" not in element.attrs:
            return {"@id": thing}
        if "datetime" in element.attrs:
            return {"@value": attribute_value(element, "datetime")}
        text = read_text(element) if self._characters > 0 else ""
        self._characters -= len(text)
        return {"@value": text}

    def _expanded(self, words: str, scope: _Scope) -> list[str]:
        """Expands terms and prefixed names to IRIs. Names with an unknown prefix stay unchanged. If the scope
        has no vocabulary, terms are dropped."""
        found = []
        for word in words.split()[:MAX_NAMES]:
            prefix, colon, rest = word.partition(":")
            if not colon:
                found += [scope.vocab + word] if scope.vocab else []
            else:
                iri = None if rest.startswith("//") else scope.prefixes.get(prefix.lower())
                found.append(word if iri is None else iri + rest)
        return found
