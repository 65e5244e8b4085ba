"""The verdict on whether a page has positions. A failed check must never give a position."""

from __future__ import annotations

import pytest

from gossamer.parsing.ranks import result_page
from parsing.ranks.ranks_pages import GOOGLE_ERAS, SITES, WALLS, bing, bing_items, google, organic, organics


@pytest.mark.parametrize(("engine", "verdict", "name"), WALLS)
def test_a_page_without_results_has_no_positions(engine: str, verdict: str, name: str) -> None:
    page = result_page(WALLS[engine, verdict, name], engine)
    assert (page.verdict, page.results, page.writes_positions) == (verdict, (), False), page.reason
    assert page.reason


def test_a_redirect_to_a_captcha_or_a_consent_page_is_seen_in_the_url() -> None:
    body = b"<html><body><p>Please wait for the next page.</p></body></html>"
    captcha = result_page(body, "google", "https://www.google.com/sorry/index?continue=x")
    consent = result_page(body, "google", "https://consent.google.com/ml?continue=x")
    assert (captcha.verdict, consent.verdict) == ("captcha", "consent")


def test_a_consent_dialog_over_results_does_not_hide_them() -> None:
    dialog = '<div role="dialog"><h1>Before you continue to Google</h1><form action="https://consent.google.com/save"></form></div>'
    page = result_page(google(dialog + organics()), "google")
    assert page.verdict == "ok"
    assert [one.url for one in page.results] == list(SITES)


@pytest.mark.parametrize("era", GOOGLE_ERAS)
def test_a_page_that_ends_early_is_partial_and_its_positions_are_those_of_the_whole(era: str) -> None:
    body = GOOGLE_ERAS[era]()
    whole = [one.url for one in result_page(body, "google").results if one.rank]
    assert whole == list(SITES)
    verdicts = set()
    for end in range(200, len(body), 97):
        page = result_page(body[:end], "google")
        found = [one.url for one in page.results if one.rank]
        assert found == whole[: len(found)]
        assert page.writes_positions is bool(found)
        verdicts.add(page.verdict)
    assert "partial" in verdicts
    assert verdicts <= {"ok", "partial", "layout_unknown", "soft_block"}


def test_results_outside_of_the_main_column_make_the_layout_unknown() -> None:
    stray = "".join(f'<section><a href="{url}/x" data-ved="1"><h3>Other</h3></a></section>' for url in SITES)
    page = result_page(google(organics(1, 4), after=stray), "google")
    assert (page.verdict, page.results) == ("layout_unknown", ())
    assert "outside of the main column" in page.reason


def test_a_page_of_bing_is_not_one_of_google() -> None:
    assert result_page(bing(bing_items()), "google").verdict == "layout_unknown"
    assert result_page(google(organics()), "bing").verdict == "layout_unknown"


def test_a_page_with_few_results_and_no_foot_is_half_loaded() -> None:
    body = google(organics(1, 3)).replace(b'id="botstuff"', b'id="x"').replace(b'id="sfooter"', b'id="y"')
    page = result_page(body, "google")
    assert (page.verdict, [one.rank for one in page.results]) == ("partial", [1, 2, 3])
    assert "no foot" in page.reason


def test_few_results_are_ok() -> None:
    page = result_page(google(organic(SITES[0], "The only one")), "google")
    assert page.verdict == "ok"
    assert [(one.rank, one.url) for one in page.results] == [(1, SITES[0])]
