"""The measured figures of the README and of docs/ agree with the results of the benchmarks
(benchmarks/figures.toml)."""

from __future__ import annotations

import re
import tomllib
from decimal import Decimal
from typing import Any

import pytest

from house.tree import ROOT
from support.scripts import script

RESULTS = ROOT / "benchmarks" / "results"
TABLE = tomllib.loads((ROOT / "benchmarks" / "figures.toml").read_text())
FIGURES: list[dict[str, Any]] = TABLE["figure"]
PAGES = ["README.md", *(f"docs/{page.name}" for page in sorted((ROOT / "docs").glob("*.md")))]
"""The pages that must not contain other measured figures. Decisions also contain figures of alternatives that were
tried, which have no results file."""
NUMBER = r"(?<![\w.,/-])(?:\d[\d,]*(?:\.\d+)?|\.\d+)(?![\w/-])"
AMOUNT = rf"{NUMBER}(?: to {NUMBER})? ?(?:us|ms|s|B|bytes|KB|MB|GB|KiB|MiB|GiB|%|minutes|seconds)(?!\w)"
ABOUT = r"(?:(?:about|some|only|up to|at most|less than|fewer than|more than|between) )*"
CLAIMS = re.compile(
    rf"\bF1\b.*?{NUMBER}|{NUMBER} times (?:as|the|more|less)|{NUMBER} pages/s"
    rf"|(?:\bmeasured\b|\bCPU\b|\binstructions\b).*?{AMOUNT}|{AMOUNT}.*?(?:\bmeasured\b|\bCPU\b)"
    rf"|\b(?:takes?|took|costs?|needs?|needed) {ABOUT}{AMOUNT}"
)
"""Matches a sentence that claims a measurement. Limits and defaults are expressed with other words."""


def flat(text: str) -> str:
    """Returns a text with each run of whitespace as one space, because pages are wrapped."""
    return " ".join(text.split())


def sections(page: str) -> list[str]:
    """Returns the sections of a page with their headings, without blocks of code and comments."""
    text = re.sub(r"^```.*?^```|<!--.*?-->", "", (ROOT / page).read_text(), flags=re.MULTILINE | re.DOTALL)
    return [flat(section) for section in re.split(r"^(?=#+ )", text, flags=re.MULTILINE)]


def numbers(text: str) -> list[str]:
    """Returns the numbers of a text, without those in code."""
    return [one.replace(",", "") for one in re.findall(NUMBER, re.sub(r"`[^`]*`", "", text))]


def agrees(said: str, shown: Decimal) -> bool:
    """Whether a number of a page is the number of the results, rounded to the digits of the page."""
    digit = Decimal(1).scaleb(-len(said.partition(".")[2]))
    return abs(Decimal(said) - shown) <= digit / 2


def disagreement(figure: dict[str, Any], results: str) -> str:
    """Compares the numbers of a figure with the text of its results file. Returns what is wrong, or ''."""
    for words in figure["shows"]:
        if words not in results:
            return f"results/{figure['results']} does not contain {words!r}"
    scale = Decimal(str(figure.get("scale", 1)))
    shown = [Decimal(one) * scale for words in figure["shows"] for one in numbers(words)]
    said = numbers(figure["says"])
    if bound := figure.get("bound"):
        limit = max(map(Decimal, said))
        fits = all(one < limit or (one == limit and bound == "at most") for one in shown)
        return "" if fits else f"{figure['says']!r}: the results have {max(shown)}"
    wrong = [one for one in said if not any(agrees(one, other) for other in shown)]
    return f"{figure['says']!r}: the results have no {', '.join(wrong)}" if wrong or not said else ""


@pytest.mark.parametrize("figure", FIGURES, ids=[f"{one['page']}: {one['says']}" for one in FIGURES])
def test_a_figure_agrees_with_its_results(figure: dict[str, Any]) -> None:
    said = [section for section in sections(figure["page"]) if flat(figure["says"]) in section]
    assert said, "the page does not contain these words: change benchmarks/figures.toml with the page"
    assert all(f"results/{figure['results']}" in section for section in said), "name the results file"
    assert disagreement(figure, (RESULTS / figure["results"]).read_text()) == ""


def claims(section: str) -> list[str]:
    """Returns the sentences and rows of tables that claim a measurement."""
    plain = re.sub(r"\]\([^)]*\)", "]", section)
    return [one for one in re.split(r"(?<=[.!?:])\s+(?=[A-Z`*-])|\s\|(?=\s\|)", plain) if CLAIMS.search(one)]


def test_each_measured_figure_has_an_entry() -> None:
    known = [flat(one["says"]) for one in FIGURES] + [flat(words) for words in TABLE["excused"]]
    strange = [
        f"{page}: {claim}"
        for page in PAGES
        for section in sections(page)
        for claim in claims(section)
        if not any(words in claim for words in known)
    ]
    assert strange == [], "add the figure to benchmarks/figures.toml, or remove it from the page"


def test_excused_sentences_still_exist() -> None:
    text = "\n".join(section for page in PAGES for section in sections(page))
    assert [words for words in TABLE["excused"] if flat(words) not in text] == []


def test_the_rules_see_wrong_figures() -> None:
    figure = {
        "says": "takes 2.4 ms (5 on a busy machine)",
        "results": "x.txt",
        "shows": ["took 2,449 us", "4.6"],
    }
    assert disagreement({**figure, "shows": ["2.449", "4.6"]}, "2.449 4.6") == ""
    assert "no 2.4" in disagreement({**figure, "shows": ["2.451", "4.6"]}, "2.451 4.6")
    assert "does not contain" in disagreement(figure, "nothing")
    bound = {"says": "less than 100 ms", "results": "x.txt", "shows": ["100"], "bound": "less than"}
    assert disagreement(bound, "100")
    assert not disagreement({**bound, "bound": "at most"}, "100")
    assert claims("A page takes about 8 ms. The limit is 30 s. F1 is .93. It is 1.4 times as fast.") == [
        "A page takes about 8 ms.",
        "F1 is .93.",
        "It is 1.4 times as fast.",
    ]


@pytest.fixture(scope="module")
def results_age() -> Any:
    return script("benchmarks/results_age.py")


def test_the_table_of_code_names_each_results_file_and_real_packages(results_age: Any) -> None:
    assert results_age.code().keys() == {file.name for file in RESULTS.glob("*.txt")}
    packages = {*results_age.CRAWL} | {one for some in results_age.code().values() for one in some} - {
        "crawl"
    }
    assert [one for one in sorted(packages) if not (ROOT / "src" / "gossamer" / one).is_dir()] == []


def test_no_listed_result_was_measured_again(results_age: Any) -> None:
    text = (ROOT / "benchmarks" / "README.md").read_text()
    assert results_age.BEGIN in text.partition("## ")[0]
    listed = results_age.listed(text)
    assert listed <= results_age.code().keys()
    if results_age.changed(["crawl"]):  # the history of git is here
        assert listed - results_age.older().keys() == set(), "run `python benchmarks/results_age.py --write`"
