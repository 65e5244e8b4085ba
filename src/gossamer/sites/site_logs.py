"""Prints the log records of page functions and steps, with time, level, site and URL."""

from __future__ import annotations

import json
import logging
import sys
import time
from typing import Final

SITE_MODULES: Final = "gossamer_site_"
"""The prefix of the module names of site files."""
PROBLEMS: Final = "gossamer.sites"
"""The name of the logger for pages that a site could not read, and for rejected items."""

FORWARDED: Final = "\x1eproblem "
"""The beginning of a line of `ForwardedProblems`."""
MAX_FORWARDED_CHARS: Final = 10_000
"""Maximum length of a forwarded record. The parent reads lines of at most 64 KiB, and JSON may escape characters."""


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

    def __init__(self, level: str, *, problems: bool = False) -> None:
        """`problems`: whether the records of the logger PROBLEMS are written. The command line reports the
        problems itself at the end of the crawl."""
        super().__init__()
        self.word, self.first = level, logging.getLevelNamesMapping()[level.upper()]
        if not problems:
            self.addFilter(lambda record: record.name != PROBLEMS)

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


class ForwardedProblems(logging.Handler):
    """Writes the records of the logger PROBLEMS to stderr as one line each, which `log_forwarded` of the parent process
    logs there. So a program's handlers get the problems of all processes."""

    def emit(self, record: logging.LogRecord) -> None:
        """Writes one record."""
        try:
            line = json.dumps([record.levelno, self.format(record)[:MAX_FORWARDED_CHARS]])
            sys.stderr.write(f"{FORWARDED}{line}\n")
        except Exception:  # noqa: BLE001 - as handlers of `logging` do
            self.handleError(record)


def forward_problems() -> None:
    """Sends the records of the logger PROBLEMS to the parent process instead of the handlers of this process."""
    logger = logging.getLogger(PROBLEMS)
    logger.addHandler(ForwardedProblems())
    logger.propagate = False


def log_forwarded(line: str) -> bool:
    """Logs a line of `ForwardedProblems`. Returns False if the line is another one."""
    if not line.startswith(FORWARDED):
        return False
    try:
        level, text = json.loads(line.removeprefix(FORWARDED))
    except ValueError:
        return False
    logging.getLogger(PROBLEMS).log(level, "%s", text)
    return True


def print_site_logs(level: str, *, problems: bool = False) -> None:
    """Starts to print the log records of site files. Records with a lower level than `level` are left out.
    `problems`: whether pages that a site could not read are printed, too. Does nothing if the program has its
    own handlers."""
    root = logging.getLogger()
    if root.handlers:
        return
    handler = SiteLogs(level, problems=problems)
    root.addHandler(handler)
    root.setLevel(min(handler.first, logging.WARNING))


def printed_level() -> str:
    """Returns the level that was passed to `print_site_logs`, or '' if it was not called."""
    return next((one.word for one in logging.getLogger().handlers if isinstance(one, SiteLogs)), "")
