"""What `gossamer doctor` finds of the unlocker: which one, whether its key is there, what was spent today."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gossamer.errors import GossamerError

if TYPE_CHECKING:
    from gossamer.cli.findings import Finding
    from gossamer.config.settings import Settings
    from gossamer.store.store import Store


async def unlocked(settings: Settings, store: Store) -> list[Finding]:
    """The unlocker: its key, what is left to spend; nothing is asked of it."""
    from gossamer.app.unlocker_setup import chosen_of, credits_of, key_of
    from gossamer.cli.findings import Finding
    from gossamer.config.redaction import MASK

    if settings.unlocker is None and "unlocker" not in settings.ladder:
        return []
    try:
        one = chosen_of(settings)
        key = key_of(settings, one)
    except GossamerError as error:
        return [Finding("unlocker", "bad", str(error), "", error.exit_code)]
    spent, most = await credits_of(settings, "doctor", store, one).spent(), settings.credits_daily
    words = f"{one.provider.name}, {f'key {MASK}' if key else 'no key'}"
    words += f" from {settings.unlocker_key}" if settings.unlocker_key else ""
    words += f", {spent.day} credits of {'no bound' if most is None else most} spent today"
    if spent.shut:
        return [Finding("unlocker", "warn", f"{words}; it failed, and is left alone for {spent.shut:.0f} s")]
    if most is None or spent.day < most:
        return [Finding("unlocker", "ok", words)]
    return [Finding("unlocker", "warn", words, "there are more at 00:00 UTC, or with a larger credits_daily")]
