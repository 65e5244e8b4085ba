"""`gossamer sessions`: lists and deletes log-ins at sites. The commands `doctor`, `host show` and `explain`
use functions of this module to format log-ins."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Annotated

from gossamer.cli.options import Argument, Data, Json, Setting, StoreUrl, open_existing_store, read_settings
from gossamer.errors import GossamerError, UsageError

if TYPE_CHECKING:
    from gossamer.cli.doctor_findings import Finding
    from gossamer.config.settings import Settings
    from gossamer.state.logins import Session
    from gossamer.store.store import Store

Site = Annotated[str, Argument(metavar="SITE", help="The name of a site.")]
Account = Annotated[str | None, Argument(metavar="ACCOUNT", help="One of its accounts (default: all).")]


def listed(data: Data = None, store: StoreUrl = None, setting: Setting = None, as_json: Json = False) -> int:
    """List log-ins with site, account, time of the log-in, last use and problems."""
    from gossamer.app.host_state import session_reason
    from gossamer.cli.printing import put_json, put_table
    from gossamer.config.value_texts import format_duration

    found = asyncio.run(_all(read_settings(data, store, setting)))
    if as_json:
        put_json([one._asdict() for one in found])
        return 0
    rows = [
        (
            one.site,
            one.account,
            one.state,
            "-" if one.since is None else f"{format_duration(one.since)} ago",
            "-" if one.used is None else f"{format_duration(one.used)} ago",
            "yes" if one.sealed else "no",
            session_reason(one),
        )
        for one in found
    ]
    put_table(
        ("site", "account", "state", "logged in", "used", "sealed", "why"),
        rows,
        long=("why",),
        least=("sealed", "used"),
    )
    return 0


def forget(
    site: Site,
    account: Account = None,
    data: Data = None,
    store: StoreUrl = None,
    setting: Setting = None,
    as_json: Json = False,
) -> int:
    """Delete the log-ins at a site. The next request logs in again, even if the site refused the credentials
    before."""
    from gossamer.cli.printing import put_json

    known = asyncio.run(_forget(read_settings(data, store, setting), site, account))
    if not known:
        raise UsageError(
            f"no log-in is known of {site}{f' as {account}' if account else ''}: see gossamer sessions list"
        )
    if as_json:
        put_json({"site": site, "account": account, "forgotten": known})
    else:
        print(
            f"{site}: forgotten{f' as {account}' if account else f', {known} accounts' if known > 1 else ''}"
        )
    return 0


async def session_findings(settings: Settings, store: Store) -> list[Finding]:
    """Returns the findings of `doctor` about the session key and about the accounts of all sites."""
    from gossamer.app.host_state import session_line, session_values
    from gossamer.app.login_setup import seal_of
    from gossamer.cli.doctor_findings import Finding
    from gossamer.state.logins import Logins

    known = await session_values(store)
    out, seal = [], None
    try:
        seal = seal_of(settings, store)
    except GossamerError as error:
        out.append(Finding("session key", "bad", str(error), "", error.exit_code))
    if seal is not None and seal.has_key:
        out.append(Finding("session key", "ok", f"from {settings.session_key}"))
    elif seal is not None and any(not one.sealed and one.since is not None for one in known):
        out.append(
            Finding(
                "session key",
                "warn",
                "session cookies are stored without encryption",
                "encrypt them with -s 'session_key=${env:NAME}'",
            )
        )
    for one in known:
        _, _, kept = await Logins(store).state(one.site, one.account)
        try:
            if kept and seal is not None:
                seal.open(kept, f"{one.site}/{one.account}")
        except GossamerError as error:
            out.append(Finding("session", "bad", str(error), "", error.exit_code))
            continue
        refused = one.state == "refused"
        advice = (
            f"give the right credentials, then: gossamer sessions forget {one.site} {one.account}"
            if refused
            else ""
        )
        out.append(Finding("session", "warn" if refused else "ok", session_line(one), advice))
    return out


async def _all(settings: Settings) -> list[Session]:
    from gossamer.app.host_state import session_values

    async with open_existing_store(settings) as store:
        return await session_values(store)


async def _forget(settings: Settings, site: str, account: str | None) -> int:
    from gossamer.state.logins import Logins

    async with open_existing_store(settings) as store:
        return await Logins(store).forget(site, account)
