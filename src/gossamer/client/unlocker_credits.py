"""The unlocker of the settings, for programs that plan what they will pay."""

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
    """The unlocker that the settings name, and what may be spent there.

    name      the provider, such as `zenrows`; `generic` for one that is given as a URL
    options   the options after `?`
    at_once   the most calls at the same time
    daily     the setting `credits_daily`, None without a limit
    spent     the credits spent today (UTC) in the store of the settings
    """

    name: str
    options: Mapping[str, str]
    at_once: int
    daily: int | None
    spent: int

    @property
    def left(self) -> int | None:
        """The credits that are left today, None without a limit."""
        return None if self.daily is None else max(0, self.daily - self.spent)


def unlocker_account(
    options: Mapping[str, Any], folder: str = ".", *, with_key: bool = True, none_named: str = ""
) -> UnlockerAccount:
    """Returns the account of the settings: of `gossamer.toml`, the environment, and `options`, which has the
    options of `gossamer.run`. No request is made. `with_key`: the key must be set. `none_named`: the message if the
    settings name no unlocker. Raises ConfigError if there is no provider or no key, and StoreError."""
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
