"""Patterns for the words of block notices, in many languages. The patterns are searched in the visible text
of pages that have little text."""

from __future__ import annotations

from gossamer.data import alternatives, sections
from gossamer.model.lazy_pattern import lazy_pattern

VERDICTS = lazy_pattern(alternatives("notice_words", "verdicts"))
"""Sentences that refuse the visitor."""

CHECKS = lazy_pattern(alternatives("notice_words", "checks"))
"""Sentences that require the visitor to prove something, for example that the visitor is human."""

HINTS = tuple(entry.replace("[ ]", " ") for entry in sections("notice_words")["hints"])
"""Substrings of block notices. Every ASCII text that matches VERDICTS or CHECKS contains at least one of
these substrings, so other ASCII texts are not searched."""

TITLES = lazy_pattern(
    r"(?:error )?(?:40[13]|429|503)?[ :\-–|.]*"
    rf"(?:{alternatives('notice_words', 'titles')})"
    r"[ !?.…:|\-–]*(?:(?:\||-|–|:|on|to) .{1,60})?"
)
"""Matches the complete title of a block notice. The title may begin with a status code, and may end with a
separator and the name of the site."""

DIRECT = lazy_pattern(alternatives("notice_words", "direct"))
"""Sentences to the visitor that are typical of the start of block notices."""
ABOUT = lazy_pattern(rf"\b(?:{alternatives('notice_words', 'about')})\b")
"""Words in the titles of articles and help pages about block notices."""
NAME_ENDS = lazy_pattern(r" [|\-–:] |[!?.…]+(?: |$)")
ORDERS = lazy_pattern(rf"\b(?:{alternatives('notice_words', 'orders')})\b")
"""Words such as `please` and `try again`, which occur in the text of block notices. If a page has the title
of a block notice but contains none of these words, the title may be the name of something, for example of a
film."""
TYPED = lazy_pattern(alternatives("notice_words", "typed"))
"""Sentences that ask the visitor to type the characters of an image."""

PLAIN = lazy_pattern(alternatives("notice_words", "plain"))
"""Generic titles of refusals, which any server may use."""

DENIED = lazy_pattern(alternatives("notice_words", "denied"))
"""Words such as `denied` and `forbidden`, which occur in refusals that give no details."""
PERSONAL = lazy_pattern(alternatives("notice_words", "personal"))
"""Beginnings of sentences that refuse this particular visitor. A sentence with any other beginning may be
about refusals in general."""

LOGIN = lazy_pattern(alternatives("notice_words", "login"))
"""Sentences that require the visitor to log in before the site shows any content."""
LOGIN_TITLE = lazy_pattern(alternatives("notice_words", "login_title"))
