"""Builds items for the outputs. The items are built from the values that a page function yields. Each value
passes the schema of its item class and the site's steps. Finally, the key, the content hash and the
referenced files are added to the item."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import msgspec
import xxhash

from gossamer import url as urls
from gossamer.errors import ConfigError
from gossamer.items import item_times
from gossamer.items.assets import FILES, File, Named, marked_fields
from gossamer.items.pydantic_models import Fault
from gossamer.items.steps import (
    Fields,
    StepContext,
    alike,
    clean,
    close_steps,
    content_bytes,
    open_steps,
    prepare_steps,
    run_steps,
    validate,
)
from gossamer.items.validation import Schema, schema_of
from gossamer.model import item as items
from gossamer.model.minhash import Sketch
from gossamer.parsing.page_view import PageView
from gossamer.sites.loaded_site import LoadedSite
from gossamer.sites.page_functions import PageResult
from gossamer.url.scope import MAX_URL

MAX_SHOWN_CHARS = 1000
"""When an item is rejected, at most this many characters of each value are recorded."""


class BuiltItem(msgspec.Struct):
    """One item and the outcome of its processing. The item is not stored if `dropped` contains a reason, or
    if there are `faults`."""

    kind: str
    fields: dict[str, Any]
    key: str = ""
    content: str = ""
    """A hash of the item's fields (16 hex digits). The hash does not include the fields that the item's class
    ignores."""
    dropped: str = ""
    faults: Sequence[Fault] = ()
    names: Sequence[Named] = ()
    """The files and other items that this item refers to."""
    beyond: int = 0
    """The number of references of the item that were dropped. A reference is dropped if its field contains
    more references than permitted."""
    sketch: Sketch | None = None
    """The digest of the item's content, or None if the item is not compared with other items. If several
    items have the same content and `once` is true, only the first of these items is stored."""
    once: bool = False
    stop: str = ""
    """The reason why a step stops the crawl, or '' if no step does."""


class ItemBuilder:
    """Builds the items of one site in one crawl. The site's steps may keep state from one item to the next.
    `canonical` is a function that returns the canonical form of a file's URL."""

    def __init__(self, site: LoadedSite, canonical: Callable[[str], str] = urls.key) -> None:
        self.site, self._steps, self._canonical = site, prepare_steps(site.site.steps), canonical
        self._opened = False
        self._own = any(step not in (clean, validate) for step in self._steps)
        self._timed: dict[type, item_times.Places] = {}
        self._shapes: dict[type, tuple[str, Schema, str | None, tuple[str, ...]]] = {}

    def open(self, crawl: str, folder: Path) -> None:
        """Opens the site's steps for a crawl. `folder`: the crawl's folder. Raises ConfigError."""
        open_steps(self._steps, StepContext(crawl, self.site.name, folder, self.site.site.args))
        self._opened = True

    def close(self) -> None:
        """Closes the site's steps, if they were opened."""
        if self._opened:
            self._opened = False
            close_steps(self._steps, self.site.name)

    def make(self, parsed: PageResult, view: PageView) -> list[BuiltItem]:
        """Returns the items of a page. An error in an item becomes a fault of that item."""
        return [self._one(item, parsed.item, view) for item in parsed.items]

    def _one(self, item: Any, named: type | None, view: PageView) -> BuiltItem:
        loose = isinstance(item, dict)
        cls = named if loose else type(item)
        name, known, own, ignored = ("item", None, None, ()) if cls is None else self._shape(cls)
        try:
            fields = Fields(items.plain_fields(item), name, known, made=None if loose else item)
            if known is not None and loose:
                for field, default in known.defaults.items():
                    if field not in fields:
                        fields[field] = default()
        except BaseException as error:  # noqa: BLE001 - a value of the user's that cannot be written: TypeError and its kin
            return _unwritten(BuiltItem(name, {}), item, error)
        given = fields.pop("_key", None) if loose else None
        end = run_steps(self._steps, fields, view)
        made = BuiltItem(
            end.item.kind,
            end.item,
            dropped=end.dropped,
            faults=end.faults,
            sketch=end.item.sketch,
            once=end.item.once,
            stop=end.stop,
        )
        if made.dropped or made.faults:
            made.fields = items.printable_fields(made.fields)[0] if made.faults and self._own else made.fields
            return made
        try:
            made.fields = _named_by_texts(items.plain_fields(made.fields)) if self._own else made.fields
            if cls is not None and marked_fields(cls):
                made.names, made.beyond = self._named(cls, made.fields, view)
            said = {f: v for f, v in made.fields.items() if f not in ignored} if ignored else made.fields
            made.content = xxhash.xxh3_64_hexdigest(content_bytes(said))
            if places := item_times.naive_times(item) if cls is None else self._moments(cls):
                made.fields = item_times.with_zone(dict(made.fields), places)
        except BaseException as error:  # noqa: BLE001 - what a step put there
            return _unwritten(made, made.fields, error)
        key = given if given is not None else made.fields.get(own) if own else None
        made.key = "" if key is None else str(key)
        # an empty key would merge many items into one
        made.key = made.key if made.key.strip() else made.content
        return made

    def _named(self, cls: type, fields: dict[str, Any], view: PageView) -> tuple[list[Named], int]:
        """Returns the references of an item, and the number of references that exceed the limits of their
        fields. The item's class defines which fields contain references. Replaces the URLs of files in
        `fields` with their absolute canonical forms."""
        found, beyond = list[Named](), 0
        for field, mark in marked_fields(cls):
            value = fields.get(field)
            several = isinstance(value, list | tuple)
            given = [one for one in (value if several else (value,)) if one is not None]  # type: ignore[union-attr] # several
            if isinstance(mark, File):
                made = [self._file(field, at, mark, str(one), view) for at, one in enumerate(given)]
                given = [one.key for one in made]
                fields[field] = given if several else given[0] if given else None
            else:
                made = [Named(field, at, mark.kind, str(one)) for at, one in enumerate(given)]
            found += made[: mark.most]
            beyond += max(0, len(made) - mark.most)
        return found, beyond

    def _file(self, field: str, position: int, mark: File, text: str, view: PageView) -> Named:
        url = (view.document.base.resolve(text.strip()) or "").partition("#")[0]
        web = url.startswith(("http://", "https://"))
        rule = msgspec.structs.replace(mark.rule, site=self.site.name)
        return Named(
            field, position, FILES, self._canonical(url) if web else text[:MAX_URL], url if web else "", rule
        )

    def _moments(self, cls: type) -> item_times.Places:
        """Maps each field that contains datetimes to the positions of the datetimes in the field
        (`item_times.time_fields`)."""
        found = self._timed.get(cls)
        if found is None:
            found = self._timed[cls] = item_times.time_fields(cls)
        return found

    def _shape(self, cls: type) -> tuple[str, Schema, str | None, tuple[str, ...]]:
        found = self._shapes.get(cls)
        if found is None:
            self.site.classes[cls.__name__.lower()] = cls
            own, ignored = getattr(cls, "item_key", None), getattr(cls, "item_ignore", ())
            found = self._shapes[cls] = (cls.__name__.lower(), schema_of(cls), own, tuple(ignored))
        return found


def reject(made: BuiltItem, reason: str) -> None:
    """Rejects a whole item."""
    made.faults = [Fault(None, None, reason)]


def _unwritten(made: BuiltItem, item: Any, error: BaseException) -> BuiltItem:
    """Returns a rejected item for an item that cannot be serialized. The rejected item contains only the
    fields that can be serialized."""
    if items.is_ctrl_c(error):
        raise error
    try:
        made.fields, wrong = items.printable_fields(item)
    except BaseException as own:
        if items.is_ctrl_c(own):
            raise
        wrong = {}
    made.faults = [
        Fault(name, made.fields[name], f"it cannot be written: {why}") for name, why in wrong.items()
    ] or [Fault(None, None, f"it cannot be written: {items.exception_message(error)}")]
    return made


def _named_by_texts(fields: dict[Any, Any]) -> dict[str, Any]:
    """Returns the fields unchanged. Raises TypeError if the name of a field is not a string."""
    if odd := [name for name in fields if not isinstance(name, str)]:
        raise TypeError(
            f"the field names of an item must be texts, and {items.display_value(odd[0])!r} is not"
        )
    return fields


class ItemBuilders:
    """The item builders of a crawl, one per site."""

    def __init__(self, sites: Sequence[LoadedSite], canonical: Callable[[str], str]) -> None:
        self._known = {id(site): ItemBuilder(site, canonical) for site in sites}

    def of(self, site: LoadedSite) -> ItemBuilder:
        """Returns the builder of a site."""
        return self._known[id(site)]

    def open(self, crawl: str, folder: Path) -> None:
        """Opens the steps of all sites. Raises ConfigError."""
        try:
            for builder in self._known.values():
                builder.open(crawl, folder)
        except ConfigError:
            self.close()
            raise

    def close(self) -> None:
        """Closes the steps of all sites."""
        for builder in self._known.values():
            builder.close()


def has_comparing_step(sites: Sequence[LoadedSite]) -> bool:
    """Returns whether at least one site has a step that groups similar items (`steps.alike`)."""
    return any(isinstance(step, alike) for site in sites for step in site.site.steps)


def rejected_record(made: BuiltItem) -> dict[str, Any]:
    """Returns the record of a rejected item. The record contains `field`, `value` and `reason` of the item's
    first fault, the other faults in `also`, and the item's fields in `item`."""
    first, *others = made.faults
    found = {**_told(first), "item": made.fields}
    return {**found, "also": [_told(fault) for fault in others]} if others else found


def _told(fault: Fault) -> dict[str, Any]:
    value = items.display_value(fault.value)
    if isinstance(value, str) and len(value) > MAX_SHOWN_CHARS:
        value = value[:MAX_SHOWN_CHARS] + "..."
    return {"field": fault.field, "value": value, "reason": fault.reason[:MAX_SHOWN_CHARS]}
