"""Runs one crawl into one store while the worker and the store get SIGKILL, and compares the store's rows
with the expected ones."""

from __future__ import annotations

import json
import random
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from e2e.runs import begin, command, end_all, job, kill, store_pid
from gossamer.app.job import Job, JobOutput
from sinks.databases.database_servers import Place
from web import Web, preset, serve

SITE = """from gossamer import Item, Site

site = Site("things", hosts={hosts}, seeds={seeds}, follow=True)


class Visited(Item, key="url"):
    url: str
    title: str | None


@site.page()
def thing(page):
    yield Visited(url=page.url, title=page.css("title::text").get())
"""


class Told(NamedTuple):
    """The result of a crawl with kills."""

    expected: int
    found: int
    different: int
    """The number of different keys among the rows found."""
    wrong: int
    """The number of missing keys plus the number of unexpected keys."""
    workers: int
    stores: int
    """The number of kills of the store, after that of the worker."""
    seconds: float
    said: str


def crawled(place: Place, folder: Path, hosts: int, pages: int, kills: int, rng: random.Random) -> Told:
    """Crawl `hosts` times `pages` items into the store. Kill the worker and the store `kills` times each, at
    random times."""
    began = time.monotonic()
    with serve(preset("tiny", hosts=hosts, pages=pages, latency=0.005)) as web:
        seeds = web.plan.seeds()
        site = folder / "things.py"
        names = sorted({seed.split("/")[2].partition(":")[0] for seed in seeds})
        site.write_text(SITE.format(seeds=seeds, hosts=names))
        one = job([str(site)], folder, per_host=8, concurrency=64)
        one.outputs = [JobOutput(place.spec)]
        strikes = sorted((rng.uniform(0.02, 0.7) * hosts * pages, who) for who in ("worker", "store") * kills)
        try:
            dealt, said = struck(web, place, one, strikes, rng)
        finally:
            end_all(Path(one.settings.data))
            kill(store_pid(Path(one.settings.data)))
        summary = json.loads(said[0])
        assert (summary["state"], summary["pending"]) == ("finished", 0), said
        want = {web_key(page) for page in web.plan.must_fetch(sitemaps=False)}
    rows = place.found("visited")
    keys = {web_key(row["url"]) for row in rows}
    return Told(
        len(want),
        len(rows),
        len(keys),
        len(want ^ keys),
        *dealt.values(),
        time.monotonic() - began,
        said[1][-300:],
    )


def struck(
    web: Web, place: Place, one: Job, strikes: Sequence[tuple[float, str]], rng: random.Random
) -> tuple[dict[str, int], tuple[str, str]]:
    """Run a crawl to its end, with kills after the given numbers of requests. Returns how often the worker
    and the store were killed, and the last output of the crawl."""
    code = "; ".join(filter(None, [place.code, "from gossamer.cli import main; main()"]))
    dealt, door = dict.fromkeys(("worker", "store"), 0), begin(command(one), code)

    def alive() -> subprocess.Popen[str]:
        """Returns the process of the crawl. Starts a new process if the crawl's own store has failed so often
        that the crawl gave up."""
        if door.poll() is None:
            return door
        said = door.communicate()
        assert (door.returncode, place.server) == (8, None), said
        return begin(command(one), code)

    for moment, who in strikes:
        while web.stats()["requests"] < moment:
            door = alive()
            time.sleep(0.01)
        time.sleep(rng.uniform(0, 0.05))  # a crawl of the test suite takes less than a second
        door = alive()
        if who == "worker":
            kill(door.pid)
            door.communicate()
            door = begin(command(one), code)
        else:
            place.strike(Path(one.settings.data), rng.uniform(0, 0.5))
        dealt[who] += 1
    while True:
        said = door.communicate(timeout=900)
        if door.returncode != 8 or place.server is not None:
            assert door.returncode == 0, said
            return dealt, said
        door = begin(command(one), code)


def web_key(url: str) -> str:
    """Returns the canonical form of a URL."""
    from gossamer import url as urls

    return urls.canonical(url) or url
