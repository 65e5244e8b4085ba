"""Parses result pages of Google and Bing into typed results. Accepts any bytes and does no I/O except for
reading its data file.

results      the results of a page
result_page  the page with its verdict: whether its positions can be trusted
load         a data file of one's own
Result       one result
ResultPage   a page

MEASURE_SCRIPT  a script with which a browser notes where the blocks of a page stand
"""

from __future__ import annotations

from gossamer.parsing.ranks.model import TYPES, Result, ResultPage, Verdict
from gossamer.parsing.ranks.page_geometry import MEASURE_SCRIPT
from gossamer.parsing.ranks.page_rules import PageRules, load
from gossamer.parsing.ranks.result_page import result_page, results

__all__ = [
    "MEASURE_SCRIPT",
    "TYPES",
    "PageRules",
    "Result",
    "ResultPage",
    "Verdict",
    "load",
    "result_page",
    "results",
]
