"""Formats the help texts, with examples at the top, and with options and commands in titled groups."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable, Mapping

import click

OUTPUT, STORAGE = "Output of the command", "Storage and settings"
CRAWL_GROUPS: dict[str, tuple[str, ...]] = {
    "What to crawl": (
        *(
            "targets",
            "scope",
            "include",
            "exclude",
            "depth",
            "sitemaps",
            "watch",
            "argument",
            "priority",
            "name",
            "archive",
        ),
    ),
    "Where rows go": (
        *(
            "output",
            "overwrite",
            "pages",
            "attempts",
            "graph",
            "files",
            "text",
            "links",
            "fragments",
            "duplicates",
            "keep",
        ),
    ),
    "Politeness": (
        *("delay", "host_rate", "per_host", "rate", "polite_by", "user_agent", "ignore_robots"),
        *("allow_private", "allow_port"),
    ),
    "Limits": (
        *("limit", "time_limit", "size_limit", "host_pages", "host_bytes", "host_time", "fail_on", "guard"),
    ),
    "Getting pages": (
        *("ladder", "proxies", "header", "retries", "cache", "concurrency", "processes", "lane", "region"),
    ),
    "Run again": (
        *("resume", "fresh", "refresh", "if_older", "known", "seen"),
        *("revisit", "revisit_budget", "max_age", "min_age", "importance"),
    ),
    "Schedule": ("tz", "jitter", "spread", "missed", "overlap"),
}
"""The groups of the options of `crawl`, `submit` and `schedule add`, by parameter name."""
SHARED_GROUPS = {
    STORAGE: ("data", "store", "setting"),
    OUTPUT: ("as_json", "json", "verbose", "log_level", "log_format", "quiet", "wait", "no_color", "help"),
}
"""The groups of the options that are common to many commands, by parameter name."""


class HelpFormatter(click.HelpFormatter):
    """Formats help. On a terminal, titles are bold."""

    def write_heading(self, heading: str) -> None:
        """Writes the title of a group."""
        from gossamer.cli.terminal import has_colours, painter

        title = painter(has_colours(sys.stdout))(f"{heading}:", "bold")
        self.write(f"{'':>{self.current_indent}}{title}\n")


class HelpContext(click.Context):
    """The click context of every command, which formats help with `HelpFormatter`."""

    formatter_class = HelpFormatter


class DescribedArgument(click.Argument):
    """A positional argument with a help text."""

    about = ""


class GroupedCommand(click.Command):
    """A command whose help has examples at the top and groups of options. `prepare_words`: changes the words of
    the command before they are parsed, or None."""

    context_class = HelpContext
    prepare_words: Callable[[list[str], click.Command], list[str]] | None = None

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parses the words of the command."""
        return super().parse_args(ctx, self.prepare_words(args, self) if self.prepare_words else args)

    def format_help_text(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Writes the description of the command, and its examples."""
        from gossamer.cli.examples import EXAMPLES

        super().format_help_text(ctx, formatter)
        found = EXAMPLES.get(ctx.command_path.partition(" ")[2], ())
        if found:
            with formatter.section("Examples"):
                for line in found:
                    formatter.write(f"{'':>{formatter.current_indent}}{line}\n")

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Writes the options in their groups."""
        crawls = any(one.name == "targets" for one in self.params)
        groups = {"Options": (), **(CRAWL_GROUPS if crawls else {}), **SHARED_GROUPS}
        rows: dict[str, list[tuple[int, tuple[str, str]]]] = {title: [] for title in groups}
        for parameter in self.get_params(ctx):
            about = isinstance(parameter, DescribedArgument) and parameter.about
            record = (parameter.make_metavar(ctx), about) if about else parameter.get_help_record(ctx)
            if record is not None:
                name = "help" if "--help" in parameter.opts else parameter.name or ""
                title = next((title for title, names in groups.items() if name in names), "Options")
                place = groups[title].index(name) if name in groups[title] else -1
                rows[title].append((place, record))
        for title, found in rows.items():
            if found:
                found.sort(key=lambda pair: pair[0])
                with formatter.section(title):
                    formatter.write_dl([record for _, record in found])


def first_sentence(text: str | None) -> str:
    """Returns the first sentence of a help text.

    >>> first_sentence("Pause a crawl. Nothing new is fetched.")
    'Pause a crawl.'
    """
    whole = " ".join((text or "").split())
    return re.split(r"(?<=[.!?]) (?=[A-Z`-])", whole, maxsplit=1)[0]


def write_commands(
    formatter: click.HelpFormatter, groups: Mapping[str, Iterable[str]], abouts: Mapping[str, str]
) -> None:
    """Writes the commands in their groups, each with the first sentence of its help."""
    width = max(map(len, abouts), default=0)
    for title, names in groups.items():
        with formatter.section(title):
            formatter.write_dl([(name.ljust(width), abouts[name]) for name in names])
