"""Parses result pages of Google and Bing into typed results. Accepts any bytes and does no I/O except for
reading its data file.

- `results` returns the results of a page.
- `result_page` returns a `ResultPage`. The verdict in a `ResultPage` shows whether the positions can be
  trusted.
- `load` reads a data file that replaces the data file of the package.
- `Result` is one result.
- `MEASURE_SCRIPT` is a script for a browser. The script adds to each visible element its distance from the
  top of the page.
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
