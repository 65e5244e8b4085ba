"""Detects the language of a page. The text of the page takes precedence over the language that the markup
declares."""

from __future__ import annotations

import functools
from collections.abc import Callable

from gossamer.config.optional_deps import install_command
from gossamer.model.media_types import Body, to_bytes
from gossamer.parsing.html import parse
from gossamer.parsing.text import text_of

_MAX_CHARS = 3000
"""Maximum number of characters of a text that are examined."""
_MIN_LETTERS, _ENOUGH_LETTERS = 20, 200
"""Minimum numbers of letters for the detection of a text's language. If a text has at least `_MIN_LETTERS`
letters, the language of the text is detected. If a text has at least `_ENOUGH_LETTERS` letters, the detected
language may override the language that the markup declares."""
_MIN_PROBABILITY, _SURE_PROBABILITY = 0.5, 0.95
"""Minimum probabilities of a detected language. If the markup declares no language, a detected language needs
a probability of at least `_MIN_PROBABILITY`. To override the language that the markup declares, a detected
language needs a probability of at least `_SURE_PROBABILITY`."""
_OLD = {"iw": "he", "in": "id", "ji": "yi", "no": "nb", "mo": "ro", "tl": "fil"}
"""Maps each outdated language code to the current code."""
_CLOSE = (
    {"nb", "nn", "da"},
    {"hr", "sr", "bs", "sh", "me"},
    {"id", "ms"},
    {"zh", "yue", "wuu", "cmn"},
    {"ar", "arz", "ary"},
    {"gl", "pt"},
)
"""Groups of languages that are hard to distinguish in a text. If the detected language and the declared
language are in the same group, the declared language is returned."""


def language(body: Body, url: str | None = None, content_type: str | None = None) -> str | None:
    """Returns the language of a page as a BCP 47 tag, or None if it is unknown.

    The library py3langid detects the language of the page's article, or of all text if the article is short.
    The library distinguishes 139 languages and takes 0.1 to 0.5 ms. Loading its model takes 0.8 s once. If
    the declared language equals the detected language, the declared language is returned, because it may
    include a region. The declared language is also returned if the text is short, or if the declared language
    and the detected language are hard to distinguish. Raises RuntimeError if the extra `text` is not
    installed. Accepts any bytes.

    >>> language(b"<html lang=en><p>" + b"Der schnelle braune Fuchs springt in der Nacht und am Morgen. " * 4)
    'de'
    """
    body = to_bytes(body)
    document = parse(body, content_type, url)
    text = text_of(document.tree, body, url)
    return language_of_text(text if len(text) >= _ENOUGH_LETTERS else document.text, document.language)


def language_of_text(text: str, declared: str | None = None) -> str | None:
    """Returns the language of a text as a BCP 47 tag, or None. `declared`: the language that the markup
    declares."""
    text = text[:_MAX_CHARS]
    letters = sum(map(str.isalpha, text))
    own = _primary(declared)
    if letters < (_MIN_LETTERS if text.isascii() else _MIN_LETTERS // 2):
        return declared
    found, sure = _identifier()(text)
    if found in ("und", "zxx") or own == _primary(found):
        return declared
    if own is None:
        return found if sure >= _MIN_PROBABILITY else None
    close = any({own, _primary(found)} <= some for some in _CLOSE)
    return found if sure >= _SURE_PROBABILITY and letters >= _ENOUGH_LETTERS and not close else declared


def _primary(tag: str | None) -> str | None:
    """Returns the language code of a tag, without script and region. Outdated codes are replaced by current
    ones."""
    word = (tag or "").replace("_", "-").partition("-")[0].lower()
    return _OLD.get(word, word) or None


@functools.cache
def _identifier() -> Callable[[str], tuple[str, float]]:
    try:
        from py3langid.langid import MODEL_FILE, LanguageIdentifier
    except ImportError as error:
        raise RuntimeError(
            f"language detection needs py3langid ({error}): {install_command('text')}"
        ) from None
    found: Callable[[str], tuple[str, float]] = LanguageIdentifier.from_model_file(
        MODEL_FILE, norm_probs=True
    ).classify
    return found
