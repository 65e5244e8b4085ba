"""MongoDB and databases that speak its protocol: one collection per kind, in which `_id` is the item's key.
Needs the extra `mongodb`.

Rows become BSON documents. Fields that other programs added to a document stay. A write counts as done when a
majority of the replicas has the write in its journal. There are no transactions. Instead, the history is
written before the row. A batch can safely be written twice, because the second write changes nothing.
`?collection=NAME` sets the name of the collection. In the name of the collection, `{kind}` stands for the
kind.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, date, datetime, time
from decimal import Decimal, DecimalException
from typing import Any
from urllib.parse import urlsplit

import msgspec

from gossamer.config.optional_deps import install_command
from gossamer.errors import ConfigError, SinkAway, SinkError
from gossamer.model.visit import Row
from gossamer.sinks.attempts import RECORDS
from gossamer.sinks.columns import EXTRA, OURS, Column, Columns, cell_value
from gossamer.sinks.field_types import FieldType, parse_time, to_python
from gossamer.sinks.history import (
    COLUMNS,
    HISTORY,
    SIGHTINGS,
    STORED,
    ItemState,
    Name,
    PastState,
    stored_columns,
)
from gossamer.sinks.jsonl import text
from gossamer.sinks.refused_rows import Refuse
from gossamer.sinks.row_fitting import Misfit
from gossamer.sinks.sink_url import SinkUrl, table_name
from gossamer.sinks.upsert_sink import BatchRefused, HistoryUpserts, Written, state_of, storable_text

_WIDE = 2**63


def extra_projection(whole: Collection[Mapping[str, Any]]) -> dict[str, int]:
    """Returns the MongoDB projection for reading the stored documents. Fields that all new documents
    (`whole`) contain are not read, because they are overwritten anyway."""
    common = set.intersection(*(set(one) for one in whole)) - {"_id"}
    return {field: 0 for field in common if not _odd(field)}


def write_operation(one: Mapping[str, Any], there: Mapping[str, Any] | None, ours: Collection[str]) -> Any:
    """Returns the pymongo operation that writes a document.

    `one` is the new document. `there` is the stored document as read with `extra_projection`, or None if no
    document is stored. Stored fields in `ours` that the new document lacks are removed. Other stored fields
    belong to other programs and stay.
    """
    import pymongo

    if there is None:
        return pymongo.InsertOne(one)
    key = {"_id": one["_id"]}
    gone = [field for field in there if field in ours and field not in one]
    if any(map(_odd, (*one, *gone))):  # an update cannot address such a field
        return pymongo.ReplaceOne(
            key, {**{f: v for f, v in there.items() if f not in gone}, **one}, upsert=True
        )
    update: dict[str, Any] = {"$set": {field: value for field, value in one.items() if field != "_id"}}
    if gone:
        update["$unset"] = dict.fromkeys(gone, "")
    return pymongo.UpdateOne(key, update, upsert=True)


def _odd(field: str) -> bool:
    return not field or field[0] == "$" or "." in field


class UnrepresentableValue(ValueError):
    """Raised for a value that BSON cannot represent without loss."""


def to_document(
    number: Callable[[Decimal], Any],
    row: Row,
    state: ItemState | None,
    careful: bool = False,
    *,
    shapes: Mapping[str, FieldType],
    unfit: list[str] | None = None,
) -> dict[str, Any]:
    """Converts a row to a document.

    `shapes`: the types of the fields, which become BSON types. If BSON cannot represent a value, the field
    becomes null, the value's JSON text is stored in `_extra`, and a message about the value is added to
    `unfit`. `careful`: removes NUL and unpaired surrogates from text.
    """
    data = row.data if isinstance(row.data, dict) else msgspec.to_builtins(row.data)
    whole = data if state is None else {**data, **stored_columns(row, state)}
    if "_id" in whole:  # `_id` contains the key
        whole = {**whole, EXTRA: {"_id": whole["_id"]}}
    found: dict[str, Any] = {"_id": storable_text(row.key)}
    beside: dict[str, Any] = {}
    for field, value in whole.items():
        if field == "_id":
            continue
        name = str(_value(field, careful, number))
        try:
            found[name] = _typed(shapes.get(field), value, careful, number)
        except UnrepresentableValue as error:
            found[name], beside[name] = None, text(value)
            if unfit is not None:
                unfit.append(f"{field}: {error}; the document has it in {EXTRA}")
    if beside:
        own = found.get(EXTRA)
        found[EXTRA] = {**(own if isinstance(own, dict) else {}), **beside}
    return found


def shapes_of(columns: Iterable[Column]) -> dict[str, FieldType]:
    """Returns a dict that maps each field of a kind to the type of the field."""
    strings = FieldType("list", (("item", FieldType("str")),))
    return {
        one.name: one.shape or (strings if one.type == "strings" else FieldType(one.type))
        for one in columns
        if one.type not in ("json", "any") or one.shape is not None
    }


def _typed(shape: FieldType | None, value: Any, careful: bool, number: Callable[[Decimal], Any]) -> Any:
    """Converts a value to BSON. `shape` is the declared type of the value. If a value does not match its
    declared type, the value is converted as if no type were declared. Raises UnrepresentableValue."""
    if value is None or value is msgspec.UNSET:
        return None
    part = shape.parts[0][1] if shape is not None and shape.parts else None
    if isinstance(value, Mapping):
        parts = dict(shape.parts) if shape is not None and shape.kind == "struct" else {}
        return {
            str(_value(str(field), careful, number)): _typed(
                parts.get(str(field), None if parts else part), one, careful, number
            )
            for field, one in value.items()
        }
    if isinstance(value, list | tuple | set | frozenset):
        return [_typed(part, one, careful, number) for one in value]
    if shape is not None and shape.kind in _SCALARS:
        try:
            value = (
                to_python(shape._replace(digits=(0, 0)), value) if shape.kind != "decimal" else _number(value)
            )
        except ValueError:
            pass
        else:
            if type(value) is date:
                return datetime.combine(value, time(), UTC)
    if isinstance(value, datetime):
        if value.microsecond % 1000:
            raise UnrepresentableValue(
                f"{value.isoformat()} has microseconds, but a BSON date has only milliseconds"
            )
        return parse_time(value)
    if isinstance(value, bytes):
        return value
    if isinstance(value, int) and not -_WIDE <= value < _WIDE:
        raise UnrepresentableValue(f"an integer of more than 64 bits: {str(value)[:40]}")
    return _value(value, careful, number)


def _number(value: Any) -> Decimal:
    """Converts a value of a decimal field to a Decimal. Raises ValueError if the value is not a number."""
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal):
        raise ValueError("not a number")
    return Decimal(str(value))


_SCALARS = ("time", "date", "bytes", "decimal")


def _value(value: Any, careful: bool, number: Callable[[Decimal], Any]) -> Any:
    """Converts a value to BSON. A value of a type that BSON lacks becomes text."""
    if type(value) is str:
        return storable_text(value) if careful else value
    if value is None or type(value) is bool or (type(value) is int and -_WIDE <= value < _WIDE):
        return value
    if type(value) is float:
        return value if math.isfinite(value) else None
    if isinstance(value, Decimal):
        return number(value) if value.is_finite() else None
    if isinstance(value, Mapping):
        return {
            str(_value(str(field), careful, number)): _value(part, careful, number)
            for field, part in value.items()
        }
    if isinstance(value, list | tuple | set | frozenset):
        return [_value(part, careful, number) for part in value]
    return _value(str(cell_value(value)), careful, number)


def to_decimal128(value: Decimal) -> Any:
    """Converts a number to a Decimal128. Raises UnrepresentableValue if digits would be lost."""
    from bson import Decimal128

    try:
        return Decimal128(value)
    except DecimalException:
        raise UnrepresentableValue(f"more than the 34 digits of a Decimal128: {str(value)[:60]}") from None


def as_float(value: Decimal) -> float:
    """Converts a number to a float, for a server without decimals. Raises UnrepresentableValue if no float
    represents the number exactly."""
    if Decimal(repr(number := float(value))) != value:
        raise UnrepresentableValue(f"this server has no decimals, and a float cannot hold {str(value)[:60]}")
    return number


_STATES = ("_hash", "_first_seen_at", "_seen_at", "_changed_at", "_deleted_at", "_url")
_HOPELESS = (13, 18, 8000)
"""MongoDB's error codes for Unauthorized and AuthenticationFailed, and Atlas's code for both."""
_NAMES = 73
"""MongoDB's error code for InvalidNamespace."""
_INTERNAL = 1
"""MongoDB's error code for InternalError. InternalError means either that the server has a problem, or that
the server cannot store a row. FerretDB, for example, reports InternalError for a field whose name contains a
quote."""
_UNFIT = (2, 9, 14, 52, 56, 57, 17280, 10334, 17419, 121, 11000)
"""The error codes with which MongoDB refuses a row. MongoDB refuses a row for one of these reasons: BadValue,
FailedToParse, TypeMismatch, a field name that an update cannot use, a key that is too long, a document that
is too large, a failed validator, or a violation of another unique index."""
_THERE = 11000
"""MongoDB's error code for DuplicateKey."""
_MAX_NOTED_COLUMNS = 20_000
"""The maximum number of entries of COLUMNS that are cached in memory per collection of rows. The cache needs
a limit because untyped dicts may have any number of different fields."""


def mongodb(place: SinkUrl, columns: Columns, refuse: Refuse, *, overwrite: bool = False) -> HistoryUpserts:
    """Returns the TableSink for a `mongodb://` URL. Raises ConfigError if the driver is not installed."""
    try:
        import pymongo  # noqa: F401
    except ImportError:
        raise ConfigError(f"-o {place.where} needs a driver: {install_command('mongodb')}") from None
    return HistoryUpserts(Mongo(place, columns, overwrite=overwrite), columns, refuse)


class Mongo:
    """The Driver for MongoDB. pymongo manages the connections."""

    def __init__(self, place: SinkUrl, columns: Columns, *, overwrite: bool = False) -> None:
        self.where, self._place, self._columns, self._overwrite = place.where, place, columns, overwrite
        self._client: Any = None
        self._base: Any = None
        self._made: set[str] = set()
        self._noted: dict[str, set[str]] = {}
        """Maps each collection to the `_id` values of those entries in COLUMNS that this process has read or
        written."""
        self._number: Callable[[Decimal], Any] = to_decimal128
        """Converts decimals."""
        self._shapes: dict[str, Mapping[str, FieldType]] = {}
        """The types of each kind's fields."""
        self.misfits: list[Misfit] = []

    def prepare(self, kinds: Sequence[str]) -> None:
        """See `upsert_sink.Driver`. If `overwrite` is set, first drops the collections of these kinds and
        deletes their history."""
        with self.begin():
            for kind in kinds:
                if self._overwrite:
                    self._base.drop_collection(self._name(kind))
                    self._base[HISTORY].delete_many({"_kind": kind})
                    self._base[COLUMNS].delete_many(
                        {"_id": {"$gte": f"{self._name(kind)} ", "$lt": f"{self._name(kind)}!"}}
                    )
                self._collection(kind)

    @contextlib.contextmanager
    def begin(self) -> Iterator[None]:
        """Connects if necessary, and converts the errors of pymongo. There is no transaction."""
        import pymongo
        from bson.errors import BSONError
        from pymongo import errors

        try:
            if self._client is None:
                self._client = pymongo.MongoClient(
                    self._place.url,
                    w="majority",
                    journal=True,
                    serverSelectionTimeoutMS=5000,
                    connectTimeoutMS=10_000,
                    socketTimeoutMS=60_000,
                    appname="gossamer",
                    retryWrites=False,
                )
                self._base = self._client[urlsplit(self._place.url).path.strip("/")]
                about = self._base.client.admin.command("buildInfo")
                # FerretDB 1 crashes on decimals.
                if str(about.get("ferretdbVersion", "")).startswith("v1."):
                    self._number = as_float
            yield
        except (errors.ConfigurationError, errors.InvalidName) as error:
            raise SinkError(f"{self.where}: {error}") from error
        except errors.BulkWriteError as error:
            worst = (error.details.get("writeErrors") or error.details.get("writeConcernErrors") or [{}])[0]
            raise self._failure(int(worst.get("code", 0)), str(worst.get("errmsg", error))) from error
        except errors.OperationFailure as error:
            raise self._failure(error.code or 0, str(error)) from error
        except (
            BSONError,
            errors.InvalidOperation,
            errors.DocumentTooLarge,
            OverflowError,
            UnicodeError,
            DecimalException,
        ) as error:
            raise BatchRefused(str(error)[:300]) from error
        except errors.PyMongoError as error:
            raise SinkAway(f"{self.where} does not accept rows: {_line(error)}") from error

    def known(self, kind: str, keys: Sequence[str]) -> Mapping[Name, ItemState]:
        """See `upsert_sink.Driver`."""
        names = {storable_text(key): key for key in keys}
        found = self._collection(kind).find({"_id": {"$in": [*names]}}, dict.fromkeys(_STATES, 1))
        return {
            (kind, names[one["_id"]]): state_of(*(_text(one.get(part)) for part in _STATES)) for one in found
        }

    def past(self, kind: str, past: Sequence[PastState]) -> None:
        """See `upsert_sink.Driver`."""
        import pymongo

        rows = self._collection(kind)
        write = []
        for one in past:
            key = storable_text(one.name[1])
            was = rows.find_one({"_id": key}) if one.row is None else self._document(one.row, one.state)
            named = {"_kind": kind, "_key": key, "_from": one.state.seen_at}
            times = {"_from": parse_time(one.state.seen_at), "_until": parse_time(one.until)}
            told = {**named, **times, "_hash": one.state.hash, "_data": was}
            write.append(pymongo.UpdateOne({"_id": named}, {"$setOnInsert": told}, upsert=True))
        self._base[HISTORY].bulk_write(write, ordered=False)

    def put(self, kind: str, rows: Sequence[Written], careful: bool) -> None:
        """See `upsert_sink.Driver`. Fields that other programs put into a document stay."""
        collection = self._collection(kind)
        whole = []
        for row, state in rows:
            unfit: list[str] = []
            whole.append(self._document(row, state, careful, unfit))
            if unfit:
                self.misfits.append((row, "; ".join(unfit)))
        self._note(kind, {field for one in whole for field in one})
        ids = [one["_id"] for one in whole]
        there = {one["_id"]: one for one in collection.find({"_id": {"$in": ids}}, extra_projection(whole))}
        ours = self._ours(kind, {field for one in there.values() for field in one} - {"_id"})
        collection.bulk_write(
            [write_operation(one, there.get(one["_id"]), ours) for one in whole], ordered=False
        )

    def sighted(self, kind: str, runs: Sequence[tuple[str, str]]) -> None:
        """See `upsert_sink.HistoryDriver`."""
        import pymongo

        self._base[SIGHTINGS].bulk_write(
            [
                pymongo.ReplaceOne(
                    {"_id": {"_kind": kind, "_key": storable_text(key)}}, {"_run": run}, upsert=True
                )
                for key, run in runs
            ],
            ordered=False,
        )

    def gone(self, pages: Sequence[tuple[str, str]]) -> None:
        """See `upsert_sink.HistoryDriver`."""
        for kind in self._items():
            for url, at in pages:
                self._collection(kind).update_many(
                    {
                        "_url": storable_text(url),
                        "_deleted_at": None,
                        "_seen_at": {"$lte": parse_time(at)},
                    },
                    {"$set": {"_deleted_at": parse_time(at)}},
                )

    def missing(self, site: str, run: str, at: str) -> tuple[int, int]:
        """See `upsert_sink.HistoryDriver`."""
        left = stored = 0
        for kind in self._items():
            for there, unmet in self._unmet(kind, site, run, at):
                stored, left = stored + there, left + len(unmet)
        return left, stored

    def deleted(self, sites: Sequence[str], since: str) -> int:
        """See `upsert_sink.HistoryDriver`."""
        return sum(
            self._collection(kind).count_documents(
                {"_site": {"$in": list(sites)}, "_deleted_at": {"$gte": parse_time(since)}}
            )
            for kind in self._items()
        )

    def unseen(self, site: str, run: str, at: str) -> int:
        """See `upsert_sink.HistoryDriver`."""
        total = 0
        for kind in self._items():
            for _, unmet in self._unmet(kind, site, run, at):
                gone = {"$set": {"_deleted_at": parse_time(at)}}
                total += self._collection(kind).update_many({"_id": {"$in": unmet}}, gone).modified_count
        return total

    def _unmet(self, kind: str, site: str, run: str, at: str) -> Iterator[tuple[int, list[Any]]]:
        """Reads the stored items of a site in chunks of at most 500. For each chunk, yields the number of
        items that are not marked as deleted, and the IDs of the items that the run did not see."""
        stored = [
            one["_id"]
            for one in self._collection(kind).find(
                {"_site": site, "_deleted_at": None, "_seen_at": {"$lte": parse_time(at)}}, {"_id": 1}
            )
        ]
        for first in range(0, len(stored), 500):
            some = [{"_kind": kind, "_key": key} for key in stored[first : first + 500]]
            met = {
                one["_id"]["_key"] for one in self._base[SIGHTINGS].find({"_id": {"$in": some}, "_run": run})
            }
            yield len(some), [one["_key"] for one in some if one["_key"] not in met]

    def drop(self) -> None:
        """See `upsert_sink.Driver`."""
        client, self._client, self._base = self._client, None, None
        self._made.clear()
        self._noted.clear()
        self._shapes.clear()
        if client is not None:
            client.close()

    def _document(
        self, row: Row, state: ItemState | None, careful: bool = False, unfit: list[str] | None = None
    ) -> dict[str, Any]:
        if (shapes := self._shapes.get(row.kind)) is None:
            columns = (*self._columns.get(row.kind, OURS), *(STORED if row.kind not in RECORDS else ()))
            shapes = self._shapes[row.kind] = shapes_of(columns)
        return to_document(self._number, row, state, careful, shapes=shapes, unfit=unfit)

    def _note(self, kind: str, fields: set[str]) -> None:
        """Adds entries for these fields to COLUMNS. The entries record that gossamer created the fields. This
        method is called before the fields are written."""
        from pymongo.errors import BulkWriteError

        called = self._name(kind)
        if called not in self._noted:
            found = (
                self._base[COLUMNS]
                .find({"_id": {"$gte": f"{called} ", "$lt": f"{called}!"}})
                .limit(_MAX_NOTED_COLUMNS)
            )
            self._noted[called] = {one["_id"] for one in found}
        noted = self._noted[called]
        if new := {f"{called} {field}" for field in fields} - noted:
            try:
                self._base[COLUMNS].insert_many([{"_id": one} for one in sorted(new)], ordered=False)
            except BulkWriteError as error:
                if any(one.get("code") != _THERE for one in error.details.get("writeErrors") or [{}]):
                    raise
            self._noted[called] = noted | new if len(noted) < _MAX_NOTED_COLUMNS else new

    def _ours(self, kind: str, fields: set[str]) -> set[str]:
        """Returns those of the `fields` that gossamer created."""
        ids = {f"{self._name(kind)} {field}": field for field in sorted(fields)}
        return (
            {ids[one["_id"]] for one in self._base[COLUMNS].find({"_id": {"$in": [*ids]}})} if ids else set()
        )

    def _items(self) -> set[str]:
        """Returns the kinds of items that have a collection, also kinds that only other processes have
        written."""
        told = {*self._base[SIGHTINGS].distinct("_id._kind")}
        for one in self._base[COLUMNS].find({"_id": {"$regex": f" {STORED[0].name}$"}}):
            called = one["_id"].rpartition(" ")[0]
            kind = (self._base[called].find_one({}, {"_kind": 1}) or {}).get("_kind")
            if isinstance(kind, str) and self._name(kind) == called:
                told.add(kind)
        return {*self._columns, *self._made, *told} - {*RECORDS, ""}

    def _collection(self, kind: str) -> Any:
        rows = self._base[self._name(kind)]
        if kind not in self._made:
            if kind not in RECORDS:
                rows.create_index("_url")
            self._made.add(kind)
        return rows

    def _name(self, kind: str) -> str:
        return storable_text(
            table_name(self._place.given.get("collection"), kind, next(iter(self._columns), kind))
        ).replace("$", "_")

    def _failure(self, code: int, why: str) -> Exception:
        why = " ".join(why.split())[:300]
        if code in _HOPELESS:
            return SinkError(f"{self.where}: {why}")
        if code == _NAMES:
            return SinkError(f"{self.where}: {why}; name the collection with ?collection=")
        if code in _UNFIT or (code == _INTERNAL and _takes(self._base, self._name("page"))):
            return BatchRefused(why)
        return SinkAway(f"{self.where} does not accept rows: {why}")


def _takes(base: Any, called: str) -> bool:
    """Tests whether the server accepts a harmless write, which sets a time in an entry of COLUMNS."""
    from pymongo.errors import PyMongoError

    try:
        base[COLUMNS].update_one({"_id": f"{called} _id"}, {"$set": {"_at": datetime.now(UTC)}}, upsert=True)
    except PyMongoError:
        return False
    return True


def _text(value: Any) -> Any:
    """Converts a BSON time to text. Other values stay unchanged."""
    return value.isoformat(timespec="milliseconds") + "Z" if isinstance(value, datetime) else value


def _line(error: BaseException) -> str:
    return " ".join(str(error).split())[:300]
