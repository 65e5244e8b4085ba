"""What a crawl was given (`Job`), and that made ready for all of its workers (`Setup`): values that travel as
JSON."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import unquote

import msgspec

from gossamer.config.redaction import register, register_header, register_in, register_pair, secretive
from gossamer.config.settings import Settings
from gossamer.frontier.crawls import Spec
from gossamer.sites.remote_sites import Reach


class JobOutput(msgspec.Struct, frozen=True):
    """One `-o` or `-O`, or (`sites`) what sites named for their own items."""

    spec: str
    overwrite: bool = False
    sites: tuple[str, ...] = ()


class Job(msgspec.Struct, kw_only=True):
    """All that a crawl was given; it travels to worker processes as JSON."""

    targets: list[str]
    settings: Settings
    outputs: list[JobOutput] = []
    pages: str | None = None
    attempts: str | None = None
    """Output of the requests made, as after -o."""
    graph: str | None = None
    """Output of the links of pages, as after -o."""
    files: str | None = None
    """Where files of items are kept: a folder, a store of objects, or `off`; None: in the crawl's folder."""
    name: str | None = None
    fresh: bool = False
    refresh: bool = False
    """Visit again what is known; only what changed is written."""
    known: str | None = None
    """Folder for what is known of pages, where it is not the crawl's own; a fleet's workers all reach it."""
    text: bool = False
    links: bool = False
    headers: dict[str, str] = {}
    args: dict[str, str] = {}
    priority: int = 0
    sitemaps: bool = False
    watch: float | None = None
    """Seconds between reads of the sitemaps and feeds among the targets; None: once."""
    gates: list[str] = []
    """What stands after `--fail-on`."""
    archive: str | None = None
    """Replay pages from here; nothing is fetched."""


class Setup(msgspec.Struct, kw_only=True):
    """A job made ready by the door: what every worker of the crawl shares."""

    job: Job
    crawl: str
    spec: Spec
    store: str
    owner: str = ""
    """This crawl and no other: its name and when it began."""
    finished: bool = True
    """Whether the crawl has finished when its outputs are closed; False: its run was stopped."""
    seeds: list[str]
    """The seeds' URLs that make the scope: one a host (scope host, domain, any) or each (page, prefix)."""
    allowed: list[str]
    """Private hosts that were typed as seeds."""
    credentials: dict[str, tuple[str, str]] = {}
    """By origin."""
    sites: dict[str, str] = {}
    """Names and versions of the site files."""
    lacks: dict[str, Reach] | None = None
    """On a fleet: the sites whose files, in those versions, are not here; None: all are."""
    alone: bool = True
    segment: str = ""
    """On a fleet: the part of the outputs that this process alone writes."""
    open: bool = False
    """Producers give seeds that nobody knows beforehand: what a page links to is inside when its own host (or
    domain) is."""
    deadline: float | None = None
    """When `--time-limit` is reached, on the monotonic clock that all processes of a machine share."""

    @property
    def known_at(self) -> Path | None:
        """Folder of what the crawl knows of its pages; None on a fleet without a common one."""
        if self.job.known is None and self.segment:
            return None
        return Path(self.job.known or self.job.settings.data) / self.crawl


def registered(setup: Setup) -> None:
    """Register the secrets of a crawl that came from another process, so that nothing prints them."""
    job = setup.job
    for name, value in job.headers.items():
        register_header(name, value)
    for name, value in job.args.items():
        if secretive(name):
            register(value)
    for user, password in setup.credentials.values():
        register_pair(unquote(user), unquote(password))
    for text in (
        setup.store,
        *setup.seeds[:1000],
        *job.targets,
        *(one.spec for one in job.outputs),
        job.pages,
        job.attempts,
        job.graph,
        job.files,
    ):
        register_in(text or "")
