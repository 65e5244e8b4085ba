"""Measures the quality and the cost of the main text on three samples of saved pages, with peers in the same
run.

    python benchmarks/main_text.py [FOLDER] [--only WAY] [--against FOLDER_WITH_SOURCE] [--instructions] [--large]
    python benchmarks/main_text.py [FOLDER] --against FOLDER_WITH_SOURCE --by-page

FOLDER (default `../shared/data`) contains `articles-news`, `articles-trafilatura` and `articles-zyte` as
`.jsonl.gz`. `articles-news` and `articles-zyte` contain the whole text of each page. The score of these two
samples is the F1 of runs of four words, as in Zyte's benchmark of article extraction. `articles-trafilatura`
contains segments that belong to the text, and segments that do not. The score of this sample is the F1 over
all segments, as in trafilatura's evaluation. Each sample is split into two halves by the hash of the page's
id. The failures of one half may be looked at. The other half is only scored. The 95 % intervals come from
1,000 draws with replacement.

The CPU time is given as median and mean per page, and as a ratio to the time for parsing the page. The peers
are trafilatura, jusText, readability-lxml, and turbohtml's own extractor, if they are installed. `--against`
also measures another version of gossamer. `--instructions` counts the instructions of parsing and of `fast`
with valgrind, per page of `articles-zyte`, in both versions. `--large` measures pages of 10 MB. `--by-page`
compares the F1 of `fast` in both versions page by page, also on 870 generated pages (`main_text_pages.py`).
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import random
import re
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from extraction import Pair, Row, body, interval, mean_f1, parts, rows

SAMPLES = ("news", "trafilatura", "zyte")
Way = Callable[[bytes, str], str]
Score = tuple[float, ...]


def is_seen(row: Row) -> bool:
    """Returns whether a page belongs to the half whose failures may be looked at."""
    return int(hashlib.sha256(row["id"].encode()).hexdigest(), 16) % 2 == 0


def segments(row: Row, text: str) -> Score:
    """Returns how many segments are rightly in the text, wrongly in the text, and wrongly missing."""
    right = sum(one in text for one in row["with"])
    return right, sum(one in text for one in row["without"]), len(row["with"]) - right


def segment_f1(scores: list[Score]) -> float:
    right, wrong, missing = (sum(column) for column in zip(*scores, strict=True))
    return float(2 * right / (2 * right + wrong + missing))


def ways() -> dict[str, Way]:
    from gossamer.parsing.encodings import decode
    from gossamer.parsing.text import main_text

    found: dict[str, Way] = {
        "gossamer, fast": lambda page, url: main_text(page, url),
        "gossamer, best": lambda page, url: main_text(page, url, "best"),
    }
    try:
        import trafilatura

        found["trafilatura"] = lambda page, url: (
            trafilatura.extract(decode(page), url=url, fast=True, include_comments=False) or ""
        )
    except ImportError:
        pass
    try:
        import justext

        stop = frozenset().union(
            *(justext.get_stoplist(name) for name in ("English", "German", "Spanish", "French"))
        )
        found["jusText"] = lambda page, url: "\n".join(
            one.text for one in justext.justext(page, stop) if not one.is_boilerplate
        )
    except ImportError:
        pass
    try:
        import readability
        from lxml.html import fromstring

        found["readability-lxml"] = lambda page, url: fromstring(
            readability.Document(decode(page)).summary()
        ).text_content()
    except ImportError:
        pass
    import turbohtml

    found["turbohtml alone"] = lambda page, url: turbohtml.parse(decode(page)).main_text()
    return found


def measured(work: Way, pages: list[Row]) -> tuple[list[str], list[float]]:
    """Returns the text and the CPU milliseconds of each page."""
    texts, spent = [], []
    for row in pages:
        page = body(row)
        start = time.process_time()
        try:
            texts.append(work(page, row["url"]))
        except (ValueError, TypeError, AttributeError, LookupError, ArithmeticError, RuntimeError):
            # if a peer cannot read a page, the text is empty
            texts.append("")
        spent.append((time.process_time() - start) * 1000)
    return texts, spent


def sample(folder: Path, name: str, only: str) -> None:
    from gossamer.parsing.html import parse

    pages = rows(folder, f"articles-{name}")
    whole = "text" in pages[0]
    f1: Callable[[list[Any]], float] = mean_f1 if whole else segment_f1

    def parsed(page: bytes, url: str) -> str:
        parse(page, None, url)
        return ""

    parsing = statistics.median(measured(parsed, pages)[1])
    print(f"{name}: {len(pages)} pages, {sum(map(is_seen, pages))} of them may be looked at")
    for way, work in ways().items():
        if only and only != way:
            continue
        work(body(pages[0]), pages[0]["url"])
        texts, spent = measured(work, pages)
        scores = [
            (is_seen(row), parts(row["text"], text) if whole else segments(row, text))
            for row, text in zip(pages, texts, strict=True)
        ]
        halves = [interval(f1, [score for seen, score in scores if seen == half]) for half in (True, False)]
        print(
            f"  {way:17} F1 {interval(f1, [score for _, score in scores])}, half looked at {halves[0]}, half only scored "
            f"{halves[1]}; CPU median {statistics.median(spent):.2f} ms, mean {statistics.fmean(spent):.2f}, "
            f"{statistics.median(spent) / parsing:.1f} times parsing",
            flush=True,
        )


_COUNTED = """
import sys
sys.path.insert(0, {benchmarks!r})
from pathlib import Path
from extraction import body, rows
from gossamer.parsing.html import parse
from gossamer.parsing.text import main_text
pages = [(body(row), row["url"]) for row in rows(Path({folder!r}), "articles-zyte")]
main_text(*pages[0])
for _ in range({rounds}):
    for page, url in pages:
        {call}
"""


def instructions(folder: Path, source: str, label: str) -> None:
    """Prints the millions of instructions per page of `articles-zyte`.

    The value is the difference between two rounds and one round, so the start does not count.
    """
    pages = len(rows(folder, "articles-zyte"))
    for name, call in (("parse", "parse(page, None, url)"), ("fast", "main_text(page, url)")):
        counts = []
        for rounds in (1, 2):
            code = _COUNTED.format(
                benchmarks=str(Path(__file__).parent), folder=str(folder), rounds=rounds, call=call
            )
            with tempfile.NamedTemporaryFile("r") as log:
                command = ["valgrind", "--tool=cachegrind", "--cache-sim=no"]
                command += [
                    "--cachegrind-out-file=/dev/null",
                    f"--log-file={log.name}",
                    sys.executable,
                    "-c",
                    code,
                ]
                environment = {**os.environ, "PYTHONPATH": source, "PYTHONHASHSEED": "0"}
                subprocess.run(command, env=environment, check=True, capture_output=True)
                found = re.search(r"I +refs: +([\d,]+)", Path(log.name).read_text())
            assert found, "valgrind counted nothing"
            counts.append(int(found[1].replace(",", "")))
        print(f"  {name:17} {(counts[1] - counts[0]) / pages / 1e6:.2f} million instructions a page, {label}")


_SENTENCE = (
    "This sentence is long enough to be one of an article's own, for it has more than eighty characters."
)
_PARAGRAPHS = f"<p>{_SENTENCE}</p>" * 3
LARGE = {
    "paragraphs": ("<article>", _PARAGRAPHS),
    "no markup": ("", "word "),
    "20,000 nested widgets": ("<div class=widget>" * 20_000, _PARAGRAPHS),
    "many widgets": ("", f"<div class=widget>{_PARAGRAPHS}</div>"),
    "many empty galleries": ("", "<div class=gallery>x</div>"),
    "100,000 nested elements": ("<div>" * 100_000, _PARAGRAPHS),
    "links": ("", "<li><a href=/x>link text</a></li>"),
    "similar modules": ("<section>", f"<div class=part>{_PARAGRAPHS}</div>"),
    "headings of other articles": ("", "<h2>Related stories</h2><p>x</p>"),
    "forms": ("", "<div><form><input></form></div>"),
    "a table": ("<table>", "<tr><td>cell text"),
    "unclosed tags": ("", "<b><i><p>text "),
}
"""The beginning and the repeated part of each page of 10 MB."""


def large() -> None:
    """Prints the CPU time of `main_text` and `markdown` on pages of 10 MB, and the maximum memory after each
    page."""
    from gossamer.parsing.text import main_text, markdown

    for name, (begin, repeated) in LARGE.items():
        page = (begin + repeated * (10_000_000 // len(repeated))).encode()
        start = time.process_time()
        main_text(page)
        between = time.process_time()
        markdown(page)
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
        print(
            f"  {name:28} {between - start:.2f} s, Markdown {time.process_time() - between:.2f} s; peak {peak} MiB",
            flush=True,
        )


def page_f1(pair: Pair) -> float:
    return mean_f1([pair]) if sum(pair) else 0.0


def scores_by_page(folder: Path) -> dict[str, float]:
    """Returns the F1 of `fast` by the name of the sample and the id of the page."""
    from main_text_pages import SYSTEMS, page

    from gossamer.parsing.text import main_text

    found = {}
    for name in SAMPLES:
        for row in rows(folder, f"articles-{name}"):
            text = main_text(body(row), row["url"])
            score = page_f1(parts(row["text"], text)) if "text" in row else segment_f1([segments(row, text)])
            found[f"{name} {row['id']}"] = score
    for seed in (1, 2, 3):
        chance = random.Random(seed)
        for system in sorted(SYSTEMS):
            for number in range(10):
                html, title, text = page(chance, system)
                score = page_f1(parts(text, main_text(html).replace(title, "", 1)))
                found[f"generated {seed}, {system} {number}"] = score
    return found


def compare_pages(folder: str, other: str) -> None:
    """Prints how the F1 of the pages differs from that of the other version."""
    command = [sys.executable, __file__, folder, "--scores"]
    environment = {**os.environ, "PYTHONPATH": other}
    done = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
    before, now = json.loads(done.stdout.splitlines()[-1]), scores_by_page(Path(folder))
    for sample in (*SAMPLES, "generated"):
        change = {page: now[page] - before[page] for page in now if page.startswith(sample)}
        better = [sum(one > least for one in change.values()) for least in (0.005, 0.02)]
        worse = [sum(one < -least for one in change.values()) for least in (0.005, 0.02)]
        print(
            f"  {sample}: {len(change)} pages, {better[0]} better by more than .005 and {better[1]} by more than .02, "
            f"{worse[0]} worse by more than .005 and {worse[1]} by more than .02, "
            f"mean {statistics.fmean(change.values()):+.4f}"
        )
        ranked = sorted(change, key=lambda page: change[page])
        for page in (ranked[-1], *(one for one in ranked if change[one] < -0.005)):
            print(f"    {page}: {before[page]:.3f} then {now[page]:.3f}")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "folder", nargs="?", default=str(Path(__file__).resolve().parents[2] / "shared" / "data")
    )
    parser.add_argument("--against")
    parser.add_argument("--only", default="", help="one way, such as 'gossamer, fast'")
    parser.add_argument("--instructions", action="store_true")
    parser.add_argument("--large", action="store_true")
    parser.add_argument("--by-page", action="store_true")
    parser.add_argument("--scores", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    print(f"{time.strftime('%Y-%m-%d %H:%M')}, load {os.getloadavg()[0]:.1f}", flush=True)
    sources = [str(Path(__file__).resolve().parents[1] / "src"), *filter(None, (options.against,))]
    if options.large:
        large()
        return
    if options.scores:
        print(json.dumps(scores_by_page(Path(options.folder))))
        return
    if options.by_page:
        if not options.against:
            parser.error("--by-page needs --against")
        compare_pages(options.folder, options.against)
        return
    if options.instructions:
        for source, label in zip(sources, ("this version", "the other version"), strict=False):
            instructions(Path(options.folder), source, label)
        return
    for name in SAMPLES:
        sample(Path(options.folder), name, options.only)
    if options.against:
        print("\nthe other version:", flush=True)
        command = [sys.executable, __file__, options.folder, "--only", options.only]
        subprocess.run(command, env={**os.environ, "PYTHONPATH": options.against}, check=True)


if __name__ == "__main__":
    main()
