"""The dashboard in Chromium: no page reports an error or asks another server, hostile text stays text, and the
keyboard is enough."""

from __future__ import annotations

import http.server
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

from gossamer.collectors.browser.chromium import find_program
from operations.service_process import Serving, served_folder, serving
from operations.test_dashboard import SHOWN, give_up
from support.answers import answering

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
    """Answers with a page whose title, heading, link and header are hostile."""

    def do_GET(self) -> None:
        text = HOSTILE.replace("&", "&amp;").replace("<", "&lt;").replace('"', "&quot;")
        body = f'<title>{text}</title><h1>{text}</h1><a href="/?q={text}">x</a>'.encode()
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


class Watched:
    """A tab, and what went wrong in it."""

    def __init__(self, browser: Browser, url: str, width: int) -> None:
        self.page: Page = browser.new_page(viewport={"width": width, "height": 800})
        self.page.set_default_timeout(60_000)
        self.wrong: list[str] = []
        self.page.on(
            "console",
            lambda said: self.wrong.append(said.text) if said.type in ("error", "warning") else None,
        )
        self.page.on("pageerror", lambda error: self.wrong.append(str(error)))
        self.page.on("request", lambda one: None if one.url.startswith(url) else self.wrong.append(one.url))


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    folder = tmp_path_factory.mktemp("hostile")
    (folder / "sites").mkdir()
    with answering(Hostile) as port:
        web = f"http://127.0.0.1:{port}"
        (folder / "sites" / "odd.py").write_text(SITE.replace("WEB", web))
        with served_folder(folder, "--sites", "sites") as server:
            given = {"sites": ["odd"], "name": "books", "limit": 3, "wait": 60}
            answer = server.ask("POST", "/v1/crawls", given)
            assert answer.status == 202, answer.body
            assert answer.json["items"], answer.body
            yield server


@pytest.mark.parametrize("width", [390, 1440])
def test_hostile_text_stays_text_on_every_page(hostile: Serving, chromium: Browser, width: int) -> None:
    tab = Watched(chromium, hostile.url, width)
    host = hostile.ask("GET", "/v1/crawls/books/hosts").json["items"][0]["host"]
    for path in SHOWN:
        if "{" in path.replace("{crawl}", "").replace("{host}", ""):
            continue
        tab.page.goto(hostile.url + path.replace("{crawl}", "books").replace("{host}", host))
        for closed in tab.page.locator("details > summary").all():
            if closed.is_visible():
                closed.click()
        assert tab.page.evaluate("window.__xss") is None, path
        assert not tab.page.locator('a[href^="javascript" i]').count(), path
        wide = tab.page.evaluate("document.documentElement.scrollWidth - innerWidth")
        assert wide <= 0, f"{path} is {wide} pixels wider than the screen"
    tab.page.goto(f"{hostile.url}/crawls/books/items")
    assert "onerror" in tab.page.locator("#shown tbody").inner_text()
    assert [said for said in tab.wrong if "404" not in said] == [], "some histories are not there"
    tab.page.close()


def test_dead_letters_are_requeued_by_keyboard_alone(hostile: Serving, chromium: Browser) -> None:
    give_up(hostile, "gone")
    tab = Watched(chromium, hostile.url, 1440)
    tab.page.goto(f"{hostile.url}/crawls/gone/dead-letters")
    tab.page.keyboard.press("x")
    tab.page.keyboard.press("Enter")
    expect(tab.page.locator("h1")).to_have_text("Dead requeue gone?")
    expect(tab.page.locator(".count")).to_contain_text("1")
    tab.page.keyboard.press("Enter")
    expect(tab.page.locator(".said")).to_contain_text("dead requeue: 1")
    expect(tab.page.locator(".empty")).to_contain_text("no URL")
    tab.page.keyboard.press("x")
    tab.page.keyboard.press("Enter")
    expect(tab.page.locator(".said")).to_have_text("dead undo: 1")
    expect(tab.page.locator("#shown tbody tr")).to_have_count(1)
    tab.page.keyboard.press("?")
    expect(tab.page.locator("#keys")).to_be_visible()
    assert tab.wrong == []
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
            expect(tab.page.locator(".counts li").first).to_have_text(
                f"{state['pages']} pages", timeout=60_000
            )
            tab.page.close()
