"""Converts records to pandas and polars DataFrames. Each library is imported only when it is used."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gossamer.config.optional_deps import install_command
from gossamer.errors import ConfigError
from gossamer.model.summary import Summary

if TYPE_CHECKING:
    import pandas
    import polars

    from gossamer.app.found_problems import Problem


def to_pandas(rows: Iterable[Mapping[str, Any]]) -> pandas.DataFrame:
    """Returns a pandas DataFrame with one row per record. Raises ConfigError if pandas is not installed."""
    try:
        import pandas
    except ImportError as missing:
        raise ConfigError(f"to_pandas() needs pandas: {install_command('pandas')}") from missing
    return pandas.DataFrame([dict(row) for row in rows])


def to_polars(rows: Iterable[Mapping[str, Any]]) -> polars.DataFrame:
    """Returns a polars DataFrame with one row per record. Raises ConfigError if polars is not installed."""
    try:
        import polars
    except ImportError as missing:
        raise ConfigError(f"to_polars() needs polars: {install_command('polars')}") from missing
    return polars.DataFrame([dict(row) for row in rows], infer_schema_length=None, strict=False)


class RunResult(Summary, dict=True):
    """The summary of a run. The methods return the rows that the crawl found in this run and in earlier
    runs."""

    @property
    def problems(self) -> list[Problem]:
        """What went wrong in this run: pages that the site could not read, rejected items, and lines that are
        not seeds."""
        found: list[Problem] = vars(self)["problems"]
        return found

    def rows(self) -> list[dict[str, Any]]:
        """Returns the latest version of each item of the crawl. If the crawl has no items, returns the page
        records. Raises ConfigError if the crawl stored no rows in its folder, for example because of
        `keep="off"` or a shared store."""
        from gossamer.app.query.sources import kept_rows
        from gossamer.sinks.rows_in_data_folder import NAME

        folder = Path(vars(self)["folder"])
        if not (folder / NAME).exists():
            raise ConfigError(
                f"{folder} has no rows: they are kept with the embedded store, unless keep= is off"
            )
        items, pages = {}, {}
        for row in kept_rows(folder):
            if "_key" in row:
                items[row.get("_kind"), row["_key"]] = row
            else:
                pages[row["url"]] = row
        return list((items or pages).values())

    def to_pandas(self) -> pandas.DataFrame:
        """Returns the rows of the crawl as a pandas DataFrame. Raises ConfigError if pandas is not
        installed."""
        return to_pandas(self.rows())

    def to_polars(self) -> polars.DataFrame:
        """Returns the rows of the crawl as a polars DataFrame. Raises ConfigError if polars is not
        installed."""
        return to_polars(self.rows())


def result_of(summary: Summary, folder: Path, problems: list[Problem]) -> RunResult:
    """Builds a `RunResult` from the summary of a run. `folder`: the crawl's folder, which contains the
    rows."""
    result = RunResult(**{name: getattr(summary, name) for name in summary.__struct_fields__})
    vars(result).update(folder=folder, problems=problems)
    return result
