"""`gossamer shell URL`: opens a Python prompt with a fetched page. Users try selectors and page functions at
this prompt."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gossamer.cli.options import Setting
from gossamer.cli.try_page import Header, Ladder, Site, SiteArgument, Url, exit_code, print_trial, run
from gossamer.errors import GossamerError

if TYPE_CHECKING:
    from gossamer.app.dry_run import Trial
    from gossamer.parsing.page_view import PageView

MAX_SHOWN = 20
"""Maximum number of list entries that the prompt shows."""
MAX_WIDTH = 160
"""The maximum number of characters of a list's entry that the prompt shows."""


def shell(
    url: Url,
    site: Site = None,
    header: Header = None,
    argument: SiteArgument = None,
    ladder: Ladder = None,
    setting: Setting = None,
) -> int:
    """Fetch and read one page as `try` does, then open a Python prompt with `page`. If the input comes from a
    pipe, run its lines without a prompt."""
    trial = run(url, site, header, argument, setting, ladder)
    if trial.page is None:
        print_trial(trial)
        return exit_code(trial)
    exit_code(trial)
    with tempfile.TemporaryDirectory(prefix="gossamer-shell-") as folder:
        session = ShellSession(trial, Path(folder), (site, header, argument, setting, ladder))
        try:
            if not sys.stdin.isatty():
                run_lines(sys.stdin, session.names)
            elif not in_ipython(session):
                in_python(session)
        finally:
            forget_values(session)
    return 0


def forget_values(session: ShellSession) -> None:
    """Deletes the references that Python keeps to the last value and the last error at the prompt. If a page
    still exists when Python exits, the parser library prints warnings about leaks."""
    import builtins

    session.names.clear()
    vars(builtins).pop("_", None)
    for name in ("last_exc", "last_type", "last_value", "last_traceback"):
        vars(sys).pop(name, None)
    if (readline := sys.modules.get("readline")) is not None:
        readline.set_completer(None)


class ShortList(list[Any]):
    """A list that the prompt displays with one entry per line. At most MAX_SHOWN entries are displayed."""

    def __repr__(self) -> str:
        lines = [_cut(repr(one)) for one in self[:MAX_SHOWN]]
        if len(self) > MAX_SHOWN:
            lines.append(f"... {len(self)} in all")
        return "\n".join(lines) or "[]"


def _cut(text: str) -> str:
    return text if len(text) <= MAX_WIDTH else f"{text[: MAX_WIDTH - 3]}..."


class ShellSession:
    """The state of a prompt, and the functions that a user can call at the prompt. `names`: the namespace in
    which the user's code runs."""

    def __init__(self, trial: Trial, folder: Path, options: tuple[Any, ...]) -> None:
        """`folder`: the folder in which `view` saves pages. `options`: the site files, headers, site
        arguments, settings and ladder of the command."""
        self._folder, self._options, self._viewed = folder, options, 0
        self.names: dict[str, Any] = {
            "fetch": self.fetch,
            "view": self.view,
            "items": self.items,
            "links": self.links,
        }
        self._take(trial)

    def _take(self, trial: Trial) -> None:
        from gossamer.parsing.page_view import PageView
        from gossamer.sites.loading import match

        assert trial.page is not None
        self._trial, page = trial, trial.page
        loaded = match(trial.sites, page.url)
        request = None if trial.claim is None else trial.claim.request
        self.names |= {
            "page": PageView(page, request=request),
            "raw": page,
            "rows": ShortList(trial.rows),
            "url": page.url,
            "site": None if loaded is None else loaded.site,
        }

    def fetch(
        self,
        url: str,
        *,
        ladder: str | None = None,
        headers: dict[str, str] | None = None,
        use: str | None = None,
        carry: Any = None,
        **settings: Any,
    ) -> PageView | None:
        """Fetches another page, assigns the page to `page`, and returns it. Returns None if no page was
        received.

        `url` may be relative to the current page. `settings` are the same settings as for the option `-s`,
        for example `timeout="60s"`.
        """
        site, header, argument, setting, usual = self._options
        more = [f"{name}: {value}" for name, value in (headers or {}).items()]
        pairs = [f"{name}={value}" for name, value in settings.items()]
        try:
            target = self.names["page"].urljoin(url)
            trial = run(
                target,
                site,
                [*(header or ()), *more],
                argument,
                [*(setting or ()), *pairs],
                ladder or usual,
                use,
                carry,
            )
        except (GossamerError, ValueError) as error:
            print(f"gossamer: {error}", file=sys.stderr)
            return None
        exit_code(trial)
        if trial.page is None:
            print(
                f"gossamer: no page was received from {target}; `page` is still {self.names['url']}",
                file=sys.stderr,
            )
            return None
        self._take(trial)
        found: PageView = self.names["page"]
        return found

    def items(self) -> list[dict[str, Any]]:
        """Returns the items that the site's page function yields for `page`. The site file is loaded again,
        so changes to the site file take effect immediately."""
        from gossamer.sites.check import Meta, items_of
        from gossamer.sites.loading import load_all, match

        site, _, argument, _, _ = self._options
        page = self._trial.page
        assert page is not None
        if not site:
            print("gossamer: no site file: start the shell with --site FILE", file=sys.stderr)
            return []
        from gossamer.cli.crawl import arguments_of

        try:
            loaded = match(load_all(site, arguments_of(argument or ())), page.url)
        except GossamerError as error:
            print(f"gossamer: {error}", file=sys.stderr)
            return []
        if loaded is None:
            print(f"gossamer: no site of {', '.join(site)} accepts {page.url}", file=sys.stderr)
            return []
        self.names["site"] = loaded.site
        request = self.names["page"].request_
        info = Meta(page.url, use=request.use, carry=request.carry, depth=request.depth)
        found, problem = items_of(loaded, page, info)
        if problem:
            print(f"gossamer: {problem}", file=sys.stderr)
        return ShortList(found)

    def links(self) -> list[str]:
        """Returns the URLs of all links on the page."""
        from gossamer.parsing.links import links_of

        return ShortList(link.url for link in links_of(self.names["page"].document))

    def view(self) -> str:
        """Saves the page's HTML to a file and returns the path of the file. Opens the file in a browser if a
        browser is available. The file is deleted when the shell ends."""
        self._viewed += 1
        page = self._trial.page
        assert page is not None
        path = self._folder / f"page-{self._viewed}.html"
        path.write_bytes(with_base(page.body, page.url))
        if has_display():
            import webbrowser

            webbrowser.open(path.as_uri())
        return str(path)

    def banner(self) -> list[str]:
        """Returns the five lines of help that the prompt displays at its start."""
        page = self.names["page"]
        site = self.names["site"]
        what = (
            f"what site {site.name} yields for it" if site is not None else "with --site FILE: what it yields"
        )
        return [
            f"{page!r}, {len(page.body)} bytes",
            'page      css("h1::text").get(), xpath(...), price(...), json(...), text, tables, product, follow("a")',
            'fetch     fetch("/next"), fetch(url, ladder="browser", timeout="60s"): then `page` is that page',
            f"items     items(): {what}; edit the file and call it again",
            "links     links(); view() opens the HTML in a browser; site, url, raw, rows are here, too",
        ]


def with_base(body: bytes, url: str) -> bytes:
    """Adds a `base` element to HTML, so that a local copy of the page can still load its images and style
    sheets."""
    import re
    from html import escape

    if re.search(rb"<base\s", body[:10_000], re.IGNORECASE):
        return body
    base = f'<base href="{escape(url)}">'.encode()
    head = re.search(rb"<head(?:\s[^>]*)?>", body[:10_000], re.IGNORECASE)
    at = head.end() if head else 0
    if not at and (declared := re.match(rb"\s*<!doctype[^>]*>", body[:1000], re.IGNORECASE)):
        at = declared.end()
    return body[:at] + base + body[at:]


def has_display() -> bool:
    """Returns whether a browser window can be opened for the user of this terminal."""
    import os
    import webbrowser

    if not sys.stdin.isatty():
        return False
    if sys.platform.startswith("linux") and not (
        os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")
    ):
        return False
    try:
        webbrowser.get()
    except webbrowser.Error:
        return False
    return True


def run_lines(lines: Iterable[str], names: dict[str, Any]) -> None:
    """Runs lines of Python code like the prompt, without printing prompts. Prints the values of expressions
    to stdout and tracebacks to stderr."""
    import code as prompt
    import itertools

    waiting = itertools.chain(lines, [""])  # the empty line ends a block

    class PipedConsole(prompt.InteractiveConsole):
        def raw_input(self, prompt: str = "") -> str:
            sys.stdout.flush()  # a program may read the answer before it writes the next line
            line = next(waiting, None)
            if line is None:
                raise EOFError
            return line.rstrip("\n")

        def write(self, data: str) -> None:
            if data.strip():  # the console writes an empty line at its end
                sys.stderr.write(data)

    PipedConsole(locals=names).interact(banner="", exitmsg="")


def in_ipython(session: ShellSession) -> bool:
    """Opens an IPython prompt. Returns False if IPython is not installed."""
    import importlib
    import importlib.util

    if importlib.util.find_spec("IPython") is None:
        return False
    for line in session.banner():
        print(line)
    importlib.import_module("IPython").start_ipython(
        argv=["--no-banner", "--no-confirm-exit"], user_ns=session.names
    )
    return True


def in_python(session: ShellSession) -> None:
    """Opens the standard Python prompt. The prompt has line editing and tab completion if Python supports
    them."""
    import code as prompt

    try:
        import readline
        import rlcompleter
    except ImportError:
        pass
    else:
        readline.set_completer(rlcompleter.Completer(session.names).complete)
        readline.parse_and_bind("tab: complete")
    prompt.interact(banner="\n".join(session.banner()), local=session.names, exitmsg="")
