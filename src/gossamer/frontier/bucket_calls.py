"""What a frontier tells the scripts of a bucket, as the parts of it that work on several buckets see it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from gossamer.frontier.policy import Policy
from gossamer.model.visit import Adds, Claimed, Settle
from gossamer.store.reconnect import Patience
from gossamer.store.store import Store


class AllBuckets(Protocol):
    """The counts of a crawl in all buckets (`multi_bucket`)."""

    async def counts(self, *names: str) -> list[list[int]]: ...


class BucketSums(Protocol):
    """What the other buckets hold (`host_budgets`)."""

    async def elsewhere(self, bucket: int) -> tuple[int, int, int]: ...

    def took(self, bucket: int, strangers: int, singles: int) -> None: ...


class BucketCalls(Protocol):
    """The arguments of the calls of one crawl, and what their replies mean (`verbs.Frontier`)."""

    store: Store
    crawl: str
    policy: Policy
    waits: tuple[int, int]

    @property
    def patience(self) -> Patience: ...

    @property
    def everywhere(self) -> AllBuckets: ...

    @property
    def shares(self) -> BucketSums: ...

    def remainder(self, fingerprint: int) -> tuple[int, int]: ...

    async def adding(self, bucket: int, adds: Adds) -> tuple[str | int, ...]: ...

    def claiming(
        self, k: int, limit: int | None = None, size_limit: int | None = None, rate: float | None = None
    ) -> Any: ...

    def claimed(self, bucket: int, got: Any) -> Claimed: ...

    def landing(self, settles: Sequence[Settle]) -> Any: ...

    def sweeping(self) -> Any: ...
