"""Records crawls on a terminal as SVG pictures: `python docs/record_terminal.py`.

The program crawls a local shop on a terminal, and writes three pictures into `docs/images`: a running crawl
in dark and in light colours, and the whole crawl as an animation. `--all DIR` writes every state (runs,
waits, fails, ends) into DIR, at 60, 80 and 160 columns and in both colours.
"""

from __future__ import annotations

import argparse
import html
import http.server
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests"))

from support.screen import Cell, TerminalProcess  # noqa: E402

IMAGES = ROOT / "docs" / "images"
PORT = 8000
PAGES = 160
STATES = {
    "runs": ("--delay", "0.06"),
    "waits": ("--delay", "0.05", "--retries", "5m"),
    "fails": (),
    "ends": ("--delay", "0.03", "--retries", "none"),
}
"""The options of the recorded crawl in each state."""
CHARACTER, LINE, FONT_SIZE, MARGIN = 8.4, 19, 14, 14
"""In pixels: the width of a character, the height of a line, the font size and the margin."""
FRAMES_PER_S = 2
TIMEOUT_S = 40
LAST_FRAME_S = 4.0
"""The time in seconds for which an animation shows its last frame before it starts again."""


class Theme(NamedTuple):
    """The colours of a terminal. `colours` maps the numbers of SGR sequences to colours."""

    background: str
    text: str
    dim: str
    colours: dict[int, str]


DARK = Theme(
    "#0d1117",
    "#d1d7e0",
    "#8b949e",
    {31: "#ff7b72", 32: "#3fb950", 33: "#d29922", 34: "#58a6ff", 35: "#d2a8ff", 36: "#39c5cf"},
)
LIGHT = Theme(
    "#ffffff",
    "#24292f",
    "#6e7781",
    {31: "#cf222e", 32: "#116329", 33: "#4d2d00", 34: "#0969da", 35: "#8250df", 36: "#1b7c83"},
)
THEMES = {"dark": DARK, "light": LIGHT}

Rows = list[list[Cell]]
Frame = tuple[float, Rows]
"""The time in seconds when the screen began to show the rows, and the rows."""


class Shop(http.server.BaseHTTPRequestHandler):
    """Serves a shop in which each page links to three other pages. Every seventeenth page is missing, and one
    fails."""

    def do_GET(self) -> None:
        """Sends robots.txt, a page, or an error."""
        status, kind, body = 200, "text/html", ""
        if self.path == "/robots.txt":
            kind, body = "text/plain", "User-agent: *\nDisallow: /members/\n"
        elif self.path != "/":
            number = int(self.path.rpartition("-")[2])
            status = 404 if number % 17 == 16 else 503 if number == 23 else 200
        if kind == "text/html":
            number = int(self.path.rpartition("-")[2] or -1) if self.path != "/" else -1
            nexts = range(max(0, number * 3 + 3), min(max(0, number * 3 + 3) + 3, PAGES))
            body = "".join(f'<a href="/catalogue/a-light-in-the-attic-{n}">{n}</a>' for n in nexts)
            body = f"<title>Books</title>{body}" + "<p>A book.</p>" * 200
        self.send_response(status)
        self.send_header("Content-Type", f"{kind}; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body.encode())

    def log_message(self, *_: object) -> None:
        """Logs nothing."""


@contextmanager
def shop() -> Iterator[str]:
    """Serves the shop at `PORT`. Yields its URL."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", PORT), Shop)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{PORT}/"
    finally:
        server.shutdown()
        server.server_close()


def record(state: str, url: str, columns: int) -> list[Frame]:
    """Runs a crawl on a terminal until the screen shows the state. Returns the frames of the screen."""
    target = f"{url}members/" if state == "fails" else url
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        words = ["crawl", target, "-o", "books.jsonl", *STATES[state]]
        terminal = TerminalProcess(words, Path(folder), columns=columns)
        terminal.screen.feed(f"\x1b[1m$ gossamer {' '.join(words)}\x1b[0m\r\n")
        frames: list[Frame] = []
        started = time.monotonic()
        reached = _reached(state)
        while terminal._read(0.05) and not reached("\n".join(terminal.screen.visible())):
            now = time.monotonic() - started
            if now > TIMEOUT_S:
                raise SystemExit("\n".join([f"{state} is not reached:", *terminal.screen.visible()]))
            if not frames or now - frames[-1][0] >= 1 / FRAMES_PER_S:
                _add(frames, now, terminal)
        _add(frames, time.monotonic() - started, terminal)
        if state != "fails":
            terminal.process.kill()
        terminal.end()
        return frames


def _add(frames: list[Frame], now: float, terminal: TerminalProcess) -> None:
    rows = [list(row.cells) for row in terminal.screen.lines]
    while rows and not any(cell.text.strip() for cell in rows[-1]):
        rows.pop()
    if not frames or rows != frames[-1][1]:
        frames.append((now, rows))


def _reached(state: str) -> Callable[[str], bool]:
    if state == "runs":
        return lambda text: "404: " in text and "5xx: " in text
    if state == "waits":
        return lambda text: " 1 queued" in text and "1 retried" in text and "next in" in text
    return lambda text: False  # runs until the command ends


def picture(frames: list[Frame], theme: Theme, columns: int) -> str:
    """Returns the SVG of one frame, or an animation of several frames that starts again at its end."""
    height = max(len(rows) for _, rows in frames) * LINE + 2 * MARGIN
    width = round(columns * CHARACTER) + 2 * MARGIN
    whole = frames[-1][0] - frames[0][0] + LAST_FRAME_S
    styles, groups = [], []
    for number, (began, rows) in enumerate(frames):
        texts = "".join(_line(row, MARGIN + LINE * (at + 1) - 5, theme) for at, row in enumerate(rows))
        if len(frames) == 1:
            groups.append(texts)
            continue
        ends = frames[number + 1][0] if number + 1 < len(frames) else frames[0][0] + whole
        start, end = (100 * (t - frames[0][0]) / whole for t in (began, ends))
        styles.append(
            f"@keyframes f{number}{{0%{{visibility:{'visible' if start == 0 else 'hidden'}}}"
            f"{start:.2f}%{{visibility:visible}}{end:.2f}%{{visibility:hidden}}100%{{visibility:hidden}}}}"
        )
        groups.append(f'<g style="animation:f{number} {whole:.1f}s step-end infinite">{texts}</g>')
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}">'
        f"<style>text{{font:{FONT_SIZE}px ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace;"
        f"fill:{theme.text};white-space:pre}}{''.join(styles)}</style>"
        f'<rect width="{width}" height="{height}" rx="8" fill="{theme.background}" stroke="{theme.dim}" stroke-opacity=".3"/>'
        f"{''.join(groups)}</svg>\n"
    )


def _line(cells: list[Cell], y: int, theme: Theme) -> str:
    out, x = [], 0
    for style, run in groupby(cells, key=lambda cell: cell.style):
        text = "".join(cell.text for cell in run)
        if text.strip():
            at = MARGIN + (x + len(text) - len(text.lstrip())) * CHARACTER
            shown = html.escape(text.strip())
            length = len(text.strip()) * CHARACTER
            out.append(
                f'<text x="{at:.1f}" y="{y}" textLength="{length:.1f}" lengthAdjust="spacingAndGlyphs"'
                f"{_style(style, theme)}>{shown}</text>"
            )
        x += len(text)
    return "".join(out)


def _style(style: tuple[int, ...], theme: Theme) -> str:
    fill = next(
        (theme.colours[one] for one in style if one in theme.colours), theme.dim if 2 in style else ""
    )
    rules = [f"fill:{fill}"] if fill else []
    rules += ["font-weight:bold"] if 1 in style else []
    return f' style="{";".join(rules)}"' if rules else ""


def main() -> None:
    """Records the pictures that the options select."""
    options = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    options.add_argument("--all", type=Path, metavar="DIR", help="every state and width, into this folder")
    folder: Path | None = options.parse_args().all
    IMAGES.mkdir(exist_ok=True)
    with shop() as url:
        if folder is None:
            running, ending = record("runs", url, 100), record("ends", url, 100)
            for name, theme in THEMES.items():
                (IMAGES / f"crawl-{name}.svg").write_text(picture(running[-1:], theme, 100))
            (IMAGES / "crawl.svg").write_text(picture(ending, DARK, 100))
            return
        folder.mkdir(parents=True, exist_ok=True)
        for state in STATES:
            for columns in (60, 80, 160):
                frames = record(state, url, columns)
                for name, theme in THEMES.items():
                    (folder / f"{state}-{columns}-{name}.svg").write_text(
                        picture(frames[-1:], theme, columns)
                    )


if __name__ == "__main__":
    main()
