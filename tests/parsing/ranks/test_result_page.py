"""Typed results of pages written for these tests."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest

from gossamer.errors import ConfigError, UsageError
from gossamer.parsing.ranks import TYPES, Result, ResultPage, result_page, results
from gossamer.parsing.ranks.page_rules import PATH, default, load
from parsing.ranks.ranks_pages import (
    GOOGLE_ERAS,
    SITES,
    bing,
    bing_item,
    bing_items,
    google,
    headed,
    organic,
    organics,
    questions,
    text_ad,
)


def of_type(page: ResultPage, kind: str) -> list[Result]:
    return [one for one in page.results if one.type == kind]


def card(number: int, classes: str = "zz1") -> str:
    """Returns a card of an unknown block. The card has all signs of an organic result but its class names."""
    url = f"https://card{number}.example/page"
    return (
        f'<div class="{classes}" data-hveid="X"><a href="{url}" data-ved="1" ping="/url?x"><h3>Card {number}</h3></a>'
        f"<cite>{url}</cite><p>What it says.</p></div>"
    )


@pytest.mark.parametrize(
    "head", ['<div role="heading" aria-level="2">{}</div>', "<h2>{}</h2>", "<b>{}</b>", ""]
)
@pytest.mark.parametrize("around", ["{}", '<div class="MjjYud">{}</div>'])
def test_the_cards_of_an_unknown_block_are_no_results(head: str, around: str) -> None:
    cards = "".join(map(card, range(3)))
    block = around.format(f'<div class="zz0">{head.format("What logins say")}<div>{cards}</div></div>')
    page = result_page(google(organics(1, 4) + block + organics(5, 8)), "google")
    assert [one.url for one in of_type(page, "organic")] == list(SITES[:8])
    assert (page.verdict, page.unknown) == ("ok", 1)


def test_cards_with_a_heading_are_no_results_though_all_class_names_are_new() -> None:
    def renamed(body: str) -> str:
        for name in ("MjjYud", "A6K0A", "tF2Cxc", "yuRUbf", "LC20lb", "VwiC3b"):
            body = body.replace(f'"{name}"', f'"new-{name}"')
        return body

    block = f'<div class="zz0"><h2>What clubs say</h2>{"".join(map(card, range(3)))}</div>'
    page = result_page(google(renamed(organics(1, 4)) + block + renamed(organics(5, 8))), "google")
    assert [one.url for one in of_type(page, "organic")] == list(SITES[:8])


AD = "https://shop.example/offer"


@pytest.mark.parametrize(
    "label", ["Sponsored results", "Gesponserte Ergebnisse", "Résultats sponsorisés", "広告", "광고"]
)
@pytest.mark.parametrize("form", ["before", "inside", "group"])
def test_a_labelled_ad_in_the_markup_of_results_is_an_ad(label: str, form: str) -> None:
    shown = f"<div><span>{label}</span></div>"
    ads = {
        "before": f"<div>{shown}{organic(AD, 'An offer')}</div>",
        "inside": organic(AD, "An offer", inside=shown),
        "group": f"<div>{shown}{organic(AD, 'An offer')}{organic(AD + '2', 'Another')}</div>",
    }
    page = result_page(google(organics(1, 3) + ads[form] + organics(4, 8)), "google")
    assert [(one.rank, one.url) for one in of_type(page, "organic")] == list(enumerate(SITES[:8], 1))
    assert [one.url for one in of_type(page, "ad")] == ([AD, AD + "2"] if form == "group" else [AD])


def test_the_words_of_a_result_are_no_label_of_an_ad() -> None:
    odd = organic(AD, "Ads", snippet="Sponsored")
    page = result_page(google(organics(1, 3) + odd + organics(4, 8)), "google")
    assert len(of_type(page, "organic")) == 9
    assert not of_type(page, "ad")


@pytest.mark.parametrize("era", GOOGLE_ERAS)
def test_organic_results_of_each_era(era: str) -> None:
    page = result_page(GOOGLE_ERAS[era](), "google")
    assert page.verdict == "ok"
    found = of_type(page, "organic")
    assert [(one.rank, one.url, one.title) for one in found] == [
        (rank, url, f"Result {rank}") for rank, url in enumerate(SITES, 1)
    ]
    assert {one.text for one in found} == {"A snippet."}
    assert {one.votes for one in found} == {3}, "structure, heading and class names"
    assert {one.pixel for one in page.results} == {None}
    assert page.query == "shoes"


def test_organic_results_of_bing() -> None:
    advert = '<li class="b_ad"><ul><li><div class="sb_add"><h2><a href="/aclk?ld=1&amp;u=a1aHR0cHM6Ly9hZC5leGFtcGxlLw">An ad</a></h2></div></li></ul></li>'
    answer = '<li class="b_ans b_vidAns" data-tag="V"><h2><a href="/videos/search?q=shoes">Videos of shoes</a></h2><a href="https://clip.example/">Clip</a></li>'
    page = result_page(bing(advert + bing_items() + answer), "bing")
    assert (page.verdict, page.query, page.page) == ("ok", "shoes", 1)
    assert [(one.rank, one.url) for one in of_type(page, "organic")] == list(enumerate(SITES, 1))
    assert [one.url for one in of_type(page, "ad")] == ["https://ad.example/"]
    assert [one.url for one in of_type(page, "videos")] == ["https://clip.example/"]
    assert [one.position for one in page.results] == list(range(1, 13))


def test_blocks_have_types_and_positions_in_their_order() -> None:
    body = google(
        organics(1, 2)
        + questions()
        + organics(3, 3)
        + headed("Top stories", "https://news.example/1", "https://news.example/2")
        + organics(4, 10),
        before=f'<div id="tads">{text_ad("https://ad.example/", "An ad", "Sizes", "Colours")}{text_ad("https://ad2.example/", "Another")}</div>',
    )
    page = result_page(body, "google")
    assert [(one.type, one.position, one.sub) for one in page.results][:10] == [
        ("ad", 1, None),
        ("sitelink", 1, 0),
        ("sitelink", 1, 1),
        ("ad", 2, None),
        ("organic", 3, None),
        ("organic", 4, None),
        ("people_also_ask", 5, 0),
        ("people_also_ask", 5, 1),
        ("organic", 6, None),
        ("top_stories", 7, 0),
    ]
    assert [one.title for one in of_type(page, "people_also_ask")] == ["Which shoes last?", "Are shoes warm?"]
    assert [one.url for one in of_type(page, "top_stories")] == [
        "https://news.example/1",
        "https://news.example/2",
    ]
    assert [one.rank for one in of_type(page, "organic")] == list(range(1, 11))
    assert page.unknown == 0


@pytest.mark.parametrize(
    ("heading", "kind"),
    [
        ("Ähnliche Fragen", "people_also_ask"),
        ("関連する質問", "people_also_ask"),
        ("Schlagzeilen", "top_stories"),
        ("À la une", "top_stories"),
        ("Главные новости", "top_stories"),
        ("Vídeos", "videos"),
        ("動画", "videos"),
        ("Korte video's", "short_videos"),
        ("Immagini", "images"),
        ("Diskussionen und Foren", "discussions"),
        ("Oferty pracy", "jobs"),
        ("Recept", "recipes"),
        ("인기 상품", "products"),
        ("Yerel sonuçlar", "local_pack"),
        ("AI 概览", "ai_overview"),
        ("Hotels | New York", "hotels"),
        ("Bilder zu Schuhe", "images"),
    ],
)
def test_blocks_are_recognized_by_headings_of_many_languages(heading: str, kind: str) -> None:
    body = google(organics(1, 3) + headed(heading, "https://card.example/") + organics(4, 10), lang="xx")
    page = result_page(body, "google")
    assert {one.type for one in page.results} == {"organic", kind}
    assert [one.url for one in of_type(page, "organic")] == list(SITES)


def test_headings_of_main_features_are_known_in_twelve_languages() -> None:
    words = json.loads(PATH.read_text("utf-8"))
    for kind in (
        "people_also_ask",
        "related",
        "top_stories",
        "videos",
        "images",
        "ai_overview",
        "local_pack",
    ):
        assert len(words["headings"][kind]) >= 12, kind
    for kind in ("no_results", "captcha", "consent"):
        assert len(words["phrases"][kind]) >= 12, kind
    assert set(words["headings"]) <= set(TYPES)


def test_an_unknown_block_is_a_type_and_is_counted() -> None:
    strange = '<div class="zzz"><div>A block that nobody has seen before</div><a href="https://strange.example/">Go there</a></div>'
    page = result_page(google(organics(1, 5) + strange + organics(6, 10)), "google")
    assert page.unknown == 1
    (unknown,) = of_type(page, "unknown")
    assert (unknown.position, unknown.rank, unknown.url) == (6, None, "https://strange.example/")
    assert [one.url for one in of_type(page, "organic")] == list(SITES)


@pytest.mark.parametrize("style", ["display:none", "color: red; display: none"])
def test_a_hidden_result_has_no_rank_unless_the_whole_column_is_hidden(style: str) -> None:
    hidden = f'<div style="{style}">{organic("https://hidden.example/", "Hidden")}</div>'
    page = result_page(google(organics(1, 5) + hidden + organics(6, 10)), "google")
    assert [(one.rank, one.url) for one in of_type(page, "organic")] == list(enumerate(SITES, 1))
    whole = result_page(google(f'<div style="{style}">{organics()}</div>'), "google")
    assert [one.url for one in of_type(whole, "organic")] == list(SITES)


def test_one_url_has_one_rank() -> None:
    again = organic(SITES[0] + "#:~:text=again", "Result 1 again")
    page = result_page(google(organics(1, 5) + again + organics(6, 10)), "google")
    assert [one.url for one in of_type(page, "organic")] == list(SITES)
    assert [one.rank for one in of_type(page, "organic")] == list(range(1, 11))


def test_sitelinks_belong_to_their_result() -> None:
    table = (
        f'<table><tr><td><h3><a href="{SITES[0]}/men">Men</a></h3></td>'
        f'<td><h3><a href="{SITES[0]}/women">Women</a></h3></td></tr></table>'
    )
    page = result_page(google(organic(SITES[0], "Result 1", inside=table) + organics(2, 10)), "google")
    assert [(one.title, one.position, one.sub, one.rank) for one in of_type(page, "sitelink")] == [
        ("Men", 1, 0, None),
        ("Women", 1, 1, None),
    ]
    assert [one.url for one in of_type(page, "organic")] == list(SITES)


def test_indented_results_have_ranks_and_a_place_below_their_result() -> None:
    below = f"<ul><li>{organic(SITES[1], 'Result 2')}</li><li>{organic(SITES[2], 'Result 3')}</li></ul>"
    page = result_page(google(organic(SITES[0], "Result 1", inside=below) + organics(4, 10)), "google")
    assert [(one.rank, one.url, one.sub) for one in of_type(page, "organic")][:4] == [
        (1, SITES[0], None),
        (2, SITES[1], 0),
        (3, SITES[2], 1),
        (4, SITES[3], None),
    ]


def test_a_featured_snippet_has_no_rank() -> None:
    featured = (
        '<div class="ULSxyf"><h2>Extrait optimisé sur le Web</h2><block-component>'
        f"{organic('https://snippet.example/', 'An answer')}</block-component></div>"
    )
    page = result_page(google(featured + organics()), "google")
    (found,) = of_type(page, "featured_snippet")
    assert (found.url, found.rank, found.position) == ("https://snippet.example/", None, 1)
    assert [one.url for one in of_type(page, "organic")] == list(SITES)


def test_answers_inside_a_question_are_no_results() -> None:
    pair = f'<div class="MjjYud"><div data-initq="x"><div data-q="Which?"><div role="button">Which?</div>{organic("https://answer.example/", "Answer")}</div></div></div>'
    page = result_page(google(pair + organics()), "google")
    (asked,) = of_type(page, "people_also_ask")
    assert (asked.title, asked.url) == ("Which?", "https://answer.example/")
    assert [one.url for one in of_type(page, "organic")] == list(SITES)


def test_scholarly_articles_are_a_block_of_their_own() -> None:
    block = (
        '<div class="MjjYud"><div class="g" data-hveid="1"><h3><a href="https://scholar.google.com/scholar?q=shoes" data-ved="1">Scholarly articles for shoes</a></h3>'
        '<a href="https://journal.example/1">A study of shoes</a></div></div>'
    )
    page = result_page(google(block + organics()), "google")
    assert [one.url for one in of_type(page, "organic")] == list(SITES)
    assert "https://journal.example/1" in [one.url for one in of_type(page, "scholarly")]


def test_page_number() -> None:
    body = google(organics())
    assert result_page(body, "google", "https://www.google.com/search?q=shoes&start=20").page == 3
    assert result_page(body, "google", "https://www.google.com/search?q=shoes&start=x").page is None
    assert result_page(bing(bing_items()), "bing", "https://www.bing.com/search?q=a&first=11").page == 2


def test_results_are_those_of_the_page() -> None:
    body = google(organics())
    assert results(body, "google") == list(result_page(body, "google").results)
    assert results(b"", "google") == []


def test_results_are_plain_json() -> None:
    page = result_page(google(organics(1, 2)), "google")
    assert msgspec.json.decode(msgspec.json.encode(page), type=ResultPage) == page


def test_an_unknown_engine_is_named() -> None:
    with pytest.raises(UsageError, match="'ask' cannot be parsed; known engines: google, bing"):
        result_page(b"", "ask")


def test_a_changed_data_file_changes_the_result(tmp_path: Path) -> None:
    words = json.loads(PATH.read_text("utf-8"))
    words["version"] = "mine"
    words["headings"]["discussions"]["xx"] = ["Blabla"]
    own = tmp_path / "mine.json"
    own.write_text(json.dumps(words), "utf-8")
    body = google(organics(1, 5) + headed("Blabla", "https://card.example/") + organics(6, 10))
    before, after = result_page(body, "google"), result_page(body, "google", data=own)
    assert (before.unknown, before.data_version) == (1, default().version)
    assert (after.unknown, after.data_version) == (0, "mine")
    assert [one.url for one in of_type(after, "discussions")] == ["https://card.example/"]
    assert result_page(body, "google", data=load(own)) == after


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("{", "is malformed"),
        ('{"version": 1}', r"malformed: .*\$\.version"),
        (None, "cannot read the data file"),
    ],
)
def test_a_malformed_data_file_is_refused_with_its_place(
    tmp_path: Path, change: str | None, message: str
) -> None:
    own = tmp_path / "mine.json"
    if change is not None:
        own.write_text(change)
    with pytest.raises(ConfigError, match=message):
        result_page(b"", "google", data=own)


def test_a_malformed_selector_is_refused_by_name(tmp_path: Path) -> None:
    own = tmp_path / "mine.json"
    words = json.loads(PATH.read_text("utf-8"))
    words["engines"]["bing"]["headings"] = ["h2[["]
    own.write_text(json.dumps(words), "utf-8")
    with pytest.raises(ConfigError, match=r"malformed selector for bing: h2\[\["):
        load(own)


def test_the_data_file_of_the_package_is_right() -> None:
    assert load(PATH).version == default().version


def test_links_of_bing_are_unwrapped() -> None:
    item = bing_item(
        "https://www.bing.com/ck/a?!&&amp;p=1&amp;u=a1aHR0cHM6Ly9leGFtcGxlLmNvbS8&amp;ntb=1", "Wrapped"
    )
    assert [one.url for one in results(bing(item), "bing")] == ["https://example.com/"]
