"""Writes and reads the file `kept.json`. This file lists the site files of a crawl, and the outputs for its
pages and rows. Later commands use `kept.json` to find the pages and rows of the crawl."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import msgspec

from gossamer.config.data_files import open_file
from gossamer.config.redaction import mask
from gossamer.errors import ConfigError
from gossamer.sinks.output_spec import WHOLE, column_choice, is_formula_guarded, parse
from gossamer.sinks.sink_url import FORMS, bare_secret

NAME = "kept.json"


class Manifest(msgspec.Struct):
    """The site files and outputs of a crawl, as absolute paths and URLs. Each field has the value from the
    last run that set the field.

    `pages` are the outputs that store whole pages, such as WARC files, in the syntax of the option -o.
    `items` is the JSON Lines file that contains the items, or None.
    """

    sites: list[str] = []
    pages: list[str] = []
    items: str | None = None
    outputs: list[str] = []
    """The outputs that contain all rows and columns, in the syntax of the option -o."""
    partial: list[str] = []
    """The outputs that contain only some of the rows, or only some of the columns."""
    earlier: list[str] = []
    """The outputs in which earlier runs stored whole pages, one output per run."""

    @property
    def archives(self) -> list[str]:
        """The page outputs of this run and of earlier runs. Together, the page outputs of all runs contain
        every page that the crawl kept."""
        return [*self.pages[:1], *self.earlier]


def write_manifest(
    folder: Path, outputs: Sequence[tuple[str, bool]], sites: Sequence[Path], *, anew: bool
) -> None:
    """Writes the manifest of a crawl, if the crawl has outputs. Each pair in `outputs` consists of an output
    and a bool. The bool is true if the output receives the rows of all sites. The outputs of earlier runs
    stay in the manifest unless `anew` is true."""
    pages, items, whole, partial = [], None, list[str](), list[str]()
    for spec, all_sites in outputs:
        chosen = column_choice(spec) is not None
        rows = whole if all_sites and not chosen else partial
        path, form = parse(spec)
        if form in WHOLE:
            pages.append(
                ("objects:" if form == "objects" else "") + (path if "://" in path else os.path.abspath(path))
            )
        elif form in FORMS:
            # a password itself is never stored, only a reference to it
            rows.append(mask(spec) if bare_secret(spec) else spec)
        elif form != "stdout" and "://" not in path:
            rows.append(f"{os.path.abspath(path)}:{form}" + ("" if is_formula_guarded(spec) else "?guard=no"))
            items = items or (os.path.abspath(path) if form == "jsonl" and not chosen else None)
    if pages or whole or partial:
        before = read_manifest(folder) if not anew and (folder / NAME).exists() else Manifest()
        earlier = [one for one in before.archives if pages[:1] != [one]]
        files = sorted({str(site.absolute()) for site in sites}) or before.sites
        if not whole and not partial:
            whole, partial = before.outputs, before.partial
        found = Manifest(files, pages, items or before.items, whole, partial, earlier)
        with open(folder / NAME, "wb", opener=open_file) as file:
            file.write(msgspec.json.format(msgspec.json.encode(found)) + b"\n")


def read_manifest(folder: Path) -> Manifest:
    """Reads the manifest of a crawl. Raises ConfigError if the crawl has no manifest."""
    try:
        return msgspec.json.decode((folder / NAME).read_bytes(), type=Manifest)
    except FileNotFoundError:
        raise ConfigError(
            f"{folder.name} kept no pages ({folder}): crawl with -o pages.warc.gz, or name pages "
            "with --archive PATH"
        ) from None
    except (OSError, msgspec.MsgspecError) as error:
        raise ConfigError(f"{folder / NAME}: {error}") from error
