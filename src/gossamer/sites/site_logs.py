"""Prints the log records of page functions and steps, with time, level, site and URL."""

from __future__ import annotations

import logging
import sys
import time
from typing import Final

SITE_MODULES: Final = "gossamer_site_"
"""The prefix of the module names of site files."""


class LoggedPage:
    """A context manager that assigns the log records of its `with` block to a page."""

    __slots__ = ("_before", "_page")
    current: tuple[str, str] | None = None
    """The site and the URL of the page that the site file is reading now, or None."""

    def __init__(self, site: str, url: str) -> None:
        self._page, self._before = (site, url), LoggedPage.current

    def __enter__(self) -> None:
        LoggedPage.current = self._page

    def __exit__(self, *_: object) -> None:
        LoggedPage.current = self._before


class SiteLogs(logging.Handler):
    """Writes log records of site files to stderr if they have at least the given level. Other log records are
    written only if they are warnings or errors. The text of these records is the plain message, as in Python
    if no handler is configured."""

    def __init__(self, level: str) -> None:
        super().__init__()
        self.word, self.first = level, logging.getLevelNamesMapping()[level.upper()]

    def emit(self, record: logging.LogRecord) -> None:
        """Writes one record."""
        page = LoggedPage.current
        ours = page is not None or record.name.startswith(SITE_MODULES)
        if record.levelno < (self.first if ours else logging.WARNING):
            return
        try:
            text = self.format(record)
            if ours:
                site, url = page or (record.module, "-")
                at = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(record.created))
                text = f"{at} {record.levelname.lower()} {site} {url}: {text}"
            sys.stderr.write(f"{text}\n")
        except Exception:  # noqa: BLE001 - as handlers of `logging` do
            self.handleError(record)


def print_site_logs(level: str) -> None:
    """Starts to print the log records of site files. Records with a lower level than `level` are left out.
    Does nothing if the program has its own handlers."""
    root = logging.getLogger()
    if root.handlers:
        return
    handler = SiteLogs(level)
    root.addHandler(handler)
    root.setLevel(min(handler.first, logging.WARNING))


def printed_level() -> str:
    """Returns the level that was passed to `print_site_logs`, or '' if it was not called."""
    return next((one.word for one in logging.getLogger().handlers if isinstance(one, SiteLogs)), "")
