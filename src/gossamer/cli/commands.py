"""Contains the command tree. `run` runs one command, and turns an error into one line on stderr and an exit
code."""

from __future__ import annotations

import errno
import importlib
import itertools
import os
import re
import sys
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import click

from gossamer.cli.help import HelpContext, first_sentence, write_commands
from gossamer.cli.printing import check_texts
from gossamer.config.value_parsers import nearest
from gossamer.errors import FULL, DiskFull, GossamerError, ResourceError, own_limit, short_of

ABOUT = "A web crawler that is polite, fast and never loses a URL."
TREE: dict[str, str | tuple[str, dict[str, str]]] = {
    "crawl": "crawl:crawl",
    "submit": "submit:submit",
    "status": "status:status",
    "top": "top:top",
    "add": "add:add",
    "pause": "steering:pause",
    "resume": "steering:resume",
    "stop": "steering:stop",
    "finish": "steering:finish",
    "cancel": "steering:cancel",
    "priority": "steering:priority",
    "limits": "steering:limits",
    "accept": "steering:accept",
    "changed": "freshness:changed",
    "weight": "fleet:weight",
    "rate": "rates:rate",
    "dead": (
        "URLs that were given up: list, show, requeue, drop, undo.",
        {
            "list": "dead:listed",
            "show": "dead:show",
            "requeue": "dead:requeue",
            "drop": "dead:drop",
            "undo": "dead:undo",
        },
    ),
    "skipped": (
        "URLs that were found and not fetched: list (without a word: this), requeue.",
        {"list": "skipped:listed", "requeue": "skipped:requeue"},
    ),
    "actions": "actions:actions",
    "host": (
        "One host: show, pause, resume, rate, rung.",
        {
            "show": "hosts:show",
            "pause": "hosts:pause",
            "resume": "hosts:resume",
            "rate": "hosts:rate",
            "rung": "rungs:rung",
        },
    ),
    "sessions": (
        "Who is logged in at sites: list, forget.",
        {"list": "sessions:listed", "forget": "sessions:forget"},
    ),
    "schedule": (
        "Crawls and other commands by the clock: add, list, runs, run, pause, resume, remove.",
        {
            "add": "schedule:add",
            "list": "schedule_views:listed",
            "runs": "schedule_views:runs",
            "run": "schedule:run",
            "pause": "schedule:pause",
            "resume": "schedule:resume",
            "remove": "schedule:remove",
        },
    ),
    "scheduler": "scheduler:scheduler",
    "explain": "explain:explain",
    "try": "try_page:try_",
    "shell": "shell:shell",
    "new": "sites:new",
    "check": "sites:check",
    "reparse": "reparse:reparse",
    "items": "query:items",
    "attempts": "query:attempts",
    "export": "query:export",
    "worker": "worker:worker",
    "workers": (
        "The fleet's workers: list, drain, stop.",
        {"list": "fleet:listed", "drain": "fleet:drain", "stop": "fleet:stop"},
    ),
    "metrics": "metrics:metrics",
    "serve": "serve:serve",
    "tokens": (
        "Who may call `gossamer serve`: add, list, remove.",
        {"add": "serve:add", "list": "serve:listed", "remove": "serve:remove"},
    ),
    "webhooks": (
        "Who gets the events of `gossamer serve`: add, list, remove, dead, resend.",
        {
            "add": "webhooks:add",
            "list": "webhooks:listed",
            "remove": "webhooks:remove",
            "dead": "webhooks:dead",
            "resend": "webhooks:resend",
        },
    ),
    "alerts": (
        "What is wrong: list, test, mute, unmute, files for Prometheus.",
        {
            "list": "alerts:listed",
            "test": "alerts:send_test",
            "mute": "alerts:mute",
            "unmute": "alerts:unmute",
            "files": "alerts:files",
        },
    ),
    "prices": (
        (
            "Watch the prices of product pages: targets, plan, run, alert, send, rules, failing, shops, match, review, "
            "moves, market, stale, report, try."
        ),
        {
            "targets": "prices_targets:targets",
            "plan": "prices:plan",
            "run": "prices:run",
            "alert": "prices_rules:alert",
            "send": "prices_report:send",
            "rules": "prices_rules:rules",
            "failing": "prices_rules:failing",
            "shops": "prices_rules:shops",
            "match": "prices_match:match",
            "review": "prices_match:review",
            "moves": "prices_report:moves",
            "market": "prices_report:market",
            "stale": "prices_report:stale",
            "report": "prices_report:report",
            "try": "prices_try:try_",
        },
    ),
    "find": "find:find",
    "audit": "audit:audit",
    "keywords": (
        (
            "Count keywords on the pages of sites: count (without a word: this), discover, pages, gaps, overlap, cannibals, "
            "trend, report, export, runs."
        ),
        {
            "count": "keywords:count",
            "discover": "keywords_views:discover",
            "pages": "keywords_views:pages",
            "gaps": "keywords_views:gaps",
            "overlap": "keywords_views:overlap",
            "cannibals": "keywords_views:cannibals",
            "trend": "keywords_views:trend",
            "report": "keywords_views:report",
            "export": "keywords_views:export",
            "runs": "keywords_views:runs",
        },
    ),
    "ranks": (
        (
            "Watch where a site stands in Google and Bing: plan, run, positions, history, competitors, features, "
            "volatility, competing, failing, alert, send, rules, report, export, import, reparse."
        ),
        {
            "plan": "ranks:plan",
            "run": "ranks:run",
            "positions": "ranks_tables:positions",
            "history": "ranks_tables:history_of",
            "competitors": "ranks_tables:competitors",
            "features": "ranks_tables:features",
            "volatility": "ranks_tables:volatility",
            "competing": "ranks_tables:competing",
            "failing": "ranks_tables:failing",
            "alert": "ranks_report:alert",
            "send": "ranks_report:send",
            "rules": "ranks_report:rules",
            "report": "ranks_report:report",
            "export": "ranks_report:export",
            "import": "ranks_report:import_",
            "reparse": "ranks_report:reparse",
        },
    ),
    "clean": "clean:clean",
    "doctor": "doctor:doctor",
    "config": ("The settings: show, schema.", {"show": "config:show", "schema": "config:schema"}),
    "version": "config:version",
}
"""Maps the name of each command to the function that runs the command, as `module:function` in this package.
Only the module of the called command is imported. The name of a command group maps to the group's help text
and to the tree of the group's commands."""


GROUPS = {
    "Crawl": ("crawl",),
    "Look": ("status", "top", "explain", "metrics", "alerts"),
    "Steer": (
        "add",
        "pause",
        "resume",
        "finish",
        "stop",
        "cancel",
        "priority",
        "limits",
        "changed",
        "rate",
        "host",
        "dead",
        "skipped",
        "actions",
    ),
    "Sites": ("new", "try", "shell", "check", "reparse", "sessions"),
    "Data": ("items", "accept", "attempts", "export", "clean"),
    "Programs": ("serve", "tokens", "webhooks"),
    "Fleet": ("submit", "worker", "workers", "weight"),
    "Schedules": ("schedule", "scheduler"),
    "Uses": ("prices", "keywords", "find", "audit", "ranks"),
    "Installation": ("doctor", "config", "version"),
}
"""The groups of the commands in `gossamer --help`."""


DEFAULTS = {"keywords": "count", "skipped": "list"}
"""Maps the name of a command group to the group's default command. The default command runs if the first word
after the group's name is not a command of the group."""


class CommandGroup(click.Group):
    """A group of commands. Each command is created only when it is looked up."""

    context_class = HelpContext

    def __init__(
        self,
        name: str,
        about: str,
        tree: Mapping[str, str | tuple[str, dict[str, str]]],
        groups: Mapping[str, Iterable[str]] | None = None,
    ) -> None:
        super().__init__(name, help=about, no_args_is_help=True)
        self.tree = tree
        self.groups = groups or {"Commands": tuple(tree)}

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Inserts the group's default command if the words name no command."""
        return super().parse_args(ctx, self.with_default(args))

    def with_default(self, words: list[str]) -> list[str]:
        """Returns the words. If the words name no command, the group's default command (`DEFAULTS`) is
        inserted before the words."""
        default = DEFAULTS.get(self.name or "")
        if default is None or not words or words[0] in self.tree or words[0] in ("-h", "--help"):
            return words
        return [default, *words]

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Writes the list of commands, group by group."""
        abouts = {}
        for name in self.tree:
            found = self.get_command(ctx, name)
            abouts[name] = first_sentence(found.help if found else "")
        write_commands(formatter, self.groups, abouts)

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Returns the names of the commands, in the order of the tree."""
        return list(self.tree)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Returns the command or group with this name, or None."""
        found = self.tree.get(cmd_name)
        if found is None:
            return None
        if isinstance(found, tuple):
            return CommandGroup(cmd_name, *found)
        from gossamer.cli.options import make_command

        room, _, name = found.partition(":")
        return make_command(cmd_name, getattr(importlib.import_module(f"gossamer.cli.{room}"), name))


app = CommandGroup("gossamer", ABOUT, TREE, GROUPS)

STOPPED, FORCED = 11, 13
CONTEXT: dict[str, Any] = {"help_option_names": ["-h", "--help"], "max_content_width": 100}


def run(words: list[str]) -> int:
    """Runs one command and returns its exit code. `words` are the arguments of the program."""
    try:
        words = [*words[1:], "--help"] if words[:1] == ["help"] else words
        given = below_zero(check_texts(words))
        if given[:1] == ["find"]:
            from gossamer.cli.options import excluded_words

            given = excluded_words(given)
        with app.make_context("gossamer", given, **CONTEXT) as context:
            done = app.invoke(context)
        sys.stdout.flush()
        return done if isinstance(done, int) else 0
    except GossamerError as error:
        return unless_printed(words, str(error), say(str(error), error.exit_code))
    except BrokenPipeError:
        from gossamer.cli.printing import discard_stdout

        discard_stdout()
        return 0
    except click.exceptions.Exit as ended:
        return ended.exit_code
    except (KeyboardInterrupt, EOFError, click.Abort):
        return STOPPED
    except click.exceptions.NoArgsIsHelpError as error:
        print(error.format_message(), file=sys.stderr)
        return 2
    except click.ClickException as error:
        return say(usage_message(error), 2)
    except Exception as error:  # noqa: BLE001 - the last handler: users must not see a traceback
        if short := own_limit(error):
            said = str(short_of(short))
            return unless_printed(words, said, say(said, ResourceError.exit_code))
        if isinstance(error, OSError):
            reason = f"{error.filename or 'standard output'}: {error.strerror}"
            return unless_printed(words, reason, in_the_way(error))
        return unless_printed(words, f"a bug: {type(error).__name__}: {error}", report_bug(error))


def unless_printed(words: list[str], reason: str, code: int) -> int:
    """With `--json`, prints a JSON object on stdout with the reason for the failure. Prints nothing if a JSON
    object was already printed. Returns `code`."""
    from gossamer.cli import printing
    from gossamer.config.redaction import mask

    if "--json" not in words or printing.printed[0]:
        return code
    reason = mask(" ".join(reason.split()))
    try:
        if words[0] in ("crawl", "submit"):
            from gossamer.model.summary import failed_summary

            name = next((after for word, after in itertools.pairwise(words) if word == "--name"), "")
            printing.put_json(failed_summary(name, reason))
        else:
            printing.put_json({"state": "failed", "reason": reason, "exit_code": code})
    except (OSError, ImportError):  # stdout is closed or the disk is full; the reason is also on stderr
        return code
    return code


def in_the_way(error: OSError) -> int:
    """Reports a full disk, or a file that the user may not access. Neither is a bug. Reports any other
    OSError as a bug. Returns the exit code."""
    where = error.filename or "the standard output"
    if error.errno in FULL:
        return say(
            f"no space left for {where}: free some, then run the same command again", DiskFull.exit_code
        )
    if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS) and error.filename:
        return say(f"{where}: {error.strerror}: change its permissions, or choose another path", 4)
    return report_bug(error)


def below_zero(words: list[str]) -> list[str]:
    """Moves a negative number to the end of the words, after a `--`, because `priority CRAWL -2` would read
    the number as an option."""
    number = next((word for word in words[2:] if re.fullmatch(r"-\d+", word)), None)
    if words[:1] != ["priority"] or number is None:
        return words
    words = list(words)
    words.remove(number)
    return [*words, "--", number]


def say(line: str, code: int) -> int:
    """Prints one line on stderr, with secrets masked. Returns `code`."""
    from gossamer.config.redaction import mask

    print(f"gossamer: {mask(' '.join(line.split()))}", file=sys.stderr)
    return code


def usage_message(error: Any) -> str:
    """Returns the message for a usage error of click. The message names the nearest valid option or
    command."""
    message = str(error.format_message()).rstrip(".")
    context = getattr(error, "ctx", None)
    command = getattr(context, "command", None)
    path = getattr(context, "command_path", "gossamer")
    name = re.search(r"'(.+?)'", message)
    word = getattr(error, "option_name", None) or (name[1] if name else "")
    if "No such option" in message:
        known = [
            name for option in getattr(command, "params", ()) for name in option.opts if name.startswith("--")
        ]
        if path == "gossamer":
            return (
                f"{word} must follow a command, as in gossamer crawl TARGET {word} ...; see gossamer --help"
            )
        return f"{path} has no option {word}{nearest(word, known)}; see {path} --help"
    if "No such command" in message:
        if path == "gossamer" and (any(sign in word for sign in "./:") or Path(word).exists()):
            return f"{word} is not a command: to crawl it, run gossamer crawl {word}; see gossamer --help"
        return f"no command {word!r}{nearest(word, getattr(command, 'tree', {}))}; see {path} --help"
    if missing := re.match(r"Missing (?:argument|option) '?(\S+?)(?:\.\.\.)?'?$", message):
        return f"no {missing[1].strip('[]')} given; see {path} --help"
    return f"{message}; see {path} --help"


def report_bug(error: Exception) -> int:
    """Writes the traceback of an unexpected error to a file, and prints one line for the user. Returns exit
    code 1."""
    import tempfile
    import traceback

    from gossamer.config.redaction import mask

    text = mask("".join(traceback.format_exception(error)))
    for folder in (Path(".gossamer"), Path(tempfile.gettempdir())):
        path = folder / f"gossamer-error-{time.strftime('%Y%m%d-%H%M%S')}-{os.getpid()}.txt"
        try:
            path.write_text(text)
        except OSError:
            continue
        break
    else:
        print(text, file=sys.stderr)
        return say(f"a bug: {type(error).__name__}: {error}; please report it with the lines above", 1)
    return say(f"a bug: {type(error).__name__}: {error}; please report it with {path}", 1)
