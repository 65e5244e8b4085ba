"""The options of `gossamer.crawl` and the command `gossamer crawl` have the same names, and the values
reach the job."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import gossamer
from gossamer.cli.crawl import HELP, OWN
from gossamer.client.options import job_of
from gossamer.errors import UnknownOption, UsageError

TERMINAL = {"json", "quiet", "verbose"}
"""Options that only affect the terminal. In Python, `progress` and the summary replace these options."""
EARLIER = {"headers", "args", "gates"}
"""Old names, which the Python API still accepts."""
ARGUMENTS = {"output"}
"""Options that are parameters of `run`."""


def test_command_line_and_python_have_the_same_options() -> None:
    command, python = {*OWN, *HELP} - TERMINAL - ARGUMENTS, {*gossamer.CrawlOptions.__annotations__}
    assert command - python == set(), "options that Python lacks"
    extra = python - command - EARLIER - {"progress", "per_pass", "reread"}
    settings = {name for name in extra if not hasattr(job_of([], {}).settings, name)}
    assert settings == set(), "options that are neither on the command line nor settings"


@pytest.mark.parametrize(
    ("options", "check"),
    [
        ({"header": {"Accept": "text/html"}}, lambda job: job.headers == {"Accept": "text/html"}),
        ({"header": ["Accept: text/html"]}, lambda job: job.headers == {"Accept": "text/html"}),
        ({"argument": {"page": 3}}, lambda job: job.args == {"page": "3"}),
        ({"fail_on": "success<0.9"}, lambda job: job.gates == ["success<0.9"]),
        ({"overwrite": Path("a.jsonl")}, lambda job: [one.overwrite for one in job.outputs] == [True]),
        ({"delay": 1 / 3}, lambda job: job.settings.delay == (0.333333333, 0.333333333)),
        ({"time_limit": 17_999.985_123_456_789}, lambda job: job.settings.time_limit == 17_999.985123457),
        ({"host_rate": 1e-05}, lambda job: job.settings.host_rate == 0.00001),
        ({"setting": {"timeout": "3s"}}, lambda job: job.settings.timeout == 3.0),
        ({"timeout": 3}, lambda job: job.settings.timeout == 3.0),
        ({"watch": "1h"}, lambda job: job.watch == 3600.0),
        ({"data": Path("d")}, lambda job: str(job.settings.data) == "d"),
        ({"include": "/a"}, lambda job: len(job.settings.include) == 1),
        ({"allow_port": 8080}, lambda job: "8080" in str(job.settings.allow_port)),
        ({"limit": None}, lambda job: job.settings.limit == job_of([], {}).settings.limit),
    ],
)
def test_values_of_python_reach_the_job(options: dict[str, Any], check: Any) -> None:
    assert check(job_of(["https://a.example/"], options))


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"header": "Accept"}, "write it as 'name:value'"),
        ({"priority": "high"}, "priority= must be a number"),
        ({"watch": "soon"}, "watch='soon'"),
        ({"header": {}, "headers": {}}, "the same option"),
        ({"fresh": True, "resume": True}, "exclude one another"),
    ],
)
def test_invalid_values_are_named(options: dict[str, Any], says: str) -> None:
    with pytest.raises(UsageError, match=says):
        job_of(["https://a.example/"], options)


def test_an_unknown_option_is_refused_before_anything_runs() -> None:
    for call in (gossamer.crawl, gossamer.run):
        with pytest.raises(UnknownOption, match=r"no option limt= \(did you mean limit=?\?\)") as refused:
            call("https://a.example/", limt=3)  # type: ignore[operator] # the misuse under test
        assert isinstance(refused.value, TypeError)


@pytest.mark.parametrize("given", [{}, {"files": "kept"}, {"data": "d"}])
def test_only_a_crawl_without_folders_keeps_no_files(
    given: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A loop over a crawl without `data` uses a temporary folder."""
    seen: list[dict[str, Any]] = []

    def refuse(targets: list[str], options: dict[str, Any]) -> None:
        seen.append(options)
        raise UsageError("no crawl")

    monkeypatch.setattr("gossamer.client.iteration.job_of", refuse)
    with pytest.raises(UsageError, match="no crawl"):
        list(gossamer.crawl("https://a.example/", **given))
    (options,) = seen
    assert options.get("files") == (given.get("files") or (None if "data" in given else "off"))
    assert "data" in options
