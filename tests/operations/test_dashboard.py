"""The dashboard over HTTP: its pages, its forms, log-in, and what other web pages may not do."""

from __future__ import annotations

import html
import re
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote, urlencode

import pytest

from gossamer.operations.table import OPERATIONS
from gossamer.web.access import MAX_FAILURES
from gossamer.web.dashboard.pages import UNSHOWN, page_path
from operations.service_process import Answer, Serving, served_folder
from operations.test_access import token

SENT = {"Content_Type": "application/x-www-form-urlencoded"}
STRICT = "default-src 'none'; script-src 'self'; style-src 'self'"


def send(server: Serving, path: str, headers: dict[str, str] | None = None, **fields: str) -> Answer:
    return server.ask("POST", path, raw=urlencode(fields).encode(), **SENT, **(headers or {}))


def words(answer: Answer) -> str:
    """Returns the text of a page."""
    return html.unescape(" ".join(re.sub(r"<[^>]+>", " ", answer.body.decode()).split()))


def give_up(server: Serving, name: str) -> None:
    """Makes a crawl with one dead letter."""
    found = server.crawl("http://127.0.0.1:1/", name, scope="page", wait=0.1)
    deadline = time.monotonic() + 60
    while not found["dead"]:
        assert time.monotonic() < deadline, found
        server.ask("POST", f"/v1/crawls/{name}/finish")  # ends the wait for the next try
        found = server.ask("GET", f"/v1/crawls/{name}?wait=0.3").json


SHOWN = sorted({page_path(one) for one in OPERATIONS if one.method == "GET" and one.name not in UNSHOWN})


@pytest.mark.parametrize("path", SHOWN)
def test_each_list_and_object_has_a_page(server: Serving, web: str, path: str) -> None:
    example = next(one.example for one in OPERATIONS if one.method == "GET" and page_path(one) == path)
    host = web.removeprefix("http://")
    path = path.replace("{crawl}", "books").replace("{host}", host)
    for name, value in example.items():
        path = path.replace(f"{{{name}}}", str(value))
    answer = server.ask("GET", path)
    if answer.status == 404:  # a history, a run or a webhook that this folder lacks
        assert "There is nothing of this name" in words(answer)
        return
    assert answer.status == 200, words(answer) + server.said
    assert answer.headers["content-security-policy"].startswith(STRICT)
    assert "<script>" not in answer.body.decode(), "scripts are files of this server"
    assert " style=" not in answer.body.decode()
    assert "As API call" in words(answer)
    assert f"GET /v1{path}" in words(answer)


def test_the_numbers_are_those_of_the_api(server: Serving) -> None:
    state = server.ask("GET", "/v1/crawls/books").json
    shown = words(server.ask("GET", "/crawls/books"))
    for name in ("pages", "items", "waiting", "found", "failed", "dead"):
        value = state["pending" if name == "waiting" else name]
        assert f" {name} {value:,} " in shown
    assert "gossamer status books" in shown
    listed = words(server.ask("GET", "/crawls"))
    assert f"books {state['state']} {state['pages']} {state['items']}" in listed


def test_a_crawl_is_started_paused_and_cancelled_by_forms(server: Serving, web: str) -> None:
    started = send(server, "/crawls", targets=f"{web}/\n", name="formed", delay="5", limit="20")
    assert (started.status, started.headers["location"]) == (303, "/crawls/formed"), words(started)
    page = server.ask("GET", "/crawls/formed")
    assert 'action="/crawls/formed/pause"' in page.body.decode()
    assert 'action="/crawls/formed/resume"' not in page.body.decode(), "only what has an effect is offered"
    paused = send(server, "/crawls/formed/pause")
    assert paused.status == 303
    said = paused.headers["set-cookie"].partition(";")[0]
    assert "paused" in words(server.ask("GET", "/crawls/formed", Cookie=said))
    asked = send(server, "/crawls/formed/cancel")
    assert (asked.status, "Cancel formed?" in words(asked)) == (200, True)
    assert server.ask("GET", "/v1/crawls/formed").json["state"] == "paused", "it was only asked"
    assert send(server, "/crawls/formed/cancel", confirmed="yes").status == 303
    assert server.ask("GET", "/v1/crawls/formed?wait=30").json["state"] == "cancelled"


def test_dead_letters_are_counted_before_they_are_requeued(server: Serving) -> None:
    give_up(server, "unreachable")
    page = server.ask("GET", "/crawls/unreachable/dead-letters")
    assert "127.0.0.1:1/" in words(page)
    (letter,) = server.ask("GET", "/v1/crawls/unreachable/dead-letters").json["items"]
    why = letter["reason"]
    asked = send(server, "/crawls/unreachable/dead-letters/requeue", reason=why)
    assert f"This concerns 1 dead letters with reason {why}" in words(asked)
    assert f'name="reason" value="{why}"' in asked.body.decode()
    done = send(server, "/crawls/unreachable/dead-letters/requeue", reason=why, confirmed="yes")
    assert (done.status, done.headers["location"]) == (303, "/crawls/unreachable/dead-letters")
    assert "no URL" in words(server.ask("GET", "/crawls/unreachable/dead-letters"))


def test_what_is_wrong_with_a_filter_is_told(server: Serving) -> None:
    answer = server.ask("GET", "/crawls/books/items?hots=x")
    assert answer.status == 400
    assert "did you mean 'host'" in words(answer) or "host" in words(answer)
    unknown = server.ask("GET", "/crawls/boks")
    assert (unknown.status, "books" in words(unknown)) == (404, True)
    assert server.ask("GET", "/nothing/here").status == 404
    assert server.ask("DELETE", "/crawls").status == 405


def test_a_page_is_tried(server: Serving, web: str) -> None:
    assert "Try a page" in words(server.ask("GET", "/scrape"))
    shown = words(send(server, "/scrape", url=f"{web}/1", site="shop"))
    assert '"n": "1"' in shown


def test_other_web_pages_can_neither_send_forms_nor_frame_pages(server: Serving) -> None:
    for headers in ({"Origin": "https://evil.example"}, {"Sec_Fetch_Site": "cross-site"}, {"Origin": "null"}):
        assert send(server, "/crawls/books/stop", headers, confirmed="yes").status == 403
    answer = server.ask("GET", "/crawls")
    assert answer.headers["x-frame-options"] == "DENY"
    assert "frame-ancestors 'none'" in answer.headers["content-security-policy"]
    assert "no-store" in answer.headers["cache-control"]


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory, web: str) -> Iterator[tuple[Serving, str, str]]:
    folder = tmp_path_factory.mktemp("dashboard")
    tokens = token(folder, "--scope", "admin"), token(folder, "--scope", "read", "--prefix", "red-")
    with served_folder(folder, "--token-file", "tokens.jsonl") as server:
        for name in ("red-1", "blue-1"):
            given = {"targets": [f"{web}/1"], "scope": "page", "name": name, "wait": 60}
            answer = server.ask("POST", "/v1/crawls", given, Authorization=f"Bearer {tokens[0]}")
            assert answer.status == 202
        yield server, *tokens


def test_a_token_is_exchanged_for_a_cookie_that_only_this_server_gets(
    guarded: tuple[Serving, str, str],
) -> None:
    server, admin, _ = guarded
    away = server.ask("GET", "/crawls/red-1?x=1")
    assert (away.status, away.headers["location"]) == (303, "/login?to=%2Fcrawls%2Fred-1%3Fx%3D1")
    assert send(server, "/login", token="gsm_no").status == 401
    entered = send(server, "/login", token=admin, to="/crawls/red-1")
    assert (entered.status, entered.headers["location"]) == (303, "/crawls/red-1")
    cookie = entered.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=strict" in cookie
    kept = cookie.partition(";")[0]
    assert server.ask("GET", "/crawls", Cookie=kept).status == 200
    assert server.ask("GET", "/v1/crawls", Cookie=kept).status == 401, "programs send the header"
    assert send(server, "/crawls/red-1/stop", {"Cookie": kept, "Origin": "http://evil.example"}).status == 403
    out = send(server, "/logout", {"Cookie": kept})
    assert 'gossamer_token=""' in out.headers["set-cookie"]


@pytest.mark.parametrize("to", ["//evil.example/", "https://evil.example/", "/\\evil.example", "/ok\r\nX: y"])
def test_log_in_leads_to_no_other_server(guarded: tuple[Serving, str, str], to: str) -> None:
    server, admin, _ = guarded
    assert send(server, "/login", token=admin, to=to).headers["location"] == "/"


def test_a_prefix_and_a_scope_hold_on_every_page(guarded: tuple[Serving, str, str]) -> None:
    server, _, red = guarded
    kept = send(server, "/login", token=red).headers["set-cookie"].partition(";")[0]
    listed = words(server.ask("GET", "/crawls", Cookie=kept))
    assert "red-1" in listed
    assert "blue" not in listed
    assert "Workers" not in listed
    assert "Start a crawl" not in listed, "a reader sees no forms that change anything"
    assert server.ask("GET", "/crawls/blue-1", Cookie=kept).status == 404
    assert server.ask("GET", "/workers", Cookie=kept).status == 403
    assert send(server, "/crawls/red-1/cancel", {"Cookie": kept}, confirmed="yes").status == 403


def test_a_drop_is_undone_on_the_page_that_follows_it(server: Serving) -> None:
    give_up(server, "given-back")
    dropped = send(server, "/crawls/given-back/dead-letters/drop", confirmed="yes")
    assert dropped.status == 303, words(dropped)
    cookies = "; ".join(
        re.findall(r"(gossamer_\w+=[^;]+)", dropped.headers["set-cookie"])  # the last of both headers
    )
    page = server.ask("GET", "/crawls/given-back/dead-letters", Cookie=f"gossamer_said=done; {cookies}")
    assert 'action="/crawls/given-back/dead-letters/undo"' in page.body.decode()
    later = server.ask("GET", "/crawls/given-back/dead-letters")
    assert "letters/undo" not in later.body.decode(), "it is offered once"
    assert server.ask("GET", "/v1/crawls/given-back").json["dead"] == 0
    done = send(server, "/crawls/given-back/dead-letters/undo")
    assert (done.status, done.headers["location"]) == (303, "/crawls/given-back/dead-letters"), words(done)
    assert server.ask("GET", "/v1/crawls/given-back").json["dead"] == 1
    again = server.ask("POST", "/v1/crawls/given-back/dead-letters/undo")
    assert (again.status, "no change" in again.json["detail"]) == (409, True)


MAX_HTML, MAX_ASSETS = 30_000, 120_000
"""Bytes as sent."""


def test_pages_and_files_are_small(server: Serving, web: str) -> None:
    sizes, files = {}, set[str]()
    host = web.removeprefix("http://")
    for path in SHOWN:
        shown = path.replace("{crawl}", "books").replace("{host}", host).replace("{audit}", "a.example")
        answer = server.ask("GET", shown, Accept_Encoding="gzip")
        sizes[path] = len(answer.body)
        text = server.ask("GET", shown).body.decode()
        files |= set(re.findall(r'(?:src|href)="(/static/[^"]+)"', text))
    assert {path: size for path, size in sizes.items() if size > MAX_HTML} == {}
    got = {path: server.ask("GET", path, Accept_Encoding="gzip") for path in files}
    assert {answer.status for answer in got.values()} == {200}
    assert sum(len(answer.body) for answer in got.values()) < MAX_ASSETS
    assert all("immutable" in answer.headers["cache-control"] for answer in got.values())


def test_a_stored_page_has_an_origin_of_its_own(server: Serving, web: str) -> None:
    answer = server.ask("GET", f"/crawls/books/page/body?url={web}/1")
    policy = answer.headers["content-security-policy"].split("; ")
    assert {"default-src 'none'", "sandbox", "frame-ancestors 'self'"} <= set(policy)
    report = server.ask("GET", "/v1/prices/report")
    assert report.headers["content-type"].startswith("text/html")
    assert "sandbox" in report.headers["content-security-policy"]


def test_dead_letters_are_grouped_by_reason_and_host(server: Serving) -> None:
    give_up(server, "grouped")
    found = server.ask("GET", "/v1/crawls/grouped/dead-letters/groups").json
    (group,) = found["groups"]
    assert (group["host"], group["letters"], found["is_complete"]) == ("127.0.0.1:1", 1, True)
    shown = words(server.ask("GET", "/crawls/grouped/dead-letters"))
    assert f"{group['reason']} 127.0.0.1:1 1" in shown


def test_two_crawls_are_compared(server: Serving, web: str) -> None:
    server.crawl(f"{web}/1", "small", scope="page")
    found = server.ask("GET", "/v1/crawls/books/comparison?other=small").json
    counts = {one["name"]: one for one in found["counts"]}
    here, there = (server.ask("GET", f"/v1/crawls/{name}").json for name in ("books", "small"))
    assert (counts["pages"]["here"], counts["pages"]["there"]) == (here["pages"], there["pages"])
    assert counts["pages"]["change"] == round(100 * (here["pages"] / there["pages"] - 1), 1)
    missing = server.ask("GET", "/crawls/books/comparison?other=smal")
    assert (missing.status, "did you mean small" in words(missing)) == (404, True)


def test_the_activity_counts_every_request(server: Serving) -> None:
    server.ask("GET", "/v1/crawls/books/activity")
    attempts = server.ask("GET", "/v1/crawls/books/attempts?limit=1000").json["items"]
    found = server.ask("GET", "/v1/crawls/books/activity").json
    assert found["requests"] == len(attempts) == sum(one["requests"] for one in found["periods"])
    statuses = [f"{one['status'] // 100}xx" if one["status"] else "none" for one in attempts]
    for name in set(statuses):
        assert sum(one["statuses"].get(name, 0) for one in found["periods"]) == statuses.count(name)
    assert server.ask("GET", "/crawls/books").body.count(b"<svg") >= 2


def test_a_page_stands_beside_its_record_and_requests(server: Serving, web: str) -> None:
    found = server.ask("GET", f"/v1/crawls/books/page?url={web}/1").json
    assert found["page"]["requested_url"] == f"{web}/1"
    assert [one["url"] for one in found["attempts"]] == [f"{web}/1"]
    assert "pages.warc.gz" in found["why_no_body"]
    assert server.ask("GET", "/v1/crawls/books/page?url=%20").status == 400


def test_a_pair_is_decided_once(server: Serving) -> None:
    asked = server.ask("POST", "/v1/prices/matches", {"one": "kettle", "other": "kettle", "decision": "same"})
    assert asked.status == 400
    unknown = server.ask("POST", "/v1/prices/matches", {"one": "ketle", "other": "pot", "decision": "same"})
    assert (unknown.status, "kettle" in unknown.json["detail"]) == (404, True)


REFLECTED = '"><script>x</script>'


@pytest.mark.parametrize(
    "path",
    [
        "/crawls/books/items?host={}",
        "/crawls/books/items?where={}",
        "/crawls/{}",
        "/explain?url={}",
        "/prices/report?shop={}",
        "/crawls/books/comparison?other={}",
        "/nothing/{}",
        "/crawls?state={}",
    ],
)
def test_reflected_text_is_escaped(server: Serving, path: str) -> None:
    answer = server.ask("GET", path.format(quote(REFLECTED, safe="")))
    assert answer.status in (200, 400, 404)
    assert b"<script>" not in answer.body


def test_reflected_text_of_the_log_in_is_escaped(guarded: tuple[Serving, str, str]) -> None:
    server, _, _ = guarded
    answer = server.ask("GET", f"/login?to={quote(REFLECTED, safe='')}")
    assert answer.status == 200
    assert b"<script>" not in answer.body


def test_a_planted_cookie_is_no_log_in(guarded: tuple[Serving, str, str]) -> None:
    server, admin, _ = guarded
    planted = {"Cookie": "gossamer_token=gsm_planted"}
    assert server.ask("GET", "/crawls", **planted).status in (303, 401)
    entered = send(server, "/login", planted, token=admin)
    assert f"gossamer_token={admin}" in entered.headers["set-cookie"]
    assert "planted" not in entered.headers["set-cookie"]


def test_guesses_at_the_log_in_are_slowed(tmp_path: Path) -> None:
    token(tmp_path, "--scope", "read")
    with served_folder(tmp_path, "--token-file", "tokens.jsonl") as server:
        statuses = {
            send(server, "/login", token=f"gsm_{number}").status for number in range(MAX_FAILURES + 1)
        }
    assert statuses == {401, 429}


def test_a_prefix_holds_in_views_and_reports(guarded: tuple[Serving, str, str]) -> None:
    server, _, red = guarded
    head = {"Authorization": f"Bearer {red}"}
    for path in ("activity", "page?url=http://x.example/", "dead-letters/groups", "comparison?other=red-1"):
        assert server.ask("GET", f"/v1/crawls/blue-1/{path}", **head).status == 404
    assert server.ask("GET", "/v1/crawls/red-1/comparison?other=blue-1", **head).status == 404
    assert server.ask("GET", "/v1/prices/report", **head).status == 404
    pair = {"one": "a", "other": "b", "decision": "same"}
    assert server.ask("POST", "/v1/prices/matches", pair, **head).status == 403
