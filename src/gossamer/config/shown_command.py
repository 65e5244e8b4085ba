"""Formats commands that a message shows, without secrets."""

from __future__ import annotations

import shlex

HIDDEN = " (replace *** with the secret, which is not shown)"


def shown_command(verb: str, words: list[str]) -> str:
    """Formats a command that the user may run again. Secrets become `***`, and a note on the same line
    explains the stars."""
    from gossamer.config.redaction import conceal, mask

    parts, before = [], ""
    for word in words:
        shown = mask(word)
        if before in ("-a", "--argument"):
            shown = conceal(shown)
        parts.append(shown)
        before = word
    return f"gossamer {verb} {shlex.join(parts)}" + (HIDDEN if parts != words else "")
