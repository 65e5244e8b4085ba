"""A pattern finds the same as `re`, and no text makes a search take long."""

from __future__ import annotations

import re
import time
import warnings

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gossamer.url.patterns import Pattern, PatternTimeout, compile_, found, matches, timed
from support.repetitions import repetitions

HOSTILE = [
    r"(a+)+$",
    r"(a|aa)+$",
    r"(.*)*x",
    r"(\w+\s?)*$",
    r"([a-z]+)*\d",
    r"a.*b.*c.*d",
    r"\d+[.,]\d+x",
    r"(?i)(x+x+)+y",
    r"^(a?){40}a{40}$",
]
REFUSED = [r"(?<!x)(a+)+$", r"(a+)+\1b", r"(?=(a+)+$)a+b", r"((?>a)+)+b(?!c)"]
LETTERS = "ab1_-. /\nkK\u00e9\u00c9\u017f\u212a\u0660\u2003\x0b\x1c"
ATOMS = st.one_of(
    st.sampled_from(list("abkKs1_- /")),
    st.sampled_from(
        [
            "é",
            "ſ",
            r"\.",
            ".",
            r"\d",
            r"\D",
            r"\w",
            r"\W",
            r"\s",
            r"\S",
            "[ab]",
            "[^a]",
            "[a-c1]",
            r"[\w.]",
            r"[^\W_]",
            r"[^\s/]",
            "[[:alpha:]]",
            r"\x61",
            r"\141",
            "[]a]",
            "[a-]",
            "b{,2}",
            "x{e}",
            r"\n",
        ]
    ),
    st.sampled_from(["^", "$", r"\b", r"\A", r"\Z", r"\B"]),
)


def _compound(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    repeats = st.sampled_from(["*", "+", "?", "*?", "+?", "{2}", "{1,2}", "{,2}", "{2,}"])
    groups = st.sampled_from(
        ["({})", "(?:{})", "(?i:{})", "(?s:{})", "(?={})", "(?!{})", "(?P<n>{})", "(?>{})"]
    )
    return st.one_of(
        st.lists(inner, min_size=1, max_size=3).map("".join),
        st.lists(inner, min_size=2, max_size=3).map(lambda several: f"(?:{'|'.join(several)})"),
        st.tuples(groups, inner).map(lambda pair: pair[0].format(pair[1])),
        st.tuples(inner, repeats).map(lambda pair: f"(?:{pair[0]}){pair[1]}"),
    )


PATTERNS = st.tuples(
    st.sampled_from(["", "(?i)", "(?m)", "(?s)", "(?a)", "(?ims)", "(?x)"]),
    st.recursive(ATOMS, _compound, max_leaves=8),
).map("".join)
TEXTS = st.text(alphabet=LETTERS, max_size=8) | st.text(alphabet="ab1/.k", max_size=12)


def _forced(pattern: str) -> tuple[re.Pattern[str], Pattern] | None:
    """Returns the pattern compiled by `re`, and a Pattern that leaves no part of the search to `re`."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            plain = re.compile(pattern)
        except (re.error, OverflowError):
            return None
        import re._parser as parser  # type: ignore[import-not-found]

        return plain, Pattern(plain, parser.parse(pattern, plain.flags), -1)


def _all(plain: re.Pattern[str], text: str) -> list[list[str]]:
    found = []
    for match in plain.finditer(text):
        groups = match.groups()
        found.append([group or "" for group in groups] if groups else [match[0]])
    return found


@pytest.mark.parametrize(
    "pattern", [r"(?a)(?:a|(?i:\W))", r"(?a)(?:a|(?i:[^\W_]))", r"(?ai)(?=x|[\w-])[\w-]", r"(?ai)(?=.)\b."]
)
@pytest.mark.parametrize("text", ["\u212a", "\u017f", "\u0130", "\u0131", "x\u212a"])
def test_categories_ignore_no_case(pattern: str, text: str) -> None:
    pair = _forced(pattern)
    assert pair is not None
    plain, other = pair
    assert other.search(text) == (plain.search(text) is not None)


@settings(max_examples=repetitions(3000), deadline=None)
@given(PATTERNS, TEXTS)
def test_it_finds_what_re_finds(pattern: str, text: str) -> None:
    if (pair := _forced(pattern)) is None:
        return
    if "i" in pattern and set("\u017f\u212a") & set(
        text + pattern
    ):  # `regex` treats these case variants of k and s differently
        return
    plain, other = pair
    assert other.search(text) == (plain.search(text) is not None), (pattern, text, other._engines.__dict__)
    assert other.matches(text) == _all(plain, text), (pattern, text)


@pytest.mark.parametrize("pattern", [*HOSTILE, *REFUSED])
def test_no_text_holds_it(pattern: str) -> None:
    made = compile_(pattern)
    assert isinstance(made, Pattern)
    for text in ("a" * 20_000 + "!", "x" * 5000, "1" * 5000 + "a", "abc" * 3000, "a" * 35 + "!"):
        start = time.process_time()
        if pattern in REFUSED:
            found(made, text, on_timeout=True)
        else:
            made.search(text)
        assert time.process_time() - start < 5  # backtracking would take years


def test_patterns_that_re2_lacks_are_named() -> None:
    made = [compile_(one) for one in [*HOSTILE, *REFUSED, r"\.pdf$"]]
    assert [one.pattern for one in timed(made)] == REFUSED


def test_a_pattern_that_ran_out_of_time_gets_less() -> None:
    made = compile_(r"(?<!y)(a|aa)+$(?!b)")
    assert isinstance(made, Pattern)
    told: list[str] = []
    made.on_timeout = told.append
    start = time.process_time()
    for _ in range(200):
        with pytest.raises(PatternTimeout, match="took more than 50 ms on a text of 61 characters"):
            made.search("a" * 60 + "!")
    assert time.process_time() - start < 5  # 200 times 50 ms are 10 s
    assert len(told) == 1
    assert made.search("b" + "a" * 60)


@pytest.mark.parametrize(
    "pattern",
    [
        r"\.pdf$",
        "/blog/",
        r"/page/\d+",
        r"/product/[\w-]+$",
        r"^/(\w+)/(\d+)$",
        r"(?i)\.(jpg|png)$",
        r"^/a/.*\.html$",
        "a|b|c",
        r"^/p(?:age)?/\d+",
    ],
)
def test_patterns_that_are_linear_in_re_stay_there(pattern: str) -> None:
    assert isinstance(compile_(pattern), re.Pattern)


@pytest.mark.parametrize(
    "text",
    [
        "a" * 30_000,
        "/" * 30_000,
        "1" * 30_000,
        "/product/" * 4000,
        "/page/" * 5000,
        "/a/.html" * 4000,
        "ab" * 15_000,
    ],
)
def test_what_stays_in_re_is_linear(text: str) -> None:
    ours = [
        r"/product/[\w-]+$",
        r"^/(\w+)/(\d+)$",
        r"^/a/.*\.html$",
        r"/\w+/\d+x",
        r"a[^a]*b",
        r"[/a]?b\d*",
        r"(?i)/P\w+-",
    ]
    for pattern in ours:
        made = compile_(pattern)
        start = time.process_time()
        made.search(text + "!")
        assert time.process_time() - start < 2


def test_all_matches_with_groups() -> None:
    text = "price 12.50, then 7,30; " * 20
    assert list(matches(r"(\d+)[.,](\d+)", text)) == [["12", "50"], ["7", "30"]] * 20
    assert list(matches(re.compile(r"\d+[.,]\d+"), text)) == [["12.50"], ["7,30"]] * 20
    assert list(matches(r"(é+)+(x)?", "aé éx" * 50)) == [["é", ""], ["é", "x"]] * 50


def test_the_reference_is_not_imported_before_it_is_needed() -> None:
    import subprocess
    import sys

    code = "import sys; from gossamer.url.patterns import compile_ as c; c(r'/p/\\d+').search('/p/1'); c('(a+)+$').plain; print(*{'re2', 'regex'} & set(sys.modules))"
    assert (
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
        == "\n"
    )
