"""Requeueing and dropping dead letters can be undone: no URL is lost or duplicated, and all counts are as before."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from gossamer.app.dead_letters import decide, undo
from gossamer.errors import UsageError
from gossamer.frontier.crawls import Crawls, Spec
from gossamer.frontier.stats import CrawlStatistics, Letter
from gossamer.frontier.summary import crawl_counts
from gossamer.store import keys
from gossamer.store.store import Store
from support.frontiers import Bed, any_url, bed, cluster_url, key_checks, store, whole_cluster

__all__ = ["any_url", "bed", "cluster_url", "key_checks", "store", "whole_cluster"]
LETTERS = 450


async def dead_crawl(store: Store, bed: Callable[..., Bed]) -> Bed:
    """Makes a finished crawl with LETTERS dead letters of two hosts."""
    await Crawls(store).begin("c", Spec(targets=["http://a.test/"]), [])
    one = bed()
    await one.add(*(f"http://{'ab'[n % 2]}.test/{n}" for n in range(LETTERS)))
    while claims := await one.claim(500):
        for claim in claims:
            await one.end(claim, "x", reason="dns" if claim.host == "a.test" else "timeout")
    await Crawls(store).set("c", "finished", "")
    return one


async def letters(store: Store) -> list[Letter]:
    return [letter async for letter in CrawlStatistics(store).dead("c")]


async def counts(store: Store) -> dict[str, int]:
    return {name: n for name, n in (await crawl_counts(store, "c")).items() if n}


@pytest.mark.parametrize("verb", ["requeue", "drop"])
async def test_the_letters_and_counts_are_as_before(store: Store, bed: Callable[..., Bed], verb: str) -> None:
    await dead_crawl(store, bed)
    before = await letters(store), await counts(store)
    assert await decide(store, "c", verb, reason="dns") == (LETTERS // 2, True)
    assert len(await letters(store)) == LETTERS // 2
    done = await undo(store, "c")
    assert done == (verb, LETTERS // 2, 0)
    assert (await letters(store), await counts(store)) == before
    assert (await Crawls(store).state("c"))[0] == "finished"
    with pytest.raises(UsageError, match="no change of dead letters"):
        await undo(store, "c")
    assert (await letters(store), await counts(store)) == before


async def test_a_url_that_was_claimed_in_the_meantime_stays(store: Store, bed: Callable[..., Bed]) -> None:
    one = await dead_crawl(store, bed)
    await decide(store, "c", "requeue")
    claimed = await one.claim(7)
    assert 0 < len(claimed) < LETTERS
    done = await undo(store, "c")
    assert (done.letters, done.kept) == (LETTERS - len(claimed), len(claimed))
    for claim in claimed:
        await one.end(claim, "d")
    assert not await one.claim(500), "the other URLs are no longer queued"
    now = await counts(store)
    assert (now["dead"], now.get("open", 0)) == (LETTERS - len(claimed), 0)
    urls = {letter.url for letter in await letters(store)}
    assert len(urls) == LETTERS - len(claimed)
    assert not urls & {claim.request.url for claim in claimed}


async def test_only_the_last_change_is_undone(store: Store, bed: Callable[..., Bed]) -> None:
    await dead_crawl(store, bed)
    await decide(store, "c", "drop", reason="dns")
    await decide(store, "c", "drop", reason="timeout")
    assert (await undo(store, "c")).letters == LETTERS // 2
    assert {letter.reason for letter in await letters(store)} == {"timeout"}
    with pytest.raises(UsageError):
        await undo(store, "c")


async def test_what_is_kept_for_it_ends_by_itself(store: Store, bed: Callable[..., Bed]) -> None:
    await dead_crawl(store, bed)
    await decide(store, "c", "drop")
    token = await store.client.hget(keys.last_change("c"), "token")
    assert token is not None
    names = [keys.last_change("c")]
    names += [
        keys.changed_letters(keys.bucket_of(host, store.buckets), "c", token.decode())
        for host in ("a.test", "b.test")
    ]
    for name in names:
        assert 0 < await store.client.ttl(name) <= 600, name


async def test_a_dry_run_leaves_the_last_change(store: Store, bed: Callable[..., Bed]) -> None:
    await dead_crawl(store, bed)
    await decide(store, "c", "drop", reason="dns")
    await decide(store, "c", "drop", dry_run=True)
    assert (await undo(store, "c")).letters == LETTERS // 2
