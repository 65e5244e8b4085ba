"""`serve --prefix` behind a reverse proxy: all links, forms, cookies, scripts and the client stay below the path."""

from __future__ import annotations

import html
import http.client
import http.server
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlencode, urljoin

import pytest
from playwright.sync_api import expect, sync_playwright

import gossamer
from cli.command_line import gossamer as command
from gossamer.collectors.browser.chromium import find_program
from operations.conftest import web
from operations.service_process import Answer, Serving, served_folder
from operations.test_access import token
from support.answers import answering

__all__ = ["web"]
PREFIX = "/tools/crawler"
LINK = re.compile(r'\b(?:href|src|action)="([^"#?]*)')
PASSED = ("content-type", "cookie", "authorization", "accept", "origin", "last-event-id", "host")


@contextmanager
def proxied(server: Serving, strips: bool) -> Iterator[str]:
    """Serves `server` below PREFIX at another port. `strips`: whether the proxy removes PREFIX. Yields the address."""

    class Proxy(http.server.BaseHTTPRequestHandler):
        def _pass_on(self) -> None:
            if not self.path.startswith(PREFIX):
                self.send_error(404, "this belongs to another application")
                return
            path = self.path[len(PREFIX) :] or "/" if strips else self.path
            body = self.rfile.read(int(self.headers.get("content-length", 0)))
            given = {name: value for name, value in self.headers.items() if name.lower() in PASSED}
            connection = http.client.HTTPConnection(server.host, server.port, timeout=60)
            connection.request(self.command, path, body, given)
            got = connection.getresponse()
            self.send_response(got.status)
            for name, value in got.getheaders():
                if name.lower() not in ("transfer-encoding", "connection", "date"):
                    self.send_header(name, value)
            self.send_header("Connection", "close")
            self.end_headers()
            while part := got.read1(65536):
                self.wfile.write(part)
                self.wfile.flush()
            connection.close()

        def do_GET(self) -> None:
            self._pass_on()

        def do_POST(self) -> None:
            self._pass_on()

        def log_message(self, *_: object) -> None:
            """Disable the request log."""

    with answering(Proxy) as port:
        yield f"http://127.0.0.1:{port}{PREFIX}"


def ask(method: str, url: str, body: bytes | None = None, **headers: str) -> Answer:
    host, _, path = url.removeprefix("http://").partition("/")
    connection = http.client.HTTPConnection(host, timeout=60)
    connection.request(method, f"/{path}", body, {k.replace("_", "-"): v for k, v in headers.items()})
    got = connection.getresponse()
    found = Answer(got.status, {k.lower(): v for k, v in got.headers.items()}, got.read())
    connection.close()
    return found


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory, web: str) -> Iterator[Serving]:
    folder = tmp_path_factory.mktemp("below")
    with served_folder(folder, "--prefix", f"{PREFIX}/") as one:
        one.crawl(f"{web}/", "books")
        yield one


@pytest.mark.parametrize("strips", [True, False])
def test_every_link_of_every_page_leads_below_the_path(server: Serving, strips: bool) -> None:
    with proxied(server, strips) as address:
        first = ask("GET", f"{address}/")
        assert (first.status, first.headers["location"]) == (303, f"{PREFIX}/crawls")
        waiting, seen = [f"{address}/crawls"], set[str]()
        while waiting and len(seen) < 60:
            url = waiting.pop(0)
            seen.add(url)
            answer = ask("GET", url)
            nothing = b"There is nothing of this name" in answer.body  # no prices were watched in this folder
            assert answer.status in (200, 303, 405) or nothing, f"{url}: {answer.status}"
            if not answer.headers.get("content-type", "").startswith("text/html"):
                continue
            for link in map(html.unescape, LINK.findall(answer.body.decode())):
                if link and not link.startswith("http"):
                    assert link.startswith(f"{PREFIX}/"), f"{url} leads to {link}"
                    found = urljoin(url, link)
                    if found not in seen and found not in waiting and "/logout" not in found:
                        waiting.append(found)
        assert len(seen) > 30
        assert any("/static/" in url for url in seen)


def test_forms_and_the_client_work_below_the_path(server: Serving) -> None:
    with proxied(server, strips=True) as address:
        form = {"Content_Type": "application/x-www-form-urlencoded"}
        sent = ask("POST", f"{address}/crawls/books/weight", urlencode({"weight": 4}).encode(), **form)
        assert (sent.status, sent.headers["location"]) == (303, f"{PREFIX}/crawls/books"), sent.body
        assert f"Path={PREFIX};" in sent.headers["set-cookie"]
        client = gossamer.Client(address)
        assert [one.crawl for one in client.crawls()] == ["books"]
        page = ask("GET", f"{address}/v1/crawls/books/pages?limit=1")
        following = re.search("<(.*?)>", page.headers["link"])
        assert following is not None
        assert following[1].startswith(f"{PREFIX}/v1/crawls/books/pages?")
        assert ask("GET", urljoin(address, following[1])).status == 200


def test_a_log_in_is_valid_below_the_path_only(tmp_path: Path) -> None:
    one = token(tmp_path, "--scope", "admin")
    with (
        served_folder(tmp_path, "--prefix", PREFIX, "--token-file", "tokens.jsonl") as server,
        proxied(server, strips=False) as address,
    ):
        refused = ask("GET", f"{address}/workers")
        assert refused.headers["location"] == f"{PREFIX}/login?to=%2Fworkers"
        form = {"Content_Type": "application/x-www-form-urlencoded"}
        body = urlencode({"token": one, "to": "/workers"}).encode()
        entered = ask("POST", f"{address}/login", body, **form)
        assert (entered.status, entered.headers["location"]) == (303, f"{PREFIX}/workers"), entered.body
        cookie = entered.headers["set-cookie"]
        assert f"Path={PREFIX};" in cookie
        assert ask("GET", f"{address}/workers", Cookie=cookie.partition(";")[0]).status == 200


def test_the_scripts_of_a_page_stay_below_the_path(server: Serving) -> None:
    with proxied(server, strips=True) as address, sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=find_program(None), args=["--no-sandbox", "--disable-gpu"]
        )
        page, asked = browser.new_page(), list[str]()
        page.on("request", lambda one: asked.append(one.url))
        page.goto(f"{address}/crawls/books")
        expect(page.locator("#live")).to_have_text(re.compile("live, "))
        page.keyboard.press("g")
        page.keyboard.press("g")
        page.wait_for_url(f"{address}/crawls")
        browser.close()
    assert any("/live?crawl=books" in url for url in asked)
    assert [url for url in asked if not url.startswith(f"{address}/")] == []


def test_a_path_with_other_characters_is_refused(tmp_path: Path) -> None:
    for prefix in ("crawler", "//evil.example", '/a"b', "/../x"):
        code, _, err = command(tmp_path, "serve", "--port", "0", "--prefix", prefix)
        assert (code, "write a path such as /crawler" in err) == (2, True), err
