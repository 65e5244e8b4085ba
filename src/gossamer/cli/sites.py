"""`gossamer new` and `gossamer check`: create site files and test them on saved pages."""

from __future__ import annotations

from typing import Annotated

from gossamer.cli.options import Argument, Json, Option, Setting
from gossamer.errors import UsageError

Name = Annotated[str, Argument(metavar="NAME", help="Name of the site and its file: letters, digits, _.")]
Url = Annotated[str, Argument(metavar="URL", help="A page to begin with.")]
Which = Annotated[str, Argument(metavar="[SITE]", help="A site file, or a folder of them (default: here).")]
Pages = Annotated[
    str | None, Option("--pages", metavar="DIR", help="Read these pages instead, such as DATA/CRAWL/failed.")
]


def new(name: Name, url: Url, setting: Setting = None, as_json: Json = False) -> int:
    """Write a site file, a saved page and its expected items."""
    from gossamer.cli.printing import put_json, remark
    from gossamer.cli.try_page import exit_code, run
    from gossamer.cli.try_page import print_trial as show_trial
    from gossamer.sites.new import new as make

    if not name.isidentifier() or not name.isascii():
        raise UsageError(f"{name!r}: a site is named with letters, digits and _, a letter first")
    trial = run(url, None, None, None, setting)
    if trial.page is None:
        show_trial(trial)
        return exit_code(trial) or 9
    made = make(name, trial.page.url, trial.page)
    if as_json:
        put_json({"site": name, "files": [str(path) for path in made]})
        return 0
    for path in made:
        print(path)
    remark(f"next: gossamer check {name}.py, then gossamer crawl {name}.py -o {name}.jsonl")
    return 0


def check(site: Which = ".", pages: Pages = None, as_json: Json = False) -> int:
    """Run site functions over the saved pages and compare with the expected items."""
    from gossamer.cli.printing import put_json, put_table
    from gossamer.sites.check import check as compare

    found = compare(site, pages)
    if as_json:
        put_json([{"page": str(one.page), "ok": one.ok, "detail": one.detail} for one in found])
    else:
        rows = [(one.page, _word(one.ok, pages), one.detail) for one in found]
        put_table(("page", "", "detail"), rows, long=("detail",))
    return 0 if all(one.ok for one in found) else 4


def _word(ok: bool, pages: str | None) -> str:
    return "ok" if ok else "differs" if pages is None else "error"
