"""The live view of `gossamer top` on a terminal: its screens, and the keys that open, filter, sort and steer."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import sys
from collections.abc import Awaitable, Callable, Iterator
from typing import TYPE_CHECKING

from gossamer.cli.top_screens import UPDATE_INTERVAL_S, Place, Screen, TopSnapshots

if TYPE_CHECKING:
    from gossamer.config.settings import Settings
    from gossamer.store.store import Store

KEYS = "q quit   p pause or continue   o open   / filter   s sort hosts   R requeue   f finish   ? all keys"
ALL_KEYS = (
    ("j k", "next row, previous row (also the arrow keys)"),
    ("o", "open the crawl or host of the row (also Enter)"),
    ("g", "back to all crawls (also Esc)"),
    ("/", "show only crawls and hosts whose names contain a text"),
    ("s", "sort hosts by the next column"),
    ("p", "pause the crawl, or continue it"),
    ("f", "finish the crawl now: retry nothing more"),
    ("R", "requeue the dead letters of the crawl, after their number was shown"),
    ("u", "undo that"),
    ("space", "refresh"),
    ("q", "quit"),
)
ENTER, ESC, BACK = "\r\n", "\x1b", "\x7f\b"
ARROWS = {"A": "k", "B": "j", "C": "o", "D": "g"}
MARK, NO_MARK = "> ", "  "


class TopView:
    """Shows the live view on a terminal. The live view fills the screen. When it ends, the terminal displays its
    previous screen again."""

    def __init__(self, snapshots: TopSnapshots, store: Store, settings: Settings) -> None:
        self._snapshots, self._store, self._settings = snapshots, store, settings
        self._message = ""
        """The message above the keys: the effect of the last key, a question, or why nothing is shown."""
        self._open: Place | None = None
        """The crawl or host that is shown, or None for all crawls."""
        self._row: Place | None = None
        self._filter = ""
        self._typed: str | None = None
        """The text of the filter while it is typed."""
        self._asked: Callable[[], Awaitable[str]] | None = None
        """What the key y does, if a question is shown."""
        self._helps = False
        self._screen = Screen()

    async def run(self) -> None:
        """Shows the live view until the user presses q."""
        from gossamer.cli.keys import pressed_keys

        resized = asyncio.Event()
        asyncio.get_running_loop().add_signal_handler(signal.SIGWINCH, resized.set)
        with _whole_screen(), pressed_keys() as keys:
            while True:
                await self._refresh()
                resized.clear()
                key, size = asyncio.ensure_future(keys.get()), asyncio.ensure_future(resized.wait())
                await asyncio.wait(
                    (key, size), timeout=UPDATE_INTERVAL_S, return_when=asyncio.FIRST_COMPLETED
                )
                pressed = key.result() if key.done() else ""
                key.cancel()
                size.cancel()
                if pressed == ESC:
                    pressed = _arrow(keys)
                if pressed == "q" and self._typed is None:
                    return
                await self._press(pressed)

    async def _press(self, key: str) -> None:
        from gossamer.errors import GossamerError

        if not key:
            return
        if self._typed is not None:
            self._type(key)
            return
        if self._asked is not None:
            act, self._asked = self._asked, None
            self._message = await self._attempt(act) if key == "y" else "nothing was changed"
            return
        self._message, helps, self._helps = "", self._helps, False
        if helps:
            return
        try:
            await self._command(key)
        except GossamerError as error:
            self._message = str(error)

    async def _command(self, key: str) -> None:
        """Does what a key stands for. Raises GossamerError."""
        if key in ("j", "k"):
            self._move(1 if key == "j" else -1)
        elif key == "o" or key in ENTER:
            self._open, self._row = self._selected() or self._open, None
        elif key in ("g", ESC):
            if self._open is None:
                self._filter = ""
            self._open, self._row = None, None
        elif key == "/":
            self._typed = ""
        elif key == "s":
            self._snapshots.sort_by_next()
            self._message = f"hosts sorted by {self._snapshots.sort.replace('_', ' ')}"
        elif key == "?":
            self._helps = True
        elif key in ("p", "f", "R", "u"):
            await self._steer(key)

    async def _steer(self, key: str) -> None:
        """Pauses, finishes or requeues the crawl, or undoes it. Asks before it cannot be taken back."""
        from gossamer.app.dead_letters import decide, undo
        from gossamer.app.steering import steer, toggle_pause
        from gossamer.cli.recorded_action import record_action
        from gossamer.frontier.crawls import Crawls

        name = await self._crawl()
        if name is None:
            return
        store, settings = self._store, self._settings
        if key == "p":
            self._message = await toggle_pause(Crawls(store), name, settings)
            await record_action(store, "pause", {"crawl": name})
        elif key == "f":

            async def finish() -> str:
                said = (await steer(store, settings, "finish", name)).said
                await record_action(store, "finish", {"crawl": name})
                return f"{name}: {said}"

            self._ask(f"finish {name} now, without further retries? y/n", finish)
        elif key == "u":
            done = await undo(store, name)
            await record_action(store, "dead undo", {"crawl": name})
            self._message = f"{name}: {done.letters} URLs are dead letters again"
        else:
            n, _ = await decide(store, name, "requeue", dry_run=True)

            async def requeue() -> str:
                done, ended = await decide(store, name, "requeue")
                await record_action(store, "dead requeue", {"crawl": name})
                more = "; run the crawl's command to fetch them" if ended else ""
                return f"{name}: {done} dead letters queued again{more}; u undoes it"

            if n:
                self._ask(f"requeue {n} dead letter{'s' if n > 1 else ''} of {name}? y/n", requeue)
            else:
                self._message = f"{name} has no dead letters"

    async def _crawl(self) -> str | None:
        """Returns the crawl that a key concerns: the open one, that of the row, or the only one that runs."""
        from gossamer.frontier.crawls import UNDER_WAY, Crawls

        for place in (self._open, self._row):
            if place is not None and place.kind == "crawl":
                return place.name
        names = self._snapshots.names or await Crawls(self._store).names()
        if len(names) == 1:
            return names[0]
        going = [name for name in names if (await Crawls(self._store).need(name)).state in UNDER_WAY]
        if len(going) == 1:
            return going[0]
        self._message = "choose a crawl with j and k first" if names else "there is no crawl yet"
        return None

    def _ask(self, question: str, act: Callable[[], Awaitable[str]]) -> None:
        self._message, self._asked = question, act

    async def _attempt(self, act: Callable[[], Awaitable[str]]) -> str:
        from gossamer.errors import GossamerError

        try:
            return await act()
        except GossamerError as error:
            return str(error)

    def _type(self, key: str) -> None:
        """Takes a key of the filter."""
        typed = self._typed or ""
        if key in ENTER:
            self._filter, self._typed, self._row = typed, None, None
        elif key == ESC:
            self._typed = None
        elif key in BACK:
            self._typed = typed[:-1]
        elif key.isprintable():
            self._typed = typed + key

    def _selected(self) -> Place | None:
        places = list(self._screen.places.values())
        return self._row if self._row in places else places[0] if places else None

    def _move(self, by: int) -> None:
        places = list(self._screen.places.values())
        if self._row in places:
            self._row = places[(places.index(self._row) + by) % len(places)]
        elif places:
            self._row = places[0 if by > 0 else -1]

    async def _refresh(self) -> None:
        from gossamer.cli.terminal import columns_now, has_colours, painter
        from gossamer.errors import Away, UsageError

        width = columns_now(sys.stderr) - 1
        paint = painter(has_colours(sys.stderr))
        try:
            self._screen = await self._look(width - len(MARK), paint)
        except Away as error:
            self._screen, self._message = Screen(), f"{error}; waiting for it"
        except UsageError as error:  # the open crawl or host was removed
            self._open, self._screen, self._message = None, Screen(), str(error)
        at = next((n for n, place in self._screen.places.items() if place == self._row), None)
        marked = [(MARK if n == at else NO_MARK) + line for n, line in enumerate(self._screen.lines)]
        message = self._message if self._typed is None else f"/{self._typed}"
        if not message and self._filter:
            message = f"only {self._filter}; g shows all"
        _show_screen(marked, message, paint)

    async def _look(self, width: int, paint: Callable[[str, str], str]) -> Screen:
        if self._helps:
            screen = Screen()
            screen.table((), [*ALL_KEYS], (), width, paint)
            return screen
        if self._open is None:
            return await self._snapshots.overview(width, paint, self._filter)
        if self._open.kind == "crawl":
            return await self._snapshots.crawl(self._open.name, width, paint, self._filter)
        return await self._snapshots.host(self._settings, self._open.name, width, paint)


def _arrow(keys: asyncio.Queue[str]) -> str:
    """Returns the key that an arrow key stands for, or Esc. A terminal sends the bytes of an arrow key at once."""
    if keys.empty():
        return ESC
    if keys.get_nowait() != "[" or keys.empty():
        return ""
    return ARROWS.get(keys.get_nowait(), "")


@contextlib.contextmanager
def _whole_screen() -> Iterator[None]:
    """Switches to the terminal's alternate screen, and back to the normal screen at the end."""
    sys.stderr.write("\x1b[?1049h\x1b[?25l")
    sys.stderr.flush()
    try:
        yield
    finally:
        sys.stderr.write("\x1b[?25h\x1b[?1049l")
        sys.stderr.flush()


def _show_screen(lines: list[str], message: str, paint: Callable[[str, str], str]) -> None:
    """Redraws the screen. The message and the list of keys are at the bottom."""
    from gossamer.cli.printing import clean_line
    from gossamer.cli.terminal import columns_now, cut_end, rows_now

    width, rows = columns_now(sys.stderr) - 1, rows_now(sys.stderr)
    shown = lines[: max(0, rows - 2)]
    shown += [""] * (rows - 2 - len(shown))
    shown.append(paint(cut_end(clean_line(message), width), "magenta"))
    shown.append(paint(cut_end(KEYS, width), "bold"))
    painted = "\n".join(f"{line}\x1b[K" for line in shown)
    sys.stderr.write(f"\x1b[?2026h\x1b[H{painted}\x1b[?2026l")
    sys.stderr.flush()
