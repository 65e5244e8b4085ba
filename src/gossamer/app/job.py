"""Defines `Job`, the input of a crawl, and `Setup`, the prepared input that all workers of the crawl share.
`Job` and `Setup` are passed to other processes as JSON."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import unquote

import msgspec

from gossamer.config.redaction import register, register_header, register_in, register_pair, suggests_secret
from gossamer.config.settings import Settings
from gossamer.frontier.crawls import Spec
from gossamer.sites.remote_sites import SiteReach


class JobOutput(msgspec.Struct, frozen=True):
    """One output of a crawl. If `sites` is not empty, the output receives only the items of these sites."""

    spec: str
    overwrite: bool = False
    sites: tuple[str, ...] = ()


class Job(msgspec.Struct, kw_only=True):
    """The complete input of a crawl. A job is passed to worker processes as JSON."""

    targets: list[str]
    settings: Settings
    outputs: list[JobOutput] = []
    pages: str | None = None
    attempts: str | None = None
    """The output for the attempts log (one row per request), in the syntax of the option `-o`."""
    graph: str | None = None
    """The output for the links of pages, in the syntax of the option `-o`."""
    files: str | None = None
    """The place where files of items are stored: a folder, an object store, or `off`. None means that files
    are stored in the crawl's folder."""
    name: str | None = None
    fresh: bool = False
    refresh: bool = False
    """Whether to revisit known URLs and write only what changed."""
    per_pass: bool = False
    """Whether each output is meant for the rows of one pass only, such as a new file for each run. No message
    then says that earlier rows are not in it."""
    reread: bool = False
    """Whether a pass of `refresh` or `if_older` also reads the pages that it visits and that did not change."""
    known: str | None = None
    """The folder for the records of known pages, if it is not the crawl's own folder. In a fleet, all workers
    must have access to the folder."""
    text: bool = False
    links: bool = False
    headers: dict[str, str] = {}
    args: dict[str, str] = {}
    priority: int = 0
    sitemaps: bool = False
    watch: float | None = None
    """Seconds between two reads of the sitemaps and feeds among the targets. If `watch` is None, the crawl
    reads each sitemap and feed once."""
    gates: list[str] = []
    """The conditions given with `--fail-on`."""
    archive: str | None = None
    """The page archive from which the crawl reads pages. With an archive, the crawl fetches nothing from the
    web."""
    show: str | None = None
    """The folder for a picture before and after each step of a page in the browser."""
    screenshot: str = ""
    """`page` or `full` for a screenshot of each page in the browser (`Render.screenshot`), or '' for those that
    sites want."""


class Setup(msgspec.Struct, kw_only=True):
    """A prepared job, which every worker of the crawl shares."""

    job: Job
    crawl: str
    spec: Spec
    store: str
    owner: str = ""
    """The identifier of this crawl, which consists of the crawl's name and start time."""
    finished: bool = True
    """Whether the crawl has finished when its outputs are closed. If the run was stopped, `finished` is
    False."""
    seeds: list[str]
    """The URLs that define the scope: the seeds, the watched sitemaps and feeds, and the root URLs of hosts
    that site files name. If a crawl has more than 10,000 seeds, this list may contain only one seed per host
    (`seeding.scope_anchors`)."""
    allowed: list[str]
    """Private hosts that the user gave as seeds."""
    credentials: dict[str, tuple[str, str]] = {}
    """Maps an origin to its user name and password."""
    sites: dict[str, str] = {}
    """Names and versions of the site files."""
    lacks: dict[str, SiteReach] | None = None
    """The sites for which this fleet worker does not have the crawl's version of the site file. The keys are
    the names of the sites. None means that the worker has all site files."""
    alone: bool = True
    segment: str = ""
    """The text that identifies this process in the names of its output files, such as SEGMENT in
    `part-SEGMENT.jsonl` (`job_payload.segment_name`). `segment` is '' unless the process belongs to a
    fleet."""
    open: bool = False
    """Whether some seeds are not known at the start, because producers supply them later. If `open` is true,
    a link is in scope if the link stays on the host (or domain) of the page that contains the link."""
    deadline: float | None = None
    """The time at which `--time-limit` is reached, as a value of the monotonic clock. All processes of a
    machine share this clock."""
    verbose: bool = False
    """Whether each visit is logged as a line on stderr."""
    ids: bool = False
    """Whether the crawl's requests may have an id or the time at which they were added. If `ids` is true, the
    crawl's tables have columns for the id and the time."""

    @property
    def keeps_rows(self) -> bool:
        """Whether the crawl keeps all rows in its folder (`sinks.rows_in_data_folder`). Only a crawl with an
        embedded store keeps its rows. If the store is shared, several machines may work on the crawl."""
        embedded = self.job.settings.store is None and self.store.startswith("unix://")
        return embedded and not self.segment and self.job.settings.keep is not None

    @property
    def revisits_on_fleet(self) -> bool:
        """Whether a fleet visits the crawl's known pages again. If a fleet revisits pages, the page table is
        in the shared store."""
        return bool(self.segment) and self.job.settings.revisit is not None

    @property
    def known_at(self) -> Path | None:
        """The folder with the crawl's records of its known pages. The property is None for a fleet without a
        shared folder."""
        if self.job.known is None and self.segment:
            return None
        return Path(self.job.known or self.job.settings.data) / self.crawl


def register_secrets(setup: Setup) -> None:
    """Registers all secrets in a setup. A process calls this function after it has received the setup from
    another process. Registered secrets are masked in all output."""
    job = setup.job
    for name, value in job.headers.items():
        register_header(name, value)
    for name, value in job.args.items():
        if suggests_secret(name):
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
