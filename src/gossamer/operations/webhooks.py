"""Operations on webhooks, which get the events of crawls as signed messages (Standard Webhooks)."""

from __future__ import annotations

import base64
import hashlib
import secrets
import time
from datetime import UTC, datetime
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import msgspec

from gossamer.config.redaction import mask, register
from gossamer.config.secret_refs import has_reference, put_in
from gossamer.config.settings import Settings
from gossamer.config.value_parsers import nearest
from gossamer.egress.guarded_post import signing_key
from gossamer.errors import ConfigError, GossamerError, InvalidField, UnknownName
from gossamer.operations import inputs, results
from gossamer.operations.context import OperationContext
from gossamer.operations.crawl_changes import report_changes
from gossamer.operations.cursors import cursor_after, position_of
from gossamer.operations.guarded_targets import check_target
from gossamer.state.crawl_events import CrawlEvents
from gossamer.state.webhooks import StoredWebhook, Webhooks, event_order
from gossamer.store.store import Store

DEFAULT_EVENTS = ["crawl.started", "crawl.changed", "crawl.ended"]
MAX_WEBHOOKS = 100
_OWN = ("secret", "events", "crawls")


class WebhookAddress(msgspec.Struct):
    """Where messages of a webhook are sent to, and the secret that signs them."""

    url: str
    secret: str


async def webhook_add(context: OperationContext, given: inputs.AddWebhook) -> results.AddedWebhook:
    """Adds a receiver of events. The answer contains the secret, which is never shown again. Events are delivered by
    `gossamer serve`, also after a restart."""
    check_target(given.url, context.settings, "/url")
    if not context.caller.sees(given.crawls or context.caller.prefix):
        raise InvalidField(
            f"the token permits only crawls that begin with {context.caller.prefix!r}", "/crawls"
        )
    if len(await Webhooks(context.store).all()) >= MAX_WEBHOOKS:
        raise InvalidField(f"there are {MAX_WEBHOOKS} webhooks: remove one", "/url")
    secret = given.secret or f"whsec_{base64.b64encode(secrets.token_bytes(24)).decode()}"
    try:
        signing_key(secret)
    except ValueError:
        raise InvalidField("a secret is whsec_ and base64", "/secret") from None
    added = await _add(
        context,
        secrets.token_hex(6),
        WebhookAddress(given.url, secret),
        list(given.events) or DEFAULT_EVENTS,
        given.crawls or context.caller.prefix,
    )
    return results.AddedWebhook(**_plain(await _status(context, added)), secret=secret)


async def webhook_list(context: OperationContext, given: inputs.NoInput) -> results.WebhookList:
    """Lists the receivers of events, without their secrets."""
    found = [one for one in (await Webhooks(context.store).all()).values() if _sees(context, one)]
    return results.WebhookList(items=[await _status(context, one) for one in found])


async def webhook_remove(context: OperationContext, given: inputs.OneWebhook) -> results.RemovedWebhook:
    """Removes a receiver of events, with the events that wait for it."""
    one = await _need(context, given.webhook)
    if one.is_setting:
        raise ConfigError(f"{one.id} is in the setting webhooks: remove it there, and start serve again")
    await Webhooks(context.store).remove(one.id)
    return results.RemovedWebhook(id=one.id)


async def webhook_dead(
    context: OperationContext, given: inputs.ListDeadDeliveries
) -> results.DeadDeliveryPage:
    """Lists the events whose delivery was given up, each with the reason."""
    one = await _need(context, given.webhook)
    after = event_order(position_of(given, str, ""))
    found = [dead for dead in await Webhooks(context.store).dead(one.id) if event_order(dead.number) > after]
    page = found[: given.limit]
    return results.DeadDeliveryPage(
        items=[
            results.DeadDelivery(
                number=dead.number,
                given_up_at=_moment(dead.at),
                attempts=dead.delivery.attempts,
                error=dead.delivery.error,
                event=msgspec.json.decode(dead.delivery.event),
            )
            for dead in page
        ],
        next=cursor_after(given, page[-1].number) if len(found) > len(page) else None,
    )


async def webhook_resend(context: OperationContext, given: inputs.ResendDeliveries) -> results.Resent:
    """Delivers events again that were given up: one, or all. Their ids stay the same."""
    one, hooks = await _need(context, given.webhook), Webhooks(context.store)
    dead = [entry for entry in await hooks.dead(one.id) if given.number in (None, entry.number)]
    if given.number is not None and not dead:
        raise UnknownName(f"no event {given.number} was given up: see gossamer webhooks dead {one.id}")
    return results.Resent(id=one.id, events=await hooks.resend(one.id, dead))


async def follow_setting(context: OperationContext) -> None:
    """Makes the webhooks of the setting `webhooks`, and removes those that it does not name any more. Raises
    ConfigError."""
    wanted = [_of_setting(text, context.settings) for text in context.settings.webhooks]
    hooks = Webhooks(context.store)
    known = await hooks.all()
    for number, address, events, prefix in wanted:
        if number not in known:
            await _add(context, number, address, events, prefix, is_setting=True)
    for one in known.values():
        if one.is_setting and one.id not in [number for number, *_ in wanted]:
            await hooks.remove(one.id)


def _of_setting(text: str, settings: Settings) -> tuple[str, WebhookAddress, list[str], str]:
    """Returns the id, the address, the events and the prefix of an entry of the setting."""
    if not has_reference(text):
        raise ConfigError(f"webhooks {mask(text)}: write ?secret=${{env:NAME}} after the address")
    try:
        whole = put_in(text)
    except ValueError as error:
        raise ConfigError(f"webhooks: {error}") from None
    base, _, query = whole.partition("?")
    own = {name: value for name, value in parse_qsl(query) if name in _OWN}
    rest = "&".join(part for part in query.split("&") if part and part.partition("=")[0] not in _OWN)
    events = [one for one in own.get("events", "").split(",") if one] or DEFAULT_EVENTS
    known = [*DEFAULT_EVENTS, "crawl.updated", "items"]
    if wrong := [one for one in events if one not in known]:
        raise ConfigError(f"webhooks {mask(text)}: no event is named {wrong[0]}{nearest(wrong[0], known)}")
    try:
        if not signing_key(own.get("secret", "")):
            raise ConfigError(f"webhooks {mask(text)}: write ?secret=${{env:NAME}} after the address")
    except ValueError:
        raise ConfigError(f"webhooks {mask(text)}: a secret after whsec_ is base64") from None
    register(own["secret"])
    url = f"{base}?{rest}" if rest else base
    try:
        check_target(url, settings, "")
    except GossamerError as error:
        raise ConfigError(f"webhooks: {mask(str(error))}") from None
    number = f"s{hashlib.sha256(whole.encode()).hexdigest()[:12]}"
    return number, WebhookAddress(url, own["secret"]), events, own.get("crawls", "")


async def _add(
    context: OperationContext,
    number: str,
    address: WebhookAddress,
    events: list[str],
    prefix: str,
    is_setting: bool = False,
) -> StoredWebhook:
    await report_changes(context.store, context.settings)  # earlier changes are not for the new receiver
    added = StoredWebhook(
        id=number,
        url=shown_url(address.url),
        events=events,
        prefix=prefix,
        created_at=time.time(),
        sealed=await sealed(context.store, context.settings, number, address),
        after=await CrawlEvents(context.store).newest(),
        is_setting=is_setting,
    )
    await Webhooks(context.store).add(added)
    return added


def shown_url(url: str) -> str:
    """Returns the part of a URL that may be shown. A query may contain a secret under any name."""
    parts = urlsplit(mask(url))
    return parts._replace(query="***" if parts.query else "", fragment="").geturl()


async def sealed(store: Store, settings: Settings, number: str, address: WebhookAddress) -> bytes:
    """Encrypts an address for the store, if there is a session key."""
    from gossamer.app.login_setup import seal_of

    return seal_of(settings, store).close(msgspec.to_builtins(address), f"webhook {number}")


def opened(store: Store, settings: Settings, webhook: StoredWebhook) -> WebhookAddress:
    """Returns the address of a webhook. Raises ConfigError if it was encrypted with another session key."""
    from gossamer.app.login_setup import seal_of

    found = seal_of(settings, store).open(webhook.sealed, f"webhook {webhook.id}")
    return msgspec.convert(found, WebhookAddress)


def _sees(context: OperationContext, one: StoredWebhook) -> bool:
    return context.caller.sees(one.prefix)


async def _need(context: OperationContext, number: str) -> StoredWebhook:
    """Returns a webhook that the caller may see. Raises UnknownName, with the nearest id."""
    found = {name: one for name, one in (await Webhooks(context.store).all()).items() if _sees(context, one)}
    if number not in found:
        raise UnknownName(
            f"no webhook has the id {number}{nearest(number, found)}: see gossamer webhooks list"
        )
    return found[number]


async def _status(context: OperationContext, one: StoredWebhook) -> results.WebhookStatus:
    waiting, dead = await Webhooks(context.store).sizes(one.id)
    return results.WebhookStatus(
        id=one.id,
        url=one.url,
        events=one.events,
        crawls=one.prefix,
        created_at=_moment(one.created_at),
        is_setting=one.is_setting,
        waiting=waiting,
        dead=dead,
    )


def _plain(one: results.WebhookStatus) -> dict[str, Any]:
    return {name: getattr(one, name) for name in one.__struct_fields__}


def _moment(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
