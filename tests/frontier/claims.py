"""Helpers for the tests of the frontier's verbs: a host, and the paths of its claims."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gossamer.model.visit import Claim

Beds = Callable[..., Any]
A = "https://a.example"


def paths(claims: list[Claim]) -> list[str]:
    """Returns the paths of the claims, in order."""
    return [claim.request.url.split("example", 1)[1] for claim in claims]
