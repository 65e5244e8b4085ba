"""Prepares a crawl with `--revisit`. Determines the revisit rules from the settings and the site files.
Creates the objects that apply the revisit rules during the crawl."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import msgspec

from gossamer.app.job import Job, Setup
from gossamer.errors import ConfigError, UsageError
from gossamer.model.request import Request, split
from gossamer.recrawl.revisit_rules import RevisitRules, rules_of
from gossamer.sites.loaded_site import LoadedSite
from gossamer.store.store import Store

if TYPE_CHECKING:
    from gossamer.app.revisit_loop import RevisitLoop

SETTINGS = ("revisit", "revisit_budget", "max_age", "min_age", "importance")


def with_site_rules(job: Job, sites: Sequence[LoadedSite]) -> Job:
    """Returns the job with its revisit settings filled in. Settings that the crawl itself does not set are
    taken from its site files. Raises ConfigError if the sites contradict one another. Raises UsageError if
    the settings contradict one another."""
    found = {name: getattr(job.settings, name) for name in SETTINGS}
    for name in SETTINGS:
        said = {one.name: value for one in sites if (value := getattr(one.site, name))}
        if found[name] or not said:
            continue
        if name == "importance":
            found[name] = tuple(text for texts in said.values() for text in texts)
        elif len(set(said.values())) > 1:
            raise ConfigError(
                f"sites {', '.join(said)} set different values of {name}: crawl them separately, or give "
                f"--{name.replace('_', '-')}"
            )
        else:
            found[name] = next(iter(said.values()))
    job = msgspec.structs.replace(job, settings=msgspec.structs.replace(job.settings, **found))
    if rules_of_job(job) is not None and job.refresh:
        raise UsageError(
            "--refresh and --revisit exclude one another: --revisit visits known pages when they are due"
        )
    if rules_of_job(job) is not None and job.settings.if_older is not None:
        raise UsageError(
            "--if-older and --revisit exclude one another: --revisit visits known pages when they are due "
            "(--min-age is its minimum age)"
        )
    return job


def rules_of_job(job: Job) -> RevisitRules | None:
    """Returns the rules that decide when the pages of a job are visited again, or None if the job has no
    `--revisit`. Raises UsageError."""
    s = job.settings
    try:
        return rules_of(s.revisit, s.revisit_budget, s.max_age, s.min_age, s.importance)
    except ValueError as error:
        raise UsageError(str(error)) from None


def revisits_of(setup: Setup, store: Store, warn: Callable[[str], None]) -> RevisitLoop | None:
    """Returns the loop that visits the pages of a crawl again, or None if the crawl has no `--revisit`."""
    rules = rules_of_job(setup.job)
    if rules is None:
        return None
    from gossamer.app.revisit_loop import RevisitLoop

    return RevisitLoop(setup, store, rules, warn)


class FleetSignals:
    """Sends change signals to the process of a fleet that decides when pages are visited again. Implements
    `producer_runner.ChangeSignals`."""

    def __init__(self, store: Store, crawl: str) -> None:
        self._store, self._crawl = store, crawl

    async def signal(self, requests: Sequence[Request]) -> None:
        """Reports that pages have changed. If too many of these reports are waiting in the store, a new
        report is dropped. The crawl then visits the pages of that report at their normal due times."""
        from gossamer.recrawl.freshness import report_changed

        if requests:
            await report_changed(self._store, self._crawl, [one.url for one in requests], certain=False)


def signals_of(setup: Setup, store: Store) -> FleetSignals | None:
    """Returns the object that reports changes found in the watched lists of a submitted crawl. Returns None
    if the crawl has no `--revisit`."""
    return FleetSignals(store, setup.crawl) if setup.job.settings.revisit is not None else None


async def refuse_unkept_window(setup: Setup, store: Store) -> None:
    """Raises UsageError if the budget of a submitted crawl is too small to visit all pages known so far
    within the window of `--revisit`. Does nothing if the number of visits that the hosts allow is not
    known."""
    rules = rules_of_job(setup.job)
    if rules is None or rules.window is None:
        return
    from gossamer.app.revisit_budget import RevisitBudget
    from gossamer.recrawl.freshness import read_freshness
    from gossamer.recrawl.page_schedule import MAX_HOSTS, PageSchedule
    from gossamer.recrawl.revisit_policy import unkept_window

    hosts = {split(url)[1] for url in setup.seeds}
    if len(hosts) > MAX_HOSTS and rules.budget[1] == "%" and setup.job.settings.rate is None:
        return
    budget = RevisitBudget(setup.job.settings, rules)
    await budget.read(store, sorted(hosts)[:MAX_HOSTS])
    before = await read_freshness(store, setup.crawl)
    pages = max(len(setup.seeds), before.pages if before is not None else 0)
    most = PageSchedule(rules).bounds.most
    if needed := unkept_window(pages, most, budget.visits):
        raise budget.refusal(pages, needed)
