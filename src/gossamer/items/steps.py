"""The built-in item steps (`clean`, `validate`, `alike`, `deduplicate`), and the loop that runs the steps of
a site."""

from __future__ import annotations

import inspect
import sys
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import xxhash

from gossamer.config.redaction import mask
from gossamer.config.stdout_redirect import stdout_to_stderr
from gossamer.errors import ConfigError
from gossamer.items.pydantic_models import Fault
from gossamer.items.validation import Schema
from gossamer.model import minhash as sketch
from gossamer.model.item import exception_message, is_ctrl_c
from gossamer.model.minhash import Sketch

_encode = msgspec.json.Encoder(order="sorted", enc_hook=str).encode


class Fields(dict[str, Any]):
    """The fields of an item, in the form that steps receive.

    - `kind`: the kind of the item.
    - `schema`: the schema of its class. If `schema` is None, the item is an untyped dict.
    - `sketch`: the sketch by which the item is compared with others. Set by `alike`.
    - `once`: if True, the item is stored only if it is the first of a group of similar items. Set by `alike`.
    - `made`: the value that the page function yielded, if it was not a dict.
    """

    __slots__ = ("kind", "made", "once", "schema", "sketch")

    def __init__(
        self,
        fields: dict[str, Any],
        kind: str,
        schema: Schema | None = None,
        sketch: Sketch | None = None,
        once: bool = False,
        made: Any = None,
    ) -> None:
        super().__init__(fields)
        self.kind, self.schema, self.sketch, self.once, self.made = kind, schema, sketch, once, made


Step = Callable[[Fields, Any], Any]
"""The type of an item step, which is called as `step(item, page)`. A step changes the item and returns None,
or returns another dict. A step raises `Unwanted` to drop the item, and `Stop` to stop the crawl. If a step
raises any other exception, the item is rejected."""


class StepContext(NamedTuple):
    """The argument of `step.open(context)`."""

    crawl: str
    """The name of the crawl."""
    site: str
    """The name of the site."""
    folder: Path
    """The crawl's folder, which all processes of the crawl on one machine share."""
    args: Mapping[str, Any]
    """The arguments of the site (`-a name=value`)."""


class Unwanted(Exception):
    """Raised by a step to drop the item. The dropped item is counted under the reason that the exception
    contains, and is not written to the file of rejected items."""


class Stop(Exception):
    """Raised by a page function or a step to stop the crawl cleanly. The text of the exception is the reason.
    Everything that the page function has yielded so far is stored, including the item that the step was
    processing."""


class Bad(Exception):
    """Raised by `validate`. `faults` contains the errors in the item."""

    def __init__(self, faults: Sequence[Fault]) -> None:
        super().__init__("; ".join(f"{fault.field}: {fault.reason}" for fault in faults))
        self.faults = list(faults)


class StepOutcome(NamedTuple):
    """The result of all steps for one item. The item is stored unless `dropped` contains a reason or `faults`
    is not empty."""

    item: Fields
    dropped: str = ""
    faults: Sequence[Fault] = ()
    stop: str = ""
    """The reason that a step gave for stopping the crawl, or '' if no step stopped the crawl."""


def clean(item: Fields, page: Any = None) -> None:
    """Normalizes the texts of an item: removes leading and trailing whitespace, replaces whitespace inside a
    line by one space, keeps line ends, and converts to Unicode NFC. An empty text becomes None, except in
    fields whose default is an empty text.

    >>> item = Fields({"title": "  A \\t tale ", "tags": ["x ", ""]}, "book"); clean(item); dict(item)
    {'title': 'A tale', 'tags': ['x', None]}
    """
    for name, value in item.items():
        if type(value) is str:
            if _dirty(value):
                blank = "" if item.schema is not None and name in item.schema.blank else None
                item[name] = _cleaned(value) or blank
        elif type(value) is list and any(type(part) is str and _dirty(part) for part in value):
            item[name] = [_cleaned(part) if type(part) is str else part for part in value]


def _dirty(text: str) -> bool:
    """Returns whether a text may need cleaning. The check is fast, and also returns True for some texts that
    need no cleaning."""
    return (
        not text
        or text[0] <= " "
        or text[-1] <= " "
        or not text.isascii()
        or "  " in text
        or "\t" in text
        or "\n" in text
    )


def validate(item: Fields, page: Any = None) -> None:
    """Validates the fields against the schema of the item's class. If a site's steps do not contain
    `validate`, it runs automatically as the last step. Raises Bad."""
    if item.schema is not None and (
        faults := item.schema.faults(item, page.page.fetched_at if page else 0.0, item.made)
    ):
        raise Bad(faults)


class alike:  # noqa: N801 - lower case, like the names of the other steps
    """Assigns similar items to one group. Items of the same kind are compared across all pages, workers and
    runs of the crawl. The result is in the fields `_group_id`, `_copy` and `_likeness` (docs/records.md).

    - `fields`: the fields to compare, in this order. Default: all fields.
    - `near`: also groups nearly equal items. Nearly equal items are found only if their texts have about 25
      words or more.
    - `head`: a field that distinguishes similar items, for example the name. Items are nearly equal only if
      their values of the field `head` are also similar. Without `head`, only the words of all compared fields
      must be similar.
    - `drop`: stores only the first item of each group.
    """

    def __init__(self, *fields: str, near: bool = True, head: str = "", drop: bool = False) -> None:
        self._fields, self._near, self._head, self._drop = fields, near, head, drop

    def __call__(self, item: Fields, page: Any = None) -> None:
        """Sets the item's sketch. If none of the compared fields has a value, the item gets no sketch."""
        said = [item.get(name) for name in self._fields or item]
        if any(value not in (None, "", []) for value in said):
            text = " ".join(_words(value) for value in said) if self._near else ""
            same = xxhash.xxh3_64_digest(content_bytes(said))
            item.sketch = Sketch(
                same, sketch.make_sketch(text, _words(item.get(self._head))) if self._near else b""
            )
            item.once = self._drop


def _words(value: Any) -> str:
    """Returns the words in a value and its nested values, joined by spaces."""
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list | tuple):
        return " ".join(map(_words, value))
    return "" if value is None else str(value)


class Deduplicate:
    """Drops an item if another page of the crawl already yielded an equal one. This process remembers at
    least the last `most` items.

    The step `deduplicate` is useful for outputs to files and streams. A database that keeps one row per key
    does not need `deduplicate`.
    """

    def __init__(self, most: int = 100_000) -> None:
        self._most = most
        self._young: dict[int, int] = {}
        self._old: dict[int, int] = {}

    def begin(self) -> Deduplicate:
        """Returns a new instance for a crawl. The new instance has seen no items."""
        return Deduplicate(self._most)

    def __call__(self, item: Fields, page: Any = None) -> None:
        """Raises Unwanted for a duplicate. An item is not a duplicate if the page that first yielded it is
        visited again."""
        seen = xxhash.xxh3_64_intdigest(content_bytes([item.kind, item]))
        where = xxhash.xxh3_64_intdigest(page.url.encode() if page else b"")
        first = self._young.get(seen) or self._old.get(seen)
        if first is None:
            if len(self._young) >= self._most:
                self._young, self._old = {}, self._young
            self._young[seen] = where
        elif first != where:
            raise Unwanted("duplicate")


deduplicate = Deduplicate()


def prepare_steps(steps: Sequence[Step]) -> tuple[Step, ...]:
    """Returns the steps of a site for one crawl. A step that has state, such as `deduplicate`, is replaced by
    a new instance with an empty state. If `validate` is missing, it is appended."""
    made = [step() if inspect.isclass(step) else step for step in steps]
    begun = tuple(getattr(step, "begin", lambda step=step: step)() for step in made)
    return begun if validate in begun else (*begun, validate)


def open_steps(steps: Sequence[Step], context: StepContext) -> None:
    """Calls `open(context)` on each step that has this method. If a call fails, closes the steps that are
    already open and raises ConfigError."""
    opened: list[Step] = []
    for step in steps:
        try:
            with stdout_to_stderr:
                getattr(step, "open", bool)(*((context,) if hasattr(step, "open") else ()))
        except Exception as error:
            close_steps(opened, context.site)
            raise ConfigError(
                mask(
                    f"site {context.site}: step {name_of(step)}: open: {type(error).__name__}: "
                    f"{exception_message(error)}"
                )
            ) from error
        opened.append(step)


def close_steps(steps: Sequence[Step], site: str) -> None:
    """Calls `close()` on each step that has this method, in reverse order. Errors are printed."""
    for step in reversed(steps):
        try:
            with stdout_to_stderr:
                getattr(step, "close", bool)()
        except Exception as error:  # noqa: BLE001 - the user's code; the other steps are closed too
            line = f"site {site}: step {name_of(step)}: close: {type(error).__name__}: {exception_message(error)}"
            print(f"gossamer: {mask(line)}", file=sys.stderr)


def run_steps(steps: Sequence[Step], item: Fields, page: Any) -> StepOutcome:
    """Runs an item through the steps. An exception in a step is returned as the reason why the item is not
    stored. Only the KeyboardInterrupt of a real Ctrl-C is raised again."""
    for step in steps:
        try:
            with stdout_to_stderr:  # stdout is reserved for data
                made = step(item, page)
        except Unwanted as reason:
            return StepOutcome(item, exception_message(reason) or name_of(step))
        except Stop as reason:
            return StepOutcome(item, stop=exception_message(reason) or f"step {name_of(step)}")
        except Bad as bad:
            return StepOutcome(item, faults=bad.faults)
        except BaseException as error:
            if is_ctrl_c(error):
                raise
            return StepOutcome(
                item,
                faults=[
                    Fault(
                        None,
                        None,
                        f"step {name_of(step)}: {type(error).__name__}: {exception_message(error)}",
                    )
                ],
            )
        if made is not None and made is not item:
            if not isinstance(made, dict):
                getattr(made, "close", bool)()  # closes a coroutine, because async steps are not supported
                fault = Fault(
                    None,
                    None,
                    f"step {name_of(step)} returned {type(made).__name__}: return the item, or None",
                )
                return StepOutcome(item, faults=[fault])
            item = (
                made
                if isinstance(made, Fields)
                else Fields(made, item.kind, item.schema, item.sketch, item.once, item.made)
            )
    return StepOutcome(item)


def content_bytes(value: Any) -> bytes:
    """Returns bytes that are equal for equal values."""
    try:
        return _encode(value)
    except UnicodeEncodeError:  # the text contains a lone surrogate, which sinks replace
        return repr(sorted(value.items()) if isinstance(value, dict) else value).encode(
            "utf-8", "surrogatepass"
        )


def name_of(step: Step) -> str:
    """Returns a step's name for use in messages."""
    return str(getattr(step, "__name__", type(step).__name__.lower()))


def _cleaned(text: str) -> str | None:
    text = text if text.isascii() else unicodedata.normalize("NFC", text)
    return "\n".join(" ".join(line.split()) for line in text.strip().splitlines()) or None
