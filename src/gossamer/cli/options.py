"""Derives the click parameters of a command from the signature of the command's function.

    Data = Annotated[str | None, Option("--data", metavar="DIR", help="The data folder.")]
    def status(crawl: Crawl, data: Data = None, as_json: Json = False) -> int: ...

A parameter is a flag (`bool`), takes a value (`str`, `int`), or may be repeated (`list[str]`, which is None
if the option is not given). The module also contains the options that many commands share, and functions that
read the settings and open the store."""

from __future__ import annotations

import contextlib
import inspect
import os
import re
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from types import UnionType
from typing import TYPE_CHECKING, Annotated, Any, get_args, get_origin

import click

from gossamer.cli import printing
from gossamer.cli.help import DescribedArgument, GroupedCommand
from gossamer.cli.recorded_action import recorded_action
from gossamer.errors import UsageError

if TYPE_CHECKING:
    from gossamer.config.settings import GivenSetting, Settings
    from gossamer.store.store import Store


class Option:
    """An option of a command, such as `--data DIR`."""

    def __init__(
        self,
        *flags: str,
        metavar: str | None = None,
        help: str = "",  # noqa: A002 - click's name
        least: int | None = None,
    ) -> None:
        """`least` is the minimum value of the option."""
        self.flags, self.metavar, self.help, self.least = flags, metavar, help, least


class Argument:
    """A positional argument of a command."""

    def __init__(self, *, metavar: str, help: str = "") -> None:  # noqa: A002
        self.metavar, self.help = metavar, help


_STARS = re.compile(r"(?:^|[:=\s])\*\*\*(?:$|[@&#;\s])")


def refuse_masked(words: list[str]) -> None:
    """Raises UsageError if a word contains the `***` of a masked secret, because the user must write the
    secret itself."""
    for word in words:
        if _STARS.search(word):
            raise UsageError(f"{word!r}: messages show *** instead of a secret: write the secret itself")


def make_command(name: str, call: Callable[..., int]) -> click.Command:
    """Builds a command. The command's parameters come from the signature of `call`, and its help text from
    the docstring of `call`."""
    parameters = inspect.signature(call, eval_str=True).parameters.values()
    made = [_parameter(parameter) for parameter in parameters]
    if hushed := all(one.name != "quiet" for one in made):
        made.append(click.Option(["-q", "--quiet"], is_flag=True, help="No remarks."))
    made.append(
        click.Option(
            ["--no-color"], is_flag=True, expose_value=False, callback=_no_colour, help="No colours."
        )
    )
    repeated = [one.name or "" for one in made if one.multiple or one.nargs == -1]

    def run(**words: Any) -> int:
        if hushed:
            printing.hush_remarks(words.pop("quiet"))
        return call(**{**words, **{word: list(words[word]) or None for word in repeated}})

    command = GroupedCommand(name, callback=run, params=made, help=inspect.getdoc(call))
    command.prepare_words = vars(call).get("prepare_words")
    return command


def _no_colour(context: click.Context, parameter: click.Parameter, given: bool) -> None:
    if given:
        os.environ["NO_COLOR"] = "1"


def _parameter(parameter: inspect.Parameter) -> click.Parameter:
    kind, word = get_args(parameter.annotation)
    kind = (
        next((one for one in get_args(kind) if one is not type(None)), kind)
        if isinstance(kind, UnionType)
        else kind
    )
    several = get_origin(kind) is list
    settings: dict[str, Any] = {"metavar": word.metavar, "type": int if kind is int else str}
    if parameter.default is not parameter.empty and not several:
        settings["default"] = parameter.default
    if isinstance(word, Argument):
        needed = parameter.default is parameter.empty
        made = DescribedArgument([parameter.name], nargs=-1 if several else 1, required=needed, **settings)
        made.about = word.help
        return made
    names = [*word.flags, parameter.name]
    if word.least is not None:
        settings["type"] = click.IntRange(min=word.least)
    if kind is bool:
        return click.Option(names, is_flag=True, help=word.help)
    settings["required"] = parameter.default is parameter.empty
    return click.Option(names, multiple=several, help=word.help, **settings)


Data = Annotated[str | None, Option("--data", metavar="DIR", help="The data folder (default .gossamer).")]
StoreUrl = Annotated[
    str | None, Option("--store", metavar="URL", help="A shared store instead of the folder's.")
]
Setting = Annotated[list[str] | None, Option("-s", "--setting", metavar="NAME=VALUE", help="Any setting.")]
IfOlder = Annotated[
    str | None,
    Option(
        "--if-older",
        metavar="TIME",
        help="Visit nothing again whose last good visit is younger than this: 24h.",
    ),
]
Json = Annotated[bool, Option("--json", help="JSON on stdout.")]
LogLevel = Annotated[
    str | None, Option("--log-level", metavar="LEVEL", help="debug, info (default), warning, error.")
]
LogFormat = Annotated[
    str | None, Option("--log-format", metavar="FORMAT", help="One event per line: text (default) or json.")
]
Quiet = Annotated[bool, Option("-q", "--quiet", help="No progress, no remarks: only errors.")]
Crawl = Annotated[str, Argument(metavar="CRAWL", help="Its name; `gossamer status` lists them.")]
MaybeCrawl = Annotated[
    str | None, Argument(metavar="[CRAWL]", help="Its name; without: all, or the only one.")
]
OfCrawl = Annotated[
    str | None, Option("--crawl", metavar="CRAWL", help="Its name; needed where there are several.")
]
Host = Annotated[str, Argument(metavar="HOST", help="As in the URL: example.com or example.com:8080.")]


def excluded_words(words: list[str]) -> list[str]:
    """Puts a space before the excluded words of a search, so that `find bees -maps` does not read `-maps` as
    options. A word such as `-n`, which consists of a dash and a single letter, is still an option."""
    if words[:1] != ["find"]:
        return words
    return [f" {word}" if re.fullmatch(r"-(?:\d|(?!-|s[^:]*=).{2,})", word) else word for word in words]


def read_settings(
    data: str | None = None,
    store: str | None = None,
    pairs: list[str] | None = None,
    more: list[GivenSetting] | None = None,
    folder: str | Path = ".",
) -> Settings:
    """Returns the settings of a command. `pairs` are the texts of `-s`, and `folder` contains
    gossamer.toml."""
    from gossamer.config.settings import GivenSetting, load

    given = [parse_pair(pair) for pair in pairs or ()]
    given += [
        GivenSetting(f"--{name}", name, value)
        for name, value in (("data", data), ("store", store))
        if value is not None
    ]
    settings = load([*given, *(more or ())], folder=folder)
    if settings.alerts or settings.alert_rules:
        from gossamer.observability.alert_delivery import check_alerts

        check_alerts(settings)
    return settings


def log_settings(level: str | None, form: str | None) -> list[GivenSetting]:
    """Returns the settings of --log-level and --log-format."""
    from gossamer.config.settings import GivenSetting

    given = (("log_level", level), ("log_format", form))
    return [
        GivenSetting(f"--{name.replace('_', '-')}", name, value) for name, value in given if value is not None
    ]


def parse_pair(text: str) -> GivenSetting:
    """Parses one `NAME=VALUE` text of `-s`. Raises UsageError."""
    from gossamer.config.settings import GivenSetting

    name, equals, value = text.partition("=")
    if not equals or not name:
        raise UsageError(f"-s {text!r}: write it as -s setting=value")
    return GivenSetting(f"-s {name}", name.strip().replace("-", "_"), value)


def parse_authority(text: str) -> str:
    """Returns a host in the form that the frontier uses. The text is a host or a URL. Raises UsageError."""
    from gossamer import url
    from gossamer.model.request import split

    found = url.parse(text if "://" in text else f"http://{text}/")
    host = split(found)[1].rpartition("@")[2] if found and found.startswith(("http://", "https://")) else "*"
    if "*" in host:
        raise UsageError(f"{text!r} is not a host; write example.com or example.com:8080")
    return host


def hosts_of(text: str) -> list[str]:
    """Returns the hosts of a site file, or the one host that was typed. Raises UsageError."""
    if not text.endswith(".py") or "://" in text:
        return [parse_authority(text)]
    if not os.path.isfile(text):
        raise UsageError(f"there is no site file {text}; for a host with this name, write https://{text}")
    from gossamer.sites import load_all
    from gossamer.sites.host_rules import hosts_of_site

    if not (found := [host for site in load_all([text]) for host in hosts_of_site(site)]):
        raise UsageError(f"{text} names no host: give it hosts=[...] or seeds=[...]")
    return found


def only_of(host: str | None) -> str | None:
    """Returns the host of `--host` in the form that the frontier uses, or None."""
    return None if host is None else parse_authority(host)


@contextlib.asynccontextmanager
async def open_existing_store(settings: Settings) -> AsyncIterator[Store]:
    """Opens the store of existing crawls. Raises UsageError if the data folder contains no crawls."""
    from gossamer.app import open_store

    async with open_store.open_existing_store(settings) as store, recorded_action(store):
        yield store


@contextlib.asynccontextmanager
async def opened_store(settings: Settings) -> AsyncIterator[Store]:
    """Opens the configured store, for example for its schedules. Creates the store if it does not exist."""
    from gossamer.app import open_store

    async with open_store.opened_store(settings) as store, recorded_action(store):
        yield store


async def only_crawl(store: Store, name: str | None) -> str:
    """Returns the name of the given crawl, or of the only crawl in the store. Raises UsageError."""
    from gossamer.frontier.crawls import Crawls

    if name is not None:
        return (await Crawls(store).need(name)).name
    names = await Crawls(store).names()
    if len(names) != 1:
        raise UsageError(
            f"several crawls exist: {', '.join(names)}; name one" if names else "there is no crawl yet"
        )
    return names[0]
