"""`gossamer new` and `gossamer check`: create site files and test them on saved pages."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Annotated

from gossamer.cli.options import Argument, Json, Option, Setting
from gossamer.errors import ConfigError, UsageError

if TYPE_CHECKING:
    from gossamer.sites.check import CheckResult

NameAndUrl = Annotated[
    list[str],
    Argument(metavar="[NAME] URL", help="Name of the site and its file, and a page to begin with."),
]
Which = Annotated[str, Argument(metavar="[SITE]", help="A site file, or a folder of them (default: here).")]
Pages = Annotated[
    str | None, Option("--pages", metavar="DIR", help="Read these pages instead, such as DATA/CRAWL/failed.")
]

Update = Annotated[bool, Option("--update", help="Write the items found as the expected ones.")]


def new(words: NameAndUrl, setting: Setting = None, as_json: Json = False) -> int:
    """Create a site file with a typed item, saved pages and their expected items. For a listing, also fetch
    one of the detail pages. Without NAME, the site is named after the host."""
    from gossamer.cli.printing import put_json, remark
    from gossamer.cli.try_page import exit_code, run
    from gossamer.cli.try_page import print_trial as show_trial
    from gossamer.parsing.page_view import PageView
    from gossamer.sites import new as writer
    from gossamer.sites.page_survey import survey

    name, url = _name_and_url(words)
    trial = run(url, None, None, None, setting)
    if trial.page is None:
        show_trial(trial)
        return exit_code(trial) or 9
    if trial.page.status >= 400:
        raise ConfigError(
            f"{trial.page.url}: its status is {trial.page.status}: give the URL of another page"
        )
    exit_code(trial)
    found, detail = survey(PageView(trial.page)), None
    if found.details is not None:
        detail = run(found.details.urls[0], None, None, None, setting).page
        detail = detail if detail is not None and detail.status < 400 else None
    name = name or writer.name_of(trial.page.url)
    made = writer.new(name, trial.page.url, trial.page, detail=detail, found=found)
    own = survey(PageView(detail)) if detail is not None else None
    if as_json:
        item = writer.item_survey(found, own)
        links = found.details
        put_json(
            {
                "site": name,
                "files": [str(path) for path in made],
                "kind": found.kind,
                "fields": [one.name for one in item.fields],
                "links": links and {"selector": links.selector, "urls": links.urls},
                "next_page": found.next_page or None,
            }
        )
        return 0
    for path in made:
        print(path)
    remark(writer.summary_line(found, own))
    remark(f"next: gossamer check {name}.py, then gossamer crawl {name}.py -o {name}.jsonl")
    return 0


def _name_and_url(words: list[str]) -> tuple[str, str]:
    """Returns the site's name and the URL from the arguments of `new`. The name is '' if no name is given.
    Raises UsageError."""
    if len(words) > 2:
        raise UsageError(f"{' '.join(words)}: give a URL, or a name and a URL")
    name, url = words if len(words) == 2 else ("", words[0])
    if name and "://" in name:
        name, url = url, name
    if name and not (name.isidentifier() and name.isascii()):
        raise UsageError(f"{name!r}: a site is named with letters, digits and _, a letter first")
    if not name and not any(sign in url for sign in "./:"):
        raise UsageError(f"give the site's URL, too: gossamer new {url} https://...")
    return name, url


def check(site: Which = ".", pages: Pages = None, update: Update = False, as_json: Json = False) -> int:
    """Run site functions on the saved pages, and compare the items with the expected items."""
    from gossamer.cli.printing import put_json, put_table, remark
    from gossamer.sites.check import check as compare
    from gossamer.sites.site_logs import print_site_logs

    print_site_logs("info")
    for path in filter(None, (site, pages)):
        if not os.path.exists(path):
            raise UsageError(f"{path}: no such file or folder")
    if pages is not None and update:
        raise UsageError("--update is for the site's own saved pages: leave --pages out")
    found = compare(site, pages, update)
    if as_json:
        put_json(
            [
                {"page": str(one.page), "ok": one.ok, "detail": one.detail, "updated": one.updated}
                for one in found
            ]
        )
    else:
        rows = [(one.page, _word(one, pages), one.detail) for one in found]
        put_table(("page", "", "detail"), rows, long=("detail",))
    if any(one.can_update for one in found):
        remark(f"if the new items are right: gossamer check {site} --update writes them as the expected ones")
    return 0 if all(one.ok for one in found) else 4


def _word(one: CheckResult, pages: str | None) -> str:
    if one.updated:
        return "updated"
    return "ok" if one.ok else "differs" if pages is None else "error"
