"""Records a search on a terminal as an SVG picture: `python docs/record_search.py` writes
`docs/images/find.svg`.

The program crawls the example bookshop with `--text` at port 8000, and searches the crawl.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from pathlib import Path

from record_terminal import DARK, IMAGES, PORT, ROOT, Frame, TerminalProcess, _add, picture

COLUMNS = 100
WORDS = ("find", "map*", "'in stock'")


def main() -> None:
    """Records the picture."""
    serve = [sys.executable, str(ROOT / "examples" / "bookshop" / "serve.py"), "--port", str(PORT)]
    with (
        subprocess.Popen(serve, stdout=subprocess.PIPE, text=True) as shop,
        tempfile.TemporaryDirectory() as folder,
    ):
        assert shop.stdout is not None
        shop.stdout.readline()
        url = f"http://127.0.0.1:{PORT}/"
        crawl = ["crawl", url, "--text", "--delay", "0.02", "--name", "books", "-o", "books.jsonl", "-q"]
        subprocess.run([sys.executable, "-m", "gossamer", *crawl], cwd=folder, check=True)
        shop.kill()
        terminal = TerminalProcess([word.strip("'") for word in WORDS], Path(folder), columns=COLUMNS)
        terminal.screen.feed(f"\x1b[1m$ gossamer {' '.join(WORDS)}\x1b[0m\r\n")
        began, frames = time.monotonic(), list[Frame]()
        while terminal._read(0.05) and time.monotonic() - began < 30:
            pass
        _add(frames, 0.0, terminal)
        terminal.end()
        (IMAGES / "find.svg").write_text(picture(frames, DARK, COLUMNS))


if __name__ == "__main__":
    main()
