"""Reads the unlocker and its budget from the settings. For programs that estimate their cost."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from gossamer.app.unlocker_setup import chosen_of, credits_of, key_of
from gossamer.app.wiring import open_existing_store
from gossamer.client.background import Background
from gossamer.client.options import job_of
from gossamer.config.settings import Settings
from gossamer.errors import ConfigError


class UnlockerAccount(NamedTuple):
    """The unlocker that the settings name, and its budget.

    - `name`: the provider, such as `zenrows`, or `generic` if the unlocker is given as a URL.
    - `options`: the options after `?` in the setting.
    - `at_once`: the maximum number of calls at the same time.
    - `daily`: the setting `credits_daily`, or None if there is no limit.
    - `spent`: the credits spent today (UTC), as recorded in the store.
    """

    name: str
    options: Mapping[str, str]
    at_once: int
    daily: int | None
    spent: int

    @property
    def left(self) -> int | None:
        """The credits that are left today, or None if there is no limit."""
        return None if self.daily is None else max(0, self.daily - self.spent)


def unlocker_account(
    options: Mapping[str, Any], folder: str = ".", *, with_key: bool = True, none_named: str = ""
) -> UnlockerAccount:
    """Returns the account in the settings. These are read from `gossamer.toml`, the environment, and
    `options`, which are options of `gossamer.run`. No request is made. `with_key`: whether the key must be
    set. `none_named`: the message if the settings name no unlocker. Raises ConfigError if there is no provider
    or no key, and StoreError."""
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
    return UnlockerAccount(one.provider.name, dict(one.options), one.at_once, settings.credits_daily, spent)


async def _spent(settings: Settings) -> int:
    async with open_existing_store(settings) as store:
        return (await credits_of(settings, "", store, chosen_of(settings)).spent()).day
