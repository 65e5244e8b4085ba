"""`gossamer try URL`: fetches and reads one page in a temporary store, and shows how a crawl would process
the page."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from decimal import Decimal
from typing import TYPE_CHECKING, Annotated, Any

from gossamer.cli.options import Argument, Json, Option, Setting, read_settings
from gossamer.errors import UsageError

if TYPE_CHECKING:
    from pathlib import Path

    from gossamer.app.dry_run import Trial
    from gossamer.app.page_preview import FoundLink, PagePreview

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
Use = Annotated[
    str | None, Option("--use", metavar="FUNCTION", help="The page function of the site that reads the page.")
]
Carry = Annotated[
    str | None,
    Option("--carry", metavar="JSON", help="The value that the page function finds in page.carry."),
]
Show = Annotated[
    bool, Option("--show", help="Write a picture before and after each step in the browser (render=).")
]
MAX_LINES = 20
"""Maximum number of links and of requests that are printed. `--json` prints all."""


def try_(
    url: Url,
    site: Site = None,
    use: Use = None,
    carry: Carry = None,
    header: Header = None,
    argument: SiteArgument = None,
    ladder: Ladder = None,
    show: Show = False,
    setting: Setting = None,
    as_json: Json = False,
) -> int:
    """Fetch and read one page, and store nothing. Print the page, its items, the requests of the page
    function, and the links that a crawl would follow. The robots.txt of the host is also fetched and
    respected."""
    from gossamer.app.dry_run import trial_values
    from gossamer.cli.printing import put_json

    trial = run(url, site, header, argument, setting, ladder, use, carry_of(carry), show)
    if as_json:
        put_json(trial_values(trial))
    else:
        print_trial(trial)
    if show:
        print_pictures(trial)
    return exit_code(trial)


def carry_of(text: str | None) -> Any:
    """Parses the JSON text of `--carry`. Raises UsageError."""
    import json

    from gossamer.parsing.page_view import MAX_CARRY_BYTES

    if text is None:
        return None
    try:
        value = json.loads(text)
    except ValueError as error:
        raise UsageError(f'--carry {text!r} is not JSON: {error}; write it as \'{{"shelf": "A"}}\'') from None
    if len(text.encode()) > MAX_CARRY_BYTES:
        raise UsageError(f"--carry has more than {MAX_CARRY_BYTES} bytes, the most that a request may carry")
    return value


def run(
    url: str,
    site: list[str] | None,
    header: list[str] | None,
    argument: list[str] | None,
    setting: list[str] | None,
    ladder: str | None = None,
    use: str | None = None,
    carry: Any = None,
    show: bool = False,
) -> Trial:
    """Fetches and reads one URL, and returns the result as a `Trial`. `show`: whether to write a picture before and
    after each step."""
    from pathlib import Path

    from gossamer.app.dry_run import try_one
    from gossamer.app.job import Job
    from gossamer.cli.crawl import arguments_of, headers_of
    from gossamer.config.settings import GivenSetting
    from gossamer.sites.site_logs import print_site_logs

    more = [] if ladder is None else [GivenSetting("--ladder", "ladder", ladder)]

    beside = Path(site[0]) if site else Path(".")
    folder = beside if beside.is_dir() else beside.parent
    if not (folder / "gossamer.toml").exists():
        folder = Path(".")
    settings = read_settings(pairs=setting, more=more, folder=folder)
    job = Job(
        targets=site or [],
        settings=settings,
        show=str(picture_folder(settings.data)) if show else None,
        headers=headers_of(header or ()),
        args=arguments_of(argument or ()),
    )
    print_site_logs(job.settings.log_level)
    return asyncio.run(try_one(job, url, use, carry))


def picture_folder(data: str) -> Path:
    """Returns the folder for the pictures of steps, an absolute path. Creates the folder, and removes the pictures
    of an earlier call."""
    from pathlib import Path

    folder = Path(data).absolute() / "try" / "steps"
    folder.mkdir(parents=True, exist_ok=True)
    for path in folder.glob("*.png"):
        path.unlink()
    return folder


def print_pictures(trial: Trial) -> None:
    """Prints the paths of the pictures of steps."""
    from gossamer.cli.printing import remark

    for path in trial.pictures:
        remark(f"picture: {path}")
    if not trial.pictures:
        remark("no pictures: the page was not loaded by a browser, or the render= of its site has no steps")


def print_trial(trial: Trial) -> None:
    """Prints a `Trial` as tables."""
    import msgspec

    from gossamer.app.dry_run import trial_values
    from gossamer.cli.printing import put_table
    from gossamer.config.value_texts import format_counts

    plain = trial_values(trial)
    heads = ("url", "status", "outcome", "seconds", "bytes_wire", "error", "block")
    put_table(
        ("request", *heads[1:]),
        [[line.get(head) for head in heads] for line in plain["attempts"]],
        least=("block", "bytes_wire"),
    )
    page = dict(plain["page"] or {})
    text = page.pop("text", None)
    page.pop("out_links", None)
    if page:
        print()
        put_table((), list(page.items()))
    if text:
        print()
        put_table((), [("text", text[:500])])
    for item in plain["items"]:
        print()
        put_table(
            (),
            [
                (
                    name,
                    str(value) if isinstance(value, str | Decimal) else msgspec.json.encode(value).decode(),
                )
                for name, value in item.items()
            ],
        )
    if trial.preview is not None:
        show_preview(trial, trial.preview)
    if plain["errors"] or plain["skipped"]:
        print()
        put_table(
            (), [("errors", format_counts(plain["errors"])), ("skipped", format_counts(plain["skipped"]))]
        )


def show_preview(trial: Trial, preview: PagePreview) -> None:
    """Prints the number of items and the requests that the page function yields. Prints which links a crawl
    would follow, and which links it would not follow."""
    from gossamer.cli.printing import clean_line, put_table

    if lines := list(reading_lines(trial, preview)):
        print()
    for line in lines:
        print(clean_line(line))
    if preview.requests:
        print()
        heads = (f"requests of {preview.function}()", "crawl", "read by", "carry", "rule")
        rows = [
            (
                _target(one),
                _word(one),
                f"{one.read_by}()" if one.read_by else None,
                _json(one.carry),
                one.rule,
            )
            for one in preview.requests[:MAX_LINES]
        ]
        put_table(heads, rows, long=("rule",))
        _rest(len(preview.requests))
    yielded = {one.url for one in preview.requests}
    rest = [one for one in preview.links if one.url not in yielded]
    from gossamer.app.page_preview import NOT_YIELDED

    rest.sort(key=lambda one: one.reason == NOT_YIELDED)  # unexpected reasons come first
    for what, links in (
        ("followed", [one for one in rest if one.followed]),
        ("not followed", [one for one in rest if not one.followed]),
    ):
        if links:
            print()
            put_table(
                (f"links {what}: {len(links)}", *(("reason", "rule") if what != "followed" else ())),
                [
                    (one.url, *((one.reason, one.rule) if not one.followed else ()))
                    for one in links[:MAX_LINES]
                ],
                long=("rule",),
            )
            _rest(len(links))


def reading_lines(trial: Trial, preview: PagePreview) -> Iterable[str]:
    """Yields lines of text. The lines name the page function that reads the page, and the number of items and
    requests that the page function yields."""
    if preview.too_costly:
        yield "the page is so large that only a crawl reads it, in a separate process: no links are shown"
    elif preview.site == "" and trial.sites:
        names = ", ".join(f"{one.name} ({one.path})" for one in trial.sites)
        yield f"no site takes {trial.page.url if trial.page else ''}: look at hosts= and paths= of {names}"
    elif preview.site and not preview.function:
        yield f"site {preview.site} ({preview.file}) has no function for this page: it yields no items"
    elif preview.function:
        yield f"{preview.function}() of site {preview.site} ({preview.file}) reads this page"
        if preview.error:
            yield f"{preview.function}() failed: {preview.error}"
            return
        items = sum(row.kind != "page" for row in trial.rows)
        if not items and not preview.requests and not trial.summary.rejected:
            yield f"{preview.function}() yields nothing for this page: no item and no request"
        else:
            yield f"{preview.function}() yields {_count(items, 'item')} and {_count(len(preview.requests), 'request')}"
        if trial.summary.rejected:
            yield f"{_count(trial.summary.rejected, 'more item')} rejected, with the reason at the end"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def _target(one: Any) -> str:
    return str(one.url if one.method == "GET" else f"{one.method} {one.url}")


def _word(one: FoundLink) -> str:
    return "follows" if one.followed else f"skips: {one.reason}"


def _json(value: Any) -> str | None:
    import msgspec

    return None if value is None else msgspec.json.encode(value).decode()


def _rest(number: int) -> None:
    if number > MAX_LINES:
        print(f"and {number - MAX_LINES} more: --json shows all")


def exit_code(trial: Trial) -> int:
    """Prints the reason for each problem of a `Trial`, and returns the exit code. The exit code 9 means that
    no page was received and that a later attempt may succeed. The exit code 4 means that the site file cannot
    read the page. Otherwise, the exit code is 0."""
    import msgspec

    from gossamer.app.outcome import RETRYABLE
    from gossamer.cli.printing import remark
    from gossamer.cli.summaries import advice

    for line in trial.attempts[-1].get("console") or () if trial.attempts else ():
        if line.startswith("gossamer: "):
            remark(line.removeprefix("gossamer: "))
    worth = [name for name in trial.summary.errors if name in RETRYABLE]
    if trial.page is None and worth:
        remark(f"no page was received ({worth[0]}): {RETRYABLE[worth[0]]}")
        return 9
    if trial.disallowed is not None:
        remark(f"robots.txt disallows {trial.disallowed.url}: {trial.disallowed.text()}")
    elif trial.page is None and trial.closed_origin:
        remark(f"nothing was fetched: {trial.closed_origin}")
    if trial.preview is not None and trial.preview.empty_without_scripts and not _rendered(trial):
        remark("the page is empty without scripts: add --ladder browser, which runs them")
    for line in advice(msgspec.structs.replace(trial.summary, unrendered={})):
        remark(line)
    for why in trial.unread:
        remark(why)
    return 4 if trial.unread else 0


def _rendered(trial: Trial) -> bool:
    """Returns whether a browser fetched the page."""
    return bool(trial.attempts) and trial.attempts[-1].get("rung") == "browser"
