"""Extracts quotes from quotes.toscrape.com, with a custom step and a custom sink.

The step adds the author's birthplace from a small database. The sink writes one Markdown file per author.
"""

import re
import sqlite3
from pathlib import Path

from gossamer import Item, Site


class Quote(Item):
    text: str
    author: str
    birthplace: str | None = None


class Birthplaces:
    """A step that sets the birthplace of a quote's author. Each process opens the database once."""

    def open(self, context):
        self.database = sqlite3.connect(context.args["authors"])
        self.database.execute("CREATE TABLE IF NOT EXISTS author (name TEXT PRIMARY KEY, birthplace TEXT)")

    def __call__(self, item, page):
        found = self.database.execute("SELECT birthplace FROM author WHERE name = ?", (item["author"],))
        item["birthplace"] = next(found, (None,))[0]

    def close(self):
        self.database.close()


class MarkdownFiles:
    """A sink that adds each quote to the file of its author. Writing the same row again changes nothing."""

    def open(self, context):
        self.folder = Path("quotes")
        self.folder.mkdir(exist_ok=True)

    def write(self, rows):
        for row in rows:
            file = self.folder / (re.sub(r"\W+", "-", row["author"].lower()).strip("-") + ".md")
            line = f"- {row['text']}\n"
            if not file.exists() or line not in file.read_text():
                with file.open("a") as opened:
                    opened.write(line)


site = Site(
    "own_sink",
    seeds=["https://quotes.toscrape.com/"],
    steps=[Birthplaces],
    sinks=[MarkdownFiles],
    args={"authors": "authors.sqlite"},
)


@site.page()
def quotes(page):
    for quote in page.css("div.quote"):
        yield Quote(text=quote.css("span.text::text").get(), author=quote.css("small.author::text").get())
    yield from page.follow("li.next a")
