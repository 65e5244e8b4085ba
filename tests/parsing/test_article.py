"""The main text of a page, and its Markdown."""

from __future__ import annotations

import base64
import builtins
import gzip
import json
import random
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gossamer.config.optional_deps import install_command
from gossamer.parsing.text import Quality, main_text, markdown
from support.repetitions import repetitions

DATA = Path(__file__).resolve().parents[3] / "shared" / "data"
LONG = "This sentence is long enough to be one of an article's own, for it has more than eighty characters, and commas."
BODY = f"<p>{LONG} 1</p><p>{LONG} 2</p><p>{LONG} 3</p>"
TEXT = f"{LONG} 1\n\n{LONG} 2\n\n{LONG} 3"
CAPTION = "The crew of the ferry waits for its guests"
SIGN_UP = f"<div><h2>Be the first</h2><p>Get odd news</p><form><input>Send<p>{LONG}{LONG}{LONG}</form></div>"
COLUMN = f"<div class=part><div class='col a'>{BODY}</div></div>"
LINES = f"{LONG}<br><br>" * 3
MORE = f"<p>{LONG} 4</p>"
POST = f"<article class=post><time>2</time><h2>H{{}}</h2><div class=in>{BODY}</div><div>Share</div></article>"
BOX = f"<div><h3>B</h3><p>{LONG} {LONG} {LONG}</p></div>"
TALK = f"<div class=comment><b>Ann</b><p>{LONG} {{}}</p></div>"
PAGES = [
    (f"<nav><a href=/>Home</a></nav><article>{BODY}</article><footer>Imprint and much more</footer>", TEXT),
    (
        f"<article>{BODY}<div class='share-links'>Share it with your friends</div><ul class=related><li>Other</ul></article>",
        TEXT,
    ),
    (
        f"<article>{BODY}<figure><img><figcaption>Somebody, somewhere</figcaption></figure><aside>Aside</aside></article>",
        TEXT,
    ),
    (
        f"<article>{BODY}<p><a href=a>More of this</a> | <a href=b>And of that</a></p><h3>Read also</h3></article>",
        TEXT,
    ),
    (f"<article class=widget>{BODY}</article>", TEXT),
    (f"<div class=summary><p>{LONG} 0</p></div><div class=story>{BODY}</div>", f"{LONG} 0\n\n{TEXT}"),
    (f"<article>{BODY}<blockquote class=twitter-embed>Quoted</blockquote></article>", f"{TEXT}\n\nQuoted"),
    (
        f"<article><h1>A</h1>{BODY}</article><article>{BODY.replace('This', 'That') * 3}</article>",
        f"A\n\n{TEXT}",
    ),
    (
        f"<article><p>{LONG}<br>{LONG}<p>t<b>w</b>o  words</p><div>{LONG}<p>in</p>after</div></article>",
        f"{LONG}\n{LONG}\n\ntwo words\n\n{LONG}\n\nin\n\nafter",
    ),
    (f"<section>{COLUMN}<div>- Advertisement -</div>{COLUMN}</section>", f"{TEXT}\n\n{TEXT}"),
    (f"<section><div class=part>{BODY}</div><div class=part><p>{LONG} About us.</p></div></section>", TEXT),
    (
        f"<div class=article><h1>A</h1><br>{LINES}</div><div id=low>{BODY.replace('This', 'Our')}</div>",
        f"A\n\n{LONG}\n{LONG}\n{LONG}",
    ),
    (
        f"<article>{BODY}<figure><table><tr><td>Cell</table><figcaption>Above</figcaption></figure></article>",
        f"{TEXT}\n\nCell",
    ),
    (
        f"<article>{BODY}<div><p><b>Like this?</b> Every week by mail.</p><form><input></form></div></article>",
        TEXT,
    ),
    (f"<div class=ArticleView_text>{BODY}<div class=ReaderComments_box>{MORE}</div></div>", TEXT),
    (
        f"<section><div><div class='a b c d'>{BODY}</div></div><hr><div><div class='a b c'>{BODY}</div></div></section>",
        f"{TEXT}\n\n{TEXT}",
    ),
    (
        f"<main><div><p>Ann wrote this on a day.<div itemprop=articleBody>{LINES}</div><p>Back</div></main>",
        f"{LONG}\n{LONG}\n{LONG}",
    ),
    (
        f"<main><h1>Live</h1><ul><li>K</ul><div>{POST.format(1)}{POST.format(2)}{POST.format(3)}</div></main>",
        f"H1\n\n{TEXT}\n\nH2\n\n{TEXT}\n\nH3\n\n{TEXT}",
    ),
    (
        f"<div class=qc-cmp2-container><div>{BODY * 3}</div></div><div class=text><h1>A</h1><p>{LONG}</div>",
        LONG,
    ),
    (
        f"<article>{BODY}<section><h3>Más información</h3>{MORE}</section><div><b>関連記事：</b>{MORE}</div></article>",
        f"{TEXT}",
    ),
    (f"<article><h1>A</h1><div>3 hours ago</div><div>Ann Bell</div>{BODY}</article>", f"A\n\n{TEXT}"),
    (f"<article>{BODY}<p>Copyright ⓒ 한국신문</p></article>", TEXT),
    (
        f"<article>{BODY}<div><h3><button>Why?</button></h3>{MORE}</div></article>",
        f"{TEXT}\n\nWhy?\n\n{LONG} 4",
    ),
    (
        f"<article><div class=date>4 May</div>{BODY}<div class=date>5 May</div><div class=komentarze>{MORE}</div></article>",
        TEXT,
    ),
    (f"<div class=story><h1>A</h1><form>{BODY}</form></div>", f"A\n\n{TEXT}"),
    (f"<article>{BODY}<span class=img_descr>Somebody, somewhere</span><p>Lire aussi :</p></article>", TEXT),
    (f"<div><h1>A</h1>{BODY}</div><div>{BOX * 4}</div>", f"A\n\n{TEXT}"),
    (
        f"<div><div class=itemIntroText><p>{LONG} 0</div><div class=itemFullText>{BODY}</div></div>",
        f"{LONG} 0\n\n{TEXT}",
    ),
    (
        f"<article>{BODY}<table><tr><td><pre class=lnt>1\n2</pre><td><pre>x = 1\nx()</pre></table></article>",
        f"{TEXT}\n\nx = 1\nx()",
    ),
    (f"<article>{BODY}<table><tr><td class=date>4 May<td>Rain</table></article>", f"{TEXT}\n\n4 May\n\nRain"),
    (
        f"<article><h1>Live</h1><p>{LONG} 0</p><div class=feed>{POST.format(1)}{POST.format(2)}</div></article>",
        f"{LONG} 0\n\nH1\n\n{TEXT}\n\nH2\n\n{TEXT}",
    ),
    # a manual: nested sections, definitions
    (
        f"<section><h1>A</h1><section><h2>B</h2>{BODY * 3}</section><section><h2>C</h2>{MORE}</section></section>",
        f"A\n\nB\n\n{TEXT}\n\n{TEXT}\n\n{TEXT}\n\nC\n\n{LONG} 4",
    ),
    (
        f"<div class=section><h1>A</h1>{MORE}<div class=section><h2>B</h2>{BODY * 3}</div></div>",
        f"A\n\n{LONG} 4\n\nB\n\n{TEXT}\n\n{TEXT}\n\n{TEXT}",
    ),
    (
        f"<section><h1>A</h1>{MORE}<dl><dt>b()<dd>{BODY}<dt>c()<dd>{BODY * 3}</dl></section>",
        f"A\n\n{LONG} 4\n\nb()\n\n{TEXT}\n\nc()\n\n{TEXT}\n\n{TEXT}\n\n{TEXT}",
    ),
    # if a page contains only comments, the comments are its text; otherwise they are left out
    (
        f"<h1>A</h1>{TALK.format(1)}{TALK.format(2)}{TALK.format(3)}",
        f"{LONG} 1\n\nAnn\n\n{LONG} 2\n\nAnn\n\n{LONG} 3",
    ),
    (
        f"<h1>A</h1><p>Closed today.</p><div class=comments>{TALK.format(1)}{TALK.format(2)}{TALK.format(3)}</div>",
        "A\n\nClosed today.",
    ),
    ("<p>Hello <a href=x>you</a></p>", "Hello you"),
    ("", ""),
]


@pytest.mark.parametrize("number", range(len(PAGES)))
def test_main_text(number: int) -> None:
    html, text = PAGES[number]
    assert main_text(html.encode()) == text


def test_main_text_in_any_encoding() -> None:
    page = "<meta charset=shift_jis><article>" + "<p>" + "これは長い文章です。" * 40 + "</article>"
    assert main_text(page.encode("shift_jis")) == "これは長い文章です。" * 40


DOWN = [
    ("<h1>T</h1><h2>S</h2><p>a <b>b</b> <i>c</i> <code>d</code>", "# T\n\n## S\n\na **b** *c* `d`"),
    ("<ul><li>a<ol><li>b<li>c</ol></ul>", "- a\n  1. b\n  2. c"),
    (
        "<p><a href='b?x#y'>l</a> <img src=/i.png alt=I>",
        "[l](https://example.com/a/b?x#y) ![I](https://example.com/i.png)",
    ),
    ("<pre><code>x = 1\n  y\n</code></pre>", "```\nx = 1\n  y\n```"),
    ("<table><tr><th>a<th>b<tr><td>1<td>2</table>", "| a | b |\n| --- | --- |\n| 1 | 2 |"),
    (
        "<nav><a href=/>Home</a></nav><p>text</p><form>Search</form><script>x</script><div class=comments>c</div>",
        "text",
    ),
    ("<h1>T</h1><div class=story>" + BODY + "</div>", f"# T\n\n{TEXT}"),
    (f"<h1>T</h1><p>{LONG} 0</p><div class=story>{BODY}</div>", f"# T\n\n{LONG} 0\n\n{TEXT}"),
    ("<h1>T</h1>" + TALK.format(1) * 3, "# T" + f"\n\n**Ann**\n\n{LONG} 1" * 3),
    ("", ""),
]


@pytest.mark.parametrize(("html", "text"), DOWN)
def test_markdown(html: str, text: str) -> None:
    assert markdown(html.encode(), "https://example.com/a/") == text


def test_best_without_its_library_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    usual = builtins.__import__

    def without(name: str, *rest: Any) -> Any:
        if name == "trafilatura":
            raise ImportError(name)
        return usual(name, *rest)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(RuntimeError, match=re.escape(install_command("text"))):
        main_text(BODY.encode(), quality="best")


def test_another_quality_is_refused() -> None:
    with pytest.raises(ValueError, match="fast or best"):
        main_text(b"", quality="good")  # type: ignore[arg-type]


PIECES = [
    BODY,
    "<article>",
    "<div class=share>",
    "</div>",
    "<table><tr><td>",
    "<h1>",
    "<a href=http://[>",
    "<blockquote>",
    "<pre>",
    "text",
    "<br>",
    "\0",
    "<svg><p>",
    "<template>",
    "<frameset>",
    "<plaintext>",
]


@settings(max_examples=repetitions(60), deadline=None)
@given(
    st.one_of(
        st.binary(max_size=200),
        st.lists(st.sampled_from(PIECES), max_size=15).map(lambda parts: "".join(parts).encode()),
    )
)
def test_any_bytes_are_read(body: bytes) -> None:
    assert isinstance(main_text(body), str)
    assert isinstance(main_text(body, "https://example.com/", "best"), str)
    assert isinstance(markdown(body, "https://example.com/"), str)


@pytest.mark.parametrize(
    "html",
    [
        "<div class=share>" * 20_000 + BODY,
        BODY + "<div class=share>x</div>" * 20_000,
        "<p>" + "<b>" * 20_000 + LONG,
        "<table><tr><td>" * 2000 + "x",
        "<article>" * 5000 + BODY * 50,
        "<table>" + "<tr><td>x" * 3000 + "<tr>" + "<td>" * 3000 + "</table>" + BODY,
        "<blockquote>" * 5000 + BODY,
        "<ul><li>" * 5000 + BODY,
        "<a href=x>" * 20_000,
        "<div class=widget>" * 20_000 + BODY * 15_000,  # of 5 MB
        "<div>" * 20_000 + BODY * 15_000,
        f"<div class='post part'>{BODY}</div>" * 15_000,
        "<noscript>" * 20_000 + BODY,
        "<h2>Related stories</h2><div class=teaser>x</div>" * 50_000,
    ],
)
def test_hostile_pages_end(html: str) -> None:
    assert len(main_text(html.encode())) < 10 * len(html)
    assert len(markdown(html.encode(), "https://example.com/")) < 100 * len(html)


SHORT = f"<p>{LONG} 8</p>"
MODULE = "<div class='module rich'>{}</div>"
POSTS = "".join(
    f"<article class=message><b>Ann</b><div class=cooked><p>{LONG} {n}</p><p>{LONG} {n}.</p></div></article>"
    for n in range(4)
)
SPREAD = {
    "a summary below the heading": (
        f"<article><header><h1>A</h1><p>{LONG} 0</p></header><div class=body>{BODY}</div></article>",
        f"{LONG} 0\n\n{TEXT}",
    ),
    "a summary in a heading": (
        f"<article><header><h1>A</h1><h2 class=dek>{LONG} 0</h2></header><div class=body>{BODY}</div></article>",
        f"{LONG} 0\n\n{TEXT}",
    ),
    "a summary called teaser": (
        f"<article><h1>A</h1><div class=article-teaser><p>{LONG} 0</p></div><div class=body>{BODY}</div></article>",
        f"{LONG} 0\n\n{TEXT}",
    ),
    "a summary below a heading in a banner": (
        f"<div class=hero><h1>A</h1><div class=intro><p>{LONG} 0</p></div></div><div class=cols><div>{BODY}</div></div>",
        f"{LONG} 0\n\n{TEXT}",
    ),
    "a picture's caption below the heading is none": (
        f"<article><h1>A</h1><div class='image top'><p>{LONG} 0</p></div><div class=body>{BODY}</div></article>",
        TEXT,
    ),
    "modules": (
        f"<main><h1>A</h1>{MODULE.format(BODY)}{MODULE.format(SHORT)}{MODULE.format(SHORT)}</main>",
        f"{TEXT}\n\n{LONG} 8\n\n{LONG} 8",
    ),
    "slides after an introduction": (
        (
            f"<article><h1>A</h1><section class=slideshow><section class=intro><p>{LONG} 0</p></section>"
            f"<section class=slideshow-inner><div class=slide>{BODY}</div><div class=slide>{BODY}</div></section></section></article>"
        ),
        f"{LONG} 0\n\n{TEXT}\n\n{TEXT}",
    ),
    "a gallery": (
        (
            f"<article><h1>A</h1><p>{LONG} 0</p><ul class=gallery><li><div class=caption>{BODY}</div><li><div class=caption>{BODY}"
            "</div></ul></article>"
        ),
        f"{LONG} 0\n\n{TEXT}\n\n{TEXT}",
    ),
    "a disclosure is not the text": (
        f"<article><h1>A</h1><div class=disclosure><p>{LONG} We earn.</p></div><div>{BODY}</div></article>",
        TEXT,
    ),
    "comments after a post are not the text": (
        f"<div><div class='post hentry'><h1>A</h1>{BODY}</div><ol class=commentlist><li id=comment-1>{BODY * 3}</ol></div>",
        f"A\n\n{TEXT}",
    ),
    "cards of other stories are not the text": (
        f"<article><h1>A</h1><div class=body>{BODY}</div><div class=bottom><div class=card><p>{LONG} 9</p></div></div></article>",
        TEXT,
    ),
    "a widget of a blog": (
        (
            f"<div class='widget Blog' id=Blog1><div class='post hentry'><div class=post-body><noscript>{BODY}{BODY}</noscript></div>"
            "</div></div>"
        ),
        f"{TEXT}\n\n{TEXT}",
    ),
    "links in a sentence have a class of tags": (
        f"<article><h1>A</h1><p>{LONG} The <a class=internal-tag>River</a> is <span class=tag-link>long</span> and old.</p>{BODY}</article>",
        f"{LONG} The River is long and old.\n\n{TEXT}",
    ),
    "annotated names in a sentence": (
        (
            f"<article><h1>A</h1><p>{LONG} In <span itemscope><meta itemprop=name content=Rome>Rome</span> they "
            f"<x-link>sleep</x-link> well.</p>{BODY}</article>"
        ),
        f"{LONG} In Rome they sleep well.\n\n{TEXT}",
    ),
    "a calendar": (
        f"<article><h1>A</h1>{BODY}<table>{'<tr><td>1<td>2<td>30' * 12}</table>{MORE}</article>",
        f"{TEXT}\n\n{LONG} 4",
    ),
    "data as text": (
        f'<article><h1>A</h1><div>{{"_id":"5e97","slug":"city-news"}}</div>{BODY}</article>',
        TEXT,
    ),
    "a consent dialog of a plugin": (
        f"<div class='_brlbs-box'><div class=col>{BODY * 3}</div></div><div class=x><p>{LONG} 8</p><p>{LONG} 9</p><p>{LONG} 7</p></div>",
        f"{LONG} 8\n\n{LONG} 9\n\n{LONG} 7",
    ),
    "the preparation of a recipe": (
        (
            '<script type="application/ld+json">{"@type":"Recipe","recipeInstructions":[{"text":"Boil the oats in a pot with milk."},'
            '{"text":"Eat them with a spoon when they are cold."}]}</script>'
            f"<div class=recipe><div class=tabs><div class='tab active'><p>{LONG} 1</p><p>{LONG} 2</p></div></div>"
            "<div class=steps><ol><li>Boil the oats in a pot with milk.</li><li>Eat them with a spoon when they are cold.</li></ol></div></div>"
        ),
        f"{LONG} 1\n\n{LONG} 2\n\nBoil the oats in a pot with milk.\n\nEat them with a spoon when they are cold.",
    ),
    "all is in a box with a boilerplate name": (
        f"<div class='nav drawer'><div class=banner><div class=x>{BODY}</div></div></div><p>x</p>",
        TEXT,
    ),
}


@pytest.mark.parametrize("name", SPREAD)
def test_text_that_is_spread_over_a_page(name: str) -> None:
    html, text = SPREAD[name]
    found = main_text(html.encode())
    assert found.removeprefix("A\n\n") == text.removeprefix("A\n\n")


def test_text_for_small_and_for_large_screens_is_returned_once() -> None:
    twice = f"<p>{LONG} {LONG} 1</p><p>B.</p><p>{LONG} {LONG} 2</p>"
    html = f"<section class=col><div class=mobile>{twice}</div><div class=desktop>{twice}</div><p>{LONG} 3</p></section>"
    assert main_text(html) == f"{LONG} {LONG} 1\n\nB.\n\n{LONG} {LONG} 2\n\n{LONG} 3"


def test_a_refrain_is_kept() -> None:
    html = f"<article><h1>A</h1><p>{LONG} 1</p><p>Row your boat.</p><p>{LONG} 2</p><p>Row your boat.</p><p>{LONG} 3</p></article>"
    assert main_text(html).count("Row your boat.") == 2


@pytest.mark.parametrize("name", SPREAD)
def test_markdown_has_the_same_text(name: str) -> None:
    """Each paragraph is in both the text and the Markdown, or in neither."""
    html, text = SPREAD[name]
    found = markdown(html.encode())
    for number in range(10):
        assert found.count(f"{LONG} {number}") == text.count(f"{LONG} {number}")
    assert "We earn" not in found


def test_the_posts_of_a_thread_are_the_text() -> None:
    html = f"<h1>A</h1><div class=stream>{POSTS}</div><div class=side><a href=/1>Other</a></div>"
    found = main_text(html.encode())
    assert [n for n in range(4) if f"{LONG} {n}." in found] == [0, 1, 2, 3]


def test_a_line_break_in_the_source_is_a_space() -> None:
    assert (
        main_text(f"<article><p>one\ntwo<br>three {LONG}</p></article>".encode()) == f"one two\nthree {LONG}"
    )
    assert "x = 1\n  y" in main_text(f"<article>{BODY}<pre>x = 1\n  y</pre></article>".encode())


def test_a_page_of_many_languages() -> None:
    said = ["Das ist ein langer Satz über Flüsse und Brücken in der Stadt. " * 3, "これは長い文章です。" * 20]
    said += [
        "هذه جملة طويلة عن الأنهار والجسور في المدينة. " * 3,
        "Это длинное предложение о реках и мостах. " * 3,
    ]
    page = "<article>" + "".join(f"<p>{one}</p>" for one in said) + "</article>"
    assert main_text(page.encode()) == "\n\n".join(one.strip() for one in said)


@pytest.mark.parametrize(
    "html",
    ["<p></p>", "<img src=a>", "<nav><a href=/>x</a></nav>", "<h1></h1>", "\0" * 1000, "<!-- x -->" * 1000],
)
def test_a_page_without_text(html: str) -> None:
    assert len(main_text(html.encode())) <= 1000
    assert isinstance(markdown(html.encode(), "https://example.com/"), str)


def test_best_takes_the_other_text_if_ours_is_under_half_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    trafilatura = pytest.importorskip("trafilatura")
    for length, taken in ((3 * len(TEXT), True), (len(TEXT) * 3 // 2, False)):
        monkeypatch.setattr(trafilatura, "extract", lambda *_, length=length, **__: "x" * length)
        assert (main_text(f"<article>{BODY}</article>".encode(), quality="best") == "x" * length) is taken


def shingles(text: str) -> Counter[tuple[str, ...]]:
    words = re.findall(r"\w+", text)
    return Counter(tuple(words[at : at + 4]) for at in range(max(1, len(words) - 3))) if words else Counter()


def parts(wanted: str, got: str) -> tuple[float, float]:
    """Returns the precision and recall of a text in runs of four words, as in Zyte's benchmark of article
    extraction."""
    want, have = shingles(wanted), shingles(got)
    right = (want & have).total()
    return right / have.total() if have else 1.0, right / want.total() if want else 1.0


def f1(scores: list[tuple[float, float]]) -> float:
    precision, recall = (sum(column) / len(scores) for column in zip(*scores, strict=True))
    return 2 * precision * recall / (precision + recall)


def segment_f1(scores: list[tuple[int, int, int]]) -> float:
    right, wrong, missing = (sum(column) for column in zip(*scores, strict=True))
    return 2 * right / (2 * right + wrong + missing)


def segments(row: dict[str, Any], text: str) -> tuple[int, int, int]:
    """Returns the numbers of segments that are correctly in the text, wrongly in the text, and missing from
    it, as in trafilatura's evaluation."""
    right = sum(one in text for one in row["with"])
    return right, sum(one in text for one in row["without"]), len(row["with"]) - right


@pytest.mark.parametrize(
    ("sample", "quality", "least"),
    [("zyte", "fast", 0.97), ("zyte", "best", 0.97), ("news", "fast", 0.94), ("trafilatura", "fast", 0.94)],
)
def test_saved_pages(sample: str, quality: Quality, least: float) -> None:
    data = DATA / f"articles-{sample}.jsonl.gz"
    if not data.exists():
        pytest.skip("../shared/data is not here")
    with gzip.open(data, "rt") as lines:
        rows = [json.loads(line) for line in lines]
    found = [main_text(base64.b64decode(row["html"]["b64"]), row["url"], quality) for row in rows]
    if sample == "trafilatura":
        assert segment_f1([segments(row, text) for row, text in zip(rows, found, strict=True)]) >= least
        return
    scores = [parts(row["text"], text) for row, text in zip(rows, found, strict=True)]
    assert f1(scores) >= least
    drawn = random.Random(1)
    again = sorted(f1(drawn.choices(scores, k=len(scores))) for _ in range(200))
    assert again[5] >= least - 0.05  # the lower end of a 95 % interval


@pytest.mark.parametrize(
    ("part", "kept"),
    [
        (f"<div class=sidebar><p><b>TIP</b></p><div class=para>odd {LONG}</div></div>", True),
        (f"<div class=sidebar><a href=/1>odd {LONG}</a></div>", False),
        ("<p class=paywall>He laughed odd.</p>", True),
        ("<div class=paywall>odd <a href=/join>Subscribe</a> to read on.</div>", False),
        (f"<h2><a href=/1>1. odd boat</a></h2><p>{LONG} 4</p>", True),
        ("<p><a href=/1>The list of all the odd crews is public.</a></p>", True),
        ("<p><a href=/1>Read the list of all the odd crews here.</a></p>", False),
        (f"<div><div><h3><a href=/1>Another odd story</a></h3></div></div><p>{LONG} 4</p>", False),
        (
            "<table><tr><td><a href=/1>odd</a><td>a crew of nine<tr><td><a href=/2>Elm</a><td>of eight</table>",
            True,
        ),
        (f"<img alt='{CAPTION}'><div>{CAPTION}, odd. By Ann Bell</div>", False),
        (f"<img alt='{CAPTION}'><h2>{CAPTION}, odd</h2><p>{LONG} 4</p>", True),
        (f"<img alt='{CAPTION}'><p>{CAPTION}, odd. {LONG}</p>", True),
        (f"<img alt='An odd boat'><p>An odd boat</p><p>{LONG} 4</p>", True),
        (SIGN_UP, False),
        (f"<div><img><div class=caption><p>An odd boat. {LONG} {LONG} {LONG[:40]}</p></div></div>", False),
        (
            f"<div><img><div class=caption><h4>An odd boat</h4><p>{LONG} {LONG} {LONG[:40]}</p></div></div>",
            True,
        ),
    ],
)
def test_boxes_and_links_that_belong_to_the_text(part: str, kept: bool) -> None:
    page = f"<article><h1>Boats</h1><p>{LONG} 1</p>{part}<p>{LONG} 2</p><p>{LONG} 3</p></article>"
    assert ("odd" in main_text(page.encode())) is kept


@pytest.mark.parametrize(
    ("end", "kept"),
    [
        ("<div><em>Síguenos en <a href=/t>Telegram</a> y <a href=/f>Facebook</a> para odd</em></div>", False),
        ("<p>Follow her on Twitter <a href=/a>@odd</a>.</p>", False),
        ("<p>Get it all. Subscribe to the odd <a href=/n>newsletters</a>.</p><h2>More</h2>", False),
        ("<p>Folgen Sie uns auf <a href=/i>Instagram</a>, odd</p>", False),
        ("<p>Подписывайтесь на <a href=/t>Telegram</a> odd</p>", False),
        ("<p>The dogs follow us on the ice, an odd <a href=/d>sight</a>.</p>", True),
        ("<p>They asked readers to follow them on Twitter, which is odd.</p>", True),
        (f"<p>Follow us on <a href=/f>Facebook</a>, odd.</p><p>{LONG} 4</p>", True),
    ],
)
def test_requests_to_follow_at_the_end_are_no_text(end: str, kept: bool) -> None:
    page = f"<article><h1>Boats</h1>{BODY}{end}</article>"
    assert ("odd" in main_text(page.encode())) is kept


def test_headings_do_not_make_a_text_longer_than_a_short_article() -> None:
    """The other text has more long paragraphs than the article, but is longer only with its headings."""
    links = "<li><a href=/1>Other</a>" * 12
    page = f"""<main><article class=post><h1>Boats</h1><p>{LONG[:100]}</p><p>{LONG[:70]}</p><p>{LONG[:75]}</p></article></main>
        <ul>{links}</ul><div><p>{LONG[:85]} odd</p><h2>{LONG[:70]} A</h2><h2>{LONG[:70]} B</h2><p>{LONG[:85]}</p></div>"""
    assert "odd" not in main_text(page.encode())


def test_a_teaser_is_not_the_main_text() -> None:
    """The text stands in a banner, and its paragraphs stand in boxes of their own."""
    boxes = "".join(
        f"<div class=teaser><h3><a href=/{n}>Odd {LONG}</a></h3><p>{LONG[: 110 - n]}</p></div>"
        for n in (0, 60)
    )
    page = f"""<div class=left><div class=banner><div class=words><h2>Boats</h2><p>Agency</p><div><p>{LONG} 1 {LONG}</p></div>
        <div><p>{LONG} 2 {LONG} {LONG}</p></div></div></div><div class=releases>{boxes}</div></div>"""
    text = f"{LONG} 1 {LONG}\n\n{LONG} 2 {LONG} {LONG}"
    assert main_text(page.encode()).endswith(text)
    assert markdown(page.encode()).endswith(text)


def test_a_page_of_a_handbook_is_read_whole() -> None:
    """A section has a title, boxes named `sidebar` and sections, of which one has most of the text."""
    box = f"<div class=sidebar><div class=titlepage><p class=title><b>TIP</b></p></div><div class=para>{LONG} tip</div></div>"
    inner = f"<div class=section><div><h3>9.1.1. Rights</h3></div>{BODY * 3}{box}</div>"
    short = f"<div class=section><div><h3>9.1.2. Names</h3></div><div class=para>{LONG} 5</div></div>"
    page = f"""<title>9.1. Users</title><ul class=docnav><li><a href=/>Next</a></ul><div class=section><div><h2>9.1. Users</h2></div>
        <div class=para>{LONG} 0</div>{inner}{short}</div>"""
    text = main_text(page.encode())
    assert [part in text for part in ("9.1. Users", f"{LONG} 0", f"{LONG} tip", f"{LONG} 5", "Next")] == [
        True
    ] * 4 + [False]
