"""Cancels, kills and ends crawls of a simulated fleet, and checks after each that no slot of a host is lost.

    python benchmarks/lost_slots.py [--rounds 2000] [--seed 1] [--together 8] [--rows FILE]

A round is a crawl of 90 URLs on 30 hosts with 4 slots each, by three workers in one process on a real Valkey server.
Half of the crawls obey robots.txt. At a random moment the crawl is cancelled (its queue is dropped), removed, or
stopped, or it goes on until no URL is left. Workers go on with what they have claimed, add links, retry, and learn the
end late. In two of five rounds, one worker is killed, so that its leases expire (0.3 s). Then the slots of all hosts
are compared with the leases, and the next crawl of the same hosts must get all their slots within 40 s.

A round mostly waits: a host whose lease was given back is left alone for 1 s, because its request may have been sent.
So `--together` rounds, each on its own hosts, share the store. A round takes over the hosts of an earlier round.
`--rows` appends a JSON line for each round, and a later run with the same file and seed makes only the missing rounds.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import random
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from gossamer.errors import GossamerError, Stale
from gossamer.frontier.crawls import drop_queue, forget_crawl
from gossamer.frontier.lost_slots import wrong_hosts
from gossamer.model.verdict import ClaimEnd
from gossamer.model.visit import Claim, Settle
from gossamer.store.store import Store, connect
from support.fleet_workers import Server
from support.frontiers import Bed

HOSTS, SLOTS = 30, 4
POLICY = {"per_host": SLOTS, "delay": 0, "first_delay": 0, "lease": 300}
PATIENCE_S = 40.0


class Round:
    """A crawl that ends in one of four ways, and the next crawl of its hosts. `place` names the hosts."""

    def __init__(self, store: Store, seed: int, number: int, place: int) -> None:
        self.store, self.number, self.chance = store, number, random.Random(f"{seed} {number}")
        self.hosts = [f"h{n}.p{place}.example" for n in range(HOSTS)]
        self.end = self.chance.choice(("cancel", "remove", "stop", "finish"))
        self.kills = self.chance.random() < 0.4
        self.policy = {**POLICY, "obey_robots": self.chance.random() < 0.5}
        self.settled = asyncio.Semaphore(0)
        self.over = asyncio.Event()
        """Set when the workers learn that their crawl has ended."""

    def urls(self, name: str, count: int) -> list[str]:
        """Returns URLs of all hosts."""
        return [f"https://{host}/{name}{n}" for host in self.hosts for n in range(count)]

    async def settle(self, bed: Bed, claim: Claim, chance: random.Random) -> None:
        """Ends a claim as a worker does. The lease may be lost."""
        settle = Settle(claim.token, ClaimEnd.DONE, since=0)
        if claim.kind == "robots":
            holds = chance.randint(500, 3000)
            await bed.frontier.robots(claim, version=1, holds=holds, crawl_delay=0, settle=settle)
            return
        with contextlib.suppress(GossamerError, Stale):
            if chance.random() < 0.5:  # the request is over before the row is durable
                await bed.frontier.free_slots(0, [settle])
                await asyncio.sleep(chance.random() * 0.002)
            ends = [ClaimEnd.DONE] * 7 + [ClaimEnd.RETRY, ClaimEnd.DEAD, ClaimEnd.REFUSED, ClaimEnd.REQUEUED]
            end = chance.choice(ends)
            unvisited = end in (ClaimEnd.REFUSED, ClaimEnd.REQUEUED)
            await bed.end(claim, end, wait=5, reason="http-5xx", since=-1 if unvisited else 0)

    async def work(self, bed: Bed, worker: int) -> None:
        """Claims and settles URLs until the crawl has ended, and a little longer."""
        added, chance = 0, random.Random(f"{self.number} {worker}")
        while not self.over.is_set() or chance.random() < 0.7:
            claims = await bed.claim(chance.randint(1, 4))
            for claim in claims:
                await asyncio.sleep(chance.random() * 0.002)
                await self.settle(bed, claim, chance)
                self.settled.release()
                if chance.random() < 0.3 and added < 20:
                    added += 1
                    await bed.add(f"https://{chance.choice(self.hosts)}/{worker}-{added}")
            if not claims:
                await bed.frontier.requeue_expired(0)
                await asyncio.sleep(0.01)

    async def until_end(self, bed: Bed) -> None:
        """Waits for the moment at which the crawl ends."""
        for _ in range(self.chance.randint(0, 70)):
            await self.settled.acquire()
        while self.end == "finish" and (await bed.counts())["open"]:
            await self.settled.acquire()

    async def lost(self, *, correct: bool) -> list[str]:
        """Returns the hosts whose slots, leases and queues differ."""
        return [str(one) for one in await wrong_hosts(self.store, correct=correct) if one.host in self.hosts]

    async def next_crawl(self, name: str, before: Bed) -> int:
        """Returns the number of slots that the next crawl of the hosts gets. A claim of robots.txt is answered."""
        bed, got, until = Bed(self.store, name, **self.policy), 0, time.monotonic() + PATIENCE_S
        await bed.add(*self.urls("next-", SLOTS))
        while time.monotonic() < until and got < SLOTS * HOSTS:
            await before.frontier.requeue_expired(0)
            claimed = await bed.claimed()
            for claim in claimed.claims:
                if claim.kind == "robots":
                    settle = Settle(claim.token, ClaimEnd.DONE, since=0)
                    await bed.frontier.robots(claim, version=1, holds=60_000, crawl_delay=0, settle=settle)
                else:
                    got += 1
            if (
                not claimed.claims
            ):  # until the next host may be visited, or a lease of a killed worker expires
                wait = claimed.next_at - claimed.now if claimed.next_at >= 0 else 50
                await asyncio.sleep(max(10, min(wait, 100)) / 1000)
        return got

    async def run(self) -> dict[str, Any]:
        """Returns the row of the round."""
        began, name = time.monotonic(), f"c{self.number}"
        beds = [Bed(self.store, name, **self.policy) for _ in range(3)]
        await beds[0].add(*self.urls("", 3))
        tasks = [asyncio.create_task(self.work(bed, n)) for n, bed in enumerate(beds)]
        ending = asyncio.create_task(self.until_end(beds[0]))
        await asyncio.wait(
            [ending, *tasks], return_when="FIRST_COMPLETED"
        )  # an error of a worker ends it early
        if self.kills:
            tasks[0].cancel()
        if self.end in ("cancel", "remove"):
            await (drop_queue if self.end == "cancel" else forget_crawl)(self.store, name)
        self.over.set()
        done = await asyncio.gather(*tasks, return_exceptions=True)
        ending.cancel()
        at_once, ended = await self.lost(correct=False), time.monotonic()
        got = await self.next_crawl(f"n{self.number}", beds[1])
        started = time.monotonic() - ended
        for one in (name, f"n{self.number}"):
            await forget_crawl(self.store, one)
        left = await self.lost(correct=True)
        return {
            "round": self.number,
            "end": self.end,
            "killed": self.kills,
            "robots": self.policy["obey_robots"],
            "differ": at_once,
            "slots": got,
            "left": left,
            "next_s": round(started, 2),
            "round_s": round(time.monotonic() - began, 2),
            "errors": [repr(one) for one in done if isinstance(one, Exception)],
        }


async def run(rounds: list[int], seed: int, together: int, rows: Path | None) -> list[dict[str, Any]]:
    """Makes rounds. Returns their rows."""
    todo, found = iter(rounds), []

    async def in_turn(store: Store, place: int) -> None:
        for number in todo:
            row = {"seed": seed, **await Round(store, seed, number, place).run()}
            found.append(row)
            if rows is not None:
                with rows.open("a") as file:
                    file.write(json.dumps(row) + "\n")

    with tempfile.TemporaryDirectory() as folder, Server(Path(folder) / "s") as server:
        store = connect(server.url(0))
        await store.open(1, "test")
        async with asyncio.TaskGroup() as group:
            for place in range(together):
                group.create_task(in_turn(store, place))
        await store.close()
    return found


def told(row: dict[str, Any]) -> str:
    """Returns what differed in a round just after its crawl had ended."""
    return " ".join(row["differ"])


def report(rows: list[dict[str, Any]]) -> None:
    """Prints counts of all rounds."""
    ends = Counter(row["end"] + (", one worker killed" if row["killed"] else "") for row in rows)
    for what, count in (
        *sorted(ends.items()),
        ("slots and leases differ", sum("flight" in told(row) or "robots" in told(row) for row in rows)),
        ("queues and their sizes differ", sum("queued" in told(row) for row in rows)),
        ("the next crawl did not get all slots", sum(row["slots"] < SLOTS * HOSTS for row in rows)),
        ("hosts that differ at the end", sum(len(row["left"]) for row in rows)),
        ("errors of workers", sum(len(row["errors"]) for row in rows)),
    ):
        print(f"{what:40}{count:6}")
    print(f"{'longest wait of a next crawl, s':40}{max((row['next_s'] for row in rows), default=0):6}")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--together", type=int, default=8)
    parser.add_argument("--rows", type=Path)
    given = parser.parse_args()
    print(time.strftime("%Y-%m-%d, ", time.gmtime()) + "python " + " ".join(sys.argv))
    old: list[dict[str, Any]] = []
    if given.rows is not None and given.rows.exists():
        old = [row for line in given.rows.open() if (row := json.loads(line))["seed"] == given.seed]
    done = {row["round"] for row in old}
    todo = [number for number in range(given.rounds) if number not in done]
    report(old + asyncio.run(run(todo, given.seed, given.together, given.rows)))


if __name__ == "__main__":
    main()
