"""Cursors of lists. A cursor contains the position after the last entry, and a hash of the list's filters."""

from __future__ import annotations

import base64
import binascii
import hashlib
from typing import Any, TypeVar

import msgspec

from gossamer.operations.inputs import Input
from gossamer.operations.problems import RequestProblem

Position = TypeVar("Position")


def cursor_after(given: Input, position: Any) -> str:
    """Returns the cursor of the page after `position` in the list that `given` selects."""
    packed = msgspec.msgpack.encode((_filters(given), position))
    return base64.urlsafe_b64encode(packed).rstrip(b"=").decode()


def position_of(given: Any, kind: type[Position], first: Position) -> Position:
    """Returns the position after which the page begins, or `first` if `given` has no cursor. Raises RequestProblem if the
    cursor was made for other filters."""
    if given.cursor is None:
        return first
    try:
        raw = base64.b64decode(given.cursor + "=" * (-len(given.cursor) % 4), altchars=b"-_", validate=True)
        filters, position = msgspec.msgpack.decode(raw, type=tuple[bytes, kind])  # type: ignore[valid-type]
    except (binascii.Error, ValueError, msgspec.MsgspecError):
        raise RequestProblem(
            "wrong-cursor", "the cursor is none of this list: begin without a cursor"
        ) from None
    if filters != _filters(given):
        raise RequestProblem(
            "wrong-cursor", "the cursor belongs to another list or other filters: begin without a cursor"
        )
    return position


def _filters(given: Input) -> bytes:
    values = {
        name: value for name, value in msgspec.to_builtins(given).items() if name not in ("limit", "cursor")
    }
    return hashlib.sha256(
        type(given).__name__.encode() + msgspec.json.encode(values, order="sorted")
    ).digest()[:12]
