"""Patterns for the sentences of block notices. Each pattern is composed of several lists of words, and each
list contains words of many languages. A matching sentence is evidence of a block only if the page is short
and has little other text. The sentence must address the visitor, for example with `your address`, `your
country` or `you are in the queue`. All texts are in lower case. The gap between two words of a pattern has a
maximum length and does not extend beyond the sentence."""

from __future__ import annotations

from gossamer.data import alternatives
from gossamer.model.lazy_pattern import lazy_pattern

PROOF = lazy_pattern(alternatives("notice_phrases", "proof"))
"""Sentences that require the visitor to prove something, for example that the visitor is human."""

LIMIT = lazy_pattern(alternatives("notice_phrases", "limit"))
"""Sentences that report too many requests by the visitor, and sentences that ask the visitor to wait in a
queue."""

REFUSED = lazy_pattern(alternatives("notice_phrases", "refused"))
"""Sentences that refuse the visitor."""

FAMILIES = (("challenge", PROOF), ("rate-limit", LIMIT), ("denied", REFUSED))

TOLD = lazy_pattern(alternatives("notice_phrases", "told"))
"""Words such as `if`, `how` and `means`, and quotation marks. If one of these words precedes a refusal, the
page only describes refusals."""
WEB = lazy_pattern(alternatives("notice_phrases", "web"))
"""Words such as `site` and `server`, which show that a text is about the web. A refusal that does not address
the visitor, such as `access denied`, is evidence of a block only if the page contains one of these words.
Without such a word, the page may report, for example, that a road is closed."""
ALIKE = lazy_pattern(alternatives("notice_phrases", "alike"))
"""Words in the titles of block notices. A title with more than three words is the title of a block notice
only if the title contains one of these words."""
BARE = lazy_pattern(alternatives("notice_phrases", "bare"))
"""First words of refusals that do not address the visitor, such as `access`."""

_OWN = rf"(?:{alternatives('notice_phrases', 'own')})(?: [\w-]{{1,12}}){{0,2}}[ -]"
_NET = f"(?:{alternatives('notice_phrases', 'net')})"
VISIT = lazy_pattern(f"{_OWN}{_NET}|{alternatives('notice_phrases', 'visit')}")
"""Phrases for something that belongs to this visitor, such as the visitor's address, network or request."""
SHUT = lazy_pattern(alternatives("notice_phrases", "shut"))
"""Words for a refusal."""
ODD = lazy_pattern(alternatives("notice_phrases", "odd"))
"""Words that name a problem with the visitor's address, network or request."""
PERSON = lazy_pattern(alternatives("notice_phrases", "person"))
PROVE = lazy_pattern(alternatives("notice_phrases", "prove"))
SELF = lazy_pattern(alternatives("notice_phrases", "self"))
PLACE = lazy_pattern(alternatives("notice_phrases", "place"))
CONTENT = lazy_pattern(alternatives("notice_phrases", "content"))
NOT = lazy_pattern(alternatives("notice_phrases", "not"))
LATER = lazy_pattern(alternatives("notice_phrases", "later"))
"""Words about events that have not happened, such as `will`, `may` and `if`. The search for refusals
(`compose_kind`) ignores a sentence that contains one of these words."""
ENDS = lazy_pattern(r"[.!?](?: |$)|[。！？؟]")


def compose_kind(text: str) -> tuple[str, str] | None:
    """Searches a text for a sentence of a block notice, and returns the kind of the block and the sentence.
    The sentence either refuses the visitor's address, network or request, or requires a proof that the
    visitor is human, or denies content at the visitor's location.

    >>> compose_kind("ihre ip-adresse 203.0.113.7 ist für 24 stunden gesperrt.")
    ('denied', 'ihre ip-adresse 203.0.113.7 ist für 24 stunden gesperrt')
    >>> compose_kind("die a7 ist am wochenende gesperrt. ihr zugang: die karte gibt es an der kasse.")
    """
    for sentence in ENDS.split(text):
        if LATER.search(sentence):
            continue
        if VISIT.search(sentence) and (SHUT.search(sentence) or ODD.search(sentence)):
            return ("denied", sentence)
        if PERSON.search(sentence) and PROVE.search(sentence) and SELF.search(sentence):
            return ("challenge", sentence)
        if PLACE.search(sentence) and NOT.search(sentence) and CONTENT.search(sentence):
            return ("denied", sentence)
    return None
