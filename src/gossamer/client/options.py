"""The options of `gossamer.crawl`, `run` and `fetch`. Each option has the same name as the command-line
option. A value is either a Python value, such as a number, list, mapping or path, or a string in the syntax
of the command line."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypedDict

from gossamer.config.redaction import register, register_header, suggests_secret
from gossamer.config.value_parsers import nearest
from gossamer.errors import UnknownOption, UsageError
from gossamer.sites.site_logs import print_site_logs

if TYPE_CHECKING:
    from gossamer.app.job import Job
    from gossamer.config.settings import Settings

Path = str | os.PathLike[str]
Paths = Path | Sequence[Path]
Texts = str | Sequence[str]
Size = int | str
"""A number of bytes, or a string such as `10M`."""
Time = float | str
"""A number of seconds, or a string such as `5m`."""


class PageOptions(TypedDict, total=False):
    """The options of `fetch`, which determine how a page is requested."""

    header: Mapping[str, str] | Texts
    """Request headers, either as a mapping such as `{"Accept-Language": "de"}` or as strings such as
    `Accept-Language: de`."""
    setting: Mapping[str, Any] | Texts
    """Values of settings, by the name of the setting. Each setting is also available as an option with the
    same name."""
    headers: Mapping[str, str]
    """The earlier name of the option `header`."""
    user_agent: str | None
    contact: str | None
    ladder: Texts
    browser: Texts
    proxies: Paths
    rotation: str
    proxy_check: str | None
    chromium: str | None
    ignore_robots: bool
    allow_private: Texts
    allow_port: int | Sequence[int]
    timeout: Time
    max_size: Size
    cache: Path | None
    http2: bool
    ca_file: Path | None
    unlocker: str | None
    unlocker_key: str | None
    unlocker_shape: Texts
    credits: int | None
    session: Time
    session_key: str | None
    archive: Path | None


class CrawlOptions(PageOptions, total=False):
    """The options of `crawl` and `run`."""

    overwrite: Paths
    """Outputs that are replaced, as with the command-line option `-O`."""
    pages: Path
    attempts: Path
    graph: Path
    files: Path
    name: str
    fresh: bool
    resume: bool
    refresh: bool
    per_pass: bool
    """Whether each output is meant for the rows of one pass only (`refresh`, `if_older`), such as a new file for
    each run. No message then says that earlier rows are not in it."""
    reread: bool
    """Whether a pass of `refresh` or `if_older` also reads the pages that it visits and that did not change. Their
    requests are unconditional, and their rows are written again."""
    known: Path
    text: bool
    links: bool
    sitemaps: bool
    watch: Time
    priority: int
    argument: Mapping[str, Any] | Texts
    """Arguments of sites, either as a mapping such as `{"page": 3}` or as strings such as `page=3`."""
    args: Mapping[str, Any]
    """The earlier name of the option `argument`."""
    fail_on: Texts
    gates: Sequence[str]
    """The earlier name of the option `fail_on`."""
    progress: bool
    """Whether to show the progress on stderr, or in a notebook below the cell."""
    store: str | None
    data: Path
    keep: Size | None
    cold: str | None
    scope: str
    include: Texts
    exclude: Texts
    depth: int
    limit: int | None
    time_limit: Time | None
    size_limit: Size | None
    delay: Time | None
    host_rate: float | str | None
    per_host: int
    polite_by: str
    rate: float | None
    lane: str
    region: str | None
    retries: Sequence[Time] | str
    revisit: Time
    revisit_budget: str
    if_older: Time | None
    max_age: Time | None
    min_age: Time | None
    importance: Mapping[str, float] | Texts
    concurrency: int | str
    processes: int | str
    log_level: str
    log_format: str
    """The format of the log. If the program has no log handlers of its own, messages from site files are
    printed. `log_level`: the minimum level of these messages."""
    browser_pages: int
    browser_requests: int
    host_pages: int | None
    host_bytes: Size | None
    host_time: Time | None
    rate_limit_wait: Time
    seen: str
    drop_parameters: Texts
    fragments: str
    duplicates: str
    guard: str
    credits_daily: int | None
    broker: Texts
    sites: Path
    slice: Time
    recycle_slices: int
    recycle_time: Time
    recycle_memory: Size
    metric_domains: Texts
    keep_attempts: Size
    keep_skipped: Size
    alerts: Texts
    alert_rules: str
    message_fields: Texts
    traces: str
    trace_sample: float


OUTSIDE_JOB = ("progress", "output")
"""Options that the caller handles, because they are not part of a job."""
_SAME = ("name", "fresh", "refresh", "per_pass", "reread", "text", "links", "sitemaps")
_PATHS = ("pages", "attempts", "graph", "known", "archive")
_EARLIER = {"headers": "header", "args": "argument", "gates": "fail_on"}
_LISTS = ("include", "exclude", "ladder", "proxies", "allow_private", "allow_port", "browser", "broker")


def job_of(targets: Sequence[str], options: Mapping[str, Any], folder: str = ".") -> Job:
    """Builds the job of a crawl from its targets and options. `folder`: the folder that may contain
    gossamer.toml. An option with the value None has its default value. Raises UnknownOption for an unknown
    option, and UsageError for an invalid value. The message of UnknownOption contains the most similar option
    name."""
    from gossamer.app.job import Job, JobOutput
    from gossamer.items.quality_gates import parse
    from gossamer.sinks.item_files import parse_file_store

    check_names(options, CrawlOptions.__annotations__.keys() | {"output"})
    given = {name: value for name, value in options.items() if value is not None and name not in OUTSIDE_JOB}
    for earlier, name in _EARLIER.items():
        if earlier in given:
            if name in given:
                raise UsageError(f"{earlier}= and {name}= are the same option: give one of them")
            given[name] = given.pop(earlier)
    own: dict[str, Any] = {name: given.pop(name) for name in _SAME if name in given}
    own |= {name: os.fspath(given.pop(name)) for name in _PATHS if name in given}
    if (
        len(modes := [n for n in ("fresh", "refresh") if own.get(n)] + ["resume"] * given.pop("resume", 0))
        > 1
    ):
        raise UsageError(f"{'= and '.join(modes)}= exclude one another")
    if "files" in given:
        own["files"] = parse_file_store(os.fspath(given.pop("files")))
    if "priority" in given:
        own["priority"] = _priority(given.pop("priority"))
    if "watch" in given:
        own["watch"] = _seconds("watch", given.pop("watch"))
    headers = _pairs("header", given.pop("header", ()), ":")
    arguments = _pairs("argument", given.pop("argument", ()), "=")
    for name, value in headers.items():
        register_header(name, value)
    for name, value in arguments.items():
        if suggests_secret(name):
            register(value)
    outputs = [JobOutput(one, overwrite=True) for one in paths(given.pop("overwrite", ()))]
    gates = [parse(text).text for text in texts(given.pop("fail_on", ()))]
    settings = read_given_settings(given, folder)
    if "log_level" in given:
        print_site_logs(settings.log_level, problems=True)
    return Job(
        targets=list(targets),
        settings=settings,
        outputs=outputs,
        headers=headers,
        args=arguments,
        gates=gates,
        **own,
    )


def check_names(options: Iterable[str], known: Iterable[str]) -> None:
    """Raises UnknownOption if a name is not an option."""
    valid = sorted(known)
    for name in options:
        if name not in valid:
            raise UnknownOption(f"there is no option {name}={nearest(name, valid)}")


def paths(value: Paths) -> list[str]:
    """Converts one path or several paths to a list of strings."""
    return [os.fspath(one) for one in ((value,) if isinstance(value, str | os.PathLike) else value)]


def texts(value: Texts) -> list[str]:
    """Converts one string or several strings to a list."""
    return [value] if isinstance(value, str) else list(value)


def read_given_settings(given: dict[str, Any], folder: str = ".") -> Settings:
    """Builds the settings from options. `given`: the values of settings by name. If `given` contains the key
    `setting`, its value contains further settings, as with the option `-s`. `folder`: the folder that may
    contain gossamer.toml. Raises UsageError and ConfigError."""
    from gossamer.config.settings import GivenSetting, load

    more = given.pop("setting", ())
    extra = dict(more) if isinstance(more, Mapping) else _pairs("setting", more, "=")
    found = [GivenSetting(f"-s {name}", name, _value(value)) for name, value in extra.items()]
    for name, value in given.items():
        if name in _LISTS and not isinstance(value, str | list | tuple):
            value = [value] if isinstance(value, int | os.PathLike) else list(value)
        found.append(GivenSetting(f"--{name}", name, _value(value)))
    settings: Settings = load(found, folder=folder)
    if settings.alerts or settings.alert_rules:
        from gossamer.observability.alert_delivery import check_alerts

        check_alerts(settings)
    return settings


def _value(value: Any) -> Any:
    """Returns the value with all paths converted to strings."""
    if isinstance(value, list | tuple):
        return [_value(one) for one in value]
    return os.fspath(value) if isinstance(value, os.PathLike) else value


def _priority(value: Any) -> int:
    if not isinstance(value, int) or not -1_000_000 <= value <= 1_000_000:
        raise UsageError("priority= must be a number between -1000000 and 1000000")
    return value


def _seconds(name: str, value: Time) -> float:
    from gossamer.config.value_parsers import seconds

    try:
        return max(seconds(value), 1.0)
    except ValueError as error:
        raise UsageError(f"{name}={value!r}: {error}") from None


def _pairs(option: str, value: Mapping[str, Any] | Texts, mark: str) -> dict[str, str]:
    """Converts a mapping, or strings such as `name=value`, to a dict. `mark`: the character that separates a
    name from its value."""
    if isinstance(value, Mapping):
        return {str(name): str(one) for name, one in value.items()}
    found = {}
    for text in texts(value):
        name, between, one = text.partition(mark)
        if not between or not name.strip():
            raise UsageError(f"{option}={text!r}: write it as 'name{mark}value', or give a mapping")
        found[name.strip()] = one.strip() if mark == ":" else one
    return found
