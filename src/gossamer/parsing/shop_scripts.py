"""What the scripts of a shop's page say of its product: data layers, states, settings, in JSON or JavaScript."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Iterator
from typing import Final

import turbohtml

from gossamer.parsing import shop_words as words
from gossamer.parsing.shop_page import MOST

SCRIPTS: Final = 4_000_000
"""Characters of scripts that are read."""
OBJECT: Final = 6000
"""Characters around a name in which its object is."""
HITS: Final = 20
"""Objects of a name that are looked at."""
TRIES: Final = 1000
"""Places of a name in a script that are tried."""
_BRACES: Final = re.compile(r"[{}]")
_NAMED: Final = re.compile(r"""(?:name|title)\\?["']?\s?:\s?\\?["']$""", re.IGNORECASE)


def scripts(tree: turbohtml.Document) -> list[str]:
    """The texts of a page's scripts, in bounds."""
    found, left = [], SCRIPTS
    for script in tree.select("script")[:MOST]:
        if left > 0 and (text := script.text[:left]):
            left -= len(text)
            found.append(text)
    return found


def embedded(texts: list[str], kind: str) -> str | None:
    """The value of a kind (`sku brand currency`) in scripts, where all of them agree on one."""
    found = set[str]()
    for text in texts:
        found.update(value for value in words.EMBEDDED[kind].findall(text) if value)
        if len(found) > 1:
            return None
    return next(iter(found), None)


def told_of(texts: list[str], name: str) -> dict[str, str]:
    """What the objects in scripts that have the product's name say: `sku`, `brand`, `price`, `currency`."""
    found: dict[str, str] = {}
    forms = {form for form in (name, json.dumps(name)[1:-1], name.replace("/", "\\/")) if len(form) > 2}
    places = ((text, at) for form in sorted(forms) for text in texts for at in _places(text, form))
    for text, at in itertools.islice(places, HITS):
        _read(text, at, found)
    return found


def _places(text: str, name: str) -> Iterator[int]:
    """Where a text has a name as the value of a key for names."""
    at = text.find(name)
    for _ in range(TRIES):
        if at < 0:
            return
        end = at + len(name)
        if text[end : end + 1] in ('"', "'", "\\") and _NAMED.search(text, max(0, at - 30), at):
            yield at
        at = text.find(name, end)


def _read(text: str, at: int, found: dict[str, str]) -> None:
    own, whole = _object(text, at)
    for field, patterns in words.STATE.items():
        for pattern in patterns:
            match = pattern.search(own)
            if match and field not in found:
                found[field] = match[1]
    if "sku" not in found and (match := words.EMBEDDED["sku"].search(whole)):
        found["sku"] = match[1]
    if (
        "price" in found
        and "currency" not in found
        and (match := words.CURRENCY.search(text, max(0, at - OBJECT), at + OBJECT))
    ):
        found["currency"] = match[1]


def _object(text: str, at: int) -> tuple[str, str]:
    """The innermost object in which a place lies, without the objects in it, and with them."""
    start, depth = max(0, at - OBJECT), 0
    for brace in reversed([*_BRACES.finditer(text, start, at)]):
        depth += 1 if brace[0] == "}" else -1
        if depth < 0:
            start = brace.end()
            break
    end, depth = min(len(text), at + OBJECT), 0
    for brace in _BRACES.finditer(text, at, end):
        depth += 1 if brace[0] == "{" else -1
        if depth < 0:
            end = brace.start()
            break
    whole = words.BRAND_OBJECT.sub(r"\1\2", text[start:end])
    own, depth, last = [], 0, 0
    for brace in _BRACES.finditer(whole):
        if brace[0] == "{":
            own += [whole[last : brace.start()]] if depth == 0 else []
            depth += 1
        else:
            depth = max(0, depth - 1)
            last = brace.end()
    own += [whole[last:]] if depth == 0 else []
    return "".join(own), whole
