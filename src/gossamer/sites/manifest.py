"""What a crawl leaves in its folder to be read again and looked through: its site files, where pages and rows
went."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import msgspec

from gossamer.config.data_files import open_file
from gossamer.config.redaction import mask
from gossamer.errors import ConfigError
from gossamer.sinks.formats import WHOLE, guarded, parse
from gossamer.sinks.sink_url import FORMS, bare_secret

NAME = "kept.json"


class Noted(msgspec.Struct):
    """Absolute paths and URLs, of the last run that had such. `pages`: outputs of whole pages, as after -o;
    `items`: the JSON lines of items, where there are any."""

    sites: list[str] = []
    pages: list[str] = []
    items: str | None = None
    outputs: list[str] = []
    """All outputs of rows, as after -o."""
    earlier: list[str] = []
    """Where runs before kept their pages, one output a run."""

    @property
    def archives(self) -> list[str]:
        """All that is to be read to have every page that the crawl kept."""
        return [*self.pages[:1], *self.earlier]


def note(folder: Path, outputs: Sequence[str], sites: Sequence[Path], *, anew: bool) -> None:
    """Write the note of a crawl, where there is something to note; unless it begins anew, what runs before
    kept stays noted."""
    pages, items, rows = [], None, []
    for spec in outputs:
        path, form = parse(spec)
        if form in WHOLE:
            pages.append(
                ("objects:" if form == "objects" else "") + (path if "://" in path else os.path.abspath(path))
            )
        elif form in FORMS:
            # a password is not kept, a reference to one is
            rows.append(mask(spec) if bare_secret(spec) else spec)
        elif form != "stdout" and "://" not in path:
            rows.append(f"{os.path.abspath(path)}:{form}" + ("" if guarded(spec) else "?guard=no"))
            items = items or (os.path.abspath(path) if form == "jsonl" else None)
    if pages or rows:
        before = noted(folder) if not anew and (folder / NAME).exists() else Noted()
        earlier = [one for one in before.archives if pages[:1] != [one]]
        files = sorted({str(site.absolute()) for site in sites}) or before.sites
        found = Noted(files, pages, items or before.items, rows or before.outputs, earlier)
        with open(folder / NAME, "wb", opener=open_file) as file:
            file.write(msgspec.json.format(msgspec.json.encode(found)) + b"\n")


def noted(folder: Path) -> Noted:
    """The note of a crawl. Raises ConfigError where there is none."""
    try:
        return msgspec.json.decode((folder / NAME).read_bytes(), type=Noted)
    except FileNotFoundError:
        raise ConfigError(
            f"{folder.name} kept no pages ({folder}): crawl with -o pages.warc.gz, or name pages with --archive PATH"
        ) from None
    except (OSError, msgspec.MsgspecError) as error:
        raise ConfigError(f"{folder / NAME}: {error}") from error
