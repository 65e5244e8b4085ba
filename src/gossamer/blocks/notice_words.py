"""Words of block notices to visitors, in many languages. They are searched in the visible text of pages that
have hardly any other text."""

from __future__ import annotations

import re

from gossamer.data import alternatives, sections

VERDICTS = re.compile(alternatives("notice_words", "verdicts"))
"""Sentences that refuse this visitor."""

CHECKS = re.compile(alternatives("notice_words", "checks"))
"""Sentences that demand a proof from this visitor."""

HINTS = tuple(entry.replace("[ ]", " ") for entry in sections("notice_words")["hints"])
"""Each ASCII text that either pattern matches contains one of these."""

TITLES = re.compile(
    r"(?:error )?(?:40[13]|429|503)?[ :\-–|.]*"
    rf"(?:{alternatives('notice_words', 'titles')})"
    r"[ !?.…:|\-–]*(?:(?:\||-|–|:|on|to) .{1,60})?"
)
"""Complete titles of notices. The site's name may follow a bar."""

DIRECT = re.compile(alternatives("notice_words", "direct"))
"""Sentences to this visitor that begin a page only if it is a notice."""
ABOUT = re.compile(rf"\b(?:{alternatives('notice_words', 'about')})\b")
"""Words in the titles of pages about notices."""
NAME_ENDS = re.compile(r" [|\-–:] |[!?.…]+(?: |$)")
ORDERS = re.compile(rf"\b(?:{alternatives('notice_words', 'orders')})\b")
"""Words of which a notice has some after its title."""
TYPED = re.compile(alternatives("notice_words", "typed"))
"""Sentences that ask for the characters of an image."""

PLAIN = re.compile(alternatives("notice_words", "plain"))
"""Titles that any server gives to any refusal."""

DENIED = re.compile(alternatives("notice_words", "denied"))
"""Words of a plain refusal."""
PERSONAL = re.compile(alternatives("notice_words", "personal"))
"""How a verdict about this visitor begins. Others are about verdicts in general."""

LOGIN = re.compile(alternatives("notice_words", "login"))
"""Sentences that demand a log-in before anything is shown."""
LOGIN_TITLE = re.compile(alternatives("notice_words", "login_title"))
