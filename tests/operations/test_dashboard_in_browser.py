"""The dashboard in Chromium: no page reports an error or asks another server, hostile text stays text, people who see
or move little can use it, and the keyboard is enough."""

from __future__ import annotations

import http.server
import re
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest
from playwright.sync_api import Browser, expect, sync_playwright

from cli.command_line import gossamer
from cli.conftest import stop_store
from gossamer.collectors.browser.chromium import find_program
from gossamer.uses.prices.history import History
from operations.service_process import Serving, served_folder, serving
from operations.stored_uses import fill_folder
from operations.test_access import token
from operations.test_dashboard import SHOWN, give_up
from support.answers import answering
from support.dashboard_browser import Watched, needs_axe
from uses.prices.visits import seen, target

HOSTILE = (
    '"><img src=x onerror="window.__xss=1"><script>window.__xss=1</script></textarea><svg onload=window.__xss=1>'
    "{{ 7 * 7 }}javascript:window.__xss=1\u202e"
)
SITE = r"""
import gossamer


class Odd(gossamer.Item, key="name"):
    name: str
    link: str
    nested: dict


site = gossamer.Site("odd", seeds=["WEB/"])


@site.page(r"/$")
def odd(page):
    text = page.title
    yield Odd(name=text, link="javascript:window.__xss=1", nested={text: [text, {"a": text}]})
"""


class Hostile(http.server.BaseHTTPRequestHandler):
    """Answers with a page whose title, heading, link and header are hostile, and which runs a script."""

    def do_GET(self) -> None:
        text = HOSTILE.replace("&", "&amp;").replace("<", "&lt;").replace('"', "&quot;")
        body = (
            f'<title>{text}</title><h1>{text}</h1><a href="/?q={text}" onclick="window.__xss=1">x</a>'
            "<script>top.__xss=1</script><img src=//other.example/x.png onerror=top.__xss=1>"
            "<style>@import '//other.example/a.css';b{background:url(//other.example/b.png)}</style>"
            '<iframe src="javascript:top.__xss=1"></iframe><form action="//other.example"><button>x</button></form>'
        ).encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Disable the request log."""


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=find_program(None),
            args=["--no-sandbox", "--disable-gpu", "--disable-background-networking"],
        )
        yield browser
        browser.close()


def fill_matches(path: Path) -> None:
    """Adds two pairs of offers that wait for a decision, with hostile names, to a history of prices."""
    with History(str(path)) as history:
        now = time.time()
        keys = ["left", "right", "third"]
        history.list_targets([target(key, shop=f"{key}.example") for key in keys])
        history.begin_run()
        history.record([seen(key, now, "10.00", name=f"{HOSTILE} {key}") for key in keys])
        history.end_run()
        history.database.many(
            "INSERT INTO price_matches (one, other, decision, reason, score, time) VALUES (?, ?, ?, ?, ?, ?)",
            [("left", "right", "open", "score", 0.8, now), ("left", "third", "open", "score", 0.5, now)],
        )


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    folder = tmp_path_factory.mktemp("hostile")
    for name in ("sites", "out"):
        (folder / name).mkdir()
    with answering(Hostile) as port:
        web = f"http://127.0.0.1:{port}"
        fill_folder(folder, web)
        fill_matches(folder / "matches.db")
        (folder / "sites" / "odd.py").write_text(SITE.replace("WEB", web))
        words = ["--sites", "sites", "-o", "out/items.jsonl", "-o", "out/pages.warc.gz"]
        with served_folder(folder, *words) as server:
            given = {"sites": ["odd"], "name": "books", "limit": 3, "wait": 60}
            answer = server.ask("POST", "/v1/crawls", given)
            assert answer.status == 202, answer.body
            assert answer.json["items"], answer.body
            give_up(server, "gone")
            yield server


def all_pages(server: Serving) -> Iterator[str]:
    """Yields the addresses of all pages, each with what it needs to show something."""
    (page,) = server.ask("GET", "/v1/crawls/books/pages?limit=1").json["items"]
    url, host = quote(page["requested_url"], safe=""), page["requested_url"].split("/")[2]
    needs = {
        "/crawls/{crawl}/page": f"?url={url}",
        "/crawls/{crawl}/comparison": "?other=gone",
        "/explain": f"?url={url}",
        "/find": "?query=window&crawl=books",
        "/prices/series": "?target=kettle",
        "/prices/matches": "?history=matches",
        "/ranks/history": "?keyword=kettle",
        "/keywords/trend": "?keyword=kettle",
    }
    for path in SHOWN:
        shown = path.replace("{crawl}", "books").replace("{host}", host).replace("{audit}", "a.example")
        if "{" not in shown:
            yield shown + needs.get(path, "")
    yield from ("/crawls/gone", "/crawls/gone/dead-letters", "/scrape", "/prices/runs")


@pytest.mark.parametrize(("width", "dark"), [(390, False), (1440, True), (2560, False)])
def test_hostile_text_stays_text_on_every_page(
    hostile: Serving, chromium: Browser, width: int, dark: bool
) -> None:
    tab = Watched(chromium, hostile.url, width, dark=dark)
    for path in all_pages(hostile):
        tab.page.goto(hostile.url + path)
        tab.page.evaluate("document.querySelectorAll('main details').forEach((one) => { one.open = true; })")
        assert tab.page.evaluate("window.__xss") is None, path
        assert not tab.page.locator('a[href^="javascript" i]').count(), path
        wide = tab.page.evaluate("document.documentElement.scrollWidth - innerWidth")
        assert wide <= 0, f"{path} is {wide} pixels wider than the screen"
        expected = ["404"] if "freshness" in path else []  # the crawl has no revisits
        wrong = [said for said in tab.wrong if not any(word in said for word in expected)]
        assert wrong == [], path
        tab.wrong.clear()
    tab.page.goto(f"{hostile.url}/crawls/books/items")
    assert "onerror" in tab.page.locator("#shown tbody").inner_text()
    tab.page.close()


@needs_axe
@pytest.mark.parametrize(("width", "dark"), [(1440, False), (390, True)])
def test_no_page_has_a_serious_finding_of_axe(
    hostile: Serving, chromium: Browser, width: int, dark: bool
) -> None:
    tab = Watched(chromium, hostile.url, width, dark=dark)
    found = {}
    for path in all_pages(hostile):
        tab.page.goto(hostile.url + path)
        if findings := tab.findings():
            found[path] = findings
    tab.page.close()
    assert found == {}


def test_a_stored_page_is_shown_beside_its_item_and_runs_nothing(hostile: Serving, chromium: Browser) -> None:
    tab = Watched(chromium, hostile.url, 1440)
    tab.page.goto(f"{hostile.url}/crawls/books/items")
    tab.page.locator("#shown tbody td.url a").first.click()
    frame = tab.page.frame_locator("iframe")
    expect(frame.locator("h1")).to_contain_text("window.__xss=1")
    expect(tab.page.locator("pre").filter(has_text='"_kind": "odd"')).to_be_visible()
    assert tab.page.evaluate("window.__xss") is None
    assert tab.wrong == []
    body = hostile.ask("GET", tab.page.locator("iframe").get_attribute("src") or "")
    assert "sandbox" in body.headers["content-security-policy"].split("; ")
    assert b"<script" not in body.body
    tab.page.close()


def test_dead_letters_are_requeued_by_keyboard_alone(hostile: Serving, chromium: Browser) -> None:
    give_up(hostile, "again")
    tab = Watched(chromium, hostile.url, 1440)
    tab.page.goto(f"{hostile.url}/crawls/again")
    tab.page.keyboard.press("g")
    tab.page.keyboard.press("d")
    expect(tab.page.locator("h1")).to_have_text("Dead letters of again")
    tab.page.keyboard.press("R")
    expect(tab.page.locator("h1")).to_have_text("Dead requeue again?")
    expect(tab.page.locator(".count")).to_contain_text("1")
    tab.page.keyboard.press("Enter")
    expect(tab.page.locator("#live")).to_have_text(re.compile("^live"))
    tab.page.evaluate("refresh()")
    expect(tab.page.locator(".said")).to_contain_text("dead requeue: 1")
    expect(tab.page.locator(".empty")).to_contain_text("no URL")
    tab.page.keyboard.press("x")
    tab.page.keyboard.press("Enter")
    expect(tab.page.locator(".said")).to_have_text("dead undo: 1")
    expect(tab.page.locator("#shown table").last.locator("tbody tr")).to_have_count(1)
    tab.page.keyboard.press("?")
    expect(tab.page.locator("#keys")).to_be_visible()
    assert tab.wrong == []
    tab.page.close()


def test_pairs_are_decided_with_y_and_n(hostile: Serving, chromium: Browser) -> None:
    tab = Watched(chromium, hostile.url, 1440)
    tab.page.goto(f"{hostile.url}/prices/matches?history=matches")
    expect(tab.page.locator(".card")).to_have_count(2)
    tab.page.keyboard.press("y")
    expect(tab.page.locator(".said")).to_contain_text("1 left")
    expect(tab.page.locator(".card")).to_have_count(1)
    tab.page.keyboard.press("n")
    expect(tab.page.locator(".said")).to_contain_text("0 left")
    expect(tab.page.locator(".empty")).to_contain_text("No pair waits")
    with History(str(hostile.folder / "matches.db")) as history:
        kept = history.query("SELECT one, other, decision FROM price_matches ORDER BY other")
    assert kept == [("left", "right", "same"), ("left", "third", "different")]
    assert tab.wrong == []
    tab.page.close()


def test_the_theme_and_the_filter_have_keys(hostile: Serving, chromium: Browser) -> None:
    tab = Watched(chromium, hostile.url, 1440)
    tab.page.goto(f"{hostile.url}/crawls/books/items")
    colour = "getComputedStyle(document.body).backgroundColor"
    light = tab.page.evaluate(colour)
    tab.page.keyboard.press("t")
    dark = tab.page.evaluate(colour)
    assert dark != light
    tab.page.goto(f"{hostile.url}/crawls/books/pages")
    assert tab.page.evaluate(colour) == dark, "the next page has the same theme"
    tab.page.keyboard.press("/")
    tab.page.keyboard.type("shop.example")
    tab.page.keyboard.press("Enter")
    expect(tab.page).to_have_url(re.compile("host=shop.example"))
    expect(tab.page.locator(".empty")).to_contain_text("Nothing matches this filter")
    tab.page.close()


def test_pages_work_without_scripts(hostile: Serving, chromium: Browser) -> None:
    tab = Watched(chromium, hostile.url, 1440, scripts=False)
    tab.page.goto(f"{hostile.url}/crawls/books/items")
    expect(tab.page.locator("#shown tbody tr")).to_have_count(1)
    tab.page.locator("input[name=host]").fill("other.example")
    tab.page.get_by_role("button", name="Filter").click()
    expect(tab.page.locator(".empty")).to_contain_text("Nothing matches this filter")
    tab.page.goto(f"{hostile.url}/crawls/books")
    expect(tab.page.locator(".chart svg")).to_have_count(2)
    tab.page.close()


def test_what_a_person_opened_stays_open_while_the_page_changes(
    tmp_path: Path, web: str, chromium: Browser
) -> None:
    with served_folder(tmp_path) as server:
        server.crawl(f"{web}/", "books")
        tab = Watched(chromium, server.url, 1440)
        tab.page.goto(f"{server.url}/crawls/books")
        expect(tab.page.locator("#live")).to_have_text(re.compile("^live"))
        fields = tab.page.get_by_text("All fields")
        fields.click()
        server.crawl(f"{web}/", "books", refresh=True)
        state = server.ask("GET", "/v1/crawls/books").json
        started = state["started_at"][:19].replace("T", " ")
        expect(tab.page.locator("dd").filter(has_text=started).first).to_be_visible()
        assert tab.wrong == []
        tab.page.close()


def test_a_page_whose_crawl_is_removed_says_so(tmp_path: Path, web: str, chromium: Browser) -> None:
    with served_folder(tmp_path) as server:
        server.crawl(f"{web}/1", "books", scope="page")
        server.crawl(f"{web}/1", "other", scope="page")
        tab = Watched(chromium, server.url, 1440)
        tab.page.goto(f"{server.url}/crawls/books")
        expect(tab.page.locator("#live")).to_have_text(re.compile("^live"))
        code, _, err = gossamer(tmp_path, "clean", "--crawl", "books", "--older", "0s")
        assert code == 0, err
        tab.page.evaluate("refresh()")
        expect(tab.page.locator("#live")).to_have_text(re.compile("^no longer there since"))
        expect(tab.page.locator("body")).to_have_class(re.compile("stale"))
        expect(tab.page.locator("h1")).to_contain_text("books")
        tab.page.close()


def test_a_page_whose_token_ended_leads_to_the_log_in(tmp_path: Path, web: str, chromium: Browser) -> None:
    secret = token(tmp_path, "--scope", "run")
    with served_folder(tmp_path, "--token-file", "tokens.jsonl") as server:
        tab = Watched(chromium, server.url, 1440)
        tab.page.goto(f"{server.url}/crawls")
        tab.page.get_by_label("Token").fill(secret)
        tab.page.keyboard.press("Enter")
        expect(tab.page.locator("h1")).to_have_text("Crawls")
        (tmp_path / "tokens.jsonl").write_text("")
        tab.page.evaluate("watch()")
        expect(tab.page.locator("#live")).to_have_text(re.compile("logged out"))
        tab.page.reload()
        expect(tab.page).to_have_url(re.compile("/login"))
        tab.page.close()


def test_when_the_store_is_down_the_last_data_is_greyed(tmp_path: Path, web: str, chromium: Browser) -> None:
    with served_folder(tmp_path) as server:
        server.crawl(f"{web}/", "books")
        tab = Watched(chromium, server.url, 1440)
        tab.page.goto(f"{server.url}/crawls/books")
        expect(tab.page.locator("#live")).to_have_text(re.compile("^live"))
        stop_store(tmp_path)
        tab.page.evaluate("refresh()")
        expect(tab.page.locator("#live")).to_have_text(re.compile(r"^no answer since \d\d:\d\d:\d\d"))
        expect(tab.page.locator("#shown")).to_have_css("opacity", "0.45")
        expect(tab.page.locator(".facts")).to_contain_text("pages")
        tab.page.close()


def test_an_open_page_is_right_again_after_the_server_was_killed(
    tmp_path: Path, web: str, chromium: Browser
) -> None:
    with served_folder(tmp_path) as first:
        first.crawl(f"{web}/", "books")
        tab = Watched(chromium, first.url, 1440)
        tab.page.goto(f"{first.url}/crawls/books")
        expect(tab.page.locator("#live")).to_have_text(re.compile("^live"), timeout=60_000)
        first.kill()
        expect(tab.page.locator("body")).to_have_class(re.compile("stale"), timeout=60_000)
        expect(tab.page.locator("#live")).to_have_text(re.compile("^no answer since"))
        with serving(tmp_path, "--port", str(first.port)) as second:
            expect(tab.page.locator("body")).not_to_have_class(re.compile("stale"), timeout=60_000)
            second.crawl(f"{web}/", "books", refresh=True)
            state = second.ask("GET", "/v1/crawls/books").json
            shown = tab.page.locator(".facts div").filter(has=tab.page.get_by_text("pages", exact=True))
            expect(shown.locator("dd")).to_have_text(f"{state['pages']}", timeout=60_000)
            tab.page.close()
