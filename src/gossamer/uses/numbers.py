"""Writes numbers in the texts of reports, in English: `1,234 pages`, `1 page`, `4.3%`."""

from __future__ import annotations


def counted(number: int, noun: str) -> str:
    """Returns a number with its noun, in the singular or the plural.

    >>> counted(1, "page"), counted(1234, "page")
    ('1 page', '1,234 pages')
    """
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def percent(share: float, digits: int = 0) -> str:
    """Returns a share as a percentage.

    >>> percent(0.0431, 1)
    '4.3%'
    """
    return f"{share:.{digits}%}"
