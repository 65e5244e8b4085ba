"""Reads the unlocker and its credit budget from the settings. Programs that estimate the cost of a run use
this module."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from gossamer.app.open_store import open_existing_store
from gossamer.app.unlocker_setup import chosen_of, credits_of, key_of
from gossamer.client.background import Background
from gossamer.client.options import job_of
from gossamer.config.settings import Settings
from gossamer.errors import ConfigError


class UnlockerAccount(NamedTuple):
    """The unlocker in the settings, and its credit budget.

    - `name`: the provider, such as `zenrows`. The name is `generic` if the setting `unlocker` is a URL.
    - `options`: the options after `?` in the setting `unlocker`.
    - `at_once`: the maximum number of concurrent calls. `with_late`: the same with late calls
      (`ChosenUnlocker`).
    - `daily`: the credit limit per day (setting `credits_daily`), or None if there is no limit.
    - `spent`: the credits spent today (UTC), as recorded in the store.
    """

    name: str
    options: Mapping[str, str]
    at_once: int
    daily: int | None
    spent: int
    with_late: int

    @property
    def left(self) -> int | None:
        """The credits that remain for today, or None if there is no limit."""
        return None if self.daily is None else max(0, self.daily - self.spent)


def unlocker_account(
    options: Mapping[str, Any], folder: str = ".", *, with_key: bool = True, none_named: str = ""
) -> UnlockerAccount:
    """Returns the unlocker in the settings, and its credit budget. The settings are read from
    `gossamer.toml`, from the environment, and from `options`. `options`: options of `gossamer.run`. The
    function sends no request to the provider. `with_key`: whether the provider's key must be set.
    `none_named`: the error message if the settings contain no unlocker. Raises ConfigError if the provider or
    the key is missing. Raises StoreError if the store cannot be read."""
    settings = job_of((), options, folder).settings
    if settings.unlocker is None and none_named:
        raise ConfigError(none_named)
    one = chosen_of(settings)
    if with_key:
        key_of(settings, one)
    spent = 0
    if settings.store is not None or (Path(settings.data) / "store").is_dir():
        work = Background(lambda _stop: _spent(settings))
        work.start()
        spent = work.wait()
    return UnlockerAccount(
        one.provider.name, dict(one.options), one.at_once, settings.credits_daily, spent, one.with_late
    )


async def _spent(settings: Settings) -> int:
    async with open_existing_store(settings) as store:
        return (await credits_of(settings, "", store, chosen_of(settings)).spent()).day
