"""A change of many entries needs the confirmation of a dry run with the same input."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest

import gossamer
from gossamer.config.settings import Settings
from gossamer.frontier.crawls import Crawls, Spec
from gossamer.operations import confirmation, inputs
from gossamer.operations.context import Caller, OperationContext
from gossamer.operations.problems import RequestProblem
from gossamer.operations.rows import dead_drop, dead_requeue
from gossamer.store.store import Store
from operations.conftest import server, web
from operations.service_process import Serving
from support.frontiers import Bed, any_url, bed, cluster_url, key_checks, store, whole_cluster

__all__ = ["any_url", "bed", "cluster_url", "key_checks", "server", "store", "web", "whole_cluster"]
LETTERS = confirmation.MAX_UNCONFIRMED + 1
Confirm = inputs.DecideDeadLetters


async def dead_crawl(store: Store, bed: Callable[..., Bed]) -> OperationContext:
    """Returns the context of a crawl with LETTERS dead letters of one host, and one of another."""
    await Crawls(store).begin("c", Spec(targets=["http://a.test/"]), [])
    one = bed()
    await one.add(*(f"http://a.test/{n}" for n in range(LETTERS)), "http://b.test/")
    while claims := await one.claim(500):
        for claim in claims:
            await one.end(claim, "x", reason="dns" if claim.host == "a.test" else "timeout")
    return OperationContext(store, Settings(), Caller())


async def test_many_letters_need_the_confirmation_of_the_same_filter(
    store: Store, bed: Callable[..., Bed]
) -> None:
    context = await dead_crawl(store, bed)
    with pytest.raises(RequestProblem, match="more than 1000 dead letters") as refused:
        await dead_drop(context, Confirm(crawl="c"))
    assert refused.value.kind.status == 428
    plan = await dead_drop(context, Confirm(crawl="c", reason="dns", dry_run=True))
    assert (plan.letters, len(plan.sample), plan.dry_run) == (LETTERS, confirmation.SAMPLE, True)
    for verb, given in (
        (dead_drop, Confirm(crawl="c", confirm=plan.confirm)),
        (dead_drop, Confirm(crawl="c", reason="timeout", confirm=plan.confirm)),
        (dead_drop, Confirm(crawl="c", reason="dns", host="a.test", confirm=plan.confirm)),
        (dead_requeue, Confirm(crawl="c", reason="dns", confirm=plan.confirm)),
    ):
        with pytest.raises(RequestProblem, match="something else") as other:
            await verb(context, given)
        assert other.value.kind.status == 412
    stranger = OperationContext(store, Settings(), Caller(token="other"))
    with pytest.raises(RequestProblem, match="something else"):
        await dead_drop(stranger, Confirm(crawl="c", reason="dns", confirm=plan.confirm))
    done = await dead_drop(context, Confirm(crawl="c", reason="dns", confirm=plan.confirm))
    assert (done.letters, done.sample, done.confirm) == (LETTERS, [], None)
    assert (await dead_requeue(context, Confirm(crawl="c"))).letters == 1


async def test_a_confirmation_expires(
    store: Store, bed: Callable[..., Bed], monkeypatch: pytest.MonkeyPatch
) -> None:
    context = await dead_crawl(store, bed)
    plan = await dead_drop(context, Confirm(crawl="c", dry_run=True))
    late = time.time() + confirmation.VALID_S + 2
    monkeypatch.setattr(confirmation.time, "time", lambda: late)
    with pytest.raises(RequestProblem, match="expired"):
        await dead_drop(context, Confirm(crawl="c", confirm=plan.confirm))


def test_priorities_of_many_urls_need_it_too(server: Serving, web: str) -> None:
    client = gossamer.Client(server.url)
    crawl = client.start(f"{web}/", name="many", delay=60).crawl
    client.add(crawl, *(f"{web}/many/{n}" for n in range(LETTERS + 1)))
    with pytest.raises(gossamer.errors.RequestConflict, match="more than 1000 URLs"):
        client.priority(crawl, 5)
    plan = client.priority(crawl, 5, dry_run=True)
    assert (plan.urls > confirmation.MAX_UNCONFIRMED, plan.dry_run) == (True, True)
    with pytest.raises(gossamer.errors.RequestConflict, match="something else"):
        client.priority(crawl, 6, confirm=plan.confirm)
    assert client.priority(crawl, 5, confirm=plan.confirm).urls >= LETTERS
    assert client.priority(crawl, 7, match="many/1$").urls == 1
    client.cancel(crawl)
