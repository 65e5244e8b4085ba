"""`gossamer new` and `gossamer check`: making site files and proving them on saved pages."""

from __future__ import annotations

from typing import Annotated

import typer

Name = Annotated[str, typer.Argument(metavar="NAME", help="Of the site and its file: letters, digits, _.")]
Url = Annotated[str, typer.Argument(metavar="URL", help="A page to begin with.")]
Which = Annotated[
    str | None, typer.Argument(metavar="[SITE]", help="A site file, or a folder of them (default: here).")
]


def register(app: typer.Typer) -> None:
    """Put the verbs into the tree."""
    app.command("new")(new)
    app.command("check")(check)


def new(name: Name, url: Url) -> int:
    """x"""
    return 0


def check(site: Which = None) -> int:
    """x"""
    return 0
