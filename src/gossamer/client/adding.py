"""Adds URLs to an existing crawl for the Python API."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypedDict

from gossamer.client.options import Path, Texts, Time, read_given_settings
from gossamer.client.targets import Target, read_targets
from gossamer.errors import UsageError
from gossamer.sites.script_targets import script_targets

if TYPE_CHECKING:
    from gossamer.app.url_adding import Added


class AddUrlOptions(TypedDict, total=False):
    """The options of `add`. Each option has the same name as an option of the command `gossamer add`."""

    priority: int | None
    id: str | None
    use: str | None
    carry: Any
    key: str | None
    again: bool
    if_older: Time | None
    as_seeds: bool
    store: str | None
    data: Path
    setting: Mapping[str, Any] | Texts


_OF_SETTINGS = ("store", "data", "setting")


async def add_to_crawl(crawl: str, targets: Sequence[Target], options: dict[str, Any]) -> Added:
    """Adds the URLs of targets to a crawl. Raises GossamerError."""
    from gossamer.app.open_store import open_existing_store
    from gossamer.app.url_adding import AddOptions, add_urls, added_targets, check_options
    from gossamer.config.value_parsers import span

    given = {name: value for name, value in options.items() if value is not None}
    settings = read_given_settings({name: given.pop(name) for name in _OF_SETTINGS if name in given})
    if "if_older" in given:
        try:
            given["if_older"] = span(given["if_older"])
        except ValueError as error:
            raise UsageError(f"if_older={given['if_older']!r}: it {error}") from None
    wanted = AddOptions(**given)
    names, made = read_targets(targets)
    if made.sites:
        raise UsageError("a Site needs its own crawl: add takes only URLs and lists of URLs")
    with script_targets(made):
        read = added_targets(names)
        check_options(wanted, read)
        async with open_existing_store(settings) as store:
            return await add_urls(store, settings, crawl, read, wanted)
