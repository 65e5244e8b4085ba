"""The language of a page: what its text is written in, by evidence before what its markup declares."""

from __future__ import annotations

import functools
from collections.abc import Callable

from gossamer.config.optional_deps import install
from gossamer.model.media_types import Body, octets
from gossamer.parsing.html import parse
from gossamer.parsing.text import text_of

_READ = 3000
"""Letters of a text that are looked at."""
_LITTLE, _ENOUGH = 20, 200
"""Letters from which on a text says something; from which on it is believed where the markup says otherwise.
"""
_LIKELY, _SURE = 0.5, 0.95
_OLD = {"iw": "he", "in": "id", "ji": "yi", "no": "nb", "mo": "ro", "tl": "fil"}
_CLOSE = (
    {"nb", "nn", "da"},
    {"hr", "sr", "bs", "sh", "me"},
    {"id", "ms"},
    {"zh", "yue", "wuu", "cmn"},
    {"ar", "arz", "ary"},
    {"gl", "pt"},
)
"""Languages that a text does not tell apart for sure: the markup decides."""


def language(body: Body, url: str | None = None, content_type: str | None = None) -> str | None:
    """The language of a page as a BCP 47 tag, None where nothing tells.

    Its article, or all its text where it has none, is looked at by py3langid (139 languages; extra `text`;
    0.1 to 0.5 ms, its model is loaded once in .8 s). What the page declares is taken where it is the same
    language, with its region, where the text is short, and where the two are hard to tell apart. Raises
    RuntimeError when the extra is missing. Takes any bytes.

    >>> language(b"<html lang=en><p>" + b"Der schnelle braune Fuchs springt in der Nacht und am Morgen. " * 4)
    'de'
    """
    body = octets(body)
    document = parse(body, content_type, url)
    text = text_of(document.tree, body, url)
    return told(text if len(text) >= _ENOUGH else document.text, document.language)


def told(text: str, declared: str | None = None) -> str | None:
    """The same of a text, and what is declared of it."""
    text = text[:_READ]
    letters = sum(map(str.isalpha, text))
    own = _primary(declared)
    if letters < (_LITTLE if text.isascii() else _LITTLE // 2):
        return declared
    found, sure = _identifier()(text)
    if found in ("und", "zxx") or own == _primary(found):
        return declared
    if own is None:
        return found if sure >= _LIKELY else None
    close = any({own, _primary(found)} <= some for some in _CLOSE)
    return found if sure >= _SURE and letters >= _ENOUGH and not close else declared


def _primary(tag: str | None) -> str | None:
    """The language of a tag, without script and region, as it is called today."""
    word = (tag or "").replace("_", "-").partition("-")[0].lower()
    return _OLD.get(word, word) or None


@functools.cache
def _identifier() -> Callable[[str], tuple[str, float]]:
    try:
        from py3langid.langid import MODEL_FILE, LanguageIdentifier
    except ImportError as error:
        raise RuntimeError(f"to find out a language needs py3langid ({error}): {install('text')}") from None
    found: Callable[[str], tuple[str, float]] = LanguageIdentifier.from_model_file(
        MODEL_FILE, norm_probs=True
    ).classify
    return found
