"""Commands that a schedule can start: which commands these are, how their words are told apart from the options
of `gossamer schedule add`, and how a command line is checked when it is added.

To check a command line, `check_command` calls the command itself, so the messages are the command's own. The
command stops at `end_of_checks`, before it changes anything.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import click

from gossamer.errors import UsageError

SCHEDULABLE = ("prices", "ranks", "keywords", "find", "audit", "clean", "export", "reparse")
"""The commands and groups of commands that a schedule can start."""
CHECKED = ("prices run", "ranks run", "keywords count", "audit", "clean")
"""The commands that call `end_of_checks`. Only the options of other commands are checked."""
PRICE_COLUMNS = {"key", "shop", "product", "variant", "currency", "minimum", "rules"}
"""Columns of a list of price targets that a list of pages to crawl does not need."""
_checking = [False]


class CommandIsValid(Exception):
    """The command line is valid, and the command would start its work now."""


def end_of_checks(*checks: Callable[[], Any]) -> None:
    """Ends a command whose command line is only checked, after `checks`. Otherwise does nothing. A command calls
    this function after it has read its options and lists, and before it changes anything."""
    if _checking[0]:
        for check in checks:
            check()
        raise CommandIsValid


def is_check() -> bool:
    """Returns whether a command line is only checked."""
    return _checking[0]


def check_crawl_options(options: Mapping[str, Any]) -> None:
    """Raises the error of `gossamer.run` if it does not accept options of a crawl. `options`: options of
    `gossamer.run`."""
    from gossamer.api import job_of
    from gossamer.app.proxy_setup import read_proxy_lists

    job = job_of(["https://example.com/"], options, ".")
    read_proxy_lists(job.settings)


def separate_command(words: list[str], add: click.Command) -> list[str]:
    """Inserts `--` before the command in the words after `gossamer schedule add`, so that the options of the
    command are not read as options of `schedule add`. `add`: the command `schedule add`."""
    options = [one for one in add.params if isinstance(one, click.Option)]
    flags = {flag for one in options if not one.is_flag for flag in one.opts}
    positionals, at = 0, 0
    while at < len(words) and words[at] != "--":
        word = words[at]
        if word.startswith("-") and word != "-":
            is_long = word.startswith("--")
            has_value = "=" in word if is_long else len(word) > 2
            at += 2 if not has_value and word in flags else 1
            continue
        positionals += 1
        if positionals == 3:
            return [*words[:at], "--", *words[at:]] if word in SCHEDULABLE else words
        at += 1
    return words


def refuse_other_command(word: str) -> None:
    """Raises UsageError if the first target of a schedule is the name of a command that cannot be scheduled."""
    if os.path.exists(word) or word not in getattr(
        click.get_current_context().find_root().command, "tree", ()
    ):
        return
    if word == "crawl":
        raise UsageError(
            "a schedule starts a crawl without the word crawl: gossamer schedule add NAME CRON TARGET..."
        )
    if word not in SCHEDULABLE:
        raise UsageError(
            f"a schedule cannot start gossamer {word}: it starts crawls, and the commands {', '.join(SCHEDULABLE)}"
        )


def check_command(words: Sequence[str], options_of_add: Sequence[str]) -> int:
    """Checks a command line, and returns the exit code with which the command refuses it, or 0. Raises the
    command's own error. `options_of_add`: options that belong before the command."""
    from gossamer.cli.options import excluded_words

    context = click.get_current_context().find_root()
    command: click.Command = context.command
    rest, path = excluded_words(list(words)), list[str]()
    try:
        while isinstance(command, click.Group):
            if path:
                rest = getattr(command, "with_default")(rest)  # noqa: B009 - click's own group has no default
                context = command.context_class(command, info_name=path[-1], parent=context)
            if not rest or rest[0].startswith("-"):
                command.make_context(
                    path[-1], rest, parent=context.parent
                )  # prints the help, or raises an error
            name, found, rest = command.resolve_command(context, rest)
            assert found is not None
            path.append(str(name))
            command = found
        context = command.make_context(path[-1], rest, parent=context)
    except click.NoSuchOption as error:
        if error.option_name in options_of_add:
            raise UsageError(
                f"{error.option_name} is an option of schedule add: write it before {words[0]}"
            ) from None
        raise
    return _called(command, context) if " ".join(path) in CHECKED else 0


def _called(command: click.Command, context: click.Context) -> int:
    from gossamer.cli import printing

    _checking[0], hushed = True, printing.are_remarks_hushed()
    try:
        with context.scope(cleanup=False):
            return int(command.invoke(context))
    except CommandIsValid:
        return 0
    finally:
        _checking[0] = False
        printing.hush_remarks(hushed)


def check_list(path: str, schedule: str) -> None:
    """Raises UsageError if a list contains no pages to crawl, for example because it is a list of price targets
    or of keywords. The message contains the right command. `schedule`: the words `schedule add NAME CRON`."""
    from gossamer.app.targets import Rejected, Target, is_table, requests

    columns = columns_of(path)
    if "keyword" in columns:
        raise UsageError(
            f"{path} is a list of keywords, not of pages to crawl: gossamer {schedule} ranks run {path}"
        )
    if columns & PRICE_COLUMNS:
        raise UsageError(
            f"{path} is a list of price targets, not of pages to crawl: gossamer {schedule} prices run {path}. "
            "To crawl its pages, give a list with the column url alone"
        )
    rejected: list[Rejected] = []
    for _ in requests(Target("list", path), rejected):
        return
    if rejected and not is_table(path):
        raise UsageError(
            f"{path} contains no URL; line {rejected[0].line}: {rejected[0].reason}. A list of keywords is for "
            f"gossamer {schedule} ranks run {path} --domain DOMAIN, or keywords URL --list {path}"
        )


def columns_of(path: str) -> set[str]:
    """Returns the names of the columns of a table or of the first line of a list of JSON lines, in lower case.
    Returns an empty set for another file."""
    from pathlib import Path

    from gossamer.app.list_files import JSON_ENDINGS, TABLES, ending_of, read_list_file

    if ending_of(Path(path)) not in (*TABLES, *JSON_ENDINGS):
        return set()
    for row in read_list_file(Path(path), lambda _: None):
        return {str(name).strip().lower() for name in row.columns or ()}
    return set()
