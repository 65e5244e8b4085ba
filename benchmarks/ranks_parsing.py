"""Measures the quality and the CPU time of the parser of result pages on saved pages with known results.

    python benchmarks/ranks_parsing.py [FOLDER]

The benchmark also changes class names and ids, and cuts pages early. FOLDER (default `../shared/data`)
contains `serp-websearcher`, `serp-parser` and `serp-openserp` as `.jsonl.gz`. The author looked at the pages
in `LOOKED_AT` while the parser was written. The other pages were only scored. The peer is the naive parser
that many tools contain. The naive parser treats every `h3` in a link to another site in the main column as a
result.
"""

from __future__ import annotations

import base64
import gzip
import json
import random
import re
import statistics
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from gossamer.parsing.html import attribute_of, parse
from gossamer.parsing.ranks import Result, ResultPage, result_page

Row = dict[str, Any]
LOOKED_AT = {
    *("880beebb66bb", "b938dae25618", "2464d0d52a14", "86cc98fe45fc", "363db5067378", "7049404a2dd6"),
    *("30926d7c7ae9", "test/google/desktop/google-100.html", "test/google/desktop/domain.html"),
    *("test/google/desktop/hotels.html", "test/google/nojs/no-results-nojs.html"),
}
SEEDS = (0, 1, 2, 3, 7041, 90210, 31337, 445566, 20261125, -1, -2)
"""The seeds for `renamed`. After results with negative seeds, the parser was changed. Other seeds caused no
change."""
OWN = re.compile(r"^https?://www\.google\.[a-z.]+/(search|url|aclk|imgres)\b")


def rows(folder: Path, name: str) -> list[Row]:
    with gzip.open(folder / f"serp-{name}.jsonl.gz", "rt") as lines:
        found = [json.loads(line) for line in lines]
    for row in found:
        html = row["html"]
        row["body"] = base64.b64decode(html["b64"]) if isinstance(html, dict) else html.encode()
        for field in ("results", "facts"):
            row[field] = json.loads(row[field]) if isinstance(row.get(field), str) else row.get(field)
    return [row for row in found if row["engine"] in ("google", "bing")]


def naive(body: bytes) -> list[str]:
    """Returns the targets of all links with an `h3` in the main column, without duplicates."""
    found: dict[str, None] = {}
    for heading in parse(body, "text/html", "https://www.google.com/search").tree.select("#rso a h3"):
        link = heading.closest("a")
        url = attribute_of(link, "href") if link is not None else ""
        if url.startswith("http") and not OWN.match(url):
            found[url] = None
    return list(found)


class Score:
    """Counts right, wrong and missed values."""

    def __init__(self) -> None:
        self.right = self.wrong = self.missed = 0

    def add(self, truth: Iterable[object], found: Iterable[object]) -> None:
        """Compares two collections. Equal values may occur several times."""
        expected, ours = Counter(truth), Counter(found)
        right = (expected & ours).total()
        self.right += right
        self.wrong += ours.total() - right
        self.missed += expected.total() - right

    def __str__(self) -> str:
        every = 2 * self.right + self.wrong + self.missed
        value = f"{2 * self.right / every:.4f}" if every else "-"
        return f"F1 {value} ({self.right} right, {self.wrong} wrong, {self.missed} missed)"


def urls(page: ResultPage, kind: str = "organic") -> list[str]:
    return [one.url for one in page.results if one.type == kind]


def dated(folder: Path) -> None:
    """Scores Google's pages of 2024 to 2026 by the results of WebSearcher."""
    scores: dict[tuple[str, str], Score] = defaultdict(Score)
    typed: dict[str, Score] = defaultdict(Score)
    for row in rows(folder, "websearcher"):
        if not row["results"]:
            continue
        half = "looked at" if row["id"] in LOOKED_AT else "only scored"
        page = result_page(row["body"], "google", row["url"])
        truth = row["results"]
        organic = {one["url"] for one in truth if one["type"] == "general" and one["url"]}
        for group in (half, row["date"][:4]):
            scores["organic", group].add(organic, set(urls(page)))
            scores["organic, naive h3", group].add(organic, set(naive(row["body"])))
        asked = [one for one in truth if one["type"] == "people_also_ask"]
        listed = {text for one in asked for text in (one["details"] or {}).get("items", ())}
        ours = {one.title for one in page.results if one.type == "people_also_ask"}
        scores["questions", half].add(listed, ours)
        if sources := {text for text in listed if "://" in text}:
            print(
                f"  {row['id']}: {len(sources)} questions of the reference are the titles of answers' sources"
            )
        else:
            scores["questions, where the reference has only questions", half].add(listed, ours)
        typed["people_also_ask"].add(["block"] * bool(asked), ["block"] * bool(ours))
        ads = [one["url"] for one in truth if one["type"] == "ad"]
        scores["ads", half].add(ads, urls(page, "ad"))
        for kind in ("ai_overview", "top_stories", "videos", "recipes", "jobs"):
            typed[kind].add(
                [kind] * any(one["type"] == kind for one in truth),
                [kind] * any(one.type == kind for one in page.results),
            )
    print("Google, dated pages:")
    for (what, group), score in sorted(scores.items()):
        print(f"  {what}, {group}: {score}")
    for kind, score in typed.items():
        print(f"  pages that have {kind}: {score}")


def fact_holds(page: ResultPage, path: list[Any], value: Any) -> bool | None:
    """Returns whether a fact of serp-parser is true, or None if results have no such field."""
    kinds = {"organic": "organic", "adwordsTop": "ad", "adwordsBottom": "ad", "hotels": "hotels"}
    names = [one for one in path if isinstance(one, str)]
    if names == ["keyword"]:
        return page.query == str(value)
    if names == ["error"]:
        return page.verdict == "no_results"
    kind = next((kinds[name] for name in reversed(names) if name in kinds), "")
    found = [one for one in page.results if one.type == kind]
    if names == ["organic"]:
        return len(found) == int(value)
    places = [one for one in path if isinstance(one, int)]
    if not kind or not places or "searchFilters" in names:
        return None
    if places[0] >= len(found):
        return False
    one = found[places[0]]
    if "sitelinks" in names:
        below = [link for link in page.results if link.type == "sitelink" and link.position == one.position]
        if places[1] >= len(below):
            return False
        one = below[places[1]]
    field = names[-1]
    if field in ("name", "title", "url"):
        return bool((one.url if field == "url" else one.title).startswith(str(value)))
    if field == "domain":
        return urlsplit(one.url).hostname == str(value)
    if field == "position":
        return places[0] + 1 == int(value)
    return _in_text(one, field, value)


def _in_text(one: Result, field: str, value: Any) -> bool | None:
    """Returns whether the text of a result contains the value of a fact, or None if the field is not in the
    text."""
    if field not in ("snippet", "price", "rating", "votes", "currency"):
        return None
    short = f"{value / 1000:g}K" if field == "votes" and value > 999 else str(value)
    return short in one.text


def facts(folder: Path) -> None:
    """Checks the facts that serp-parser's own tests contain about its pages."""
    held, unmapped, wrong = 0, [], []
    for row in rows(folder, "parser"):
        page = result_page(row["body"], row["engine"])
        for fact in row["facts"]:
            holds = fact_holds(page, fact["path"], fact["value"])
            name = f"{row['id'].rpartition('/')[2]}: {'.'.join(map(str, fact['path']))}"
            if holds is None:
                unmapped.append(name)
            elif holds:
                held += 1
            else:
                wrong.append(f"{name} = {fact['value']!r}")
    print(
        f"serp-parser: {held} of {held + len(wrong)} facts hold; {len(unmapped)} are of fields that results do not have"
    )
    for name in wrong:
        print(f"  does not hold: {name}")
    for name in unmapped:
        print(f"  no such field: {name}")


def samples(folder: Path) -> None:
    """Prints the results of the published samples of openserp, in which one URL replaces all links."""
    for row in rows(folder, "openserp"):
        page = result_page(row["body"], row["engine"])
        ranks = [one.rank for one in page.results if one.rank]
        print(f"openserp, {row['id']}: {page.verdict}, {len(ranks)} organic results, ranks {ranks}")


def renamed(body: bytes, attribute: str, seed: int) -> bytes:
    """Replaces each class name or id of a page.

    With seed 0, the replacement is a new name. With a positive seed, the replacement is another name of the
    page. With a negative seed, the replacement is a random name of the page, chosen for each place
    separately.
    """
    text = body.decode("utf-8", "replace")
    values = re.compile(rf"(\s{attribute}=)([\"'])(.*?)\2", re.DOTALL)
    names = sorted({name for found in values.finditer(text) for name in found[3].split()})
    others = [f"x{number}" for number in range(len(names))]
    choose = random.Random(seed)
    if seed < 0:
        return values.sub(
            lambda found: f'{found[1]}"{" ".join(choose.choice(names) for _ in found[3].split())}"', text
        ).encode()
    if seed:
        others = names[:]
        choose.shuffle(others)
    new = dict(zip(names, others, strict=True))
    return values.sub(
        lambda found: f'{found[1]}"{" ".join(new[one] for one in found[3].split())}"', text
    ).encode()


def every_page(folder: Path) -> Iterator[Row]:
    for name in ("websearcher", "parser", "openserp"):
        yield from rows(folder, name)


def drift(folder: Path) -> None:
    """Scores all pages with other class names, other ids, and both."""
    for attributes in (["class"], ["id"], ["class", "id"]):
        score, naive_score, verdicts, misplaced = Score(), Score(), Counter[str](), 0
        for row in every_page(folder):
            truth = urls(result_page(row["body"], row["engine"]))
            for seed in SEEDS:
                body = row["body"]
                for attribute in attributes:
                    body = renamed(body, attribute, seed)
                page = result_page(body, row["engine"])
                found = urls(page)
                score.add(truth, found)
                naive_score.add(set(truth), set(naive(body)))
                verdicts[page.verdict] += 1
                misplaced += page.writes_positions and found != truth
        print(
            f"new {' and '.join(attributes)}: organic {score}; pages with a wrong position: {misplaced}; {dict(verdicts)}"
        )
        print(f"  naive h3: {naive_score}")


def early_ends(folder: Path) -> None:
    """Cuts each page at 23 places. The ranks in each part must equal the ranks in the whole page."""
    wrong, verdicts = 0, Counter[str]()
    for row in every_page(folder):
        whole = urls(result_page(row["body"], row["engine"]))
        for part in range(1, 24):
            page = result_page(row["body"][: len(row["body"]) * part // 24], row["engine"])
            found = urls(page)
            wrong += found != whole[: len(found)]
            verdicts[page.verdict] += 1
    print(f"cut pages: {wrong} of {verdicts.total()} with a wrong position; {dict(verdicts)}")


def costs(folder: Path) -> None:
    """Prints the CPU time per page of the parser and of the peer, which take turns."""
    pages = [row for row in every_page(folder) if row["engine"] == "google"]

    def spent(work: Callable[[bytes], object], body: bytes) -> float:
        start = time.process_time()
        work(body)
        return (time.process_time() - start) * 1000

    works: dict[str, Callable[[bytes], object]] = {
        "result_page": lambda body: result_page(body, "google"),
        "naive h3": naive,
        "building the tree": lambda body: parse(body, "text/html", None),
    }
    times = {
        name: [min(spent(work, row["body"]) for _ in range(5)) for row in pages]
        for name, work in works.items()
    }
    size = statistics.median(len(row["body"]) for row in pages) / 1024
    for name, ms in times.items():
        print(
            f"{name}: median {statistics.median(ms):.1f} ms, worst {max(ms):.1f} ms of {len(ms)} pages (median {size:.0f} KiB)"
        )


def main() -> None:
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else "../shared/data")
    print(time.strftime("%Y-%m-%d"), "data file", result_page(b"", "google").data_version)
    for part in (dated, facts, samples, drift, early_ends, costs):
        part(folder)


if __name__ == "__main__":
    main()
