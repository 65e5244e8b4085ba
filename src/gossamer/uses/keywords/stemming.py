"""Computes the stems of words by language (Snowball), so that `cat` and `cats` are counted as one word."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any, Final

from gossamer.client.install_command import install_command
from gossamer.errors import ConfigError, UsageError

LANGUAGES: Final = {
    "ar": "arabic",
    "hy": "armenian",
    "eu": "basque",
    "ca": "catalan",
    "da": "danish",
    "nl": "dutch",
    "en": "english",
    "fi": "finnish",
    "fr": "french",
    "de": "german",
    "el": "greek",
    "hi": "hindi",
    "hu": "hungarian",
    "id": "indonesian",
    "ga": "irish",
    "it": "italian",
    "lt": "lithuanian",
    "ne": "nepali",
    "nb": "norwegian",
    "no": "norwegian",
    "pt": "portuguese",
    "ro": "romanian",
    "ru": "russian",
    "sr": "serbian",
    "es": "spanish",
    "sv": "swedish",
    "ta": "tamil",
    "tr": "turkish",
    "yi": "yiddish",
}
"""Maps language codes to the names of the stemmers."""
AUTO: Final = "auto"
"""A value of the option `stem`. With this value, the declared language of each page determines the
stemmer."""
MAX_CACHED_STEMS: Final = 200_000


class Stems(dict[str, str]):
    """Computes and caches the stems of one language."""

    def __init__(self, language: str) -> None:
        super().__init__()
        self._stem: Any = _stemmer(LANGUAGES[language])

    def __missing__(self, word: str) -> str:
        if len(self) >= MAX_CACHED_STEMS:
            self.clear()
        stem: str = self._stem(word)
        self[word] = stem
        return stem

    def of(self, words: Sequence[str]) -> list[str]:
        """Returns the stems of words."""
        return list(map(self.__getitem__, words))


def check_stem(choice: str) -> None:
    """Raises UsageError for an unknown language, and ConfigError if the library is missing."""
    if choice and choice != AUTO and choice not in LANGUAGES:
        raise UsageError(f"--stem {choice}: choose auto, {', '.join(sorted(LANGUAGES))}")
    if choice:
        _stemmer("english")


def stem_language(choice: str, page_language: str) -> str:
    """Returns the language whose stems are used for a page, or '' if words are not stemmed."""
    language = page_language if choice == AUTO else choice
    return language if language in LANGUAGES else ""


@functools.cache
def stems_of(language: str) -> Stems:
    """Returns the cache of stems for a language of `LANGUAGES`."""
    return Stems(language)


def _stemmer(name: str) -> Any:
    try:
        import snowballstemmer
    except ImportError:
        raise ConfigError(f"--stem needs another package: {install_command('keywords')}") from None
    try:
        return snowballstemmer.stemmer(name).stemWord
    except KeyError:
        raise ConfigError(f"this version of snowballstemmer has no stemmer for {name}") from None
