"""Valkey or Redis. Hashes are upserted by key. Rows for a list are first written to the journal, and then
appended to the list.

`?hash=books` writes one hash, with the items' keys as fields and JSON as values. `?hash=book:{key}` writes
one hash per item, with one hash field per item field. `?list=NAME` appends JSON to a list (RPUSH). `{kind}`
in a name stands for the kind. In the name of a list, `{host}` stands for the page's host and `{FIELD}` for
the value of a field, so `?list=shop:{category}` makes one list per category. `&value=FIELD` appends the plain
text of one field instead of JSON.
"""

from __future__ import annotations

import contextlib
import json
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

import msgspec

from gossamer.errors import SinkAway, SinkError, UsageError
from gossamer.model.visit import Row
from gossamer.sinks.columns import Columns, cell_value
from gossamer.sinks.history import COLUMNS, HISTORY, TAKEN, ItemState, Name, PastState, stored_columns
from gossamer.sinks.jsonl import decode, text
from gossamer.sinks.refused_rows import Refuse
from gossamer.sinks.row_fitting import Misfit
from gossamer.sinks.shipper import JournalRow
from gossamer.sinks.sink_url import SinkUrl
from gossamer.sinks.upsert_sink import BatchRefused, Upserts, Written, state_of, storable_text
from gossamer.store import address
from gossamer.store.blocking_client import BlockingClient, BlockingPipe
from gossamer.store.server_errors import (
    AuthenticationError,
    ClusterDownError,
    Lost,
    LostInTime,
    NoPermissionError,
    ReadOnlyError,
    RedisError,
    ResponseError,
    TryAgainError,
)

_STATES = ("_hash", "_first_seen_at", "_seen_at", "_changed_at", "_deleted_at", "_url")
_AWAY = ("MISCONF", "NOREPLICAS", "BUSY", "Transaction discarded", "maxmemory")
"""Texts in the errors of a server that is temporarily unable to accept rows."""
_PUSH = """
if tonumber(redis.call('GET', KEYS[1]) or ARGV[1]) ~= tonumber(ARGV[1]) then return redis.call('GET', KEYS[1]) end
local pushed = {}
for i = 5, #ARGV, 2 do
  local at = tonumber(ARGV[i])
  redis.call('RPUSH', KEYS[at], ARGV[i + 1])
  pushed[at] = (pushed[at] or 0) + 1
end
for at, n in pairs(pushed) do
  local field = 'l:' .. KEYS[at]
  local sum, crawl = string.match(redis.call('HGET', KEYS[2], field) or '', '^(%d+) (.*)$')
  if sum and crawl ~= ARGV[4] then crawl = '' else crawl = ARGV[4] end
  redis.call('HSET', KEYS[2], field, string.format('%d %s', (tonumber(sum) or 0) + n, crawl))
end
redis.call('SET', KEYS[1], ARGV[2], 'EX', ARGV[3])
return ARGV[2]
"""
"""A Lua script that appends rows to lists. KEYS: the key that stores the journal position, the record of the
output's lists, then the keys of the lists. ARGV: the start and end position of the batch, the time to live of
the stored position in seconds, the crawl, then for each row the index of its list in KEYS and the row.

The record is a hash. For each list, the field `l:NAME` contains the number of appended entries and the crawl
that appended them. The crawl is empty if several crawls appended entries."""
_BEGIN = """
local owner, crawl, earlier = ARGV[1], ARGV[2], ARGV[3]
if owner ~= '' and redis.call('HGET', KEYS[1], 'begun') == owner then return {0, 0} end
local function length(name)
  local kind = redis.call('TYPE', name).ok
  return kind == 'list' and redis.call('LLEN', name) or 0, kind
end
local lists, entries, recorded = 0, 0, false
if KEYS[2] then
  local _, kind = length(KEYS[2])
  if kind ~= 'list' and kind ~= 'none' then return redis.error_reply('WRONGTYPE not a list') end
end
local found = redis.call('HGETALL', KEYS[1])
for j = 1, #found, 2 do
  local name = string.match(found[j], '^l:(.*)$')
  if name then
    local sum, by = string.match(found[j + 1], '^(%d+) (.*)$')
    local n = length(name)
    recorded = recorded or name == KEYS[2]
    local own = crawl ~= '' and by == crawl and n <= tonumber(sum)
    if earlier == 'replace' or (earlier == 'replace-own' and own) or n == 0 then
      if n > 0 then redis.call('UNLINK', name) end
      redis.call('HDEL', KEYS[1], found[j])
    else
      lists, entries = lists + 1, entries + n
    end
  end
end
if KEYS[2] and not recorded then
  local n = length(KEYS[2])
  if earlier == 'replace' then redis.call('UNLINK', KEYS[2])
  elseif n > 0 then lists, entries = lists + 1, entries + n end
end
redis.call('HSET', KEYS[1], 'begun', owner)
return {lists, entries}
"""
"""A Lua script that begins an output of a crawl. It removes the lists that the crawl replaces, once per start
of the crawl. KEYS: the record of the output's lists (see `_PUSH`), then the list if the output has only one.
ARGV: the start of the crawl, the crawl, and an `Earlier`. Returns the number of lists that stay and that are
not empty, and the number of their entries."""
Earlier = Literal["replace", "replace-own", "report", "keep"]
"""What happens to entries of earlier runs when a crawl begins. `replace`: the lists are removed. `replace-own`:
the lists that contain only entries of this crawl are removed. `report`: the lists stay, and a message reports
them. `keep`: the lists stay."""
_PLACEHOLDER = re.compile(r"\{(\w+)\}")
POSITION_TTL_S = 90 * 86_400
"""The number of seconds for which the store keeps the journal position of a list after the last append."""


class ValkeyConnection:
    """One connection, which is opened when it is first needed. Errors of the client are converted to errors
    of sinks. Raises ConfigError if the URL has an unknown parameter."""

    def __init__(self, place: SinkUrl) -> None:
        self.where = place.where
        self._client = BlockingClient(address.parse(place.url, "-o"), timeout=30, connect_timeout=10)
        self.drop = self._client.close

    @contextlib.contextmanager
    def use(self) -> Iterator[BlockingClient]:
        """Yields the client, and converts its errors to SinkAway, SinkError or BatchRefused."""
        try:
            yield self._client
        except (AuthenticationError, NoPermissionError) as error:
            self.drop()
            raise SinkError(f"{self.where}: {error}") from error
        except (Lost, LostInTime, ReadOnlyError, ClusterDownError, TryAgainError) as error:
            raise SinkAway(f"{self.where} does not accept rows: {error}") from error
        except ResponseError as error:
            if any(word in str(error) for word in _AWAY):
                raise SinkAway(f"{self.where} does not accept rows: {error}") from error
            if "WRONGTYPE" in str(error):
                raise SinkError(
                    f"{self.where}: a key with this name has another type: choose another name"
                ) from error
            raise BatchRefused(str(error)) from error
        except (RedisError, ValueError) as error:
            raise SinkError(f"{self.where}: {error}") from error


def hash_sink(place: SinkUrl, columns: Columns, refuse: Refuse, *, overwrite: bool = False) -> Upserts:
    """Returns the TableSink of `?hash=`. Raises UsageError."""
    if overwrite:
        raise UsageError(
            f"-O {place.where}: hashes are not emptied here: write them with -o, delete them with DEL"
        )
    return Upserts(Hashes(place), columns, refuse)


class Hashes:
    """The Driver for hashes. A batch is one MULTI transaction, which is applied completely or not at all. The
    history is the hash `_history`.

    If each item has its own hash, the set `_columns` records the fields that gossamer created. Each member of
    `_columns` is a text: the pattern for the names of the hashes, a space, and the name of the field. Fields
    that other programs wrote stay unchanged.
    """

    def __init__(self, place: SinkUrl) -> None:
        self._client = ValkeyConnection(place)
        self.where, self._pattern = place.where, place.given["hash"]
        self.drop = self._client.drop
        self.misfits: list[Misfit] = []
        self._pipe: BlockingPipe

    def prepare(self, kinds: Sequence[str]) -> None:
        """Checks the connection. Hashes need no preparation."""
        with self._client.use() as client:
            client.ping()

    @contextlib.contextmanager
    def begin(self) -> Iterator[None]:
        """Begins a batch. The commands of a batch are sent at its end."""
        with self._client.use() as client:
            self._pipe = client.pipeline(transaction=True)
            yield
            self._pipe.execute()

    def known(self, kind: str, keys: Sequence[str]) -> Mapping[Name, ItemState]:
        """See `upsert_sink.Driver`."""
        with self._client.use() as client:
            pipe = client.pipeline(transaction=False)
            for key in keys:
                pipe.hmget(self._hash(kind, key), _STATES) if self._each else pipe.hget(
                    self._hash(kind), _raw(key)
                )
            found = {}
            for key, one in zip(keys, pipe.execute(), strict=True):
                if not self._each:
                    row = _object(one)
                    one = [row.get(name) for name in _STATES] if one else [None, None]
                if any(one[:-1]):
                    found[kind, key] = state_of(
                        *(part.decode() if isinstance(part, bytes) else part for part in one)
                    )
            return found

    def past(self, kind: str, past: Sequence[PastState]) -> None:
        """See `upsert_sink.Driver`."""
        with self._client.use() as client:
            for one in past:
                key = one.name[1]
                if one.row is not None:
                    data: Any = one.row.data
                elif self._each:
                    data = {n.decode(): v.decode() for n, v in client.hgetall(self._hash(kind, key)).items()}
                else:
                    data = _object(client.hget(self._hash(kind), _raw(key)))
                line = {
                    "_kind": kind,
                    "_key": key,
                    "_from": one.state.seen_at,
                    "_until": one.until,
                    "_hash": one.state.hash,
                }
                field = f"{kind} {one.state.seen_at} {key}"
                self._pipe.hsetnx(HISTORY, _raw(field), text({**line, "_data": data}))

    def put(self, kind: str, rows: Sequence[Written], careful: bool) -> None:
        """See `upsert_sink.Driver`."""
        if not self._each:
            for row, state in rows:
                self._pipe.hset(self._hash(kind, row.key), _raw(row.key), text(_data(row, state)))
            return
        new = []
        for row, state in rows:
            data = _data(row, state)
            fields = {
                _raw(field): _value(value) for field, value in data.items() if cell_value(value) is not None
            }
            new.append((self._hash(kind, row.key), fields))
        for (called, fields), gone in zip(new, self._gone(kind, new), strict=True):
            if gone:
                self._pipe.hdel(called, *gone)
            self._pipe.hset(called, mapping=fields)
        self._pipe.sadd(COLUMNS, *{self._note(kind, field) for _, fields in new for field in fields})

    def _gone(self, kind: str, new: Sequence[tuple[bytes, Mapping[bytes, bytes]]]) -> list[list[bytes]]:
        """Returns one list of fields per hash. A field is in the list if gossamer created the field and the
        new row does not contain the field."""
        with self._client.use() as client:
            pipe = client.pipeline(transaction=False)
            for called, _ in new:
                pipe.hkeys(called)
            left = [{*there} - fields.keys() for there, (_, fields) in zip(pipe.execute(), new, strict=True)]
            names = sorted(set().union(*left))
            noted = client.smismember(COLUMNS, *(self._note(kind, field) for field in names)) if names else []
        ours = {field for field, one in zip(names, noted, strict=True) if one}
        return [sorted(some & ours) for some in left]

    def _note(self, kind: str, field: bytes) -> bytes:
        return _raw(self._pattern.replace("{kind}", kind)) + b" " + field

    @property
    def _each(self) -> bool:
        return "{key}" in self._pattern

    def _hash(self, kind: str, key: str = "") -> bytes:
        called = self._pattern.replace("{kind}", kind).replace("{key}", key)
        return _raw(f"_{called}" if called in TAKEN else called)


class ValkeyLists:
    """The Shipper for Valkey lists. One script appends the rows and updates the position."""

    knows = True

    def __init__(
        self, place: SinkUrl, name: str, refuse: Refuse, *, owner: str = "", earlier: Earlier = "keep"
    ) -> None:
        """`owner`: the start of the crawl, as `CRAWL@TIME`."""
        self._client = ValkeyConnection(place)
        self.where, self._list, self._name = place.where, place.given["list"], name
        self._owner, self._crawl, self._earlier = owner, owner.partition("@")[0], earlier
        self._field = place.given.get("value")
        self.drop = self._client.drop

    def open(self) -> int:
        """See `shipper.Shipper`."""
        with self._use() as client:
            return int(client.get(self._at()) or 0)

    def begin(self) -> None:
        """Removes or reports the entries of earlier runs, according to `earlier`. On a fleet, each process
        calls this method, and only the first call of a start of the crawl has an effect."""
        if self._earlier == "keep":
            return
        with self._use() as client:
            keys = [self._record(), *([] if "{" in self._list else [_raw(self._list)])]
            lists, entries = client.eval(_BEGIN, len(keys), *keys, self._owner, self._crawl, self._earlier)
        if lists:
            which = "has" if "{" not in self._list else f"has {lists} list{'s' * (lists > 1)} with"
            print(
                f"gossamer: {self.where} {which} {entries} entr{'ies' if entries > 1 else 'y'} of earlier runs or "
                "other programs; this crawl appends its rows to them. -O replaces them",
                file=sys.stderr,
            )

    def send(self, start: int, end: int, lines: Sequence[JournalRow]) -> int:
        """See `shipper.Shipper`."""
        with self._use() as client:
            keys: dict[bytes, int] = {_raw(self._at()): 1, self._record(): 2}
            rows: list[Any] = []
            for line in lines:
                rows += keys.setdefault(_raw(self._list_of(line)), len(keys) + 1), self._entry(line)
            return int(client.eval(_PUSH, len(keys), *keys, start, end, POSITION_TTL_S, self._crawl, *rows))

    def _entry(self, line: JournalRow) -> bytes:
        """Returns the text that the list receives: the row as JSON, or the plain value of one field."""
        if self._field is None:
            return bytes(line.row)
        row = decode(bytes(line.row))
        cell = row.get(self._field) if isinstance(row, dict) else None
        return b"" if cell is None else _value(cell)

    def _list_of(self, line: JournalRow) -> str:
        """Returns the name of the list for a row. If the name contains a field that the row lacks, that field
        is replaced by an empty text."""
        if "{" not in self._list:
            return self._list
        row = decode(bytes(line.row))
        fields = row if isinstance(row, dict) else {}

        def value(found: re.Match[str]) -> str:
            name = found[1]
            if name in ("kind", "host"):
                return line.kind if name == "kind" else line.host
            cell = fields.get(name)
            return "" if cell is None else _value(cell).decode()

        return _PLACEHOLDER.sub(value, self._list)

    @contextlib.contextmanager
    def _use(self) -> Iterator[BlockingClient]:
        try:
            with self._client.use() as client:
                yield client
        except BatchRefused as error:
            raise SinkError(f"{self.where}: {error}") from error

    def _at(self) -> str:
        return f"gossamer:sent:{self._name}"

    def _record(self) -> bytes:
        """Returns the key of the record of the output's lists, which all crawls with this output share."""
        return _raw(f"gossamer:lists:{self._list}")


def _data(row: Row, state: ItemState | None) -> dict[str, Any]:
    data = row.data if isinstance(row.data, dict) else msgspec.to_builtins(row.data)
    return data if state is None else {**data, **stored_columns(row, state)}


def _object(raw: bytes | None) -> dict[str, Any]:
    try:
        found = json.loads(raw or b"{}")  # also accepts numbers that a float cannot represent
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _raw(value: str) -> bytes:
    return storable_text(value).encode()


def _value(value: Any) -> bytes:
    found = cell_value(value)
    return text(found).encode() if isinstance(found, bool) else _raw(str(found))
