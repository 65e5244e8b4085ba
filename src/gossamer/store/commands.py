"""Offers the Valkey commands as methods. A pipeline collects commands, and a client sends each command
immediately.

The name of a method is the name of a command, and the method's arguments are the arguments of the command.
For example, `hget(key, field)` sends `HGET key field`, and `config_set(name, value)` sends `CONFIG SET name
value`. A method is defined here only if its arguments differ from those of the command.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from typing import Any

Command = tuple[tuple[Any, ...], dict[str, Any]]
"""A command with its arguments, and the options for converting the reply (`replies.convert`)."""


class Commands:
    """All Valkey commands. Each method passes its command to `execute_command`. In a client,
    `execute_command` sends the command. In a pipeline, `execute_command` collects the command."""

    def execute_command(self, *args: Any, **options: Any) -> Any:
        """Handles one command. `args[0]` is the command's name, which may have two words."""
        raise NotImplementedError

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name.startswith("_"):
            raise AttributeError(name)
        command = name.upper().replace("_", " ")

        def taken(*args: Any) -> Any:
            return self.execute_command(command, *args)

        return taken

    def delete(self, *keys: Any) -> Any:
        return self.execute_command("DEL", *keys)

    def hincrby(self, key: Any, field: Any, amount: int = 1) -> Any:
        return self.execute_command("HINCRBY", key, field, amount)

    def hmget(self, key: Any, fields: Iterable[Any]) -> Any:
        return self.execute_command("HMGET", key, *fields)

    def hscan(self, key: Any, cursor: Any = 0, match: str | None = None, count: int | None = None) -> Any:
        return self.execute_command("HSCAN", key, cursor, *_page(match, count))

    def hset(
        self, key: Any, field: Any = None, value: Any = None, mapping: Mapping[Any, Any] | None = None
    ) -> Any:
        words = [] if field is None else [field, value]
        for pair in (mapping or {}).items():
            words += pair
        return self.execute_command("HSET", key, *words)

    def keys(self, pattern: str = "*") -> Any:
        return self.execute_command("KEYS", pattern)

    def memory_usage(self, key: Any, samples: int | None = None) -> Any:
        return self.execute_command("MEMORY USAGE", key, *([] if samples is None else ["SAMPLES", samples]))

    def scan(self, cursor: Any = 0, match: str | None = None, count: int | None = None) -> Any:
        return self.execute_command("SCAN", cursor, *_page(match, count))

    async def scan_iter(self, match: str | None = None, count: int = 1000) -> AsyncIterator[Any]:
        """Yields the keys of a server that match a pattern. A key may be yielded twice."""
        cursor = 0
        while True:
            cursor, found = await self.scan(cursor, match, count)
            for key in found:
                yield key
            if not cursor:
                return

    def set(
        self, key: Any, value: Any, *, ex: int | None = None, px: int | None = None, nx: bool = False
    ) -> Any:
        """Sets a key. `ex`, `px`: the time until the key expires, in seconds and in milliseconds. `nx`:
        whether to set the key only if it does not exist."""
        more = [*(("EX", ex) if ex is not None else ()), *(("PX", px) if px is not None else ())]
        return self.execute_command("SET", key, value, *more, *(["NX"] if nx else []))

    def xadd(self, key: Any, fields: Mapping[Any, Any], maxlen: int, approximate: bool = True) -> Any:
        words = [one for pair in fields.items() for one in pair]
        return self.execute_command("XADD", key, "MAXLEN", "~" if approximate else "=", maxlen, "*", *words)

    def xrange(self, key: Any, least: Any = "-", most: Any = "+", count: int | None = None) -> Any:
        return self.execute_command("XRANGE", key, least, most, *_count(count))

    def xrevrange(self, key: Any, most: Any = "+", least: Any = "-", count: int | None = None) -> Any:
        return self.execute_command("XREVRANGE", key, most, least, *_count(count))

    def zadd(self, key: Any, mapping: Mapping[Any, float]) -> Any:
        words: list[Any] = []
        for member, score in mapping.items():
            words += (score, member)
        return self.execute_command("ZADD", key, *words)

    def zrange(self, key: Any, first: int, last: int, withscores: bool = False) -> Any:
        more = ["WITHSCORES"] if withscores else []
        return self.execute_command("ZRANGE", key, first, last, *more, withscores=withscores)

    def zrangebyscore(
        self,
        key: Any,
        least: Any,
        most: Any,
        start: int | None = None,
        num: int | None = None,
        withscores: bool = False,
    ) -> Any:
        more: list[Any] = ["WITHSCORES"] if withscores else []
        if start is not None:
            more += ("LIMIT", start, num)
        return self.execute_command("ZRANGEBYSCORE", key, least, most, *more, withscores=withscores)


class Pipe(Commands):
    """Collects commands, and sends them together. `send` returns one reply per command. If a command fails,
    its reply is the error."""

    def __init__(
        self, send: Callable[[Sequence[Command], bool], Awaitable[list[Any]]], transaction: bool
    ) -> None:
        self._send, self._transaction = send, transaction
        self._commands: list[Command] = []

    def execute_command(self, *args: Any, **options: Any) -> Pipe:
        """Collects one command. Returns the pipeline."""
        self._commands.append((args, options))
        return self

    async def execute(self, raise_on_error: bool = True) -> list[Any]:
        """Returns the replies. If commands failed, raises the first error. If `raise_on_error` is false,
        returns the errors among the replies instead."""
        commands, self._commands = self._commands, []
        replies = await self._send(commands, self._transaction) if commands else []
        if raise_on_error:
            for reply in replies:
                if isinstance(reply, BaseException):
                    raise reply
        return replies


def _page(match: str | None, count: int | None) -> list[Any]:
    return [*([] if match is None else ["MATCH", match]), *_count(count)]


def _count(count: int | None) -> list[Any]:
    return [] if count is None else ["COUNT", count]
