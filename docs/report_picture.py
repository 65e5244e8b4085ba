"""Draws the pictures of the HTML reports in docs/images, for the programs `draw_..._report.py`."""

from __future__ import annotations

import argparse
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path

IMAGES = Path(__file__).resolve().parent / "images"
WIDTH = 1200


def draw_report(about: str, image: str, height: int, render: Callable[[Path], str]) -> None:
    """Runs a program that draws a report. Reads the options, and takes the picture in Chromium.

    `about` is the help text of the program. `image` is the name of the file in docs/images. `height` is the
    height of the window in pixels. `render` gets a folder for its data and returns the report.
    """
    parser = argparse.ArgumentParser(description=about)
    parser.add_argument("--html", type=Path, help="a file for the report")
    parser.add_argument("--chromium", default="chromium")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        page = options.html or Path(folder) / "report.html"
        page.write_text(render(Path(folder)), encoding="utf-8")
        flags = (
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--hide-scrollbars",
            f"--window-size={WIDTH},{height}",
        )
        subprocess.run(
            [options.chromium, *flags, f"--screenshot={IMAGES / image}", page.resolve().as_uri()],
            check=True,
            stderr=subprocess.DEVNULL,
        )
    print(IMAGES / image)
