"""What programs that write CSV files for spreadsheets use: `guarded_field` converts a value to a field that a
spreadsheet does not run as a formula, and `path_and_encoding` reads the parameter `bom` of an output."""

from gossamer.sinks.csv import guarded_field

__all__ = ["guarded_field", "path_and_encoding"]


def path_and_encoding(output: str) -> tuple[str, str]:
    """Splits the parameter `bom=yes` from the name of a CSV output. With the parameter, the file begins with a
    byte order mark, without which Excel reads UTF-8 as another encoding. Returns the path, and the name of the
    encoding for `open`.

    >>> path_and_encoding("all.csv?bom=yes"), path_and_encoding("all.csv")
    (('all.csv', 'utf-8-sig'), ('all.csv', 'utf-8'))
    """
    path, mark, given = output.rpartition("?")
    return (path, "utf-8-sig") if mark and given == "bom=yes" else (output, "utf-8")
