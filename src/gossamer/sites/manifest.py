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
from gossamer.sinks.rows_in_data_folder import NAME as KEPT_ROWS
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
    lacking: list[str] = []
    """The outputs of `partial` that lack the rows of earlier runs."""
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
    keeps = not anew and (folder / NAME).exists() and (folder / KEPT_ROWS).exists()
    if pages or whole or partial or keeps:
        before = read_manifest(folder) if not anew and (folder / NAME).exists() else Manifest()
        earlier = [one for one in before.archives if pages[:1] != [one]]
        files = sorted({str(site.absolute()) for site in sites}) or before.sites
        if not whole and not partial:
            # the rows of this run are in the crawl's folder only
            whole, partial = (
                ([], [*before.outputs, *before.partial]) if keeps else (before.outputs, before.partial)
            )
        partial += [one for one in whole if one in before.lacking and one not in partial]
        whole = [one for one in whole if one not in before.lacking]
        _write(folder, Manifest(files, pages, items or before.items, whole, partial, before.lacking, earlier))


def _write(folder: Path, manifest: Manifest) -> None:
    with open(folder / NAME, "wb", opener=open_file) as file:
        file.write(msgspec.json.format(msgspec.json.encode(manifest)) + b"\n")


def note_lacking(folder: Path, lacking: Sequence[str], filled: Sequence[str]) -> None:
    """Records which outputs lack the rows of earlier runs, and which outputs got these rows. Both are given
    by the paths of their files. The file of a kind has the kind in its name."""
    if not (lacking or filled) or not (folder / NAME).exists():
        return
    found = read_manifest(folder)
    chosen = [one for one in found.partial if one not in found.lacking]
    every = list(dict.fromkeys([*found.outputs, *found.lacking]))
    found.lacking = [
        one
        for one in every
        if _is_one_of(one, lacking) or (one in found.lacking and not _is_one_of(one, filled))
    ]
    found.outputs = [one for one in found.outputs if one not in found.lacking] or [
        one for one in every if one not in found.lacking
    ]
    found.partial = [*chosen, *found.lacking]
    _write(folder, found)


def lacking_message(folder: Path, outputs: Sequence[str]) -> str:
    """Returns a message about the outputs that contain only rows of passes (`--refresh`), or '' if there are
    none. `outputs`: in the syntax of the option `-o`."""
    if not (folder / NAME).exists():
        return ""
    places = {parse(one).path for one in read_manifest(folder).lacking}
    paths = [parse(one).path for one in outputs]
    named = [path for path in paths if (path if "://" in path else os.path.abspath(path)) in places]
    return (
        f"{', '.join(map(mask, named))}: only changed rows are written there; "
        f"for all rows: gossamer export {folder.name} FILE"
        if named
        else ""
    )


def _is_one_of(spec: str, paths: Sequence[str]) -> bool:
    """Returns whether one of the paths belongs to an output."""
    path = parse(spec).path
    stem, dot, ending = path.rpartition(".")
    return any(
        one in (path, spec) or (bool(dot) and one.startswith(f"{stem}.") and one.endswith(f".{ending}"))
        for one in paths
    )


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
