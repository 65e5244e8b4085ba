"""Writes an audit to files: the report as HTML, one CSV file per check, Excel, the link graph as GEXF, and a
sitemap of the site. Rows are copied from the database to the file one by one. Stores, streams and files to which rows
can be appended receive the audit and its findings as records."""

from __future__ import annotations

import csv
import gzip
import itertools
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO, Any, Final, cast
from xml.sax.saxutils import escape, quoteattr

from gossamer.client.install_command import install_command
from gossamer.client.row_outputs import RowOutputs, check_output_spec
from gossamer.client.spreadsheets import path_and_encoding
from gossamer.errors import ConfigError, UsageError
from gossamer.uses.audit.database import AuditDatabase
from gossamer.uses.audit.findings import fixed_findings
from gossamer.uses.audit.link_graph import CLICKS
from gossamer.uses.audit.model import AuditSummary, CheckOutcome
from gossamer.uses.audit.records import KINDS, read_records

FORMS: Final = (".html", ".xlsx", ".gexf", ".xml", ".xml.gz", ".csv")
_ROW_FORMS: Final = (".jsonl", ".parquet", ".sqlite")
_BATCH: Final = 500
MAX_SITEMAP_URLS: Final = 50_000
MAX_SITEMAP_BYTES: Final = 50_000_000
MAX_IMAGES: Final = 1000
MAX_EXCEL_ROWS: Final = 1_048_576
HEADS: Final = ("url", "target", "detail", "new")
_FORMULA: Final = ("=", "+", "-", "@", "\t", "\r")
_CONTROL: Final = {code: "\ufffd" for code in range(32) if code not in (9, 10, 13)} | {
    0xFFFE: "\ufffd",
    0xFFFF: "\ufffd",
}
_ROWS: Final = "SELECT url, target, detail, is_new FROM findings WHERE audit = ? AND check_id = ? ORDER BY is_new DESC, url, target"


def check_outputs(paths: Iterable[str]) -> None:
    """Raises UsageError if the extension of a path is unknown or its folder does not exist."""
    for output in paths:
        path, _ = path_and_encoding(output)
        if _takes_rows(path):
            check_output_spec(output)
            continue
        if path.endswith("/") or Path(path).is_dir():
            continue
        if not path.lower().endswith(FORMS):
            raise UsageError(
                f"-o {path}: the ending decides: .html, .xlsx, .csv, .gexf, .xml or .xml.gz; FOLDER/ gets a CSV "
                f"file per check; {', '.join(_ROW_FORMS)} and stores such as mongodb://... get records"
            )
        if not Path(path).parent.is_dir():
            raise UsageError(f"-o {path}: there is no folder {Path(path).parent}")


def _takes_rows(path: str) -> bool:
    return "://" in path or path.lower().endswith(_ROW_FORMS)


def send_rows(output: str, database: AuditDatabase, summary: AuditSummary) -> str:
    """Sends the records of an audit to an output, and returns its name. A second call sends the same records, with the
    same keys. Raises GossamerError."""
    folder = str(database.path.parent / ".sending")
    rows = RowOutputs([output], "gossamer audits", f"{summary.url} {summary.audit}", folder, KINDS)
    try:
        for kind in KINDS:
            found = read_records(database, summary, kind)
            while part := list(itertools.islice(found, _BATCH)):
                rows.send(kind, part)
    finally:
        rows.close()
    return rows.names[0]


def write_output(output: str, database: AuditDatabase, summary: AuditSummary) -> list[str]:
    """Writes one output, and returns the paths of the written files. CSV outputs may end in `?bom=yes`. Raises
    UsageError, and ConfigError if a library is missing. A store may raise other GossamerErrors."""
    path, encoding = path_and_encoding(output)
    lower = path.lower()
    try:
        if _takes_rows(path):
            return [send_rows(output, database, summary)]
        if path.endswith("/") or Path(path).is_dir():
            return write_csv_folder(Path(path), database, summary, encoding)
        if lower.endswith(".html"):
            from gossamer.uses.audit.report_html import render_report

            with _replacing(path) as file:
                file.writelines(render_report(database, summary))
        elif lower.endswith(".csv"):
            with _replacing(path, encoding) as file:
                _write_all_csv(file, database, summary)
        elif lower.endswith(".gexf"):
            with _replacing(path) as file:
                file.writelines(gexf_lines(database))
        elif lower.endswith(".xlsx"):
            write_excel(path, database, summary)
        else:
            return write_sitemaps(path, database, summary.url)
    except OSError as error:
        raise UsageError(f"-o {path}: {error.strerror}") from error
    return [path]


class _replacing:  # noqa: N801 - reads as a word after `with`
    """A context manager for a text file that replaces an earlier file once it is complete."""

    def __init__(self, path: str, encoding: str = "utf-8") -> None:
        self._path, self._part, self._encoding = path, f"{path}.part", encoding

    def __enter__(self) -> IO[str]:
        self._file = open(self._part, "w", encoding=self._encoding, newline="")
        return self._file

    def __exit__(self, kind: object, *_: object) -> None:
        self._file.close()
        if kind is None:
            os.replace(self._part, self._path)
        else:
            os.unlink(self._part)


def guarded(value: object) -> str:
    """Returns a cell that no spreadsheet runs as a formula. A text from a crawled page could otherwise run as
    a formula."""
    text = str(value)
    return f"'{text}" if text.startswith(_FORMULA) else text


def write_csv_folder(
    folder: Path, database: AuditDatabase, summary: AuditSummary, encoding: str = "utf-8"
) -> list[str]:
    """Writes `summary.csv`, a CSV file for each check with findings, and `fixed.csv`."""
    folder.mkdir(parents=True, exist_ok=True)
    found = []
    for check in summary.checks:
        path = folder / f"{check.id}.csv"
        if not check.count:
            path.unlink(missing_ok=True)
            continue
        with _replacing(str(path), encoding) as file:
            out = csv.writer(file, lineterminator="\n")
            out.writerow(HEADS)
            for row in database.rows(_ROWS, [summary.audit, check.id]):
                out.writerow([*map(guarded, row[:3]), "yes" if row[3] else ""])
        found.append(str(path))
    with _replacing(str(folder / "summary.csv"), encoding) as file:
        out = csv.writer(file, lineterminator="\n")
        out.writerow(SUMMARY_HEADS)
        out.writerows(map(summary_row, summary.checks))
    found.append(str(folder / "summary.csv"))
    if summary.before is not None:
        with _replacing(str(folder / "fixed.csv"), encoding) as file:
            out = csv.writer(file, lineterminator="\n")
            out.writerow(("check", "url", "target", "detail"))
            for check in summary.checks:
                if check.fixed:
                    rows = fixed_findings(
                        database, summary.audit, summary.before, check.id, whole=summary.whole
                    )
                    out.writerows(
                        [one.check, *map(guarded, (one.url, one.target, one.detail))] for one in rows
                    )
        found.append(str(folder / "fixed.csv"))
    return found


SUMMARY_HEADS: Final = (
    *("check", "group", "severity", "title", "state", "findings", "new", "fixed", "share", "fix", "reason"),
)


def summary_row(check: CheckOutcome) -> tuple[object, ...]:
    """Returns a check as a row of the summary."""
    return (
        *(check.id, check.group, check.severity, check.title, check.state, check.count, check.new),
        *(check.fixed, check.share, check.fix, check.reason),
    )


def _write_all_csv(file: IO[str], database: AuditDatabase, summary: AuditSummary) -> None:
    out = csv.writer(file, lineterminator="\n")
    out.writerow(("check", "severity", *HEADS))
    for check in summary.checks:
        if check.count:
            for row in database.rows(_ROWS, [summary.audit, check.id]):
                out.writerow([check.id, check.severity, *map(guarded, row[:3]), "yes" if row[3] else ""])


def write_excel(path: str, database: AuditDatabase, summary: AuditSummary) -> None:
    """Writes a workbook: a sheet with all checks, and a sheet for each check with findings. Rows are written to
    disk one by one. Raises ConfigError if the extra `excel` is not installed."""
    try:
        import xlsxwriter
    except ImportError:
        raise ConfigError(f"-o {path}: Excel needs the extra excel: {install_command('excel')}") from None
    options = {
        "constant_memory": True,
        "strings_to_formulas": False,
        "strings_to_urls": False,
        "strings_to_numbers": False,
    }
    part = f"{path}.part"
    with xlsxwriter.Workbook(part, options) as book:
        bold = book.add_format({"bold": True})
        first = book.add_worksheet("checks")
        _write_sheet(first, SUMMARY_HEADS, map(summary_row, summary.checks), bold)
        for check in summary.checks:
            if check.count:
                sheet = book.add_worksheet(check.id[:31])
                rows = database.rows(_ROWS, [summary.audit, check.id])
                _write_sheet(sheet, HEADS, ((*row[:3], "yes" if row[3] else "") for row in rows), bold)
    os.replace(part, path)


def _write_sheet(sheet: Any, heads: tuple[str, ...], rows: Iterable[tuple[object, ...]], bold: Any) -> None:
    sheet.freeze_panes(1, 0)
    sheet.set_column(0, 1, 60)
    sheet.set_column(2, len(heads) - 1, 30)
    sheet.write_row(0, 0, heads, bold)
    for place, row in zip(range(1, MAX_EXCEL_ROWS), rows, strict=False):
        for column, value in enumerate(row):
            if isinstance(value, int | float):
                sheet.write_number(place, column, value)
            else:
                sheet.write_string(place, column, str(value)[:32_000])


def gexf_lines(database: AuditDatabase) -> Iterator[str]:
    """Yields the link graph of the site as GEXF 1.3, for Gephi and NetworkX. The nodes are the site's pages
    with status, depth, number of linking pages, indexability and title. The edges are the links between
    different pages."""
    yield (
        '<?xml version="1.0" encoding="UTF-8"?>\n<gexf xmlns="http://gexf.net/1.3" version="1.3">\n'
        '<graph defaultedgetype="directed" mode="static">\n<attributes class="node">\n'
        '<attribute id="0" title="status" type="integer"/>\n<attribute id="1" title="depth" type="integer"/>\n'
        '<attribute id="2" title="inlinks" type="integer"/>\n<attribute id="3" title="indexable" type="boolean"/>\n'
        '<attribute id="4" title="title" type="string"/>\n</attributes>\n<nodes>\n'
    )
    query = (
        "SELECT u.id, u.url, t.status, d.depth, i.pages, t.indexable, p.title FROM targets t JOIN urls u ON u.id = t.id "
        "LEFT JOIN depths d ON d.id = t.id LEFT JOIN inlinks i ON i.id = t.id LEFT JOIN pages p ON p.id = t.id "
        "WHERE t.internal ORDER BY u.id"
    )
    for one, url, status, depth, inlinks, indexable, title in database.rows(query):
        values = (status, depth, inlinks or 0, "true" if indexable else "false", title)
        shown = "".join(
            f'<attvalue for="{place}" value={_attribute(value)}/>'
            for place, value in enumerate(values)
            if value is not None
        )
        yield f'<node id="{one}" label={_attribute(url)}><attvalues>{shown}</attvalues></node>\n'
    yield "</nodes>\n<edges>\n"
    links = (
        "SELECT l.source, l.target, count(*), min(l.nofollow) FROM links l JOIN targets s ON s.id = l.source "
        f"JOIN targets t ON t.id = l.target WHERE s.internal AND t.internal AND l.kind IN {CLICKS} AND s.id != t.id "
        "GROUP BY l.source, l.target"
    )
    for place, (source, target, weight, nofollow) in enumerate(database.rows(links)):
        label = ' label="nofollow"' if nofollow else ""
        yield f'<edge id="{place}" source="{source}" target="{target}" weight="{weight}"{label}/>\n'
    yield "</edges>\n</graph>\n</gexf>\n"


def _attribute(value: object) -> str:
    return quoteattr(str(value).translate(_CONTROL))


class _SitemapFiles:
    """Writes sitemap files of at most 50,000 URLs and 50 MB each, and an index if there are several files."""

    def __init__(self, path: str, base: str) -> None:
        self._path, self._base = path, base
        self._zip = path.endswith(".gz")
        stem = path.removesuffix(".gz").removesuffix(".xml")
        self._stem, self._ending = stem, ".xml.gz" if self._zip else ".xml"
        self._file: IO[bytes] | None = None
        self._urls = self._bytes = 0
        self.files: list[str] = []

    def add(self, entry: str) -> None:
        """Writes an entry."""
        data = entry.encode("utf-8", "replace")
        if self._urls == MAX_SITEMAP_URLS or self._bytes + len(data) > MAX_SITEMAP_BYTES - 100:
            self._end_file()
        if self._file is None:
            name = f"{self._stem}-{len(self.files) + 1}{self._ending}"
            opened = gzip.open(name, "wb") if self._zip else open(name, "wb")  # noqa: SIM115 - closed by _end_file
            self._file = cast("IO[bytes]", opened)
            self.files.append(name)
            self._urls, self._bytes = 0, self._write(_URLSET)
        self._bytes += self._write(data)
        self._urls += 1

    def _write(self, data: bytes) -> int:
        assert self._file is not None
        self._file.write(data)
        return len(data)

    def _end_file(self) -> None:
        if self._file is not None:
            self._write(b"</urlset>\n")
            self._file.close()
            self._file = None

    def close(self) -> list[str]:
        """Completes the files. A single sitemap file is renamed to the path of the output. For several
        sitemap files, an index is written to the path of the output."""
        self._end_file()
        if len(self.files) == 1:
            os.replace(self.files[0], self._path)
            return [self._path]
        lines = [
            f"<sitemap><loc>{escape(self._base + os.path.basename(name))}</loc></sitemap>\n"
            for name in self.files
        ]
        text = (
            '<?xml version="1.0" encoding="UTF-8"?>\n<sitemapindex xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">\n'
            f"{''.join(lines)}</sitemapindex>\n"
        ).encode()
        Path(self._path).write_bytes(gzip.compress(text) if self._zip else text)
        return [self._path, *self.files]


_URLSET: Final = (
    b'<?xml version="1.0" encoding="UTF-8"?>\n<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9" '
    b'xmlns:image="http://www.google.com/schemas/sitemap-image/1.1" xmlns:xhtml="http://www.w3.org/1999/xhtml">\n'
)


def write_sitemaps(path: str, database: AuditDatabase, start: str) -> list[str]:
    """Writes a sitemap of the indexable pages with their images and their language versions. The dates in the
    new sitemap come from the site's own sitemap. Returns the path of the sitemap. If one file is not enough,
    returns the paths of an index and of its parts."""
    from gossamer.uses.audit.site_files import origin_of

    files = _SitemapFiles(path, f"{origin_of(start)}/")
    query = (
        "SELECT u.id, u.url, (SELECT max(lastmod) FROM sitemap_urls m WHERE m.id = u.id) FROM targets t "
        "JOIN urls u ON u.id = t.id LEFT JOIN depths d ON d.id = u.id WHERE t.indexable ORDER BY d.depth IS NULL, d.depth, u.url"
    )
    for one, url, lastmod in database.rows(query):
        images = database.rows(
            "SELECT DISTINCT u.url FROM links l JOIN urls u ON u.id = l.target WHERE l.source = ? AND l.kind = 'img' LIMIT ?",
            [one, MAX_IMAGES],
        )
        versions = database.rows("SELECT DISTINCT code, url FROM hreflangs WHERE page = ?", [one])
        files.add(sitemap_entry(url, lastmod or "", (image for (image,) in images), versions))
    if not files.files:
        raise UsageError(f"-o {path}: no page can be indexed, so the sitemap would be empty")
    return files.close()


def sitemap_entry(url: str, lastmod: str, images: Iterable[str], versions: Iterable[tuple[Any, ...]]) -> str:
    """Returns an entry of a sitemap.

    >>> sitemap_entry("https://example.com/?a&b", "2026-05-01T00:00:00+00:00", [], [])
    '<url><loc>https://example.com/?a&amp;b</loc><lastmod>2026-05-01T00:00:00+00:00</lastmod></url>\\n'
    """
    parts = [f"<loc>{escape(url.translate(_CONTROL))}</loc>"]
    if lastmod:
        parts.append(f"<lastmod>{escape(lastmod)}</lastmod>")
    parts += [
        f"<image:image><image:loc>{escape(one.translate(_CONTROL))}</image:loc></image:image>"
        for one in images
    ]
    parts += [
        f'<xhtml:link rel="alternate" hreflang={_attribute(code)} href={_attribute(address)}/>'
        for code, address in versions
    ]
    return f"<url>{''.join(parts)}</url>\n"
