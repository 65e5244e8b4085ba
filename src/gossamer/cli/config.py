"""The commands `gossamer config show`, `gossamer config schema` and `gossamer version`."""

from __future__ import annotations

from typing import Annotated

from gossamer.cli.options import Data, Json, Option, Setting, StoreUrl, read_settings

Folder = Annotated[str, Option("--folder", metavar="DIR", help="Folder of gossamer.toml (default: here).")]


def show(
    folder: Folder = ".",
    data: Data = None,
    store: StoreUrl = None,
    setting: Setting = None,
    as_json: Json = False,
) -> int:
    """The settings in force, with secrets masked."""
    from gossamer.cli.printing import put_json, put_table
    from gossamer.config.settings import plain_settings

    values = plain_settings(read_settings(data, store, setting, folder=folder))
    if as_json:
        put_json(values)
    else:
        put_table((), [(name, format_setting(value)) for name, value in values.items()])
    return 0


def format_setting(value: object) -> str:
    """Formats the value of a setting for a table. None and an empty list are shown as a dash."""
    if isinstance(value, list | tuple):
        return ", ".join(map(format_setting, value)) or "-"
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value).lower() if isinstance(value, bool) else "-" if value is None else str(value)


def schema() -> int:
    """The JSON Schema of gossamer.toml."""
    import json

    from gossamer.config.settings import schema as made

    print(json.dumps(made(), indent=2))
    return 0


def version(as_json: Json = False) -> int:
    """The version."""
    from gossamer import __version__

    print(f'{{"version": "{__version__}"}}' if as_json else f"gossamer {__version__}")
    return 0
