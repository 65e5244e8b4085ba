"""`gossamer try URL` and `gossamer shell URL`: fetch and read one page in a temporary store."""

from __future__ import annotations

import asyncio
from decimal import Decimal
from typing import TYPE_CHECKING, Annotated, Any

from gossamer.cli.options import Argument, Json, Option, Setting, read_settings

if TYPE_CHECKING:
    from gossamer.app.dry_run import Trial

Url = Annotated[str, Argument(metavar="URL")]
Site = Annotated[
    list[str] | None, Option("--site", metavar="FILE", help="A site file that reads the page; repeatable.")
]
Header = Annotated[
    list[str] | None, Option("-H", "--header", metavar="NAME:VALUE", help="A header; repeatable.")
]
SiteArgument = Annotated[
    list[str] | None, Option("-a", "--argument", metavar="NAME=VALUE", help="A site's argument.")
]
Ladder = Annotated[
    str | None,
    Option("--ladder", metavar="RUNGS", help="How the page is fetched: plain, impersonated, browser, ..."),
]
SHOWN_LINKS = 20


def try_(
    url: Url,
    site: Site = None,
    header: Header = None,
    argument: SiteArgument = None,
    ladder: Ladder = None,
    setting: Setting = None,
    as_json: Json = False,
) -> int:
    """Fetch and read one page, including its robots.txt, and print the result. Nothing is stored."""
    from gossamer.cli.printing import put_json

    trial = run(url, site, header, argument, setting, ladder)
    if as_json:
        put_json(trial_values(trial))
    else:
        print_trial(trial)
    return exit_code(trial)


def shell(
    url: Url,
    site: Site = None,
    header: Header = None,
    argument: SiteArgument = None,
    ladder: Ladder = None,
    setting: Setting = None,
) -> int:
    """Fetch and read one page as `try` does, then open a Python prompt with `page`."""
    import importlib
    import importlib.util

    from gossamer.cli.printing import remark
    from gossamer.parsing.page_view import PageView

    trial = run(url, site, header, argument, setting, ladder)
    if trial.page is None:
        print_trial(trial)
        return exit_code(trial)
    names: dict[str, Any] = {
        "page": PageView(trial.page),
        "raw": trial.page,
        "rows": trial.rows,
        "url": trial.page.url,
    }
    remark(
        f"{trial.page.status} {trial.page.url}: page (css, xpath, re, json, follow), raw, rows, url are here"
    )
    if importlib.util.find_spec("IPython") is not None:
        importlib.import_module("IPython").embed(banner1="", user_ns=names)
    else:
        import code as prompt

        prompt.interact(banner="", local=names, exitmsg="")
    return 0


def run(
    url: str,
    site: list[str] | None,
    header: list[str] | None,
    argument: list[str] | None,
    setting: list[str] | None,
    ladder: str | None = None,
) -> Trial:
    """Fetches and reads one URL and returns the result."""
    from pathlib import Path

    from gossamer.app.dry_run import try_one
    from gossamer.app.job import Job
    from gossamer.cli.crawl import arguments_of, headers_of
    from gossamer.config.settings import GivenSetting

    more = [] if ladder is None else [GivenSetting("--ladder", "ladder", ladder)]

    beside = Path(site[0]) if site else Path(".")
    folder = beside if beside.is_dir() else beside.parent
    if not (folder / "gossamer.toml").exists():
        folder = Path(".")
    job = Job(
        targets=site or [],
        settings=read_settings(pairs=setting, more=more, folder=folder),
        headers=headers_of(header or ()),
        args=arguments_of(argument or ()),
    )
    return asyncio.run(try_one(job, url))


def trial_values(trial: Trial) -> dict[str, Any]:
    """Converts a trial to plain values."""
    import msgspec

    summary = trial.summary
    rows = [
        {"kind": row.kind, **msgspec.to_builtins(row.data, builtin_types=(Decimal,))} for row in trial.rows
    ]
    return {
        "page": next((row for row in rows if row["kind"] == "page"), None),
        "items": [row for row in rows if row["kind"] != "page"],
        "headers": trial.page.headers if trial.page is not None else None,
        "skipped": summary.skipped,
        "errors": summary.errors,
        "unread": trial.unread,
        "attempts": trial.attempts,
    }


def print_trial(trial: Trial) -> None:
    """Prints a trial as tables."""
    import msgspec

    from gossamer.cli.printing import format_counts, put_table

    plain = trial_values(trial)
    heads = ("url", "status", "outcome", "seconds", "bytes_wire", "error", "block")
    put_table(("request", *heads[1:]), [[line.get(head) for head in heads] for line in plain["attempts"]])
    page = dict(plain["page"] or {})
    links, text = page.pop("out_links", None) or [], page.pop("text", None)
    if page:
        print()
        put_table((), list(page.items()))
    if text:
        print()
        put_table((), [("text", text[:500])])
    if links:
        print()
        put_table(
            (f"the first {min(SHOWN_LINKS, len(links))} of {len(links)} links",),
            [(link,) for link in links[:SHOWN_LINKS]],
        )
    for item in plain["items"]:
        print()
        put_table(
            (),
            [
                (name, value if isinstance(value, str) else msgspec.json.encode(value).decode())
                for name, value in item.items()
            ],
        )
    if plain["errors"] or plain["skipped"]:
        print()
        put_table(
            (), [("errors", format_counts(plain["errors"])), ("skipped", format_counts(plain["skipped"]))]
        )


def exit_code(trial: Trial) -> int:
    """Returns the exit code of a trial. It is 9 if no page came and a later try may help, 4 if the site file
    cannot read the page, and 0 otherwise. Prints the reason."""
    from gossamer.cli.printing import remark
    from gossamer.cli.summaries import RETRYABLE

    worth = [name for name in trial.summary.errors if name in RETRYABLE]
    if trial.page is None and worth:
        remark(f"no page came ({worth[0]}): {RETRYABLE[worth[0]]}")
        return 9
    for why in trial.unread:
        remark(why)
    return 4 if trial.unread else 0
