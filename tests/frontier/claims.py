"""What the tests of the verbs share: a host, and what was claimed of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gossamer.model.visit import Claim

Beds = Callable[..., Any]
A = "https://a.example"


def paths(claims: list[Claim]) -> list[str]:
    """The paths of claims, in their order."""
    return [claim.request.url.split("example", 1)[1] for claim in claims]
