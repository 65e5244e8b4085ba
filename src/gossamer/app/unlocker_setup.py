"""Builds the unlocker rung from settings: the provider, its API key, and the credits that all workers
share."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from gossamer.collectors.http.collector import HttpCollector
from gossamer.config.redaction import Secret
from gossamer.config.secret_refs import secret
from gossamer.config.settings import Settings
from gossamer.egress.resolver import Resolver, SingleAddressResolver
from gossamer.errors import ConfigError
from gossamer.store.store import Store

if TYPE_CHECKING:
    from gossamer.collectors.unlocker.collector import UnlockerCollector
    from gossamer.collectors.unlocker.providers import ChosenUnlocker
    from gossamer.state.credits import Credits

SETTLE_MARGIN_S = 5.0
"""The credits of a call can still be settled for this many seconds after the call has timed out."""


def chosen_of(settings: Settings) -> ChosenUnlocker:
    """Returns the unlocker of the settings. Raises ConfigError."""
    from gossamer.collectors.unlocker.providers import chosen_unlocker

    if settings.unlocker is None:
        raise ConfigError(
            "the unlocker rung needs the setting unlocker, as in -s unlocker=zenrows (docs/unlockers.md)"
        )
    return chosen_unlocker(settings.unlocker, settings.unlocker_shape)


def key_of(settings: Settings, one: ChosenUnlocker) -> Secret:
    """Returns the unlocker's API key. Raises ConfigError."""
    if settings.unlocker_key is not None:
        return secret("unlocker_key", settings.unlocker_key)
    if one.provider.keyless:
        return Secret("")
    raise ConfigError(
        f"unlocker {one.provider.name} needs a key: set GOSSAMER_UNLOCKER_KEY in the environment, or "
        'unlocker_key = "${env:NAME}"'
    )


def check_unlocker(settings: Settings) -> None:
    """Raises ConfigError if a crawl uses the unlocker rung but has no provider or key."""
    if "unlocker" in settings.ladder:
        key_of(settings, chosen_of(settings))


def credits_of(settings: Settings, crawl: str, store: Store, one: ChosenUnlocker) -> Credits:
    """Returns the object that limits and counts the credits of a crawl at its unlocker."""
    from gossamer.state.credits import CreditLimits, Credits

    bounds = CreditLimits(one.at_once, settings.credits_daily, settings.credits)
    return Credits(store, crawl, one.provider.name, bounds, one.timeout + SETTLE_MARGIN_S)


def unlocker(
    settings: Settings,
    crawl: str,
    store: Store,
    guard: Resolver | SingleAddressResolver,
    wanted: Callable[[str], str] = lambda _: "",
    alone: bool = True,
) -> UnlockerCollector:
    """Returns the collector of the unlocker rung. `wanted`: a function that returns the unlocker options of a
    host's site. `alone`: whether the unlocker rung is the crawl's only rung. Raises ConfigError if the
    provider is unknown, or if the provider or the key is missing."""
    from gossamer.collectors.unlocker.collector import UnlockerCollector, UnlockerUse

    one = chosen_of(settings)
    key = key_of(settings, one)
    wire = 3 * settings.max_size + (1 << 20)  # a body may arrive as base64 in JSON
    options: dict[str, Any] = {
        "user_agent": "",
        "total": one.timeout,
        "first_byte": one.timeout,
        "wire": wire,
        "decoded": 2 * wire,
        "accept": None,
        "http2": False,
        "once": True,
        "ca_file": settings.ca_file,
        "connections": one.with_late,
    }
    return UnlockerCollector(
        one,
        key,
        HttpCollector(guard, **options),
        credits_of(settings, crawl, store, one),
        guard,
        UnlockerUse(
            2 * settings.max_size,
            lambda line: print(f"gossamer: {line}", file=sys.stderr),
            wanted,
            alone,
        ),
    )
