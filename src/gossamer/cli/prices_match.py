"""`gossamer prices match` and `review`: find the targets of different shops that offer the same product."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from gossamer.cli.options import Json, Option, Quiet
from gossamer.cli.prices_report import Limit
from gossamer.cli.prices_rules import HistoryUrl, opened
from gossamer.cli.table_output import put_table_rows
from gossamer.errors import UsageError

if TYPE_CHECKING:
    from gossamer.uses.prices.history import History
    from gossamer.uses.prices.match_offers import OpenPair

_ANSWERS = {"y": "same", "n": "different", "s": "later"}
_WORDS = {**_ANSWERS, "yes": "same", "no": "different", **{word: word for word in _ANSWERS.values()}}
_HELP = "y: the same product   n: different   s: skip   u: undo   q: quit"
MAX_BAD_LINES = 5


def match(history: HistoryUrl = None, as_json: Json = False, quiet: Quiet = False) -> int:
    """Match the offers of different shops: by GTIN, or by brand and model number.

    Pairs with similar names wait for `gossamer prices review`. The decisions of a review are kept.
    """
    from gossamer.cli.printing import hush_remarks, put_json, remark
    from gossamer.uses.prices.match_offers import match_offers

    hush_remarks(quiet)
    with opened(history) as base:
        done = match_offers(base, time.time(), remark)
    if as_json:
        put_json(done._asdict())
        return 0
    print(
        f"{done.offers:,} offers: {done.gtin:,} pairs matched by GTIN, {done.mpn:,} by brand and model number, "
        f"{done.decided:,} decided by you, {done.open:,} to review"
    )
    if done.open:
        remark("gossamer prices review shows them, best first")
    return 0


def review(
    history: HistoryUrl = None,
    as_list: Annotated[
        bool, Option("--list", help="Print the open pairs as a table, and ask nothing.")
    ] = False,
    accept: Annotated[
        str | None,
        Option("--accept", metavar="FILE", help="Read decisions from a CSV file: one, other, decision."),
    ] = None,
    skipped: Annotated[bool, Option("--skipped", help="The pairs that you skipped before.")] = False,
    limit: Limit = 50,
    as_csv: Annotated[bool, Option("--csv", help="Print the open pairs as CSV, for --accept.")] = False,
    as_json: Json = False,
) -> int:
    """Decide whether pairs of offers with similar names are the same product. The most similar pairs come
    first.

    Keys: y the same, n different, s skip, u undo, q quit. Each decision is stored at once, and the pair is
    not shown again.
    """
    from gossamer.uses.prices.match_offers import list_open

    if limit < 1:
        raise UsageError("--limit: at least 1")
    shown = as_list or as_csv or as_json
    with opened(history) as base:
        if accept is not None:
            return _accept(base, accept)
        pairs = list_open(base, later=skipped, limit=limit if shown else 1_000_000)
        if shown:
            _print_pairs(pairs, as_csv, as_json)
            return 0
        if not pairs:
            print("no pair waits for a decision; gossamer prices match looks for more")
            return 0
        if not sys.stdin.isatty():
            raise UsageError("review asks on a terminal: use --list, --json, or --csv and --accept FILE")
        with _keys() as read:
            ask(base, pairs, read, print)
    return 0


def ask(
    history: History, pairs: Sequence[OpenPair], read: Callable[[], str], put: Callable[[str], None]
) -> int:
    """Asks for each pair, and stores each answer at once. `read` returns a key, or an empty text at the end
    of the input. Returns the number of decisions."""
    from gossamer.uses.prices.match_offers import decide, reopen
    from gossamer.uses.prices.product_groups import read_group

    answered: list[int] = []
    at = 0
    put(_HELP)
    while at < len(pairs):
        pair = pairs[at]
        if pair.other in read_group(history.database, pair.one):  # earlier answers put both into one group
            at += 1
            continue
        put(f"\n{_shown(pair, at, len(pairs))}")
        key = read().lower()
        while key not in ("", *_ANSWERS, "u", "q"):
            put(_HELP)
            key = read().lower()
        if key in ("", "q"):
            break
        if key == "u":
            if answered:
                at = answered.pop()
                reopen(history, pairs[at])
            continue
        decide(history, [(pair.one, pair.other, _ANSWERS[key])], time.time())
        put(f"  {_ANSWERS[key]}")
        answered.append(at)
        at += 1
    left = len(pairs) - at
    put(f"{len(answered):,} decided, {left:,} left")
    return len(answered)


def _shown(pair: OpenPair, at: int, count: int) -> str:
    from gossamer.cli.printing import clean_line

    note = f", same {pair.reason}" if pair.reason in ("gtin", "mpn") else ""
    note += f", different {pair.conflict}" if pair.conflict else ""
    lines = [f"{at + 1:,} of {count:,}   score {pair.score:.2f}{note}"]
    for shop, name, url, price, currency in zip(
        pair.shops, pair.names, pair.urls, pair.prices, pair.currencies, strict=True
    ):
        lines.append(
            f"  {clean_line(name or '(no name)')}   {_price(price, currency)}\n    {shop}   {clean_line(url)}"
        )
    return "\n".join(lines)


def _price(price: object, currency: str) -> str:
    return "" if price is None else f"{price:f} {currency}".strip()


def _print_pairs(pairs: Sequence[OpenPair], as_csv: bool, as_json: bool) -> None:
    from gossamer.client.table_files import TableRows

    heads = (
        *("score", "one", "other", "decision", "reason", "conflict", "shop", "other shop"),
        *("name", "other name", "price", "other price"),
    )
    rows = [
        (
            *(f"{pair.score:.2f}", pair.one, pair.other, "", pair.reason, pair.conflict, *pair.shops),
            *pair.names,
            *(_price(*one) for one in zip(pair.prices, pair.currencies, strict=True)),
        )
        for pair in pairs
    ]
    put_table_rows(
        "pairs",
        TableRows(heads, rows),
        None,
        as_csv,
        as_json,
        right=("score",),
        least=("decision", "one", "other"),
    )


def _accept(history: History, path: str) -> int:
    """Stores the decisions in a CSV file. If a line is wrong, no decision in the file is stored. Lines
    without a decision are ignored."""
    from gossamer.client.source_rows import read_list_file
    from gossamer.uses.prices.match_offers import decide

    known = {target.key for target in history.targets()}
    decisions, bad = [], []

    def check_names(names: Sequence[str]) -> None:
        if missing := {"one", "other", "decision"} - set(names):
            raise UsageError(f"--accept {path}: no column {', '.join(sorted(missing))}")

    for row in read_list_file(Path(path), check_names, form=".csv"):
        if row.columns is None:
            bad.append(f"line {row.line}: {row.reason}")
            continue
        one, other, word = ((row.columns.get(name) or "").strip() for name in ("one", "other", "decision"))
        if not word:
            continue
        if word.lower() not in _WORDS:
            bad.append(f"line {row.line}: {word} is none of same, different, later, y, n, s")
        elif one == other or not {one, other} <= known:
            bad.append(f"line {row.line}: {one} and {other} are not two targets of the list")
        else:
            decisions.append((one, other, _WORDS[word.lower()]))
    if bad:
        more = f"; {len(bad) - MAX_BAD_LINES:,} more" if len(bad) > MAX_BAD_LINES else ""
        raise UsageError(f"--accept {path}: nothing was stored; {'; '.join(bad[:MAX_BAD_LINES])}{more}")
    decide(history, decisions, time.time())
    print(f"{len(decisions):,} decisions stored")
    return 0


@contextmanager
def _keys() -> Iterator[Callable[[], str]]:
    """A context manager that yields a function. The yielded function waits for a key press on the terminal
    and returns the key. Ctrl-C works as usual."""
    import os
    import termios
    import tty

    fd = sys.stdin.fileno()
    before = termios.tcgetattr(fd)
    tty.setcbreak(fd, termios.TCSADRAIN)  # keys that are already pressed count

    def key() -> str:
        sys.stdout.flush()  # the question may go into a pipe
        return os.read(fd, 1).decode(errors="replace")

    try:
        yield key
    finally:
        termios.tcsetattr(fd, termios.TCSADRAIN, before)
