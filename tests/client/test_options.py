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
    extra = python - command - EARLIER - {"progress"}
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
