"""Patterns for the words of block notices, in many languages. The patterns are searched in the visible text
of pages that have hardly any other text."""

from __future__ import annotations

from gossamer.data import alternatives, sections
from gossamer.model.lazy_pattern import lazy_pattern

VERDICTS = lazy_pattern(alternatives("notice_words", "verdicts"))
"""Sentences that refuse this visitor."""

CHECKS = lazy_pattern(alternatives("notice_words", "checks"))
"""Sentences that demand a proof from this visitor."""

HINTS = tuple(entry.replace("[ ]", " ") for entry in sections("notice_words")["hints"])
"""Every ASCII text that VERDICTS or CHECKS matches contains one of these hints."""

TITLES = lazy_pattern(
    r"(?:error )?(?:40[13]|429|503)?[ :\-–|.]*"
    rf"(?:{alternatives('notice_words', 'titles')})"
    r"[ !?.…:|\-–]*(?:(?:\||-|–|:|on|to) .{1,60})?"
)
"""Complete titles of notices. A separator and the name of the site may follow the title."""

DIRECT = lazy_pattern(alternatives("notice_words", "direct"))
"""Sentences that address this visitor. A page that begins with one of these sentences is a notice."""
ABOUT = lazy_pattern(rf"\b(?:{alternatives('notice_words', 'about')})\b")
"""Words in the titles of pages that are about notices, such as articles and help pages."""
NAME_ENDS = lazy_pattern(r" [|\-–:] |[!?.…]+(?: |$)")
ORDERS = lazy_pattern(rf"\b(?:{alternatives('notice_words', 'orders')})\b")
"""The text after the title of a notice contains at least one of these words."""
TYPED = lazy_pattern(alternatives("notice_words", "typed"))
"""Sentences that ask the visitor to type the characters of an image."""

PLAIN = lazy_pattern(alternatives("notice_words", "plain"))
"""Generic titles of refusals, which any server may use."""

DENIED = lazy_pattern(alternatives("notice_words", "denied"))
"""Words of a refusal that gives no details."""
PERSONAL = lazy_pattern(alternatives("notice_words", "personal"))
"""A sentence with one of these beginnings refuses this visitor. A sentence with any other beginning is about
refusals in general."""

LOGIN = lazy_pattern(alternatives("notice_words", "login"))
"""Sentences that demand a log-in before the site shows any content."""
LOGIN_TITLE = lazy_pattern(alternatives("notice_words", "login_title"))
