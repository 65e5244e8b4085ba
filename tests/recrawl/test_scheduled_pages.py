"""The table of known pages after kills, with clock changes and in batches."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from gossamer.model.request import KnownPage, Request
from gossamer.model.visit import KnownLine
from gossamer.recrawl import known_pages, scheduled_pages
from gossamer.recrawl.freshness import Freshness
from gossamer.recrawl.known_pages import TABLE_NAME
from gossamer.recrawl.page_table import VisitInbox, request_of
from gossamer.recrawl.revisit_rules import rules_of
from gossamer.recrawl.scheduled_pages import ScheduledPages

NOW, DAY = 1_800_000_000, 86_400
HOSTS = ("a.example", "b.example")


@pytest.fixture
def pages(tmp_path: Path) -> Iterator[ScheduledPages]:
    found = opened(tmp_path)
    yield found
    found.close()


def opened(folder: Path, revisit: str = "auto") -> ScheduledPages:
    rules = rules_of(revisit, "100/d", None, 60.0, ())
    assert rules is not None
    return ScheduledPages(folder, rules)


def see(
    pages: ScheduledPages, folder: Path, number: int, now: int, said: str = "x", status: int = 200
) -> None:
    """Adds the visits of `number` pages on two hosts."""
    inbox = VisitInbox(folder / TABLE_NAME)
    lines = [
        KnownLine(f"https://{HOSTS[n % 2]}/{n}", now, KnownPage(status, f'"{n}"', body=said, said=said))
        for n in range(number)
    ]
    inbox.write(lines)
    inbox.close()
    while pages.take_visits(now):
        pass


def freely(_: str) -> float:
    return 1e9


def test_due_pages_come_first_and_once(pages: ScheduledPages, tmp_path: Path) -> None:
    see(pages, tmp_path, 10, NOW)
    later = NOW + 400 * DAY
    batch, chosen = pages.choose(later, 4, freely)
    assert (batch, len(chosen)) == (1, 4)
    assert [one.due for one in chosen] == sorted(one.due for one in chosen)
    second, others = pages.choose(later, 100, freely)
    assert second == 2
    assert len({one.id for one in (*chosen, *others)}) == 10
    assert request_of(chosen[0]).known is not None


def test_pages_are_visited_early_but_never_before_the_minimum_age(
    pages: ScheduledPages, tmp_path: Path
) -> None:
    see(pages, tmp_path, 4, NOW)
    assert pages.choose(NOW + 59, 9, freely)[1] == []
    assert len(pages.choose(NOW + 61, 9, freely)[1]) == 4


def test_waiting_pages_become_due_sooner_when_visits_become_cheaper(
    pages: ScheduledPages, tmp_path: Path
) -> None:
    pages.schedule.price = 1e6
    see(pages, tmp_path, 10, NOW)
    pages.replan()
    before = {one.id: one.due for one in pages.table.plan.waiting(-(2**63), 99)}
    pages.schedule.price = 1.1e6
    pages.replan()
    assert {one.id: one.due for one in pages.table.plan.waiting(-(2**63), 99)} == before, "hardly cheaper"
    pages.schedule.price = 0.01
    pages.signal([Request(f"https://{HOSTS[0]}/0")], NOW)
    pages.replan()
    after = {one.id: one.due for one in pages.table.plan.waiting(-(2**63), 99)}
    assert len(before) == 10
    assert len(after) == 9, "a signal made one due"
    assert all(NOW < after[one] < before[one] for one in after)


def test_links_are_counted_once_a_page_and_shorten_the_interval(tmp_path: Path) -> None:
    rules = rules_of("auto", "100/d", None, 60.0, ("inlinks",))
    assert rules is not None
    pages = ScheduledPages(tmp_path, rules)
    names = {f"https://a.example/{name}": number for number, name in enumerate(("hub", "leaf", "far"), 2**63)}
    pages.count_inlinks(lambda request: names.get(request.url, 0))
    inbox, leaf = VisitInbox(tmp_path / TABLE_NAME), 2**63 + 1
    known = KnownPage(200, body="x", said="x")
    lines = [KnownLine(f"https://a.example/{n}", NOW, known, links=[leaf]) for n in range(50)]
    inbox.write([*lines, lines[0]])
    inbox.write(lines[:3])  # repeated, as after a kill before the claims were settled
    inbox.write([KnownLine(url, NOW, known) for url in names])
    inbox.close()
    while pages.take_visits(NOW):
        pass
    assert [pages.table.inlinks.of(number) for number in names.values()] == [0, 50, 0]
    due = {request_of(one).url: one.due for one in pages.table.plan.waiting(-(2**63), 99)}
    hub, linked, far = (due[url] - NOW for url in names)
    assert linked < 0.7 * min(hub, far)
    assert all(b"links" not in one.line for one in pages.table.plan.waiting(-(2**63), 99))
    pages.close()


def test_all_pages_are_planned_again_in_steps(
    pages: ScheduledPages, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scheduled_pages, "REPLANNED_PAGES", 4)
    pages.schedule.price = 1e6
    see(pages, tmp_path, 10, NOW)
    pages.schedule.price = 0.01
    late = []
    for _ in range(4):
        late.append(sum(one.due > NOW + 50 * DAY for one in pages.table.plan.waiting(-(2**63), 99)))
        pages.replan()
    assert late == [10, 6, 2, 0]


def test_pages_of_a_window_are_not_visited_early(tmp_path: Path) -> None:
    pages = opened(tmp_path, "24h")
    see(pages, tmp_path, 4, NOW)
    assert pages.choose(NOW + DAY // 2, 9, freely)[1] == []
    assert len(pages.choose(NOW + DAY, 9, freely)[1]) == 4
    pages.close()


def test_a_host_with_queued_pages_waits_for_its_pace(pages: ScheduledPages, tmp_path: Path) -> None:
    see(pages, tmp_path, 20, NOW)
    slow = {"a.example": 10.0, "b.example": 1e9}.__getitem__
    pages.choose(NOW + DAY, 12, slow)
    _, more = pages.choose(NOW + DAY, 99, slow)
    assert {pages.table.sums.host_of(one.host).name for one in more} == {"b.example"}


def test_a_kill_after_a_batch_was_recorded_loses_nothing(pages: ScheduledPages, tmp_path: Path) -> None:
    see(pages, tmp_path, 6, NOW)
    batch, chosen = pages.choose(NOW + DAY, 4, freely)
    again = opened(tmp_path)
    number, same = again.last_batch()
    assert number == batch
    assert {one.id for one in same} == {one.id for one in chosen}
    again.close()


def test_visits_that_were_lost_are_due_again(pages: ScheduledPages, tmp_path: Path) -> None:
    see(pages, tmp_path, 6, NOW)
    pages.choose(NOW + DAY, 4, freely)
    assert pages.release_lost(NOW + DAY) == 4
    assert len(pages.choose(NOW + DAY, 9, freely)[1]) == 6


def test_a_visit_that_is_written_twice_counts_as_one_page(pages: ScheduledPages, tmp_path: Path) -> None:
    for _ in range(2):
        see(pages, tmp_path, 5, NOW)
    assert pages.table.sums.counts(0)["pages"] == 5
    assert [host.pages for host in pages.table.sums.hosts(9)] == [3, 2]


def test_a_clock_that_is_set_back_moves_all_times(pages: ScheduledPages, tmp_path: Path) -> None:
    see(pages, tmp_path, 3, NOW)
    pages.store_facts(NOW)
    due = sorted(one.due for one in pages.table.sums.sample(9))
    assert pages.restore(NOW - 1000 * DAY) == pytest.approx(1000 * DAY)
    assert sorted(one.due for one in pages.table.sums.sample(9)) == [one - 1000 * DAY for one in due]
    assert pages.restore(NOW - 1000 * DAY + 5) >= 0


def test_what_an_earlier_run_learned_is_kept(pages: ScheduledPages, tmp_path: Path) -> None:
    see(pages, tmp_path, 3, NOW)
    see(pages, tmp_path, 3, NOW + DAY, "y")
    pages.refit(1.0, freely)
    pages.store_facts(NOW)
    again = opened(tmp_path)
    again.restore(NOW + DAY)
    assert again.schedule.measured == pages.schedule.measured
    assert again.schedule.price == pytest.approx(pages.schedule.price)
    again.close()


def test_the_log_of_a_run_without_revisit_is_taken_over_and_given_back(tmp_path: Path) -> None:
    line = b'{"url":"https://a.example/","at":1800000000,"known":{"status":200,"etag":"v"}}\n'
    (tmp_path / known_pages.NAME).write_bytes(line)
    pages = opened(tmp_path)
    pages.import_log()
    pages.take_visits(NOW)
    assert not (tmp_path / known_pages.NAME).exists()
    pages.table.export_lines(tmp_path / known_pages.NAME)
    pages.close()
    assert (tmp_path / known_pages.NAME).read_bytes() == line


def test_signals_of_known_pages_bring_them_forward(pages: ScheduledPages, tmp_path: Path) -> None:
    see(pages, tmp_path, 2, NOW)
    known = [Request("https://a.example/0"), Request("https://a.example/unknown")]
    assert pages.signal(known, NOW + 100, certain=True) == [True, False]
    assert min(one.due for one in pages.table.sums.sample(9)) == NOW + 100


def test_a_report_of_the_freshness(pages: ScheduledPages, tmp_path: Path) -> None:
    for day, said in enumerate("aabbcdd"):
        see(pages, tmp_path, 8, NOW + day * DAY, said)
    pages.refit(100.0, freely)
    found = pages.measure(NOW + 7 * DAY, 100.0, 1.0)
    assert isinstance(found, Freshness)
    assert (found.pages, found.revisits, found.changed, found.over_age) == (8, 48, 24, 0)
    assert found.never_changed == found.always_changed == 0
    assert found.measured_stale == pytest.approx(0.28, abs=0.05)
    assert found.expected_stale is not None
