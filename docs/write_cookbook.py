"""Writes the cookbook in docs/from-scrapy.md from examples/cookbook. A test checks that the page is up to
date.

python docs/write_cookbook.py
"""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAGE, FOLDER = ROOT / "docs" / "from-scrapy.md", ROOT / "examples" / "cookbook"
BEGIN = "<!-- written by write_cookbook.py -->\n"
TITLES = {
    "quotes": ("A listing with pagination", ""),
    "books": (
        "A listing and its detail pages",
        "`page.price` reads a price with any separators and currency.",
    ),
    "login": (
        "A log-in",
        "gossamer logs in once, and again when the session ends. Passwords come from the environment or a file.",
    ),
    "search": ("A search form", "`fill` sends the form's hidden fields, too."),
    "api": ("A JSON API", "Yielding None requests nothing, so the last page needs no `if`."),
    "sitemap": ("A sitemap", "`gossamer crawl sitemap.py sitemap:http://127.0.0.1:8000/sitemap/sitemap.xml`"),
    "csv_seeds": (
        "URLs of a CSV file",
        "A list of URLs alone needs no code: `gossamer crawl site.py urls.txt`.",
    ),
    "images": (
        "Images",
        "An image is checked by its bytes, and stored once, even if many items refer to it.",
    ),
    "gone": ("Pages that are gone", ""),
    "shared": ("A page for several listings", "`again=True` is `dont_filter=True`."),
    "arguments": ("Arguments", "`gossamer crawl arguments.py -a categories=poetry,travel`"),
    "pipeline": (
        "A pipeline that checks and stores",
        "The class of the item checks its types. The sink in `sinks=` creates the table, and stores a history of each row.",
    ),
}
"""The title and the remark of each program, in the order of the page."""


def cookbook() -> str:
    """Returns the cookbook section in Markdown."""
    parts = []
    for number, (name, (title, remark)) in enumerate(TITLES.items(), 1):
        theirs, ours = ((FOLDER / kind / f"{name}.py").read_text() for kind in ("spiders", "sites"))
        parts.append(
            f"### {number}. {title}\n\n{remark}{chr(10) * 2 if remark else ''}Scrapy:\n\n```python\n{theirs}```\n\n"
            f"gossamer:\n\n```python\n{ours}```\n"
        )
    return "\n".join(parts)


def page() -> str:
    """Returns the page with the current cookbook section."""
    before, _, _ = PAGE.read_text().partition(BEGIN)
    return f"{before}{BEGIN}\n{cookbook()}"


if __name__ == "__main__":
    PAGE.write_text(page())
