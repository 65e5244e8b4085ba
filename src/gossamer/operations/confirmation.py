"""Confirmations of changes to many entries. A dry run returns a confirmation, and the change itself needs it above
MAX_UNCONFIRMED entries. A confirmation belongs to one caller and to the exact input of the dry run."""

from __future__ import annotations

import base64
import hashlib
import hmac
import time
from typing import Any

import msgspec

from gossamer.operations.context import OperationContext
from gossamer.operations.problems import RequestProblem

MAX_UNCONFIRMED = 1000
VALID_S = 60
SAMPLE = 5
"""The number of entries that a dry run shows."""


def confirmation(context: OperationContext, operation: str, given: Any) -> str:
    """Returns the confirmation of a dry run, which is valid for VALID_S seconds."""
    until = int(time.time()) + VALID_S
    return f"{until:x}-{_signature(context, operation, given, until)}"


def check_confirmation(context: OperationContext, operation: str, given: Any) -> None:
    """Raises RequestProblem if the confirmation of `given` was made for another input, or has expired."""
    until, _, signature = given.confirm.partition("-")
    if int(until, 16) < time.time():
        raise RequestProblem("wrong-confirmation", "the confirmation has expired: repeat the dry run")
    if not hmac.compare_digest(signature, _signature(context, operation, given, int(until, 16))):
        raise RequestProblem(
            "wrong-confirmation", "the confirmation belongs to a dry run of something else: repeat it"
        )


def needs_confirmation(entries: str) -> RequestProblem:
    """Returns the problem that asks for a dry run."""
    return RequestProblem(
        "not-confirmed",
        f"this concerns more than {MAX_UNCONFIRMED} {entries}: send it with dry_run first, and then with the `confirm` "
        "of the answer",
    )


def _signature(context: OperationContext, operation: str, given: Any, until: int) -> str:
    fields = {
        name: value
        for name, value in msgspec.to_builtins(given).items()
        if name not in ("dry_run", "confirm")
    }
    said = msgspec.json.encode([operation, context.caller.token, fields, until], order="sorted")
    key = f"gossamer confirmation {context.store.seed}".encode()
    return base64.urlsafe_b64encode(hmac.digest(key, said, hashlib.sha256)[:15]).decode()
