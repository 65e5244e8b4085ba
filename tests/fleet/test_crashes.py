"""A page that kills its worker process in a fleet. The crawl gives up only that page and fetches all
others."""

from __future__ import annotations

from e2e.test_crashes import FEWER, SITE
from gossamer import url as urls
from support.fleet_workers import Fleet, Worker
from web import graph, preset, serve

PAGES = 25
QUICK = (
    "import msgspec; from gossamer.app import enqueuer as assemble; from gossamer.worker import lease_keeper as keeper; of = assemble.policy; "
    "assemble.policy = lambda *given: msgspec.structs.replace(of(*given), lease=1500); "
    f"keeper.RENEW_INTERVAL_S = keeper.SWEEP_INTERVAL_S = 0.3; {FEWER}; from gossamer.cli import main; main()"
)
"""Arguments of a worker whose leases expire after 1.5 s instead of 30 s."""


def test_a_page_that_kills_its_worker(fleet: Fleet) -> None:
    with serve(preset("tiny", hosts=1, pages=PAGES, latency=0.01)) as web:
        seed, poison = web.url(0), web.url(0, graph.path(3))
        site = SITE.format(host=urls.host(seed).partition(":")[0], seed=seed, poison=poison)
        (fleet.folder / "s.py").write_text(site)
        fleet.workers.append(Worker(fleet, "w", ["-c", QUICK, "worker", "-n", "w", "--processes", "2"]))
        fleet.ready(1)
        name = fleet.submit("s.py", output="out/", delay="0.01")
        summary = fleet.ended(name, 240)
        told = fleet.json("explain", poison, "--crawl", name)
        pages = {web.url(0, graph.path(page)) for page in range(PAGES)}
    assert (summary["state"], summary["dead"], summary["pending"]) == ("finished", 1, 0)
    why = told["why"].partition(";")[0]
    assert (told["now"], why) == ("dead", "crash: its worker died 3 times while visiting it")
    assert {row["url"] for row in fleet.rows()} >= pages - {poison}
