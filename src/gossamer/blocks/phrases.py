"""Patterns for the sentences of block notices. The patterns are composed of families of words, each family in
many languages. A sentence counts only on a short page with little other text. The sentence must address this
visitor, for example as `your address`, `your country` or `you are in the queue`. All texts are in lower case.
The gaps between the words of a pattern have a limited length. No gap extends beyond the sentence."""

from __future__ import annotations

from gossamer.data import alternatives
from gossamer.model.lazy_pattern import lazy_pattern

PROOF = lazy_pattern(alternatives("notice_phrases", "proof"))
"""Sentences that demand a proof from this visitor."""

LIMIT = lazy_pattern(alternatives("notice_phrases", "limit"))
"""Sentences about too many requests by this visitor. Also sentences that ask the visitor to wait in a
queue."""

REFUSED = lazy_pattern(alternatives("notice_phrases", "refused"))
"""Sentences that refuse this visitor."""

FAMILIES = (("challenge", PROOF), ("rate-limit", LIMIT), ("denied", REFUSED))

TOLD = lazy_pattern(alternatives("notice_phrases", "told"))
"""Words just before a sentence that refuses this visitor. Such words show that the page is about notices and
is not a notice itself."""
WEB = lazy_pattern(alternatives("notice_phrases", "web"))
"""Words about the web. A refusal that addresses nobody counts only if the page contains such a word.
Otherwise, the refusal may be about a closed road or park."""
ALIKE = lazy_pattern(alternatives("notice_phrases", "alike"))
"""A title of more than three words must contain at least one of these words to be the title of a notice."""
BARE = lazy_pattern(alternatives("notice_phrases", "bare"))
"""A refusal with one of these beginnings addresses nobody."""

_OWN = rf"(?:{alternatives('notice_phrases', 'own')})(?: [\w-]{{1,12}}){{0,2}}[ -]"
_NET = f"(?:{alternatives('notice_phrases', 'net')})"
VISIT = lazy_pattern(f"{_OWN}{_NET}|{alternatives('notice_phrases', 'visit')}")
"""Words for a thing of this visitor, such as the address, the network or the request."""
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
"""Words about what might happen in the future. A sentence with such a word does not count."""
ENDS = lazy_pattern(r"[.!?](?: |$)|[。！？؟]")


def compose_kind(text: str) -> tuple[str, str] | None:
    """Returns the kind of a block, and the sentence that shows the block. There are three sorts of such
    sentences. The first sort combines a thing of this visitor with a refusal. The second sort requests a
    proof. The third sort denies content to the visitor's location.

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
