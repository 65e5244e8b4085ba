"""What all doors have in common."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Protocol, TypeVar

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from gossamer.config.value_parsers import nearest
from gossamer.errors import InvalidField
from gossamer.operations.context import Caller, OperationContext
from gossamer.operations.problems import RequestProblem
from gossamer.state.kept_answers import KeptAnswers

Answer = TypeVar("Answer")
RETRY_INTERVAL_S = 0.2
MAX_REASON_CHARS = 500


class Door(Protocol):
    """The addresses of another service."""

    def has(self, path: str) -> bool:
        """Whether a path belongs to the door."""
        ...

    async def answer(self, request: Request) -> Response:
        """Answers a request. Raises RequestProblem and GossamerError."""
        ...

    def problem_answer(self, problem: RequestProblem, request_id: str) -> Response:
        """Returns the answer that reports a problem, as the other service would."""
        ...


class Operations(Protocol):
    """Runs operations for a caller, with the same checks as the API."""

    async def __call__(
        self, name: str, fields: Mapping[str, Any], caller: Caller, key: str = ""
    ) -> tuple[Any, OperationContext]:
        """Returns the result of the operation `name`, and the context in which it ran. Raises RequestProblem and
        GossamerError."""
        ...


class RepeatedRequests:
    """Runs a request once, although a client repeats it because the connection or the server broke off."""

    def __init__(self, kept: KeptAnswers) -> None:
        self._kept = kept

    async def alone(self, owner: str, run: Callable[[], Awaitable[Answer]]) -> Answer:
        """Runs a request while no other server or request with the same `owner` runs one. After a kill of the other
        server, at most 30 s pass."""
        key = hashlib.sha256(owner.encode()).hexdigest()
        while True:
            how, _ = await self._kept.take(key, "")
            if how == "taken":
                break
            await asyncio.sleep(RETRY_INTERVAL_S)
        try:
            async with self._kept.renewed(key):
                return await run()
        finally:
            await self._kept.release(key)


def refuse_unknown(
    given: Mapping[str, Any], known: Sequence[str], refused: Mapping[str, str], service: str, where: str = ""
) -> None:
    """Raises InvalidField if a request has an option that gossamer does not offer, or that `service` does not have.
    `refused`: the options of the service that gossamer does not offer, each with the reason. An option without an
    effect (null, false, 0, empty) is accepted."""
    bad = [
        f"{where}{name}: {refused[name]}"
        for name, value in given.items()
        if name in refused and value not in (None, False, 0, "", [], {})
    ]
    names = [*known, *refused]
    bad += [
        f"{where}{name[:100]}: {service} has no such option{nearest(name, names)}"
        for name in given
        if name not in names
    ]
    if bad:
        raise InvalidField(
            "; ".join(bad)[:MAX_REASON_CHARS], f"/{bad[0].partition(':')[0].replace('.', '/')}"
        )


def converted(given: Mapping[str, Any], kind: type[Answer]) -> Answer:
    """Converts the options of a request. Raises InvalidField."""
    try:
        return msgspec.convert(given, kind)
    except msgspec.ValidationError as error:
        text, _, place = str(error).partition(" - at `$")
        place = place.rstrip("`").replace(".", "/").replace("[", "/").replace("]", "")
        raise InvalidField(f"{place.lstrip('/') or 'the body'}: {text}", place) from None
