"""Lists the results that are older than the code that they measure, at the top of benchmarks/README.md.

    python benchmarks/results_age.py [--write]

A results file is as old as the latest date in its text that is not after its last commit. Without such a date,
its last commit counts. The code of a results file is in `figures.toml` (`[code]`). Days are compared, and a
commit counts even if it changes only comments. Needs the history of git.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import tomllib
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path

HERE = Path(__file__).resolve().parent
RESULTS, PAGE = HERE / "results", HERE / "README.md"
BEGIN, END = "<!-- results_age.py writes this list -->", "<!-- the end of this list -->"
CRAWL = (
    *("app", "collectors", "egress", "frontier", "items", "model", "parsing"),
    *("politeness", "sinks", "store", "url", "worker"),
)
"""The packages that every crawl uses."""


def code() -> dict[str, list[str]]:
    """Returns the packages of src/gossamer that each results file measures."""
    found: dict[str, list[str]] = tomllib.loads((HERE / "figures.toml").read_text())["code"]
    return found


def last_commit(paths: Iterable[str]) -> str:
    """Returns the day of the last commit that touched one of these paths of the checkout, as YYYY-MM-DD.
    Returns '' if there is none, without git, and in a clone without the whole history."""
    try:
        words = ["git", "rev-parse", "--is-shallow-repository"]
        run = subprocess.run(words, cwd=HERE, capture_output=True, text=True, check=False)
        if run.stdout.strip() != "false":
            return ""
        words = ["git", "log", "-1", "--format=%cs", "--", *(f":/{path}" for path in paths)]
        return subprocess.run(words, cwd=HERE, capture_output=True, text=True, check=False).stdout.strip()
    except FileNotFoundError:
        return ""


def measured(name: str) -> str:
    """Returns the day on which a results file was measured, or '' if the day is unknown."""
    committed = last_commit([f"benchmarks/results/{name}"])
    days = re.findall(r"\b20\d\d-\d\d-\d\d\b", (RESULTS / name).read_text())
    return max((day for day in days if not committed or day <= committed), default=committed)


def changed(packages: Iterable[str]) -> str:
    """Returns the day of the last change of packages, or '' if the day is unknown."""
    names = [one for package in packages for one in (CRAWL if package == "crawl" else (package,))]
    return last_commit(f"src/gossamer/{name}" for name in names)


def older() -> dict[str, str]:
    """Returns the results that are older than their code, with the day of their measurement."""
    found = {}
    for name, packages in code().items():
        if (day := measured(name)) and day < changed(packages):
            found[name] = day
    return found


def written(found: Mapping[str, str]) -> str:
    """Returns the list for the page."""
    today = datetime.now(UTC).date().isoformat()
    days = sorted(set(found.values()))
    rows = [
        f"| {day} | {', '.join(f'`{name}`' for name, other in found.items() if other == day)} |"
        for day in days
    ]
    return "\n".join(
        [
            f"On {today}, these results were older than the last change of the code that they measure:",
            "",
            "| measured | files in `results/` |",
            "| --- | --- |",
            *rows,
        ]
    )


def listed(text: str) -> set[str]:
    """Returns the results files that the list of the page names."""
    return set(re.findall(r"`([\w-]+\.txt)`", text.partition(BEGIN)[2].partition(END)[0]))


def main() -> None:
    parser = argparse.ArgumentParser(description="List the results that are older than their code.")
    parser.add_argument("--write", action="store_true", help="write the list into README.md")
    table = written(older())
    if not parser.parse_args().write:
        print(table)
        return
    text = PAGE.read_text()
    before, _, rest = text.partition(BEGIN)
    PAGE.write_text(f"{before}{BEGIN}\n\n{table}\n\n{END}{rest.partition(END)[2]}")


if __name__ == "__main__":
    main()
