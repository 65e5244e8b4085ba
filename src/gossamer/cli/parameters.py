"""The words of a verb: click's parameters, read from the signature of the function that does it.

    Data = Annotated[str | None, Option("--data", metavar="DIR", help="The data folder.")]
    def status(crawl: Crawl, data: Data = None, as_json: Json = False) -> int: ...

A parameter is a flag (`bool`), takes a value (`str`, `int`), or may be repeated (`list[str]`, None when it is
not given).
"""

from __future__ import annotations

import inspect
import re
import shlex
from collections.abc import Callable
from types import UnionType
from typing import Any, get_args, get_origin

import click

from gossamer.cli import printing
from gossamer.errors import UsageError


class Option:
    """A word that begins with a dash."""

    def __init__(
        self,
        *flags: str,
        metavar: str | None = None,
        help: str = "",  # noqa: A002 - click's name
        least: int | None = None,
    ) -> None:
        """`least`: the smallest number that is taken."""
        self.flags, self.metavar, self.help, self.least = flags, metavar, help, least


class Argument:
    """A word in its place."""

    def __init__(self, *, metavar: str, help: str = "") -> None:  # noqa: A002
        self.metavar, self.help = metavar, help


HIDDEN = " (*** stands for a secret that is not shown: write it there)"
_STARS = re.compile(r"(?:^|[:=\s])\*\*\*(?:$|[@&#;\s])")


def shown_command(verb: str, words: list[str]) -> str:
    """A command that a person may repeat, with `***` for its secrets and, if it has some, a word on that in
    the same line."""
    from gossamer.config.redaction import conceal, mask

    parts, before = [], ""
    for word in words:
        shown = mask(word)
        if before in ("-a", "--argument"):
            shown = conceal(shown)
        parts.append(shown)
        before = word
    return f"gossamer {verb} {shlex.join(parts)}" + (HIDDEN if parts != words else "")


def typed(words: list[str]) -> None:
    """Raise UsageError for a word with the `***` of a message in it: the secret was to be written there."""
    for word in words:
        if _STARS.search(word):
            raise UsageError(
                f"{word!r}: *** stands for a secret that a message does not show: write the secret itself"
            )


def command(name: str, call: Callable[..., int]) -> click.Command:
    """The verb `name`: what `call` takes, with its docstring as help."""
    parameters = inspect.signature(call, eval_str=True).parameters.values()
    made = [_parameter(parameter) for parameter in parameters]
    if hushed := all(one.name != "quiet" for one in made):
        made.append(click.Option(["--quiet"], is_flag=True, help="No remarks."))
    repeated = [one.name or "" for one in made if one.multiple or one.nargs == -1]

    def run(**words: Any) -> int:
        if hushed:
            printing.hush(words.pop("quiet"))
        return call(**{**words, **{word: list(words[word]) or None for word in repeated}})

    return click.Command(name, callback=run, params=made, help=inspect.getdoc(call))


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
        return click.Argument([parameter.name], nargs=-1 if several else 1, required=needed, **settings)
    names = [*word.flags, parameter.name]
    if word.least is not None:
        settings["type"] = click.IntRange(min=word.least)
    if kind is bool:
        return click.Option(names, is_flag=True, help=word.help)
    return click.Option(names, multiple=several, help=word.help, **settings)
