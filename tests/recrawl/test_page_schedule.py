"""The effect of a visit on a page's schedule: changed, unchanged, gone, failed, redirected."""

from __future__ import annotations

from gossamer.model.request import KnownPage
from gossamer.model.visit import KnownLine
from gossamer.recrawl.page_schedule import PageSchedule, is_changed
from gossamer.recrawl.page_table import PageState, encode_line
from gossamer.recrawl.revisit_rules import RevisitRules, rules_of

URL, DAY, NOW = "https://a.example/p", 86_400, 1_800_000_000


def schedule(**given: object) -> PageSchedule:
    rules = rules_of("auto", "100/d", 30.0 * DAY, 60.0, ())
    assert isinstance(rules, RevisitRules)
    return PageSchedule(rules._replace(**given))


def visit(one: PageSchedule, known: KnownPage, before: PageState | None, now: int) -> PageState | None:
    seen = KnownLine(URL, now, known)
    return one.after_visit(seen, encode_line(seen), before, lambda _: 7, 1, now)


def page(one: PageSchedule, *visits: KnownPage) -> PageState | None:
    """Returns the state of a page after visits that are a day apart."""
    state: PageState | None = None
    for number, known in enumerate(visits):
        state = visit(one, known, state, NOW + number * DAY)
    return state


OLD, NEW, GONE = (
    KnownPage(200, body="1", said="a"),
    KnownPage(200, body="2", said="b"),
    KnownPage(404, error="http-4xx"),
)


def test_a_page_that_changed_is_due_sooner_than_one_that_did_not() -> None:
    one = schedule()
    same, other = page(one, OLD, OLD, OLD, OLD), page(one, OLD, NEW, OLD, NEW)
    assert same is not None
    assert other is not None
    assert (same.visits, same.changed, other.changed) == (3, 0, 3)
    assert NOW + 3 * DAY < other.due < same.due <= NOW + 33 * DAY


def test_bytes_that_differ_are_no_change_if_the_page_says_the_same() -> None:
    token = KnownPage(200, body="other", said="a")
    assert not is_changed(OLD, token)
    assert is_changed(OLD, KnownPage(200, body="other"))
    assert is_changed(OLD, NEW)


def test_a_gone_page_waits_twice_as_long_and_is_forgotten_after_three_visits() -> None:
    one = schedule(window=2.0 * DAY, max_age=2.0 * DAY)
    once, twice = page(one, OLD, GONE), page(schedule(), OLD, GONE, GONE)
    assert once is not None
    assert twice is not None
    assert twice.failed == 2
    assert page(schedule(), OLD, GONE, GONE, GONE) is None
    back = page(schedule(), OLD, GONE, GONE, OLD)
    assert back is not None
    assert back.failed == 0


def test_a_failed_visit_keeps_the_validators() -> None:
    state = page(
        schedule(), KnownPage(200, '"v1"', said="a"), KnownPage(error="timeout"), KnownPage(error="timeout")
    )
    assert state is not None
    assert state.failed == 2
    assert b"v1" in state.line
    assert page(schedule(), *[KnownPage(error="robots")] * 3) is None, "it never was a page"


def test_a_redirect_is_judged_by_the_visit_of_its_target() -> None:
    one = schedule()
    state = page(one, OLD)
    assert state is not None
    hop = visit(one, KnownPage(), state._replace(batch=3), NOW + DAY)
    assert hop is not None
    assert (hop.last, hop.batch) == (NOW, 0)
    end = visit(one, NEW, hop, NOW + DAY)
    assert end is not None
    assert (end.changed, end.last) == (1, NOW + DAY)


def test_another_site_file_tells_nothing_about_the_page() -> None:
    state = page(schedule(), OLD, KnownPage(200, body="2", by="x"))
    assert state is not None
    assert (state.visits, state.changes) == (0, 0.0)


def test_a_window_is_the_same_for_all_pages() -> None:
    one = schedule(window=2.0 * DAY, max_age=2.0 * DAY)
    same, other = page(one, OLD, OLD, OLD), page(one, OLD, NEW, OLD)
    one.bounds = one.bounds._replace(most=1.9)
    assert same is not None
    assert other is not None
    assert same.due == other.due < NOW + 4 * DAY


def test_a_visit_in_the_future_of_a_clock_that_jumped_does_no_harm() -> None:
    one = schedule()
    state = page(one, OLD)
    assert state is not None
    seen = KnownLine(URL, NOW + 900 * DAY, OLD)
    after = one.after_visit(seen, encode_line(seen), state, lambda _: 7, 1, NOW + DAY)
    assert after is not None
    assert after.last == NOW + DAY
    assert after.due < NOW + 32 * DAY


def test_a_person_who_reports_a_change_makes_the_page_due_now() -> None:
    one = schedule()
    state = page(one, OLD, OLD)
    assert state is not None
    assert one.signalled(state, NOW + DAY, certain=True).due == NOW + DAY
    assert one.signalled(state, NOW + DAY).due <= state.due


def test_a_page_that_failed_once_waits_as_long_as_a_page_that_was_gone_once() -> None:
    gone, failed = page(schedule(), OLD, GONE), page(schedule(), OLD, KnownPage(error="timeout"))
    twice = page(schedule(), OLD, KnownPage(error="timeout"), KnownPage(error="timeout"))
    assert gone is not None
    assert failed is not None
    assert twice is not None
    assert failed.due == gone.due
    assert abs(twice.due - (NOW + 2 * DAY) - 2 * (failed.due - (NOW + DAY))) <= 2  # rounded to seconds
