"""The steps that are shipped, and the loop that runs those of a site."""

from __future__ import annotations

import sys
import unicodedata
from collections.abc import Callable, Sequence
from contextlib import redirect_stdout
from typing import Any, NamedTuple

import msgspec
import xxhash

from gossamer.items.pydantic_models import Fault
from gossamer.items.schema import Schema
from gossamer.model import minhash as sketch
from gossamer.model.item import pressed, said
from gossamer.model.minhash import Sketch

_encode = msgspec.json.Encoder(order="sorted", enc_hook=str).encode


class Fields(dict[str, Any]):
    """An item as steps see it: its own fields by name, `kind`, the `schema` of its class (None: an untyped
    dict), and by what it is compared with others (`alike`): `sketch`, `once`. `made`: what the page function
    yielded, where that was no dict."""

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
"""`step(item, page)`: changes the item, or returns another dict; None: it stays. Raises Unwanted to drop it,
another exception to keep it aside."""


class Unwanted(Exception):
    """Raised by a step: the item is dropped, counted with this reason, and not kept aside."""


class Bad(Exception):
    """Raised by `validate`: what is wrong with the item."""

    def __init__(self, faults: Sequence[Fault]) -> None:
        super().__init__("; ".join(f"{fault.field}: {fault.reason}" for fault in faults))
        self.faults = list(faults)


class StepOutcome(NamedTuple):
    """What became of an item: `dropped` (the reason) or `faults` say that it is not to be stored."""

    item: Fields
    dropped: str = ""
    faults: Sequence[Fault] = ()


def clean(item: Fields, page: Any = None) -> None:
    """Texts without blanks around them and with single ones inside (line ends stay), in Unicode's composed
    form; an empty text is None, but where the default of its field is one.

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
    """Whether there may be something to clean: told without looking at each word."""
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
    """The fields are what the item's class says (`schema`). Runs last where a site's steps do not name it.
    Raises Bad."""
    if item.schema is not None and (
        faults := item.schema.faults(item, page.page.fetched_at if page else 0.0, item.made)
    ):
        raise Bad(faults)


class alike:  # noqa: N801 - a step, named as the others
    """Marks an item with the group of those of its kind that say the same, of all pages, workers and runs of
    the crawl: fields `_group_id`, `_copy`, `_likeness` (docs/records.md).

    `fields`: what it says, in this order; without them all of its fields. `near`: also what says nearly the
    same, which takes some 25 words; `head`: a field in which things that are not the same have other words (a
    name), else such are told apart by all of their words alone. `drop`: only the first of a group is kept.
    """

    def __init__(self, *fields: str, near: bool = True, head: str = "", drop: bool = False) -> None:
        self._fields, self._near, self._head, self._drop = fields, near, head, drop

    def __call__(self, item: Fields, page: Any = None) -> None:
        """Sketch it; one without any of the fields is left alone."""
        said = [item.get(name) for name in self._fields or item]
        if any(value not in (None, "", []) for value in said):
            text = " ".join(_words(value) for value in said) if self._near else ""
            same = xxhash.xxh3_64_digest(content(said))
            item.sketch = Sketch(same, sketch.near(text, _words(item.get(self._head))) if self._near else b"")
            item.once = self._drop


def _words(value: Any) -> str:
    """What is in a value, for who compares words."""
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list | tuple):
        return " ".join(map(_words, value))
    return "" if value is None else str(value)


class Deduplicate:
    """Drops an item that another page of the crawl gave before, as far as this process remembers (`most`
    items or more).

    Stores that hold one row a key need no such step; files and streams do.
    """

    def __init__(self, most: int = 100_000) -> None:
        self._most = most
        self._young: dict[int, int] = {}
        self._old: dict[int, int] = {}

    def begin(self) -> Deduplicate:
        """One for a crawl: it begins with nothing."""
        return Deduplicate(self._most)

    def __call__(self, item: Fields, page: Any = None) -> None:
        """Raises Unwanted for a duplicate. The page that gave it first gives it again when it is visited
        again."""
        seen = xxhash.xxh3_64_intdigest(content([item.kind, item]))
        where = xxhash.xxh3_64_intdigest(page.url.encode() if page else b"")
        first = self._young.get(seen) or self._old.get(seen)
        if first is None:
            if len(self._young) >= self._most:
                self._young, self._old = {}, self._young
            self._young[seen] = where
        elif first != where:
            raise Unwanted("duplicate")


deduplicate = Deduplicate()


def ready(steps: Sequence[Step]) -> tuple[Step, ...]:
    """The steps of a site as one crawl runs them: those that remember begin anew, `validate` is among them."""
    begun = tuple(getattr(step, "begin", lambda step=step: step)() for step in steps)
    return begun if validate in begun else (*begun, validate)


def through(steps: Sequence[Step], item: Fields, page: Any) -> StepOutcome:
    """Run an item through the steps. Never raises: what a step raises is why the item is not stored."""
    for step in steps:
        try:
            with redirect_stdout(sys.stderr):  # stdout is for data
                made = step(item, page)
        except Unwanted as reason:
            return StepOutcome(item, said(reason) or name_of(step))
        except Bad as bad:
            return StepOutcome(item, faults=bad.faults)
        except BaseException as error:
            if pressed(error):
                raise
            return StepOutcome(
                item,
                faults=[Fault(None, None, f"step {name_of(step)}: {type(error).__name__}: {said(error)}")],
            )
        if made is not None and made is not item:
            if not isinstance(made, dict):
                getattr(made, "close", bool)()  # a coroutine is not waited for
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


def content(value: Any) -> bytes:
    """What tells values apart."""
    try:
        return _encode(value)
    except UnicodeEncodeError:  # half a surrogate pair: sinks replace it
        return repr(sorted(value.items()) if isinstance(value, dict) else value).encode(
            "utf-8", "surrogatepass"
        )


def name_of(step: Step) -> str:
    """A step's name for people."""
    return str(getattr(step, "__name__", type(step).__name__.lower()))


def _cleaned(text: str) -> str | None:
    text = text if text.isascii() else unicodedata.normalize("NFC", text)
    return "\n".join(" ".join(line.split()) for line in text.strip().splitlines()) or None
