"""The stored pages that `gossamer audit --crawl` and `--archive` read."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from gossamer.errors import UsageError

if TYPE_CHECKING:
    from gossamer.config.settings import Settings


def stored_pages(settings: Settings, crawl: str | None, archive: str | None) -> str:
    """Returns the path of the pages in the given archive, or of the pages that a crawl on this machine or on
    a fleet stored. Pages in an object store are downloaded. Raises UsageError if the crawl stored no whole
    pages."""
    from gossamer.app.query.opened_crawl import opened_crawl
    from gossamer.cli.printing import remark
    from gossamer.cli.reparse import crawl_folder, local_copy, stored_page_paths

    if archive is not None:
        return str(local_copy(archive, crawl_folder(Path(settings.data), None, archive)))
    with opened_crawl(settings, crawl, remark) as stored:
        folder = Path(stored.folder)
        if not stored.archives:
            where = "-o raw/:warc, in a folder that all machines reach, or -o s3://BUCKET/PREFIX"
            how = f"submit it with {where}" if settings.store else "crawl with --fresh and -o pages.warc.gz"
            raise UsageError(f"{stored.name} stored no whole pages, and an audit needs them: {how}")
        return joined(stored_page_paths(stored.archives, folder), folder / "audited-pages")


def joined(paths: list[Path], folder: Path) -> str:
    """Returns one path for all archives. For several archives, creates a folder with symbolic links to their
    files."""
    from gossamer.collectors.archive.warc import files_of

    if len(paths) == 1:
        return str(paths[0])
    shutil.rmtree(folder, ignore_errors=True)
    for number, path in enumerate(paths):
        has_objects = (path / "objects").is_dir()
        files = [one for one in path.rglob("*") if one.is_file()] if has_objects else files_of(path)
        for file in files:
            # files of different archives may have equal names, so a number is added; objects are named by
            # their content
            is_object = has_objects and file.suffix != ".jsonl"
            target = folder / (file.relative_to(path) if is_object else f"{number}-{file.name}")
            target.parent.mkdir(parents=True, exist_ok=True)
            if not target.exists():
                os.symlink(file.absolute(), target)
    return str(folder)
